import asyncio
import json

import pytest

from activities.builtin_tools import TOOLS
from activities.tool import Asked
from activities.workspace_files import MAX_ENTRIES


@pytest.fixture
def root(tmp_path):
    (tmp_path / "lines.txt").write_text("".join(f"line {n}\n" for n in range(1, 1_001)))
    return tmp_path


@pytest.fixture
def use(root):
    def call(name, **arguments):
        asked = Asked(arguments=json.dumps(arguments), run="run", key="1", folder=root)
        return asyncio.run(TOOLS[name].run(asked))

    return call


def test_a_model_is_told_every_argument_with_its_type_and_default():
    told = TOOLS["read_file"].declaration.parameters
    assert told["required"] == ["path"]
    assert {name: (field["type"], field.get("default")) for name, field in told["properties"].items()} == {
        "path": ("string", None),
        "start_line": ("integer", 1),
        "lines": ("integer", 400),
    }
    assert "title" not in json.dumps(told)
    assert all(tool.declaration.description for tool in TOOLS.values())


def test_a_file_is_read_from_the_asked_line_and_the_rest_is_announced(use):
    assert use("read_file", path="lines.txt", start_line=999).text == "line 999\nline 1000\n"
    assert use("read_file", path="lines.txt", start_line=3, lines=2).text == (
        "line 3\nline 4\n\n[lines 3 to 4 of 1000; go on with start_line=5]"
    )


def test_pages_put_together_are_the_file(use, root):
    pages = [use("read_file", path="lines.txt", start_line=n).text.partition("\n[")[0] for n in (1, 401, 801)]
    assert "".join(page.rstrip("\n") + "\n" for page in pages) == (root / "lines.txt").read_text()


def test_only_line_feeds_end_a_line(use, root):
    (root / "odd.txt").write_text("a\x0cb\u2028c\rd\ne", newline="")
    assert use("read_file", path="odd.txt", start_line=2).text == "e"


def test_a_line_past_the_end_is_told_with_the_number_of_lines(use):
    result = use("read_file", path="lines.txt", start_line=1_001)
    assert (result.failed, result.text) == (True, "lines.txt has 1000 lines; start_line 1001 is past its end")


def test_an_empty_file_reads_as_nothing(use, root):
    (root / "empty").write_text("")
    assert use("read_file", path="empty") == use("read_file", path="empty").model_copy(update={"text": ""})


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"text\0text"])
def test_a_file_that_is_no_text_is_told_as_such(use, root, content):
    (root / "image.png").write_bytes(content)
    result = use("read_file", path="image.png")
    assert result.failed
    assert "text" in result.text


def test_what_is_written_is_what_is_read(use):
    text = "ä 漢\r\nno newline at the end"
    assert use("write_file", path="new/file.txt", content=text).text == "wrote 29 bytes to new/file.txt"
    assert use("read_file", path="new/file.txt").text == text


def test_a_listing_is_cut_and_says_so(use, root):
    (root / "many").mkdir()
    for n in range(MAX_ENTRIES + 1):
        (root / "many" / f"{n:05}").touch()
    entries = use("list_files", path="many").text.splitlines()
    assert len(entries) == MAX_ENTRIES + 1
    assert entries[-1] == "[more than 1000 entries; list a folder of it, or a smaller depth]"


def test_the_workspace_itself_is_listed_without_arguments(root):
    asked = Asked(arguments="", run="run", key="1", folder=root)
    assert asyncio.run(TOOLS["list_files"].run(asked)).text == "lines.txt"


def test_an_empty_folder_says_that_it_is_empty(use, root):
    (root / "none").mkdir()
    assert use("list_files", path="none").text == "[empty]"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param("{}", "arguments of read_file: path: is missing", id="missing"),
        pytest.param('{"path": 3}', "path: should be text", id="wrong type"),
        pytest.param('{"path": "a", "line": 1}', 'did you mean "lines"', id="unknown"),
        pytest.param('{"path": "a", "lines": 0}', "lines: should be greater than or equal to 1", id="too small"),
        pytest.param('{"path": "a"', "is not valid JSON", id="cut off"),
        pytest.param('["a"]', "should be", id="no object"),
        pytest.param("[" * 100_000, "is not valid JSON", id="100,000 levels deep"),
        pytest.param('{"path": "MARKER/../.."}', "the path must stay in the workspace", id="climbs"),
        pytest.param('{"path": "\\ud800"}', "is not valid JSON", id="half a character"),
    ],
)
def test_a_bad_argument_goes_back_to_the_model_in_one_line(root, arguments, told):
    asked = Asked(arguments=arguments, run="run", key="1", folder=root)
    result = asyncio.run(TOOLS["read_file"].run(asked))
    assert result.failed
    assert told in result.text
    assert "\n" not in result.text
    assert "MARKER" not in result.text
