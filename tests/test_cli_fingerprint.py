"""`endstop fingerprint`: a tool's output in, its identity and items out; with --jsonl each line is answered at once."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import cli
from ledger.fingerprint import fingerprint

PYTEST = "FAILED tests/test_a.py::test_sum - assert 1 == 2\n1 failed in 0.03s\n"
MYPY = "/srv/checkout/app.py:3: error: Name 'x' is not defined  [name-defined]\n"
DATED = "error: certificate of 2026-11-30T11:59:58Z is not valid\n"


def told(*args: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli.main, ["fingerprint", *args], input=stdin)


def answered(*args: str, stdin: str | bytes | None = None) -> dict:
    result = told(*args, "-o", "json", stdin=stdin)
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def test_a_program_gets_version_exact_family_and_every_field_of_each_item():
    found = answered("--root", "/srv/checkout", stdin=MYPY)
    assert found == fingerprint(MYPY, root="/srv/checkout").model_dump(mode="json")
    assert found["items"][0]["place"] == "app.py"


def test_a_person_sees_the_identity_and_what_is_known_of_each_item():
    lines = told("--root", "/srv/checkout", stdin=MYPY).stdout.splitlines()
    found = fingerprint(MYPY, root="/srv/checkout")
    assert lines[1:4] == [f"exact    {found.exact}", f"family   {found.family}", "items    1"]
    assert lines[5:8] == ["diagnostic", "  place    app.py", "  code     name-defined"]


def test_an_output_may_be_in_a_file_and_need_not_be_utf_8(tmp_path):
    (tmp_path / "output").write_bytes(PYTEST.encode() + b"\xff\n")
    assert answered(str(tmp_path / "output"))["exact"] == fingerprint(PYTEST + "\ufffd\n").exact


def test_the_exit_code_is_part_of_the_exact_identity_and_not_of_the_family():
    one, other = (answered("--exit-code", code, stdin=PYTEST) for code in ("1", "2"))
    assert one["exact"] != other["exact"]
    assert one["family"] == other["family"]


@pytest.mark.parametrize(
    "at",
    ["2026-11-30T12:00:00Z", "2026-11-30t12:00:00.123z", "2026-11-30T13:00:00+01:00", "1796040000", "1796040000.5"],
)
def test_a_time_may_be_rfc_3339_or_unix_seconds_and_masks_what_is_close_to_it(at):
    close = fingerprint(DATED, at=datetime(2026, 11, 30, 12, tzinfo=UTC)).exact
    assert answered("--at", at, stdin=DATED)["exact"] == close
    assert answered("--at", "1", stdin=DATED)["exact"] != close


def lines_of(result: Result) -> list[dict]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_each_line_is_answered_in_order_with_what_it_says_of_its_run():
    asked = [
        {"output": PYTEST, "id": "ignored", "why": ["too"]},
        {"output": MYPY, "rc": 2, "root": "/srv/checkout", "at": None},
        {"output": DATED, "at": 1796040000},
        {"output": DATED, "at": "2026-11-30T12:00:00Z"},
    ]
    found = told("--jsonl", stdin="\n\n".join(map(json.dumps, asked)))
    assert (found.exit_code, found.stderr) == (0, "")
    at = datetime(2026, 11, 30, 12, tzinfo=UTC)
    expected = [
        fingerprint(PYTEST),
        fingerprint(MYPY, exit_code=2, root="/srv/checkout"),
        fingerprint(DATED, at=at),
        fingerprint(DATED, at=at),
    ]
    assert [one["exact"] for one in lines_of(found)] == [one.exact for one in expected]


def test_flags_hold_for_lines_that_do_not_say():
    asked = f"{json.dumps({'output': MYPY})}\n{json.dumps({'output': MYPY, 'root': '/srv'})}"
    own, other = lines_of(told("--jsonl", "--root", "/srv/checkout", "--exit-code", "3", stdin=asked))
    assert own["exact"] == fingerprint(MYPY, root="/srv/checkout", exit_code=3).exact
    assert other["exact"] == fingerprint(MYPY, root="/srv", exit_code=3).exact
    (dated,) = lines_of(told("--jsonl", "--at", "1796040000", stdin=json.dumps({"output": DATED})))
    assert dated["exact"] == answered("--at", "1796040000", stdin=DATED)["exact"]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("\xff", "is not JSON"),
        ("[]", "is not a JSON object"),
        ("{}", "output: is missing"),
        ('{"output": 3}', "output: should be text"),
        ('{"output": "", "rc": true}', "rc: should be a valid integer"),
        ('{"output": "", "at": "yesterday"}', 'at: should be a time such as "2026-'),
        ('{"output": "", "at": 1e300}', "at: should be a time"),
        ('{"output": "", "root": []}', "root: should be text"),
    ],
    ids=["broken", "deep", "no text", "a list", "no output", "a number", "a truth", "no time", "far away", "a root"],
)
def test_a_bad_line_is_answered_by_one_error_and_the_others_are_answered_all_the_same(bad, why):
    good = json.dumps({"output": PYTEST})
    result = told("--jsonl", stdin=f"{good}\n{bad}\n{good}\n".encode("latin-1"))
    first, error, last = lines_of(result)
    assert result.exit_code == 2
    assert first == last == fingerprint(PYTEST).model_dump(mode="json")
    assert set(error) == {"error"}
    assert error["error"].startswith("standard input: line 2: ")
    assert why in error["error"]


def test_a_line_that_is_too_long_is_skipped_whole(monkeypatch):
    monkeypatch.setattr("commands.fingerprint.MAX_BYTES", 100)
    long = json.dumps({"output": "x" * 250})
    error, found = lines_of(told("--jsonl", stdin=f"{long}\n{json.dumps({'output': 'error: x'})}"))
    assert "line 1: is larger than" in error["error"]
    assert found["exact"] == fingerprint("error: x").exact


def test_half_a_character_in_a_cut_log_is_no_reason_to_refuse_a_line():
    result = told("--jsonl", stdin='{"output": "error: no such file: \\ud83d"}')
    assert result.exit_code == 0
    assert lines_of(result)[0]["items"][0]["message"].endswith("?")


def test_what_an_output_says_cannot_command_the_terminal_nor_forge_a_line():
    shown = told(stdin=json.dumps({"errors": [{"message": "bad\n  code     fine \x1b[2J"}]})).stdout
    assert "\x1b" not in shown
    assert "\n  code     fine" not in shown


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("--at", "noon"), "endstop: --at: should be a time such as"),
        (("nope.txt",), "endstop: nope.txt: cannot be read (No such file or directory)"),
        (("/",), "endstop: /: cannot be read (Is a directory)"),
        (("nope.txt", "--jsonl"), "endstop: nope.txt: cannot be read"),
        (("--exit-code", "x"), "endstop: Invalid value for '--exit-code'"),
    ],
)
def test_what_is_not_usable_as_typed_is_told_in_one_line(args, why):
    result = told(*args, stdin="")
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(why)


def test_a_line_is_answered_before_the_next_one_comes_by_a_process_that_loads_no_sdk():
    probe = (
        "import sys, cli\n"
        "try: cli.main(['fingerprint', '--jsonl'])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('temporalio', 'sqlalchemy', 'pydantic_ai', 'httpx2', 'settings') if m in sys.modules])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", probe],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(cli.__file__).parent,
    ) as process:
        for output in (PYTEST, MYPY):
            process.stdin.write(json.dumps({"output": output}) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["exact"] == fingerprint(output).exact
        process.stdin.close()
        assert process.stdout.read() == "[]\n"
