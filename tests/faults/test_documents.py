"""Documents that are meant to run code, or to become large or endless when they are read (FAULTS S8).

Agents and settings are TOML, which has no tags, no references and no second value for a key; what is found$
somewhere and is no such document is refused in one line, in no time, and nothing comes of it.
"""

from pathlib import Path

import pytest
from click.testing import CliRunner

import cli
from activities.toml_text import NotToml, read_toml

GOOD = 'models = ["openai:gpt-5"]\n'
LAUGHS = "".join(
    f"{name}: &{name} [*{before}, *{before}, *{before}, *{before}]\n" for before, name in ("ab", "bc", "cd")
)
INVALID = "is not valid TOML: "
DEEP = "is nested too deeply; expected tables of plain values"

DOCUMENTS = {
    "YAML": ("models: [openai:gpt-5]\n", INVALID),
    "YAML with a tag that runs code": ("!!python/object/apply:os.system ['touch owned']\n", INVALID),
    "YAML whose aliases multiply": (f"a: &a [lol, lol]\n{LAUGHS}", INVALID),
    "JSON": ('{"models": ["openai:gpt-5"]}', INVALID),
    "a key twice": (f"{GOOD}{GOOD}", INVALID),
    "a table twice": (f"{GOOD}[limits]\nturns = 1\n[limits]\nturns = 2\n", INVALID),
    "no for a truth": (f"{GOOD}name = no\n", INVALID),
    "a number that looks octal": (f"{GOOD}[limits]\nturns = 010\n", INVALID),
    "a list without end": (f"models = {'[' * 100_000}", DEEP),
    "a table in a table without end": (f"x = {'{a=' * 100_000}", DEEP),
    "a key of 250,000 parts": (f"{'a.' * 250_000}b = 1\n", DEEP),
    "a quoted key of as many": (f"[{chr(34) + 'a' + chr(34)}{('.' + chr(34) + 'a' + chr(34)) * 100_000}]\n", DEEP),
    "a key of as many parts inside": (f"x = {{ {'a . ' * 100_000}b = 1 }}\n", DEEP),
    "more than a megabyte": (f"{GOOD}# {'x' * 2**20}", "is larger than 1 MiB"),
    "no text": (b"models = '\xff'", "is not UTF-8 text"),
}


@pytest.mark.parametrize(("document", "told"), DOCUMENTS.values(), ids=DOCUMENTS)
@pytest.mark.parametrize("name", ["agent.toml", "endstop.toml"])
def test_a_document_that_is_no_plain_table_is_refused_in_one_line_and_nothing_comes_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, document: str | bytes, told: str, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ENDSTOP_CONFIG", raising=False)
    Path("agent.toml").write_text(GOOD)
    Path(name).write_bytes(document.encode() if isinstance(document, str) else document)
    result = CliRunner().invoke(cli.main, ["start", "agent.toml", "--task", "x"])
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert name in line
    assert told in line
    assert {path.name for path in tmp_path.iterdir()} == {"agent.toml", name}


@pytest.mark.parametrize(
    "text",
    [
        "z" * 250_000,
        '"' * 250_000,
        "'a" * 120_000,
        "a\t" * 120_000,
        "." * 250_000,
        (("'" + "b" * 900 + "'.") * 60 + "!\n") * 4,
    ],
    ids=["a word", "quotes", "open quotes", "words", "dots", "almost a key"],
)
def test_looking_for_a_key_without_end_ends_soon_itself(text: str) -> None:
    with pytest.raises(NotToml, match="is not valid TOML"):
        read_toml(text.encode())


def test_keys_and_prose_as_people_write_them_are_read() -> None:
    prose = "Read. Write. Test. " * 20
    document = f'[a.b."c.d".e]\nf.g = "{prose}"\ntoc = "{"." * 200}"\nname = "{"org.example." * 20}x"\n'
    assert read_toml(document.encode())["a"]["b"]["c.d"]["e"]["f"]["g"] == prose
