"""Beyond Temporal's limits, readable by nobody, or gone (FAULTS 27, 30, 32, 33, 35, 41, 45; I1-I8)."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import (
    Client,
    WorkflowHandle,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import RawValue
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker

from commands.findings import Finding
from commands.runs import look
from commands.server import program
from commands.server_checks import failing_runs
from simulator.script import Script
from store import Store
from tests.faults.conftest import TEXT, Stage, eventually, records, staged
from tests.faults.invariants import invariants_hold, requests_of
from tests.faults.test_tools_elsewhere import Shop, calls, told
from workflows.payloads import data_converter

AGENT = {"models": ["openai:gpt-5"]}
STUCK = {"kind": "raw", "status": 401, "body": {}}
SHOP = Shop(queue="limits-shop", answers=["x" * 1_900_000])
BEYOND = 2_500_000
"""Characters; Temporal takes payloads of 2 MB."""


@pytest.fixture(scope="module")
async def act(temporal_server: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """One worker for all tests of this module, and one of another team's."""
    client = await Client.connect(temporal_server, data_converter=data_converter)
    folder = tmp_path_factory.mktemp("limits")
    async with (
        staged(client, temporal_server, folder, {}, SHOP.settings()) as stage,
        Worker(client, task_queue=SHOP.queue, activities=[SHOP.refund_order]),
    ):
        yield stage


async def begun(act: Stage, *replies: dict[str, Any], **agent: Any) -> WorkflowHandle[Any, Any]:
    act.simulator.use(Script.parse({"models": {"gpt-5": [*replies]}}))
    return await act.start(AGENT | agent)


async def asking(act: Stage) -> tuple[WorkflowHandle[Any, Any], dict[str, Any]]:
    """A run whose only model refuses its key, and its question."""
    run = await begun(act, STUCK, TEXT)
    return run, await eventually(lambda: run.query("intervention"))


async def goes_on(act: Stage, run: WorkflowHandle[Any, Any]) -> None:
    """A person answers, and the run completes."""
    await run.signal("intervene", "retry")
    assert (await run.result())["status"] == "completed"
    await invariants_hold(act, run)


# ---- too large


async def test_an_answer_beyond_temporals_limit_is_kept_whole_and_never_enters_history(act):  # FAULTS 27
    run = await begun(act, {"kind": "text", "text": "z" * BEYOND})
    result = await run.result()
    assert result["status"] == "completed"
    assert len(result["answer"]) < 20_000
    store = await Store.open(f"sqlite:///{act.folder / '.endstop' / 'store.db'}")
    conversation = await store.latest(run.first_execution_run_id)
    assert b"z" * BEYOND in (await store.read(conversation))[-1]
    await store.close()
    await invariants_hold(act, run)


@pytest.mark.parametrize("lengths", [(BEYOND,), (500_000, 500_000, 500_000)], ids=["one call", "three together"])
async def test_arguments_that_no_payload_can_carry_go_back_to_the_model(act, lengths):  # FAULTS 28
    given = (json.dumps({"order": 7, "why": "y" * length}) for length in lengths)
    before = len(SHOP.asked)
    run = await begun(act, calls(*given), TEXT, tools=["refund"])
    assert (await run.result())["status"] == "completed"
    assert told(act).count("arguments of refund: too long") == 1
    assert len(SHOP.asked) - before == len(lengths) - 1
    await invariants_hold(act, run)


async def test_a_result_of_another_worker_up_to_temporals_limit_is_cut_for_the_model(act):  # FAULTS 27
    run = await begun(act, calls('{"order": 7}'), TEXT, tools=["refund"])
    assert (await run.result())["status"] == "completed"
    assert "the whole result is stored as" in told(act)
    await invariants_hold(act, run)


async def test_a_word_beyond_temporals_limit_is_refused_to_its_sender_and_the_run_still_asks(act):  # FAULTS 32
    run, asked = await asking(act)
    with pytest.raises(RPCError):
        await run.signal("intervene", {"answer": "retry", "text": "x" * BEYOND})
    assert await run.query("intervention") == asked
    await goes_on(act, run)


async def test_an_update_beyond_temporals_limit_stops_the_run_which_is_told_and_goes_on_after_a_reset(
    act, temporal_server
):  # FAULTS 32
    run, asked = await asking(act)
    with pytest.raises(WorkflowUpdateRPCTimeoutOrCancelledError):
        await run.execute_update("answer", {"answer": "retry", "text": "x" * BEYOND}, rpc_timeout=timedelta(seconds=1))
    store = await Store.open(f"sqlite:///{act.folder}/.endstop/store.db")

    async def said() -> tuple[str, ...]:
        told = (await look(act.client, store, run.id)).notices
        return told if "stands still" in told[0] else ()

    assert "its workflow task has failed 2 times" in (await eventually(said))[0]
    await store.close()
    (found,) = await eventually(lambda: failing(act, run.id))
    assert found.verdict == "wrong"
    why = ("--type", "LastWorkflowTask", "--reason", "an update beyond 2 MB", "--address", temporal_server)
    reset = await asyncio.create_subprocess_exec(
        program(), "workflow", "reset", "--workflow-id", run.id, *why, stdout=asyncio.subprocess.DEVNULL
    )
    assert await reset.wait() == 0
    again: WorkflowHandle[Any, Any] = act.client.get_workflow_handle(run.id)
    assert (await again.query("intervention"))["digest"] == asked["digest"]
    assert (await again.query("status"))["conversation"].startswith(f"{run.first_execution_run_id}/")
    await again.signal("intervene", "retry")
    assert (await again.result())["status"] == "completed"
    assert len(requests_of(act, run)) == len(await records(again, "attempt")) == 2


