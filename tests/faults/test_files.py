"""Runs whose files vanish, whose vendor changes, or whose files cannot come along (RULES A8)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError

from simulator.log import Received
from tests.activities.test_call_model_files import FILES, ids_in
from tests.faults.conftest import Stage, eventually, records
from tests.faults.invariants import invariants_hold, requests_of

SETTINGS = """files = true
[providers.responses]
api = "openai-responses"
base_url = "SIMULATOR/v1"
key_env = "OPENAI_API_KEY"
files = true
[workspaces.docs]
source = "docs"
"""
CLAUDE, GPT = "anthropic:claude-opus-4-8", "responses:gpt-5"
AGENT = {"models": [CLAUDE], "workspace": "docs", "files": list(FILES)}
READ = {"kind": "text", "text": "Read.", "repeat": True}


@pytest.fixture
async def desk(stage: Any, tmp_path: Path) -> Any:
    for name, content in FILES.items():
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    async def made(*claude: dict[str, Any], uploads: Sequence[str] = ()) -> Stage:
        models = {"claude-opus-4-8": claude} if claude else {}
        return await stage({"strict": True, "default": READ, "models": models, "uploads": uploads}, SETTINGS)

    return made


def named(stage: Stage, run: WorkflowHandle) -> list[set[str]]:
    """The file ids of each request of a run, in order."""
    return [ids_in((request.raw or b"").decode()) for request in requests_of(stage, run)]


def uploads(stage: Stage) -> list[Received]:
    return [request for request in stage.simulator.file_requests if request.method == "POST"]


async def test_a_vanished_file_is_uploaded_afresh_at_once_and_the_journal_says_so(desk):
    act = await desk()
    first = await act.start(AGENT)
    assert (await first.result())["status"] == "completed"
    (held,) = named(act, first)
    act.simulator.expire_files()
    run = await act.start(AGENT)
    assert (await run.result())["status"] == "completed"
    lost, won = await records(run, "attempt")
    failed = lost["outcome"]["failed"]
    assert (failed["kind"], failed["transient"], failed["next"]) == ("file_missing", False, "renewed_files")
    assert (won["id"], won["outcome"], won["backoff_ms"]) == ("1.1.2", "succeeded", 0)
    assert lost["digest"] == won["digest"]
    stale, fresh = named(act, run)
    assert stale == held
    assert len(fresh) == len(FILES)
    assert not fresh & held
    assert len(uploads(act)) == 2 * len(FILES)
    await invariants_hold(act, run)


async def test_a_file_that_vanishes_again_is_a_failure_like_any_other(desk):
    gone = {"kind": "error", "error": "file_missing", "repeat": True}
    act = await desk(gone)
    run = await act.start(AGENT | {"models": [CLAUDE, GPT]})
    asked = await eventually(lambda: run.query("intervention"))
    attempts = await records(run, "attempt")
    assert [attempt["outcome"]["failed"]["next"] for attempt in attempts] == ["renewed_files", "reported"]
    assert (asked["label"], asked["facts"]["kind"]) == ("RequestRejected", "file_missing")
    await run.signal("intervene", {"directive": "stop", "reason": "enough", "by": "ann"})
    assert (await run.result())["status"] == "stopped"


async def test_failover_uploads_first_and_no_vendor_ever_sees_anothers_file(desk):
    act = await desk({"kind": "error", "error": "auth"})
    run = await act.start(AGENT | {"models": [CLAUDE, GPT]})
    assert (await run.result())["status"] == "completed"
    (moved,) = await records(run, "failover")
    assert (moved["from_provider"], moved["to_provider"]) == ("anthropic", "responses")
    claude, gpt = named(act, run)
    assert len(claude) == len(gpt) == len(FILES)
    assert not claude & gpt
    *_, last = uploads(act)
    assert last.at <= requests_of(act, run)[1].at
    await invariants_hold(act, run)


async def test_an_upload_that_is_refused_is_the_attempts_failure_and_the_next_model_has_its_own(desk):
    act = await desk(uploads=["auth"])
    run = await act.start(AGENT | {"models": [CLAUDE, GPT]})
    assert (await run.result())["status"] == "completed"
    refused, won = await records(run, "attempt")
    assert (refused["outcome"]["failed"]["kind"], "outcome_unknown" in refused) == ("auth", False)
    assert refused["rule"].startswith("upload.")
    assert [request.attempt for request in requests_of(act, run)] == [won["id"]] == ["1.2.1"]
    assert [used["attempt_id"] for used in await records(run, "usage")] == [won["id"]]
    await invariants_hold(act, run)


async def test_neither_files_nor_their_names_enter_history(desk):
    """Only the agent that the starter passed inline names them."""
    act = await desk()
    run = await act.start(AGENT)
    await run.result()
    history = await run.fetch_history()
    later = b"".join(event.SerializeToString() for event in history.events[1:])
    assert not any(word in later for word in (b"MARKER", b"plan.png", b"file_"))


async def test_a_file_that_is_not_there_ends_the_run_in_one_line(desk):
    act = await desk()
    run = await act.start(AGENT | {"files": ["paper.pdf", "missing.pdf"]})
    with pytest.raises(WorkflowFailureError) as ended:
        await run.result()
    cause = ended.value.cause
    assert isinstance(cause, ApplicationError)
    assert (cause.type, cause.message) == (
        "InvalidSpec",
        "agent: files: missing.pdf does not exist; correct files, or what is in workspace docs",
    )
    assert not act.simulator.file_requests
