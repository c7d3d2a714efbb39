"""What people send to a run: nothing is lost, nothing breaks, and a bad word changes nothing (FAULTS 31, 34, 36)."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from temporalio import activity
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowFailureError, WorkflowHandle, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from activities import contract
from activities.cutting import head
from ledger.outcomes import Passed
from ledger.policy import AskPolicy, Policy
from tests.workflows.conftest import AGENT
from tests.workflows.scripted import World, failing, plan

UPDATE_EVENTS = (
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ADMITTED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED,
)
CYCLE = [failing(letter) for letter in "ABABAB"]


def stuck(**more: object) -> World:
    """A run that asks BudgetSpent after six rounds, and passes in the seventh."""
    return World(plan=plan(gates=("g",), **more), verdicts=[*CYCLE, Passed()])  # type: ignore[arg-type]


async def task_failures(handle: WorkflowHandle) -> int:
    history = await handle.fetch_history()
    return sum(e.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED for e in history.events)


async def refused(handle: WorkflowHandle) -> list[str]:
    page = await handle.query("journal", {"after": 0})
    return [r["reason"] for r in page["records"] if r["type"] == "refused"]


BAD_SIGNALS: dict[str, list[object]] = {
    "null": [None],
    "no argument": [],
    "an extra argument": ["retry", "retry"],
    "a number": [7],
    "a list": [["retry"]],
    "an unknown label": ["obey"],
    "an unknown answer": [{"answer": "obey"}],
    "an extra field": [{"answer": "retry", "force": True}],
    "a field of another type": [{"answer": "retry", "intervention": 7}],
    "a deep object": [{"answer": {"answer": {"answer": "retry"}}}],
    "a stale digest": [{"answer": "retry", "intervention": "int-1", "digest": "0"}],
    "an unfitting answer": ["raise"],
    "an unknown directive": [{"directive": "fly"}],
}


async def test_no_bad_signal_breaks_a_run_or_changes_what_it_asks(stage):
    world = stuck()
    act = stage(world)
    async with act.worker():
        run = await act.start()
        asked = await act.until(run, "BudgetSpent")
        for sent in BAD_SIGNALS.values():
            await run.signal("intervene", args=sent)
        await run.signal("no-such-signal", {"a": 1})
        assert await run.query("intervention") == asked
        assert len(await refused(run)) == len(BAD_SIGNALS) + 1
        await run.signal("intervene", "retry")
        assert (await run.result())["status"] == "completed"
        assert await task_failures(run) == 0
    assert len(world.calls) == 7


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ({"answer": "guide", "text": "x"}, "unbound"),
        ({"answer": "raise", "amount": 3}, "unfitting"),
        ({"answer": "retry", "digest": "0"}, "stale"),
        ({"answer": "retry", "intervention": "int-7"}, "stale"),
        ({"answer": "guide"}, "malformed"),
        ({"answer": "obey"}, "malformed"),
        (None, "malformed"),
    ],
)
async def test_an_update_is_refused_at_once_with_its_reason_and_leaves_no_event(stage, word, reason):
    act = stage(stuck())
    async with act.worker():
        run = await act.start()
        asked = await act.until(run, "BudgetSpent")
        if isinstance(word, dict) and reason != "unbound":
            word = {"intervention": asked["id"], "digest": asked["digest"], **word}
        with pytest.raises(WorkflowUpdateFailedError) as failure:
            await run.execute_update("answer", word)
        assert isinstance(failure.value.cause, ApplicationError)
        assert failure.value.cause.type == reason
        assert await run.query("intervention") == asked
        history = await run.fetch_history()
        assert not [e for e in history.events if e.event_type in UPDATE_EVENTS]


async def test_an_answer_is_taken_once_and_a_late_one_is_told_so(stage):
    act = stage(stuck())
    async with act.worker():
        run = await act.start()
        asked = await act.until(run, "BudgetSpent")
        word = {"answer": "guide", "text": "think", "intervention": asked["id"], "digest": asked["digest"]}
        assert (await run.execute_update("answer", word))["accepted"]
        with pytest.raises(WorkflowUpdateFailedError) as late:
            await run.execute_update("answer", word)
        assert late.value.cause.type == "nothing_open"
        assert (await run.result())["status"] == "completed"
        page = await run.query("journal", {"after": 0})
        assert [r["answer"] for r in page["records"] if r["type"] == "answer"] == ["guide"]
        with pytest.raises(RPCError):
            await run.signal("intervene", "retry")
    assert act.world.notes[-1]["text"] == "think"


async def test_a_word_that_comes_with_the_start_is_heard(stage):
    world = World(plan=plan(gates=("g",)), verdicts=[failing("A"), Passed()])
    act = stage(world)
    run = await act.start(start_signal="intervene", start_signal_args=[{"directive": "guide", "text": "early"}])
    await run.signal("intervene", {"directive": "guide", "text": "second"})
    async with act.worker():
        assert (await run.result())["status"] == "completed"
    told = [note["text"] for note in world.notes if note["note"] == "guide"]
    assert told == ["early", "second"]


async def test_a_run_waits_three_days_for_a_person_without_a_call(stage):  # FAULTS 36
    world = stuck()
    act = stage(world)
    async with act.worker():
        run = await act.start()
        asked = await act.until(run, "BudgetSpent")
        calls = len(world.calls)
        await act.env.sleep(timedelta(days=3))
        assert await run.query("intervention") == asked
        assert len(world.calls) == calls
        await run.signal("intervene", "retry")
        assert (await run.result())["status"] == "completed"


@pytest.mark.parametrize(("then", "status"), [("stop", "stopped"), ("failover", "completed")])
async def test_a_deadline_that_nobody_met_does_what_the_policy_says(stage, then, status):
    act = stage(stuck(policy=Policy(ask=AskPolicy(deadline_s=86_400, then=then))))
    async with act.worker():
        run = await act.start()
        result = await run.result()
        page = await run.query("journal", {"after": 0})
    assert result["status"] == status
    assert [r["then"] for r in page["records"] if r["type"] == "deadline"] == [then]
    assert not [r for r in page["records"] if r["type"] == "answer"]


BAD_STARTS: dict[str, object] = {
    "a number": 7,
    "a list": [],
    "text": "agent",
    "an unknown key": {"agent": AGENT, "tusk": "x"},
    "no agent": {"task": "x"},
    "a forged state": {"carried": {"ledger": 1}},
}


@pytest.mark.parametrize("spec", BAD_STARTS.values(), ids=BAD_STARTS)
async def test_a_bad_start_ends_in_one_clear_error_that_is_not_retried(stage, spec):
    act = stage(World())
    async with act.worker():
        run = await act.start(spec)
        with pytest.raises(WorkflowFailureError) as failure:
            await run.result()
        assert failure.value.cause.type == "InvalidSpec"
        assert "\n" not in failure.value.cause.message
        assert await task_failures(run) == 0


async def test_a_start_without_any_argument_ends_in_the_same_error(stage):
    act = stage(World())
    async with act.worker():
        run = await act.env.client.start_workflow("AgentWorkflow", id="bare", task_queue="endstop")
        with pytest.raises(WorkflowFailureError) as failure:
            await run.result()
    assert failure.value.cause.type == "InvalidSpec"


@dataclass
class Wordy(World):
    """A world whose model's last word is this long."""

    said: str = ""

    @activity.defn(name=contract.READ_ANSWER)
    async def read_answer(self, order: dict[str, Any]) -> str:
        return head(self.said, order["limit"])


@pytest.mark.parametrize(("said", "cut"), [("x" * 16_384, False), ("x" * 16_385, True), ("分" * 5_462, True)])
async def test_an_answer_that_is_too_long_for_a_result_says_so(stage, said, cut):
    act = stage(Wordy(said=said))
    async with act.worker():
        result = await (await act.start()).result()
    assert (result["answer"], result["answer_cut"]) == (head(said, 16_384), cut)
