"""Runs whose payloads are encrypted, on a real server: what is forged is refused, a key that is away is waited for."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle, WorkflowQueryFailedError, WorkflowUpdateFailedError
from temporalio.common import RawValue
from temporalio.worker import Replayer, Worker

from encryption import CLEAR, Keys
from ledger.failures import FailureKind
from tests.faults.conftest import eventually, records
from tests.workflows.conftest import AGENT
from tests.workflows.scripted import World, answered, refused
from workflows.agent import AgentWorkflow
from workflows.codec import converter_with

OLD, NEW, BOTH = Keys([b"o" * 32]), Keys([b"n" * 32]), Keys([b"n" * 32, b"o" * 32])
STUCK = refused(FailureKind.AUTH)
Begin = Callable[..., AsyncIterator[Worker]]


@pytest.fixture
def working(temporal_server) -> Begin:
    """A worker with these keys, of a task queue of this test's."""
    queue = f"keys-{uuid4().hex[:8]}"

    @asynccontextmanager
    async def with_keys(keys: Keys, world: World, **options: object) -> AsyncIterator[Worker]:
        client = await Client.connect(temporal_server, data_converter=converter_with(keys))
        given = {"workflows": [AgentWorkflow], "activities": world.activities()} | options
        async with Worker(client, task_queue=queue, **given) as worker:  # type: ignore[arg-type]
            yield worker

    return with_keys


async def begin(worker: Worker) -> WorkflowHandle:
    given = {"agent": AGENT, "task": "do it"}
    return await worker.client.start_workflow("AgentWorkflow", given, id=f"run-{uuid4()}", task_queue=worker.task_queue)


async def as_stranger(address: str, run: WorkflowHandle) -> WorkflowHandle:
    """The same run for a program without keys."""
    return (await Client.connect(address)).get_workflow_handle(run.id)


async def failed_tasks(run: WorkflowHandle) -> int:
    events = (await run.fetch_history()).events
    return sum(event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED for event in events)


def forged(name: str, data: bytes) -> RawValue:
    return RawValue(Payload(metadata={"encoding": b"binary/encrypted", "encryption-key-id": name.encode()}, data=data))


async def test_forged_payloads_at_every_door_are_refused_and_the_run_goes_on(working, temporal_server):  # FAULTS 33
    async with working(OLD, World(replies=[STUCK, STUCK, answered()])) as worker:
        run = await begin(worker)
        stranger = await as_stranger(temporal_server, run)
        await eventually(lambda: run.query("intervention"))
        for payload in (forged(OLD.newest, b"x" * 60), forged(OLD.newest, b""), forged("no-such-key", b"x" * 60)):
            for signal in ("intervene", "child", "anything"):
                await stranger.signal(signal, payload)
            with pytest.raises(WorkflowUpdateFailedError):
                await stranger.execute_update("answer", payload)
            with pytest.raises(WorkflowQueryFailedError):
                await stranger.query("journal", payload)
        assert len(await records(run, "refused")) == 9
        await stranger.signal("intervene", "retry")  # in clear, as any program may
        assert (await run.result())["status"] == "completed"
        assert await failed_tasks(run) == 0
    replayer = Replayer(workflows=[AgentWorkflow], data_converter=converter_with(OLD))
    await replayer.replay_workflow(await run.fetch_history())


async def test_a_run_waits_for_a_missing_key_and_then_goes_on_as_it_would_have(working, temporal_server):  # FAULTS 40
    world = World(replies=[STUCK, STUCK, answered()])
    async with working(OLD, world) as worker:
        run = await begin(worker)
        await eventually(lambda: run.query("intervention"))
    stranger = await as_stranger(temporal_server, run)
    await stranger.signal("intervene", "retry")
    async with working(NEW, world):
        await eventually(lambda: pending_attempts(run))
    assert len(world.calls) == 2
    async with working(BOTH, world) as worker:
        result = await worker.client.get_workflow_handle(run.id).result()
    assert result["status"] == "completed"
    assert len(world.calls) == 3
    history = b"".join(event.SerializeToString() for event in (await stranger.fetch_history()).events)
    assert all(name.encode() in history for name in BOTH.names)


async def pending_attempts(run: WorkflowHandle) -> bool:
    """Whether the run's workflow task failed, and is tried again."""
    task = (await run.describe()).raw_description.pending_workflow_task
    return task.attempt > 1


async def test_a_call_that_a_worker_could_not_read_was_not_sent(working, monkeypatch):  # FAULTS 40
    monkeypatch.setattr("workflows.codec.PAUSE_S", 0.2)
    world, elsewhere = World(), World()
    async with working(OLD, world, no_remote_activities=True) as worker:
        run = await begin(worker)
        async with working(CLEAR, elsewhere, workflows=[], activities=[elsewhere.call_model]):
            first = await eventually(lambda: records(run, "attempt"))
        async with working(OLD, world, workflows=[], activities=[world.call_model]):
            assert (await run.result())["status"] == "completed"
        lost, *_, won = await records(run, "attempt")
    assert (first[0]["outcome"]["failed"]["kind"], first[0]["rule"]) == ("not_sent", "temporal.activity.KeyMissing")
    assert lost["id"] == first[0]["id"] != won["id"]
    assert won["outcome"] == "succeeded"
    assert elsewhere.calls == []
