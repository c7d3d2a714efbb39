"""What must hold of a run after any fault, whatever the fault was (FAULTS I1-I4, I6-I8).

The simulator's log is the provider's side, the journal ours. What a single fault must lead to stands in its own test.
"""

from collections import Counter
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionRequest
from temporalio.client import WorkflowHandle
from temporalio.worker import Replayer

from ledger.interventions import ACCEPTS, NeedsHuman
from simulator.log import Received
from store import Store
from tests.faults.conftest import Stage
from workflows.agent import AgentWorkflow
from workflows.payloads import data_converter

ENDED = {"completed", "stopped"}
ASKS = set(ACCEPTS) - {NeedsHuman.model_fields["label"].default}
"""What a run may wait for a person with; the label that stands for an unknown one is a defect here."""


async def invariants_hold(stage: Stage, run: WorkflowHandle) -> list[dict[str, Any]]:
    """Check all of them, and return the run's journal. The run must have ended or wait for a person."""
    journal = await journal_of(stage, run)
    attempts = [record for record in journal if record["type"] == "attempt"]
    every_request_has_one_final_record(requests_of(stage, run), attempts)
    await every_answer_was_sent_in_full(stage, run, attempts)
    failovers_explain_every_model(journal)
    await it_ended_or_asks_a_typed_question(run)
    await no_workflow_task_failed(stage, run)
    await its_history_replays(run)
    return journal


async def journal_of(stage: Stage, run: WorkflowHandle) -> list[dict[str, Any]]:
    """The run's journal: what its last execution holds, after what earlier ones have brought to the store."""
    held: list[dict[str, Any]] = []
    first, after = 1, 0
    while records := (page := await run.query("journal", {"after": after}))["records"]:
        first, after = page["first"], page["next"]
        held += records
    if first == 1:
        return held
    store = await Store.open(f"sqlite:///{stage.folder / '.endstop' / 'store.db'}")
    kept = await store.read_journal(str(run.first_execution_run_id), limit=first - 1)
    await store.close()
    return [*kept, *held]


def requests_of(stage: Stage, run: WorkflowHandle) -> list[Received]:
    """What the provider received of this run, in order."""
    return [request for request in stage.simulator.requests if request.lane == run.first_execution_run_id]


def every_request_has_one_final_record(requests: list[Received], attempts: list[dict[str, Any]]) -> None:
    """I1, I2, I3: no id was received twice or recorded twice, and what was received is recorded with its end."""
    received, recorded = Counter(r.attempt for r in requests), Counter(a["id"] for a in attempts)
    assert set(received.values()) <= {1}, f"received twice: {received}"
    assert set(recorded.values()) <= {1}, f"recorded twice: {recorded}"
    assert set(received) <= set(recorded), f"received and not recorded: {set(received) - set(recorded)}"
    assert all(a["outcome"] == "succeeded" or a["outcome"]["failed"]["kind"] for a in attempts)


async def every_answer_was_sent_in_full(stage: Stage, run: WorkflowHandle, attempts: list[dict[str, Any]]) -> None:
    """I4: what counts as an answer is what the provider sent to its end, or was found in the store."""
    ends = {request.attempt: await stage.simulator.finished(request.seq) for request in requests_of(stage, run)}
    for attempt in attempts:
        if attempt["outcome"] == "succeeded" and not attempt.get("recovered"):
            assert (ends[attempt["id"]].status, ends[attempt["id"]].outcome) == (200, "sent")


def failovers_explain_every_model(journal: list[dict[str, Any]]) -> None:
    """I6: from the first attempt's target, the failovers alone lead to the target of every later attempt."""
    at: tuple[str, str] | None = None
    for record in journal:
        match record["type"]:
            case "attempt":
                target = record["provider"], record["model"]
                assert at in (None, target), f"{record['id']} went to {target} and no failover led there from {at}"
                at = target
            case "failover":
                assert (record["from_provider"], record["from_model"]) == at
                at = record["to_provider"], record["to_model"]


async def it_ended_or_asks_a_typed_question(run: WorkflowHandle) -> None:
    """I7, first half."""
    status, asked = await run.query("status"), await run.query("intervention")
    if status["status"] not in ENDED:
        assert status["status"] == "needs_human"
        assert asked["label"] in ASKS


async def no_workflow_task_failed(stage: Stage, run: WorkflowHandle) -> None:
    """I7, second half: neither in history nor, where only the first failure is written, in the task that is pending."""
    history = await run.fetch_history()
    failed = [e for e in history.events if e.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED]
    assert not failed, failed[0].workflow_task_failed_event_attributes.failure.message
    request = DescribeWorkflowExecutionRequest(namespace=stage.client.namespace)
    request.execution.workflow_id = run.id
    described = await stage.client.workflow_service.describe_workflow_execution(request)
    assert described.pending_workflow_task.attempt <= 1


async def its_history_replays(run: WorkflowHandle) -> None:
    """I8."""
    replayer = Replayer(workflows=[AgentWorkflow], data_converter=data_converter)
    await replayer.replay_workflow(await run.fetch_history())
