"""The documents say what the code does."""

import re
from pathlib import Path

from docs import tables

ROOT = Path(__file__).parent.parent


def test_the_tables_of_the_architecture_page_are_those_of_the_code():
    page = tables.PAGE.read_text()
    assert page == tables.renewed(page), "run: python docs/tables.py"
    assert tables.remedies() in page
    assert tables.answers() in page


def test_every_file_that_the_documents_name_exists():
    for page in (ROOT / "README.md", *ROOT.glob("docs/*.md")):
        for name in re.findall(r"`((?:[\w.-]+/)*[\w.-]+\.(?:py|toml|md))`", page.read_text()):
            places = (ROOT / name, page.parent / name, ROOT / "examples" / "fix-tests" / name)
            assert any(place.exists() for place in places), f"{page.name} names {name}"
