"""A run that went on in new executions is one run to people: in its journal, on its page, in its transcript, replayed.

Real server that suggests to continue after forty events, worker process, simulated models over HTTP.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from subprocess import DEVNULL, Popen
from typing import Any

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client

from commands.server import DevServer, answers, arguments, free_port, program
from simulator.script import Script
from tests.test_cli_run import Models, Stage
from workflows import carrying_out

TURNS = 14
AGENT = 'name = "{0}"\nmodels = ["openai:{0}"]\ntools = ["step", "ask_person"]\n'
TOOLS = '[tools.step]\nfunction = "stepping:step"\n'
STEP = 'def step(n: int) -> str:\n    """Go one step."""\n    return f"step {n} is done"\n'
BROKEN = {
    "kind": "raw",
    "status": 529,
    "headers": {"retry-after": "0"},
    "body": "The mill is broken.\nKey key-marker-0815 was \x1b[2Jread.",
}
ASK = {"kind": "tool_calls", "calls": [{"name": "ask_person", "arguments": {"question": "Which?"}}]}


def step(number: int) -> dict[str, Any]:
    return {"kind": "tool_calls", "calls": [{"name": "step", "arguments": {"n": number}}]}


SCRIPT = {
    "long": [BROKEN, *(step(number) for number in range(1, TURNS)), {"kind": "text", "text": "all steps are done"}],
    "asking": [ASK],
}


@pytest.fixture(scope="module")
def restless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that suggests to continue as new after forty events."""
    server = DevServer(port=free_port(), log=tmp_path_factory.mktemp("restless") / "server.log")
    soon = ["--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=40"]
    with Popen([program(), *arguments(server), *soon], stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL) as process:
        while not asyncio.run(answers(server.address)):
            assert process.poll() is None
        yield server.address
        process.terminate()


