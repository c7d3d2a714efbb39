"""`endstop classify`: a kept answer in, the verdict and its rule out; what cannot be read is told by its line."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import cli

QUOTA = {
    "provider": "google",
    "api": "generate_content",
    "status": 429,
    "headers": {"Retry-After": "10"},
    "body": '{"error": {"status": "RESOURCE_EXHAUSTED", "message": "Quota exceeded: requests per day"}}',
    "transport": None,
}
RATE = {"provider": "openai", "status": 429, "headers": {"retry-after": "20"}, "body": ""}
SUNDAY = {"status": 403, "body": "Closed on Sundays."}
OWN = '[[classify]]\nrule = "own.sunday"\nkind = "overloaded"\nphrases = ["Closed on Sundays!"]\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("ENDSTOP_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def judged(*args: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli.main, ["classify", *args], input=stdin)


def verdicts(*args: str, stdin: str | None = None) -> list[dict]:
    result = judged(*args, "-o", "json", stdin=stdin)
    assert (result.exit_code, result.stderr) == (0, "")
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_case_is_judged_with_every_flag_the_wait_as_stated_and_as_trusted_and_the_rule(folder):
    (told,) = verdicts(stdin=json.dumps(QUOTA | {"id": "a day's quota", "expected": {"kind": "x"}, "why": "y"}))
    assert told == {
        "case": "a day's quota",
        "kind": "quota_exhausted",
        "transient": False,
        "capacity": True,
        "renew_files": False,
        "failover": True,
        "outcome_unknown": False,
        "wait_s": 10.0,
        "judged_wait_s": None,
        "rule": "google.per_day",
        "source": "https://github.com/google-gemini/gemini-cli/issues/8437",
    }


def test_json_lines_are_judged_one_verdict_a_line_and_empty_lines_do_not_matter(folder):
    (folder / "cases.jsonl").write_text(f"{json.dumps(RATE)}\n\n{json.dumps(QUOTA)}\n")
    told = verdicts("cases.jsonl")
    assert [(one["case"], one["kind"]) for one in told] == [("line 1", "rate_limited"), ("line 3", "quota_exhausted")]


def test_an_object_may_take_several_lines_and_its_body_may_be_json_itself(folder):
    kept = {"status": 429, "body": {"error": {"code": "insufficient_quota"}}, "headers": None, "provider": None}
    (told,) = verdicts(stdin=json.dumps(kept, indent=2))
    assert told["kind"] == "billing"


def test_a_person_sees_one_case_line_by_line_and_several_as_columns(folder):
    one = judged("-", stdin=json.dumps(QUOTA)).stdout
    assert "kind             quota_exhausted\n" in one
    assert "wait_s           10, not trusted\n" in one
    several = judged(stdin=f"{json.dumps(RATE)}\n{json.dumps(QUOTA)}\n").stdout.splitlines()
    head = ["CASE", "KIND", "TRANSIENT", "CAPACITY", "RENEW_FILES", "FAILOVER", "OUTCOME_UNKNOWN", "WAIT_S", "RULE"]
    assert several[0].split() == head
    assert several[1].removeprefix("line 1").split() == [
        "rate_limited",
        "yes",
        "yes",
        "no",
        "yes",
        "no",
        "20",
        "status.rate",
    ]


def test_what_a_case_says_cannot_command_the_terminal(folder):
    shown = judged(stdin=json.dumps(RATE | {"id": "\x1b[2J"})).stdout
    assert "\x1b" not in shown
    assert "\\x1b[2J" in shown


def test_the_operators_own_rows_outrank_ours(folder):
    assert verdicts(stdin=json.dumps(SUNDAY))[0]["rule"] == "status.access"
    (folder / "own.toml").write_text(OWN)
    assert verdicts("--settings", "own.toml", stdin=json.dumps(SUNDAY))[0]["rule"] == "own.sunday"
    (folder / "own.toml").rename(folder / "endstop.toml")
    (told,) = verdicts(stdin=json.dumps(SUNDAY))
    assert (told["rule"], told["kind"], told["source"]) == ("own.sunday", "overloaded", "endstop.toml")


GOOD = json.dumps(RATE)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        pytest.param("", "standard input: holds no case", id="nothing"),
        pytest.param(f"{GOOD}\n{{\n", "standard input: line 2: is not JSON", id="a broken line"),
        pytest.param('{\n"status": 429,\nx\n}', "standard input: line 3: is not JSON", id="a broken object"),
        pytest.param(f"{GOOD}\n[]\n", "standard input: line 2: is not a JSON object", id="a list"),
        pytest.param(f'{GOOD}\n{{"x": 1}}', "line 2: has none of status, headers, body, transport", id="no answer"),
        pytest.param('{"status": "429"}', "line 1: status: should be a valid integer", id="a status as text"),
        pytest.param('{"status": 9, "headers": {"a": 1}}', "line 1: headers.a: should be text", id="a header"),
        pytest.param('{"status": 9, "at": NaN}', "line 1: at: should be a finite number", id="no moment"),
        pytest.param("[" * 100_000, "line 1: is not JSON", id="too deep"),
        pytest.param(b"\xff", "standard input: is not UTF-8 text", id="no text"),
    ],
)
def test_what_cannot_be_judged_is_told_in_one_line_and_nothing_is_judged(folder, given, told):
    result = judged("-o", "json", stdin=given)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("endstop: ")
    assert told in line


def test_a_file_that_is_not_there_is_named(folder):
    result = judged("nope.jsonl")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("endstop: nope.jsonl: cannot be read (No such file or directory)")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            '[[classify]]\nrule = "a"\nkind = "auth"\nstatus = [500]\n',
            'classify[0].status: unknown key, did you mean "s',
        ),
        ('[[classify]]\nrule = "a"\nkind = "auth"\n', 'classify[0]: the row "a" has no condition'),
        ('[classify]\nrule = "a"\n', "classify: should be a list"),
        (OWN + OWN, 'classify: two rows are named "own.sunday"'),
    ],
    ids=["an unknown key", "no condition", "a table for a list", "twins"],
)
def test_rows_that_cannot_be_meant_are_refused_with_their_place(folder, text, told):
    (folder / "endstop.toml").write_text(text)
    result = judged(stdin=GOOD)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr


def test_half_a_character_in_a_cut_log_is_no_reason_to_refuse_a_case(folder):
    (told,) = verdicts(stdin='{"status": 429, "body": "rate limit \\ud83d"}')
    assert told["kind"] == "rate_limited"


def test_the_help_shows_a_case_with_every_key_that_is_read(folder):
    shown = CliRunner().invoke(cli.main, ["classify", "--help"]).output
    example = re.search(r"\{.*\}", shown, re.DOTALL)[0]
    assert set(json.loads(example)) == set(QUOTA)
    (told,) = verdicts(stdin=example)
    assert told["kind"] == "rate_limited"
