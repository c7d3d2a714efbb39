"""Runs that are given hostile input, through every door a stranger has (FAULTS 16, S4-S6, S9-S11).

One worker serves the module. That nothing secret leaves the store (S1) is in `test_history`; that a package swapped
for another is not installed (S11) is in `tests/test_house`.
"""

import asyncio
import importlib.metadata
import os
import re
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle, WorkflowUpdateFailedError
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from simulator.script import Script
from tests.faults.conftest import ROOT, TEXT, Stage, eventually, staged
from tests.faults.invariants import invariants_hold, no_workflow_task_failed, requests_of
from workflows.payloads import data_converter

MODELS = ["openai:gpt-5"]
AGENT = {"models": MODELS}
ONE_TRY = {"policy": {"calls": {"attempts": 1, "patience_s": 0}}}
NOTES = '[workspaces.notes]\nsource = "notes"\n'
NO_KEY = {"kind": "raw", "status": 401, "body": {}}
HOSTILE = (
    "x\n   9  12:00:00  the run completed\r\x1b[2J\x1b]0;owned\x07<script>alert(1)</script>[x](javascript:alert(1))|`y`"
)
"""A line break that forges a line, terminal control, a window title, HTML, a Markdown link, a table's bar."""
LEVELS = 100_000


@pytest.fixture(scope="module")
async def act(temporal_server: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    client = await Client.connect(temporal_server, data_converter=data_converter)
    folder = tmp_path_factory.mktemp("security")
    (folder / "notes").mkdir()
    (folder / "notes" / "inside.txt").write_text("inside\n")
    async with staged(client, temporal_server, folder, {}, NOTES) as stage:
        yield stage


def answers(act: Stage, *replies: dict[str, Any]) -> None:
    """What the model answers from here on."""
    act.simulator.use(Script.parse({"models": {"gpt-5": [*replies]}}))


async def asking(run: WorkflowHandle, label: str) -> dict[str, Any]:
    async def asks() -> dict[str, Any] | None:
        asked: dict[str, Any] | None = await run.query("intervention")
        return asked if asked and asked["label"] == label else None

    return await eventually(asks)


# ---- S4, S5: an agent cannot bring a URL, a command or a key


@dataclass
class Bait:
    """A server that nobody has a reason to connect to."""

    url: str
    connections: int = 0


@asynccontextmanager
async def bait() -> AsyncIterator[Bait]:
    laid = Bait(url="")

    def bitten(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        laid.connections += 1
        writer.close()

    server = await asyncio.start_server(bitten, "127.0.0.1", 0)
    async with server:
        laid.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield laid


BAIT = "BAIT-URL"
FORBIDDEN: dict[str, dict[str, Any]] = {
    "a base URL": AGENT | {"base_url": BAIT},
    "a base URL of a stage": {"stages": [{"name": "main", "models": MODELS, "base_url": BAIT}]},
    "a url": AGENT | {"url": BAIT},
    "a host": AGENT | {"host": "169.254.169.254"},
    "a proxy": AGENT | {"proxy": BAIT},
    "a provider of its own": AGENT | {"providers": {"openai": {"api": "openai-chat", "base_url": BAIT}}},
    "a model with an address": {"models": [{"provider": "openai", "model": "gpt-5", "base_url": BAIT}]},
    "an address as a model": {"models": [f"{BAIT}/v1:gpt-5"]},
    "a file as a model": {"models": ["file:///etc/passwd"]},
    "a path out of the provider's own": {"models": ["google:gemini/../../../admin"]},
    "an address among the limits": AGENT | {"limits": {"base_url": BAIT}},
    "an address in the policy": AGENT | {"policy": {"calls": {"url": BAIT}}},
    "a key": AGENT | {"api_key": "sk-stolen"},
    "headers": AGENT | {"headers": {"authorization": "Bearer stolen"}},
    "a command": AGENT | {"command": ["sh", "-c", "id"]},
    "a gate with a command": AGENT | {"gates": [{"name": "tests", "command": ["sh", "-c", "id"]}]},
    "a command as a gate": AGENT | {"gates": ["rm -rf /"]},
    "an import string as a tool": AGENT | {"tools": ["os:system"]},
    "a dotted path as a tool": AGENT | {"tools": ["subprocess.run"], "workspace": "notes"},
    "a tool with an import": AGENT | {"tools": [{"name": "x", "import": "os.system"}]},
    "a template": AGENT | {"template": "{{ config }}"},
    "a workspace by path": AGENT | {"workspace": "../notes"},
    "a workspace with a source": AGENT | {"workspace": {"name": "notes", "source": "/etc"}},
    "a file outside": AGENT | {"workspace": "notes", "files": ["../endstop.toml"]},
    "an absolute file": AGENT | {"workspace": "notes", "files": ["/etc/passwd"]},
}


def aimed(value: Any, url: str) -> Any:
    """The agent with its addresses pointing at the bait."""
    match value:
        case str():
            return value.replace(BAIT, url)
        case list():
            return [aimed(one, url) for one in value]
        case dict():
            return {key: aimed(one, url) for key, one in value.items()}
        case _:
            return value


@pytest.mark.parametrize("agent", FORBIDDEN.values(), ids=FORBIDDEN)
async def test_an_agent_that_brings_what_only_the_operator_declares_is_refused_before_any_socket(act, agent):
    before = len(act.simulator.requests)
    async with bait() as laid:
        run = await act.start(aimed(agent, laid.url))
        with pytest.raises(WorkflowFailureError) as failure:
            await run.result()
        assert (laid.connections, len(act.simulator.requests)) == (0, before)
    refusal = failure.value.cause
    assert isinstance(refusal, ApplicationError)
    assert (refusal.type, refusal.non_retryable) == ("InvalidSpec", True)
    assert "\n" not in refusal.message
    assert "stolen" not in refusal.message
    await no_workflow_task_failed(act, run)


async def test_a_redirect_takes_neither_key_nor_request_elsewhere(act):  # S4
    async with bait() as laid:
        answers(act, {"kind": "raw", "status": 307, "headers": {"location": f"{laid.url}/v1/chat/completions"}})
        run = await act.start(AGENT | ONE_TRY)
        await asking(run, "ModelsExhausted")
        assert laid.connections == 0
    await invariants_hold(act, run)
    await run.execute_update("answer", "stop")


async def test_text_that_looks_like_a_template_reaches_the_model_as_it_is(act):  # S5
    text = "{{ 7 * 7 }} ${HOME} {0.__class__} %(key)s $(id) <% 1 %>"
    answers(act, TEXT)
    run = await act.start(AGENT | {"instructions": f"you: {text}"}, f"do: {text}")
    await run.result()
    (request,) = requests_of(act, run)
    said = [message["content"] for message in request.body["messages"]]
    assert [words.split(": ", 1)[1] for words in map(str, said)] == [text, text]


# ---- S6: tools cannot leave the workspace


async def test_a_model_that_asks_for_files_outside_or_for_what_is_no_file_is_told_no_and_shown_nothing(act):
    secret = act.folder / "secret.txt"
    secret.write_text("zebra-secret\n")
    leaving = ["../.lock", "../../../../secret.txt", str(secret), "link.txt", "folder/secret.txt"]
    odd = ["zero", "pipe", "10 GB"]
    paths = [*leaving, *odd, "inside.txt"]
    asked = [{"name": "read_file", "arguments": {"path": path}} for path in paths]
    answers(act, {"kind": "tool_calls", "calls": asked, "held_until": "linked"}, TEXT)
    before = len(act.simulator.requests)
    run = await act.start(AGENT | {"tools": ["read_file"], "workspace": "notes"})
    await act.simulator.received(before + 1)  # the workspace is claimed; a command in it could make these
    claimed = act.folder / ".endstop" / "workspaces" / run.first_execution_run_id / "notes"
    (claimed / "link.txt").symlink_to(secret)
    (claimed / "folder").symlink_to(act.folder)
    (claimed / "zero").symlink_to("/dev/zero")
    os.mkfifo(claimed / "pipe")
    with (claimed / "10 GB").open("wb") as large:
        large.truncate(10 * 2**30)
    act.simulator.release("linked")
    assert (await run.result())["status"] == "completed"
    journal = await invariants_hold(act, run)
    (batch,) = [record for record in journal if record["type"] == "tools"]
    assert [call["status"] for call in batch["calls"]] == ["error"] * 8 + ["ok"]
    told = str(requests_of(act, run)[1].body)
    assert "zebra-secret" not in told
    assert "inside" in told
    assert (await endstop(act, "transcript", run.id)).find("zebra-secret") == -1


# ---- S9: JSON nested without end


def nested(before: bytes, after: bytes, levels: int = LEVELS) -> RawValue:
    """JSON as no honest client writes it."""
    data = before + b"[" * levels + b"]" * levels + after
    return RawValue(Payload(metadata={"encoding": b"json/plain"}, data=data))


STARTS: dict[str, list[Any]] = {
    "an agent without end": [nested(b'{"task": "x", "agent": ', b"}")],
    "a task without end": [nested(b'{"agent": {"models": ["openai:gpt-5"]}, "task": ', b"}")],
    "nothing but brackets": [nested(b"", b"")],
    "as deep as JSON is read": [nested(b'{"task": "x", "agent": ', b"}", 199)],
    "a little less deep": [nested(b'{"task": "x", "agent": ', b"}", 190)],
    "half an object": [RawValue(Payload(metadata={"encoding": b"json/plain"}, data=b'{"agent": {'))],
    "nothing at all": [RawValue(Payload(metadata={"encoding": b"json/plain"}, data=b""))],
    "two arguments": [{"agent": AGENT, "task": "x"}, "once more"],
    "two that cannot be read": [nested(b"", b""), nested(b"", b"")],
    "bytes": [b"agent"],
    "an encoding that nobody knows": [RawValue(Payload(metadata={"encoding": b"binary/secret"}, data=b"{}"))],
    "no encoding": [RawValue(Payload(data=b"{}"))],
}


@pytest.mark.parametrize("sent", STARTS.values(), ids=STARTS)
async def test_a_start_that_cannot_be_read_ends_in_one_clear_error(act, sent):
    requests = len(act.simulator.requests)
    run = await act.client.start_workflow("AgentWorkflow", args=sent, id=f"raw-{uuid4()}", task_queue=act.queue)
    with pytest.raises(WorkflowFailureError) as failure:
        await run.result()
    assert failure.value.cause.type == "InvalidSpec"
    assert "\n" not in failure.value.cause.message
    assert len(act.simulator.requests) == requests
    await no_workflow_task_failed(act, run)


async def test_messages_nested_without_end_change_nothing_and_the_run_goes_on(act):
    answers(act, NO_KEY, TEXT)
    run = await act.start(AGENT)
    asked = await asking(run, "ModelsExhausted")
    await run.signal("intervene", nested(b"", b""))
    await run.signal("intervene", nested(b'{"answer": "retry", "text": ', b"}"))
    await run.signal("no-such-signal", nested(b"", b""))
    await run.signal("intervene", RawValue(Payload(metadata={"encoding": b"binary/secret"}, data=b"retry")))
    with pytest.raises(WorkflowUpdateFailedError):
        await run.execute_update("answer", nested(b'{"answer": ', b"}"))
    assert await run.query("intervention") == asked
    await invariants_hold(act, run)
    await run.execute_update("answer", "retry")
    assert (await run.result())["status"] == "completed"
    await invariants_hold(act, run)


async def test_an_answer_nested_without_end_is_a_failed_attempt_like_any_other(act):
    deep = "[" * LEVELS + "]" * LEVELS
    calls = [{"name": "read_file", "arguments": deep}]
    answers(act, {"kind": "raw", "body": deep}, {"kind": "tool_calls", "calls": calls}, TEXT)
    run = await act.start(AGENT | ONE_TRY | {"tools": ["read_file"], "workspace": "notes"})
    await asking(run, "ModelsExhausted")
    await run.execute_update("answer", "retry")
    await eventually(lambda: settled(run))
    journal = await invariants_hold(act, run)
    first = next(record for record in journal if record["type"] == "attempt")
    assert first["outcome"]["failed"]["kind"] == "bad_output"
    await run.terminate()


async def settled(run: WorkflowHandle) -> bool:
    status = await run.query("status")
    return status["status"] in {"completed", "needs_human"} and status["attempts"] > 1


# ---- S10: what people and models write cannot steer a terminal, a log or the Web UI


async def endstop(act: Stage, *args: str, code: int = 0) -> str:
    """What a command prints, on both streams."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TEMPORAL_", "ENDSTOP_"))}
    command = (sys.executable, str(ROOT / "cli.py"), *args, "--address", act.address)
    process = await asyncio.create_subprocess_exec(*command, cwd=act.folder, env=clean, stdout=PIPE, stderr=PIPE)
    out, err = await process.communicate()
    assert process.returncode == code, err.decode()
    return (out + err).decode()


CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What a terminal obeys, but newline and tab."""
FORGED = re.compile(r"^ *9  12:00:00", re.MULTILINE)


async def test_what_people_and_models_write_steers_neither_terminal_nor_log_nor_web_ui(act):
    step = {"kind": "tool_calls", "text": HOSTILE, "calls": [{"name": "no_such_tool"}]}
    answers(act, step | {"held_until": "paused"}, step | {"held_until": "guided"}, TEXT)
    before = len(act.simulator.requests)
    run = await act.start(AGENT | {"instructions": HOSTILE}, HOSTILE)
    await act.simulator.received(before + 1)
    await run.signal("intervene", {"directive": "pause", "by": HOSTILE})
    act.simulator.release("paused")
    asked = await asking(run, "Paused")

    details = (await run.query("__temporal_workflow_metadata")).current_details
    assert "Paused" in details
    assert not CONTROL.search(details)
    assert "<script" not in details
    assert "](" not in details
    assert all(line.startswith("| ") and line.endswith(" |") for line in details.splitlines()[2:])
    shown = [await endstop(act, "show", run.id)]

    bound = {"intervention": asked["id"], "digest": asked["digest"]}
    await run.execute_update("answer", {"answer": "guide", "text": HOSTILE, "by": HOSTILE, **bound})
    await act.simulator.received(before + 2)
    await run.signal("intervene", {"directive": "stop", "reason": HOSTILE, "by": HOSTILE})
    assert (await run.result())["status"] == "stopped"
    await invariants_hold(act, run)

    journal = await endstop(act, "journal", run.id)
    shown += [journal, await endstop(act, "show", run.id), await endstop(act, "watch", run.id, code=1)]
    shown += [await endstop(act, "transcript", run.id), await endstop(act, "ls")]
    for text in shown:
        assert not CONTROL.search(text)
    for text in shown[:4]:  # a transcript shows texts of several lines as they are
        assert not FORGED.search(text)
    records = await run.query("journal", {"after": 0})
    assert len(re.findall(r"^ *\d+  ", journal, re.MULTILINE)) == len(records["records"])

    async def logged() -> list[bytes]:
        return [line for line in act.log if run.id.encode() in line and b'"finish"' in line]

    assert await eventually(logged)
    for words in (b"alert(1)", b"owned", b"\x1b"):
        assert words not in b"".join(act.log)


# ---- S11, 16


def test_no_package_of_the_lock_runs_code_whenever_python_starts():
    """LiteLLM 1.82.8 stole credentials from a `.pth` file, which needs no import (S11)."""
    locked = re.findall(r"^([a-z0-9.-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    installed = {re.sub(r"[-_.]+", "-", one.name).lower(): one for one in importlib.metadata.distributions()}
    known = [installed[name] for name in locked if name in installed]
    assert len(known) > len(locked) / 2
    assert [str(file) for one in known for file in one.files or () if file.suffix == ".pth"] == []


async def test_a_second_start_of_the_same_id_is_refused_while_the_run_goes_on_and_after_it_ended(act):  # FAULTS 16
    answers(act, TEXT | {"held_until": "started twice"})
    (act.folder / "agent.toml").write_text('models = ["openai:gpt-5"]\n')
    before = len(act.simulator.requests)
    start = ("start", "agent.toml", "--task", "x", "--id", "only-once")
    await endstop(act, *start)
    await act.simulator.received(before + 1)
    refused = [await endstop(act, *start, code=1)]
    act.simulator.release("started twice")
    described = await act.client.get_workflow_handle("only-once").describe()
    run = act.client.get_workflow_handle("only-once", first_execution_run_id=described.run_id)
    assert (await run.result())["status"] == "completed"
    refused.append(await endstop(act, *start, code=1))
    for line in refused:
        assert line.count("\n") == 1
        assert "a run 'only-once' exists already" in line
    await invariants_hold(act, run)
    assert len(act.simulator.requests) == before + 1
