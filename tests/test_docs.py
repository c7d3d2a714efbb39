"""The documents say what the code does."""

import re
import textwrap
import tomllib
from pathlib import Path

import pytest

import cli
from activities import declared_gates, declared_tools
from docs import policy_table, provider_tables, script_table, tables
from ledger.classifier_row import Row
from ledger.classifier_rows_limits import ALLOWANCES, MONEY, SIZES
from ledger.classifier_rows_status import STATUSES
from ledger.classify import ROWS, Observation, classify, rows_with
from ledger.failures import FailureKind
from settings import load_settings
from simulator.script import Script

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("page", tables.PAGES, ids=lambda page: page.name)
def test_the_tables_of_a_page_are_those_of_the_code(page):
    assert page.read_text() == tables.renewed(page.read_text()), "run: python -m docs.tables"


def test_every_number_of_a_policy_is_explained_with_its_unit_in_its_name():
    told = re.findall(r"^\| `([a-z_.]+)` \| .+ \| (.+) \|$", policy_table.rows(), re.MULTILINE)
    keys = {key for key, _ in told}
    assert {"calls.patience_s", "repairs.drift", "children.depth", "context.at", "capture"} <= keys
    assert all(len(meaning) > 20 for _, meaning in told)


def test_the_commands_without_json_are_those_that_the_reference_names():
    without = {name for name, one in cli.main.commands.items() if not any("-o" in param.opts for param in one.params)}
    (named,) = re.findall(r"by themselves \(([^)]+)\)", (ROOT / "docs" / "reference.md").read_text())
    assert without == set(re.findall(r"`(\w+)`", named))


def test_the_reference_names_each_kind_of_tool_and_gate_that_can_be_declared():
    page = (ROOT / "docs" / "reference.md").read_text()
    (tools,) = re.findall(r"`\[tools\.NAME\]` names exactly one of ([^;]+);", page)
    assert set(re.findall(r"`(\w+)`", tools)) == set(declared_tools.KINDS)
    (gates,) = re.findall(r"`\[gates\.NAME\]` \| exactly one of ([^:]+):", page)
    assert set(re.findall(r"`(\w+)`", gates)) == set(declared_gates.KINDS)


def test_the_architecture_page_has_its_tables():
    page = tables.PAGES[0].read_text()
    assert tables.remedies() in page
    assert tables.answers() in page


def test_the_page_of_providers_tells_every_row_once_in_the_order_of_the_code():
    told = re.findall(r"^\| ([a-z0-9_]+\.[a-z0-9_]+) \|", tables.PAGES[1].read_text(), re.MULTILINE)
    assert sorted(told) == sorted(row.rule for row in ROWS)
    places = {rule: place for place, rule in enumerate(told)}
    by_table = [places[row.rule] for row in (*MONEY, *ALLOWANCES, *SIZES, *STATUSES)]
    assert by_table == sorted(by_table)


def test_a_row_is_told_in_plain_words():
    row = Row(
        rule="own.row",
        source="x",
        kind=FailureKind.OVERLOADED,
        providers=("acme",),
        statuses=("429", "none"),
        codes=("E1",),
        phrases=("no * room", *(f"word {n}" for n in range(9))),
        unless=("your limit",),
        over_limit=False,
        wait_over=900,
    )
    assert provider_tables.matches(row) == (
        'provider acme; status 429, none; code `E1`; says "no … room", "word 0", "word 1", "word 2", "word 3", '
        '"word 4" and 4 more; but not "your limit"; asks for no more than the whole limit; states a wait over 900 s'
    )


def test_every_file_that_the_documents_name_exists():
    for page in (ROOT / "README.md", *ROOT.glob("docs/*.md")):
        for name in re.findall(r"`((?:[\w.-]+/)*[\w.-]+\.(?:py|toml|md))`", page.read_text()):
            places = (ROOT / name, page.parent / name, ROOT / "examples" / "fix-tests" / name)
            assert any(place.exists() for place in places), f"{page.name} names {name}"


def test_the_row_that_the_page_of_providers_shows_can_be_declared(tmp_path):
    (example,) = re.findall(r"^    \[\[classify\]\]\n(?:    .+\n)+", tables.PAGES[1].read_text(), re.MULTILINE)
    (tmp_path / "endstop.toml").write_text(textwrap.dedent(example))
    (row,) = load_settings(tmp_path / "endstop.toml", {}).declared.rules
    closed = Observation(status=503, body="Closed for weekly maintenance.")
    assert classify(closed, rows_with((row,))).rule == "own.maintenance"


def test_the_page_about_scripts_has_every_kind_of_reply_and_an_example_that_can_be_used():
    page = (ROOT / "docs" / "simulator.md").read_text()
    assert script_table.kinds() in page
    assert script_table.common() in page
    example = "\n".join(re.findall(r"^    .+", page, re.MULTILINE))
    assert len(Script.parse(tomllib.loads(textwrap.dedent(example))).models["gpt-5"]) == 4
