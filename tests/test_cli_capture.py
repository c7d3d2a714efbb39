"""Captured requests and their removal by the command line alone: real server, worker process, simulated models."""

import re
import sqlite3
from collections.abc import Iterator

import pytest

from simulator.script import Script
from tests.test_cli_run import Models, Stage

pytestmark = pytest.mark.timeout(300)

MARKER = "MARKER-51c0ffee"
BAD_KEY = {"kind": "raw", "status": 401, "body": {"error": {"message": f"{MARKER} is not a key"}}}
SCRIPT = {
    "plain": [{"kind": "text", "text": f"{MARKER} answer"}],
    "slow": [{"kind": "tool_calls", "calls": [{"name": "no_such_tool"}]}, {"kind": "hang", "repeat": True}],
    "failing": [BAD_KEY, {"kind": "text", "text": "done"}],
}


@pytest.fixture(scope="module")
def stage(temporal_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("capture")
    models = Models(Script.parse({"models": {f"{name}": [*replies] for name, replies in SCRIPT.items()}}))
    for name in SCRIPT:
        (folder / f"{name}.toml").write_text(f'name = "{name}"\nmodels = ["openai:{name}"]\n')
    provider = f'[providers.openai]\napi = "openai-chat"\nbase_url = "{models.url}/v1"\nkey_env = "OPENAI_API_KEY"\n'
    (folder / "endstop.toml").write_text(f'task_queue = "capture"\n{provider}')
    (folder / "strict.toml").write_text(f'task_queue = "capture"\n{provider}\n[capture]\nallowed = false\n')
    stage = Stage(temporal_server, folder, models)
    worker = stage.begin("worker")
    yield stage
    worker.terminate()
    _, log = worker.communicate()
    models.close()
    assert worker.returncode == 0
    assert MARKER not in log


def run(stage: Stage, name: str, agent: str, *flags: str) -> None:
    """A run to its end."""
    started = stage.endstop("start", f"{agent}.toml", "--task", f"{MARKER} {name} task", "--id", name, *flags)
    assert started.code == 0, started.err
    watch = stage.begin("watch", name)
    watch.communicate()
    assert watch.returncode == 0


def files(stage: Stage) -> str:
    return b"".join(path.read_bytes() for path in (stage.folder / ".endstop").glob("store.db*")).decode("latin-1")


def test_a_captured_request_is_shown_byte_for_byte_then_redacted_for_good(stage: Stage) -> None:
    run(stage, "kept", "plain", "--capture")
    sent = stage.models.requests[-1].raw
    shown = stage.endstop("transcript", "kept", "--attempt", "1.1.1", "-o", "json").json
    assert (shown["status"], shown["body"].encode(), shown["bytes"]) == ("retained", sent, len(sent))
    assert f"{MARKER} kept task" in stage.endstop("transcript", "kept", "--attempt", "t1.c1.a1").out
    assert f"request captured ({len(sent):,} bytes)" in stage.endstop("journal", "kept").out
    assert "captured requests: 1 retained" in stage.endstop("show", "kept").out
    assert stage.endstop("show", "kept", "-o", "json").json["captures"] == {"retained": 1}

    said = stage.endstop("redact", "kept", "--attempt", "1.1.1")
    assert (said.code, said.out, said.err) == (0, "kept: redacted 1 captured request\n", "")

    after = stage.endstop("transcript", "kept", "--attempt", "1.1.1", "-o", "json").json
    assert (after["status"], after["body"]) == ("redacted", None)
    assert (after["bytes"], after["digest"]) == (shown["bytes"], shown["digest"])
    assert sent.decode() not in files(stage)
    assert "captured requests: 1 redacted" in stage.endstop("show", "kept").out
    assert re.search(
        r" -  .*captured request of t1\.c1\.a1 is now redacted by \S+@", stage.endstop("journal", "kept").out
    )
    journal = stage.endstop("journal", "kept", "-o", "json").json
    assert [change["status"] for change in journal["changes"]] == ["redacted"]
    (attempt,) = [record for record in journal["records"] if record["type"] == "attempt"]
    assert attempt["model_input"]["capture_status"] == "retained"  # the record stays as it was written
    assert stage.endstop("redact", "kept").out == "kept: there is nothing to redact\n"
    assert "answer" in stage.endstop("transcript", "kept").out  # the conversation itself is untouched


def test_a_run_that_was_not_captured_says_so_and_has_nothing_to_redact(stage: Stage) -> None:
    run(stage, "bare", "plain")
    assert stage.endstop("show", "bare", "-o", "json").json["captures"] == {"not_captured": 1}
    assert "captured" not in stage.endstop("show", "bare").out
    refused = stage.endstop("transcript", "bare", "--attempt", "1.1.1")
    assert refused.code == 1
    assert "no request of t1.c1.a1 was captured; [policy] capture = true" in refused.err
    assert stage.endstop("redact", "bare").out == "bare: there is nothing to redact\n"
    assert stage.endstop("redact", "bare", "--attempt", "9.9.9").code == 1


def test_what_a_provider_said_of_a_failure_is_shown_and_redacted_too(stage: Stage) -> None:
    stage.endstop("start", "failing.toml", "--task", "t", "--id", "failed")
    watch = stage.begin("watch", "failed")
    assert watch.stdout
    while "asks a person" not in (line := watch.stdout.readline()):
        assert line
    assert f"{MARKER} is not a key" in stage.endstop("transcript", "failed", "--attempt", "1.1.1").out

    assert stage.endstop("redact", "failed").out == "failed: redacted 1 error detail\n"

    after = stage.endstop("transcript", "failed", "--attempt", "1.1.1").out
    assert "what the provider said was redacted by" in after
    assert f"{MARKER} is not a key" not in after + files(stage)
    stage.endstop("answer", "failed", "retry")
    watch.communicate()
    assert watch.returncode == 0  # a run whose details are gone goes on


def test_a_redacted_transcript_leaves_its_outline_and_no_word_in_any_file(stage: Stage) -> None:
    run(stage, "said", "plain", "--capture")
    before = stage.endstop("transcript", "said", "-o", "json").json
    assert f"{MARKER} said task" in files(stage)

    said = stage.endstop("transcript", "said", "--redact")
    assert said.out == "said: redacted 2 messages, 1 captured request, 1 content\n"

    after = stage.endstop("transcript", "said", "-o", "json").json
    assert [message["redacted"] for message in after] == [True] * len(before)
    assert all(message["bytes"] > 0 for message in after)
    assert re.search(r"── 1 redacted \(\d+ bytes\)", stage.endstop("transcript", "said").out)
    assert f"{MARKER} said task" not in files(stage)
    assert "messages redacted by" in stage.endstop("show", "said").out
    assert "all messages are now redacted by" in stage.endstop("journal", "said").out
    assert stage.endstop("transcript", "said", "--redact").out == "said: there is nothing to redact\n"


def test_the_transcript_of_a_run_that_goes_on_is_not_touched(stage: Stage) -> None:
    before = len(stage.models.requests)
    stage.endstop("start", "slow.toml", "--task", f"{MARKER} slow task", "--id", "slow", "--capture")
    stage.models.wait_for(before + 2)

    refused = stage.endstop("transcript", "slow", "--redact")
    assert refused.code == 1
    assert "run 'slow' is running: it needs its conversation until it ends; `endstop redact slow`" in refused.err
    assert "slow task" in stage.endstop("transcript", "slow").out
    assert stage.endstop("redact", "slow").out.startswith("slow: redacted 1 captured request")
    stage.endstop("tell", "slow", "stop")
    watch = stage.begin("watch", "slow")
    watch.communicate()
    assert stage.endstop("transcript", "slow", "--redact").code == 0


def test_where_nobody_knows_whether_a_run_ended_its_transcript_goes_only_by_force(stage: Stage) -> None:
    run(stage, "kept-2", "plain")
    with sqlite3.connect(stage.folder / ".endstop" / "store.db") as database:
        database.execute("UPDATE runs SET workflow_id = 'gone' WHERE workflow_id = 'kept-2'")
        database.execute(
            "DELETE FROM journal WHERE conversation = (SELECT conversation FROM runs WHERE workflow_id = 'gone')"
        )

    refused = stage.endstop("transcript", "gone", "--redact")
    assert refused.code == 1
    assert "neither its journal nor this Temporal server tells whether it ended" in refused.err
    assert stage.endstop("transcript", "gone", "--redact", "--force").out.startswith("gone: redacted 2 messages")


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        (["redact", "kept", "--attempt", "first"], "--attempt 'first': expected TURN.CALL.ATTEMPT"),
        (["transcript", "kept", "--attempt", "1.1.1", "--redact"], "`endstop redact kept --attempt 1.1.1` removes it"),
        (["transcript", "kept", "--force"], "--force goes with --redact only"),
    ],
)
def test_what_cannot_be_meant_is_a_mistake_of_usage(stage: Stage, typed: list[str], line: str) -> None:
    said = stage.endstop(*typed)
    assert said.code == 2
    assert line in said.err


def test_a_run_that_the_store_does_not_know_is_refused(stage: Stage) -> None:
    said = stage.endstop("redact", "nobody")
    assert said.code == 1
    assert "the store knows no run 'nobody'" in said.err


def test_where_the_operator_forbids_capture_the_flag_is_refused_before_anything_starts(stage: Stage) -> None:
    said = stage.endstop("start", "plain.toml", "--task", "t", "--id", "forbidden", "--capture", settings="strict.toml")
    assert said.code == 2
    assert "policy.capture: the operator does not allow requests to be captured" in said.err
    assert stage.endstop("show", "forbidden").code == 1


def test_the_record_in_temporal_names_no_body(stage: Stage) -> None:
    run(stage, "history", "plain", "--capture")

    async def history(handle) -> bytes:
        return b"".join(event.SerializeToString() for event in (await handle.fetch_history()).events)

    found = stage.ask("history", history)
    assert MARKER.encode() not in found