@pytest.fixture(scope="module")
def stage(restless: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("continued")
    models = Models(Script.parse({"models": SCRIPT}))
    for name in SCRIPT:
        (folder / f"{name}.toml").write_text(AGENT.format(name))
    (folder / "stepping.py").write_text(STEP)
    provider = f'[providers.openai]\napi = "openai-chat"\nbase_url = "{models.url}/v1"\nkey_env = "OPENAI_API_KEY"\n'
    (folder / "endstop.toml").write_text(f'task_queue = "continued"\n{provider}{TOOLS}')
    stage = Stage(restless, folder, models)
    worker = stage.begin("worker")
    for name in SCRIPT:
        assert stage.endstop("start", f"{name}.toml", "--task", "take the steps", "--id", name).code == 0
    assert stage.endstop("watch", "long").code == 0
    while not stage.endstop("ls", "--needs-human", "-o", "json").json:
        assert worker.poll() is None
    yield stage
    worker.terminate()
    worker.communicate()
    models.close()


def executions(stage: Stage) -> list[str]:
    """The run ids of the long run, the oldest first."""

    async def found(handle: Any) -> list[str]:
        client = await Client.connect(stage.address)
        listed = [(one.start_time, one.run_id) async for one in client.list_workflows(f"WorkflowId = '{handle.id}'")]
        return [run_id for _, run_id in sorted(listed)]

    ids: list[str] = stage.ask("long", found)
    return ids


def test_the_journal_is_whole_and_in_order_across_executions(stage: Stage) -> None:
    assert len(executions(stage)) > 2
    records = stage.endstop("journal", "long", "-o", "json").json["records"]
    assert [record["seq"] for record in records] == list(range(1, len(records) + 1))
    assert [record["what"] for record in records if record["type"] == "run"] == [
        "began",
        *["continued"] * (len(executions(stage)) - 1),
        "completed",
    ]
    turns = [record["turn"] for record in records if record["type"] == "attempt"]
    assert turns == [1, *range(1, TURNS + 1)]
    told = stage.endstop("journal", "long").out
    assert told.count("the run went on in a new execution") == len(executions(stage)) - 1
    assert told.count("tools: step ok") == TURNS - 1


def test_the_page_counts_what_all_executions_did(stage: Stage) -> None:
    (row,) = stage.endstop("show", "long", "-o", "json").json["targets"]
    assert (row["attempts"], row["failed"]) == (TURNS + 1, {"overloaded": 1})


def test_the_transcript_holds_the_whole_conversation(stage: Stage) -> None:
    text = stage.endstop("transcript", "long").out
    assert "take the steps" in text
    assert re.findall(r"step (\d+) is done", text) == [str(number) for number in range(1, TURNS)]
    assert "all steps are done" in text


def test_what_a_provider_said_of_a_failure_is_shown_on_demand_without_the_key(stage: Stage) -> None:
    assert "The mill is broken" not in stage.endstop("journal", "long").out
    lines = stage.endstop("journal", "long", "--details").out.splitlines()
    at = next(number for number, line in enumerate(lines) if "failed overloaded" in line)
    assert lines[at + 1].strip() == "| The mill is broken."
    assert lines[at + 2].strip().startswith("| Key ")
    assert "\\x1b[2J" in lines[at + 2]
    assert "key-marker" not in "\n".join(lines)
    details = stage.endstop("journal", "long", "--details", "-o", "json").json["details"]
    assert list(details) == ["1.1.1"]


def test_a_run_that_can_go_on_with_this_code_replays_with_all_its_executions(stage: Stage) -> None:
    done = stage.endstop("replay", "long")
    assert (done.code, done.err) == (0, "")
    assert re.fullmatch(rf"long replays \({len(executions(stage))} executions, \d+ events\)\n", done.out)
    one = stage.endstop("replay", "long", "--run-id", executions(stage)[1], "-o", "json")
    assert [found["run_id"] for found in one.json["executions"]] == [executions(stage)[1]]


def test_a_changed_decision_is_found_before_the_deploy(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carrying_out, "RECORD_VERSION", "0")
    done = stage.endstop("replay", "asking")
    assert (done.code, done.err) == (1, "")
    assert done.out == "asking diverges: at turn 1, call 1, attempt 1 this code decides otherwise than the run did\n"
    several = stage.endstop("replay", "long")
    assert several.code == 1
    assert several.out.startswith(f"long diverges in its execution {executions(stage)[-1]}: at ")


def test_code_that_fails_on_a_history_is_told_with_its_error(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("no such\nrecord")

    monkeypatch.setattr(carrying_out, "decision_id", broken)
    done = stage.endstop("replay", "asking")
    assert (done.code, done.out) == (1, "asking diverges: this code fails on it: ValueError: no such record\n")


def test_every_run_under_way_is_replayed_on_demand_and_no_other(stage: Stage) -> None:
    done = stage.endstop("replay", "--all")
    assert (done.code, len(done.out.splitlines())) == (0, 1)
    assert done.out.startswith("asking replays (1 execution, ")


def test_an_exported_history_is_replayed_without_a_server(stage: Stage) -> None:
    async def exported(handle: Any) -> str:
        return (await handle.fetch_history()).to_json()

    (stage.folder / "asking.json").write_text(stage.ask("asking", exported))
    done = stage.endstop("replay", "--file", str(stage.folder / "asking.json"))
    assert done.code == 0
    assert done.out.startswith("asking replays (1 execution, ")


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        ((), 2, "replay what? give the ID of a run, --file FILE, or --all"),
        (("long", "--all"), 2, "replay what?"),
        (("--all", "--run-id", "x"), 2, "--run-id names one execution of a run: give the run's ID too"),
        (("nobody",), 1, "run 'nobody': "),
        (("--file", "nowhere.json"), 2, "nowhere.json: cannot be read"),
        (("--file", "stepping.py"), 2, "stepping.py: is no history of a run; expected what `temporal workflow show"),
        (("--file", "empty.json"), 2, "empty.json: is no history of a run from its beginning"),
        (("--file", "foreign.json"), 1, "foreign.json: is a run of Other, not of AgentWorkflow"),
    ],
)
def test_what_cannot_be_replayed_is_refused_in_one_line(
    stage: Stage, args: tuple[str, ...], code: int, words: str
) -> None:
    (stage.folder / "empty.json").write_text('{"events": []}')
    began = {"eventType": "EVENT_TYPE_WORKFLOW_EXECUTION_STARTED", "eventId": "1"}
    began["workflowExecutionStartedEventAttributes"] = {"workflowType": {"name": "Other"}}
    (stage.folder / "foreign.json").write_text(json.dumps({"events": [began]}))
    done = stage.endstop("replay", *args)
    assert (done.code, done.out) == (code, "")
    (line,) = done.err.splitlines()
    assert words in line


def test_the_store_has_the_whole_run_when_temporal_has_none_of_it(stage: Stage) -> None:
    before = stage.endstop("journal", "long", "-o", "json").json["records"]

    async def forgotten(handle: Any) -> None:
        client = await Client.connect(stage.address)
        for run_id in executions_of:
            execution = WorkflowExecution(workflow_id=handle.id, run_id=run_id)
            request = DeleteWorkflowExecutionRequest(namespace="default", workflow_execution=execution)
            await client.workflow_service.delete_workflow_execution(request)

    executions_of = executions(stage)
    stage.ask("long", forgotten)
    while "Temporal no longer has this run" not in stage.endstop("journal", "long").err:
        pass  # it deletes in the background
    assert stage.endstop("journal", "long", "-o", "json").json["records"] == before
    assert stage.endstop("show", "long", "-o", "json").json["targets"][0]["attempts"] == TURNS + 1
    assert stage.endstop("transcript", "long").out.count("is done") == TURNS - 1
