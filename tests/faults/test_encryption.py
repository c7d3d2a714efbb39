"""With encryption on a run that says the same words in every place that holds content leaves them nowhere in clear.

Keys that are missing and payloads that are forged (FAULTS 33, 40) are in `tests/workflows/test_keys.py`.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from temporalio import activity
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionRequest
from temporalio.client import Client, WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.worker import Replayer, Worker

from commands.connect import Where
from commands.opening import Setup
from commands.outputs import show_output
from commands.reading import print_transcript, show_journal
from encryption import CLEAR, Keys, new_key
from tests.faults.conftest import Stage, eventually, staged
from workflows.agent import AgentWorkflow
from workflows.codec import converter_with

CANARY = "CANARY-0c55fa"
KEY = new_key()
ON = '[encryption]\nkeys_env = "CONTENT_KEYS"\n'
REFUSED = {"kind": "raw", "status": 401, "body": {"error": {"message": f"no key {CANARY}", "type": "x"}}}


def calls(name: str, **arguments: Any) -> dict[str, Any]:
    return {"kind": "tool_calls", "calls": [{"name": name, "arguments": arguments}]}


SCRIPT = {
    "models": {
        "gpt-5": [REFUSED],
        "claude-x": [
            calls("look", place=CANARY),
            calls("refund", order=CANARY),
            calls("refund", order=f"{CANARY} again"),
            calls("ask_person", question=f"{CANARY}?", options=[f"{CANARY} or not", "other"]),
            {"kind": "text", "text": f"{CANARY} first"},
            {"kind": "text", "text": f"{CANARY} second"},
        ],
    }
}
GATE = f"import os, pathlib, sys; sys.exit(0 if os.path.exists('s') else (pathlib.Path('s').touch(), '{CANARY}')[1])"
"""Fails once, and says so."""


class Shop:
    """Another team's worker."""

    def __init__(self) -> None:
        self.queue = f"shop-{uuid4().hex[:8]}"
        self.asked: list[Any] = []

    @activity.defn(name="RefundOrder")
    async def refund_order(self, order: dict[str, Any]) -> dict[str, str]:
        self.asked.append(order["order"])
        if len(self.asked) > 1:
            raise ApplicationError(f"{CANARY} is refunded already", {"order": CANARY}, non_retryable=True)
        return {"refunded": CANARY}


def settings(shop: Shop, top: str) -> str:
    return (
        f'{top}[tools.look]\nfunction = "clocks:look"\n'
        f'[tools.refund]\nactivity = "RefundOrder"\ntask_queue = "{shop.queue}"\ndescription = "Refund an order"\n'
        'parameters = { type = "object", properties = { order = { type = "string" } } }\n'
        f'[gates.seen]\ncommand = ["python", "-c", "{GATE}"]\ntimeout_s = 20\n'
        '[workspaces.app]\nsource = "app"\n'
    )


@asynccontextmanager
async def working(address: str, folder: Path, shop: Shop, keys: Keys) -> AsyncIterator[Stage]:
    """A worker of ours and one of another team's, with the keys that it finds in the environment."""
    (folder / "app").mkdir()
    tool = 'def look(place: str) -> str:\n    """Look."""\n    return f"looked at {place}"\n'
    (folder / "clocks.py").write_text(tool)
    client = await Client.connect(address, data_converter=converter_with(keys))
    declared = settings(shop, ON if keys.newest else "")
    async with (
        staged(client, address, folder, SCRIPT, declared, 'sandbox = "none"') as stage,
        Worker(client, task_queue=shop.queue, activities=[shop.refund_order]),
    ):
        yield stage


async def say_everything(act: Stage) -> WorkflowHandle:
    """A run whose content stands in every place that there is."""
    agent = {
        "models": ["openai:gpt-5", "anthropic:claude-x"],
        "instructions": f"you are {CANARY}",
        "tools": ["look", "refund", "ask_person"],
        "gates": ["seen"],
        "workspace": "app",
        "policy": {"capture": True},
    }
    run = await act.start(agent, f"{CANARY} is the task")

    async def asks() -> dict[str, Any] | None:
        asked: dict[str, Any] | None = await run.query("intervention")
        return asked if asked and asked["label"] == "Question" else None

    asked = await eventually(asks)
    assert CANARY in str(asked)
    bound = {"intervention": asked["id"], "digest": asked["digest"]}
    await run.signal("intervene", {"directive": "guide", "text": f"{CANARY} guides"})
    await run.execute_update("answer", {"answer": "reply", "text": f"{CANARY} replies", **bound})
    result = await run.result()
    assert (result["status"], result["answer"]) == ("completed", f"{CANARY} second")
    return run


async def history_of(address: str, run: WorkflowHandle) -> bytes:
    """All that Temporal has of a run, as somebody without keys gets it: payloads, failures, summaries, details."""
    stranger = await Client.connect(address)
    events = (await stranger.get_workflow_handle(run.id).fetch_history()).events
    request = DescribeWorkflowExecutionRequest(namespace="default")
    request.execution.workflow_id = run.id
    described = await stranger.workflow_service.describe_workflow_execution(request)
    return b"".join(message.SerializeToString() for message in (*events, described))


def everywhere(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in (folder / ".endstop").glob("store.db*"))


OFF = pytest.param(CLEAR, id="off", marks=pytest.mark.full)
"""That the words would be found; a few seconds that only `--full` spends."""


@pytest.mark.parametrize("keys", [pytest.param(Keys.parse(KEY), id="on"), OFF])
async def test_with_the_setting_neither_history_nor_store_nor_log_holds_clear_text(
    temporal_server, tmp_path, monkeypatch, capsys, keys
):
    monkeypatch.setenv("CONTENT_KEYS", KEY)
    shop = Shop()
    async with working(temporal_server, tmp_path, shop, keys) as act:
        run = await say_everything(act)
        history = await history_of(temporal_server, run)
        if keys.newest:
            await it_can_be_read_and_replayed(act, run, capsys)
        await act.rest()
    assert shop.asked == [CANARY, f"{CANARY} again"]
    stored, log, canary = everywhere(tmp_path), b"".join(act.log), CANARY.encode()
    assert canary not in log
    assert KEY.encode() not in log + history + stored
    assert (canary in history, canary in stored) == (not keys.newest, not keys.newest)
    assert (b"binary/encrypted" in history) == bool(keys.newest)


async def it_can_be_read_and_replayed(act: Stage, run: WorkflowHandle, capsys: pytest.CaptureFixture[str]) -> None:
    replayer = Replayer(workflows=[AgentWorkflow], data_converter=act.client.data_converter)
    await replayer.replay_workflow(await run.fetch_history())
    setup = Setup(where=Where(address=act.address), settings=act.folder / "endstop.toml")
    await print_transcript(setup, run.id, None, redact=False, force=False)
    conversation = capsys.readouterr().out
    await show_output(setup, run.id, None)
    output = capsys.readouterr().out
    await show_journal(setup, run.id, 0, with_details=True)
    for word in ("is the task", "replies", "guides", "is refunded already", "first", "second"):
        assert f"{CANARY} {word}" in conversation
    assert CANARY in output
    assert f"no key {CANARY}" in capsys.readouterr().out