async def failing(act: Stage, run: str) -> list[Finding]:
    """What the doctor says of runs that stand still, once the server's index has this one."""
    return [found for found in await failing_runs(act.client) if run in found.found]


# ---- unreadable


@pytest.mark.parametrize(
    "payload",
    [
        Payload(metadata={"encoding": b"binary/encrypted", "encryption-key-id": b"k1"}, data=b"\x00sealed"),
        Payload(metadata={"encoding": b"json/external-storage-reference"}, data=b'{"driver": "file", "path": "/etc"}'),
        Payload(metadata={"encoding": b"json/plain"}, data=b"{ no json"),
        Payload(data=b"?"),
    ],
    ids=["sealed with a key nobody has", "a claim on a file", "no JSON", "of no encoding"],
)
async def test_what_nobody_can_read_is_recorded_as_refused_and_the_run_still_asks(act, payload):  # FAULTS 31, 33
    run, asked = await asking(act)
    await run.signal("intervene", RawValue(payload))
    with pytest.raises(WorkflowUpdateFailedError):
        await run.execute_update("answer", RawValue(payload))
    assert await run.query("intervention") == asked
    refused = await records(run, "refused")
    assert [(record["door"], record["reason"]) for record in refused] == [("signal", "malformed")]
    await goes_on(act, run)


# ---- too many

SIGNALS, UPDATES, AT_ONCE, IN_FLIGHT = 10_001, 2_001, 100, 10
"""Temporal takes 10,000 signals and 2,000 updates an execution, and 10 updates of a run at the same time."""


@pytest.mark.full
@pytest.mark.timeout(900)
async def test_more_words_than_an_execution_may_have_lose_no_question_and_break_no_run(act):  # FAULTS 30, 35
    run, asked = await asking(act)

    async def heard() -> None:
        """Temporal refuses signals beyond an execution's limit to their sender, until the run is in a new execution."""
        while True:
            try:
                return await run.signal("intervene", {"answer": "retry", "digest": "0"})
            except RPCError as refusal:
                if refusal.status is not RPCStatusCode.INVALID_ARGUMENT:
                    raise
                await asyncio.sleep(1)  # a hundred senders that hammer the server keep the worker from its turn

    for _ in range(0, SIGNALS, AT_ONCE):
        await asyncio.gather(*(heard() for _ in range(AT_ONCE)))

    async def refused() -> Any:
        with pytest.raises(WorkflowUpdateFailedError):
            await run.execute_update("answer", {"answer": "raise"})

    for _ in range(0, UPDATES, IN_FLIGHT):
        await asyncio.gather(*(refused() for _ in range(IN_FLIGHT)))
    assert await run.query("intervention") == asked
    await goes_on_over_executions(act, run)


async def goes_on_over_executions(act: Stage, run: WorkflowHandle[Any, Any]) -> None:
    await run.signal("intervene", "retry")
    assert (await run.result())["status"] == "completed"
    assert len([found async for found in act.client.list_workflows(f'WorkflowId="{run.id}"')]) > 1
    store = await Store.open(f"sqlite:///{act.folder / '.endstop' / 'store.db'}")
    journal = await store.read_journal(run.first_execution_run_id)
    await store.close()
    assert [entry["seq"] for entry in journal] == list(range(1, len(journal) + 1))
    sent = -(-SIGNALS // AT_ONCE) * AT_ONCE
    assert [entry["type"] for entry in journal].count("refused") == sent  # no signal was lost
    assert len(requests_of(act, run)) == 2


# ---- gone


async def test_content_that_is_gone_costs_no_call_and_ends_in_a_question_until_it_is_back(act):  # FAULTS 41
    run = await begun(act, {"kind": "hang"}, TEXT, policy={"calls": {"attempts": 2, "patience_s": 0}})
    await act.simulator.received(sent := len(act.simulator.requests) + (not requests_of(act, run)))
    await act.kill()
    lost = _taken("DELETE FROM contents RETURNING ref, body, at", act)
    await act.work()
    asked = await eventually(lambda: run.query("intervention"))
    assert asked["label"] == "ModelsExhausted"
    journal = await invariants_hold(act, run)
    kinds = [record["rule"] for record in journal if record["type"] == "attempt"]
    assert kinds == ["temporal.heartbeat", "temporal.activity.ContentMissing"]
    assert len(act.simulator.requests) == sent
    _taken("INSERT INTO contents (ref, body, at) VALUES (?, ?, ?)", act, lost)
    await goes_on(act, run)


def _taken(statement: str, act: Stage, rows: list[Any] | None = None) -> list[Any]:
    connection = sqlite3.connect(act.folder / ".endstop" / "store.db")
    with connection:
        found = connection.executemany(statement, rows) if rows else connection.execute(statement)
        taken = [] if rows else found.fetchall()
    connection.close()
    return taken


async def test_the_journal_and_the_transcript_outlive_the_run_in_temporal(act):  # FAULTS 45
    run = await begun(act, TEXT)
    await run.result()
    journal = await invariants_hold(act, run)
    request = DeleteWorkflowExecutionRequest(namespace=act.client.namespace)
    request.workflow_execution.workflow_id = run.id
    await act.client.workflow_service.delete_workflow_execution(request)

    async def gone() -> bool:
        try:
            await run.describe()
        except RPCError:
            return True
        return False

    await eventually(gone)
    store = await Store.open(f"sqlite:///{act.folder / '.endstop' / 'store.db'}")
    (kept,) = await store.runs_of(run.id)
    assert await store.read_journal(kept.conversation) == journal
    assert b"done" in (await store.read(await store.latest(kept.conversation)))[-1]
    await store.close()
