"""What a run leaves in Temporal: small, summarised, listed, and nothing of its content."""

import json
from pathlib import Path

from temporalio.api.workflowservice.v1 import ListWorkflowExecutionsRequest

from simulator.script import Script
from tests.faults.conftest import ROOT, TEXT, eventually

EXAMPLE = ROOT / "examples" / "fix-tests"
READS = [
    {"kind": "tool_calls", "calls": [{"name": "read_file", "arguments": {"path": "notes.txt", "start_line": i + 1}}]}
    for i in range(20)
]
WORKSPACE = '[workspaces.notes]\nsource = "notes"\n'
AGENT = {"models": ["openai:gpt-5"], "tools": ["read_file"], "workspace": "notes"}


def notes_in(folder: Path) -> None:
    (folder / "notes").mkdir()
    (folder / "notes" / "notes.txt").write_text("".join(f"line {i} {'x' * 80}\n" for i in range(25)))


async def test_a_turn_of_one_call_and_one_tool_takes_at_most_three_kilobytes(stage, tmp_path):
    notes_in(tmp_path)
    act = await stage({"models": {"gpt-5": [*READS, TEXT]}}, WORKSPACE)
    run = await act.start(AGENT)
    result = await run.result()
    assert (result["status"], result["answer"], result["turns"]) == ("completed", "done", 21)
    history = await run.fetch_history()
    size = sum(event.ByteSize() for event in history.events)
    assert size / result["turns"] <= 3_000
    assert len(history.events) / result["turns"] <= 14


async def test_a_turn_whose_tool_is_quick_and_needs_no_workspace_takes_at_most_eight_events(stage, tmp_path):
    (tmp_path / "clocks.py").write_text(
        '''def look(place: str) -> str:\n    """Say what is there."""\n    return place\n'''
    )
    tool = '[tools.look]\nfunction = "clocks:look"\nidempotent = true\ntimeout_s = 5\n'
    looks = [
        {"kind": "tool_calls", "calls": [{"name": "look", "arguments": {"place": f"shelf {i}"}}]} for i in range(20)
    ]
    act = await stage({"models": {"gpt-5": [*looks, TEXT]}}, tool)
    run = await act.start({"models": ["openai:gpt-5"], "tools": ["look"]})
    result = await run.result()
    assert (result["status"], result["turns"]) == ("completed", 21)
    assert "shelf 19" in str(act.simulator.requests[-1].body)
    events = (await run.fetch_history()).events
    assert len(events) / result["turns"] <= 8
    assert sum(event.ByteSize() for event in events) / result["turns"] <= 3_000


async def test_a_retry_takes_at_most_seven_events_after_a_short_wait_and_twelve_after_a_long_one(stage):
    def limited(seconds: int) -> dict[str, object]:
        headers = {"retry-after": str(seconds)}
        return {"kind": "raw", "status": 429, "headers": headers, "body": {"error": {"message": "slow down"}}}

    async def events(*replies: dict[str, object]) -> int:
        act.simulator.use(Script.parse({"models": {"gpt-5": [*replies, TEXT]}}))
        run = await act.start({"models": ["openai:gpt-5"]})
        assert (await run.result())["status"] == "completed"
        return len((await run.fetch_history()).events)

    act = await stage({"models": {"gpt-5": [TEXT]}})
    plain = await events()
    assert await events(limited(1)) - plain <= 7
    assert await events(limited(6)) - plain <= 12


async def test_neither_prompt_nor_answer_nor_error_nor_key_leaves_the_store(stage, tmp_path):  # FAULTS S1, A20
    marker = "zebra-marker"
    error = {"kind": "raw", "status": 401, "body": {"error": {"message": f"bad key {marker}", "type": "x"}}}
    answer = {"kind": "text", "text": f"{marker} said the model"}
    act = await stage({"models": {"gpt-5": [error], "claude-x": [answer]}})
    from store import Store

    store = await Store.open(f"sqlite:///{act.folder / '.endstop' / 'store.db'}")
    agent = {"models": ["openai:gpt-5", "anthropic:claude-x"], "instructions": f"you are {marker}"}
    task, by_ref = await store.put(f"{marker} is the task"), await store.put(json.dumps(agent))
    run = await act.start({"ref": by_ref}, {"ref": task})
    await run.result()
    history = b"".join(event.SerializeToString() for event in (await run.fetch_history()).events)
    journal = json.dumps(await run.query("journal", {"after": 0}))
    status = json.dumps([await run.query("status"), await run.query("ledger")])
    await act.rest()
    for place in (history, journal.encode(), status.encode(), b"".join(act.log)):
        assert marker.encode() not in place
        assert b"key-marker-0815" not in place
    stored = b"".join(path.read_bytes() for path in (act.folder / ".endstop").glob("store.db*"))
    assert marker.encode() in stored
    assert b"key-marker-0815" not in stored
    await store.close()


async def test_a_run_that_needs_a_person_is_listed_and_says_in_the_web_ui_how_to_answer(stage, client):
    act = await stage({"models": {"gpt-5": [{"kind": "raw", "status": 401, "body": {}, "repeat": True}]}})
    run = await act.start({"models": ["openai:gpt-5"]})
    query = f'EndstopStatus="needs_human" AND EndstopIntervention="ModelsExhausted" AND WorkflowId="{run.id}"'

    async def listed() -> int:
        request = ListWorkflowExecutionsRequest(namespace="default", query=query)
        return len((await client.workflow_service.list_workflow_executions(request)).executions)

    assert await eventually(listed) == 1
    asked = await run.query("intervention")
    shown = str(await run.query("__temporal_workflow_metadata"))
    assert "ModelsExhausted" in shown
    assert asked["digest"] in shown
    for handler in ("intervene", "answer", "status", "intervention", "ledger", "journal"):
        assert handler in shown
    await run.execute_update("answer", "stop")
    assert (await run.result())["status"] == "stopped"


async def test_plain_temporal_commands_do_the_same(stage, temporal_server, tmp_path):
    import asyncio
    import sysconfig

    act = await stage(
        {"models": {"gpt-5": [{"kind": "raw", "status": 401, "body": {}}, {"kind": "text", "text": "the answer"}]}}
    )

    async def temporal(*args: str) -> str:
        binary = str(Path(sysconfig.get_path("scripts")) / "temporal")
        process = await asyncio.create_subprocess_exec(
            binary,
            "workflow",
            *args,
            "--address",
            temporal_server,
            "--workflow-id",
            "by-hand",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        out, _ = await process.communicate()
        assert process.returncode == 0, out.decode()
        return out.decode()

    given = '{"agent": {"models": ["openai:gpt-5"]}, "task": "say something"}'
    await temporal("start", "--type", "AgentWorkflow", "--task-queue", act.queue, "--input", given)

    async def asks() -> bool:
        return "ModelsExhausted" in await temporal("query", "--type", "intervention")

    await eventually(asks)
    await temporal("signal", "--name", "intervene", "--input", '"retry"')
    assert "the answer" in await temporal("result")
    assert '"completed"' in await temporal("query", "--type", "status", "-o", "json")
