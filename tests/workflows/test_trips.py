"""What becomes of a trip that the provider's answer does not explain (FAULTS 8, 29, 37), and how a run ends."""

import asyncio
from typing import Any

import pytest
from temporalio import activity
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ApplicationError, CancelledError

from activities.contract import ModelReply
from ledger.conversation import Conversation
from ledger.failures import FailureKind
from ledger.outcomes import Passed
from tests.workflows.scripted import World, answered, failing, plan, refused


async def journal(run: Any, kind: str) -> list[dict[str, Any]]:
    page = await run.query("journal", {"after": 0})
    return [record for record in page["records"] if record["type"] == kind]


async def test_rate_limit_then_auth_then_an_answer_reads_as_the_ledger_decided(stage):  # FAULTS 20
    world = World(replies=[refused(FailureKind.RATE_LIMITED), refused(FailureKind.AUTH), answered()])
    act = stage(world)
    async with act.worker():
        run = await act.start()
        result = await run.result()
        attempts, moves = await journal(run, "attempt"), await journal(run, "failover")
        history = await run.fetch_history()
    assert (result["status"], result["answer"]) == ("completed", "the answer")
    assert [(a["id"], a["model"]) for a in attempts] == [("1.1.1", "first"), ("1.1.2", "first"), ("1.2.1", "second")]
    assert [(m["kind"], m["reason"]) for m in moves] == [("auth", "auth_failed")]
    summaries = [e.user_metadata.summary.data.decode() for e in history.events if e.HasField("user_metadata")]
    assert '"s0 · turn 1 · openai:first · attempt 2"' in summaries
    assert '"retry · openai:first"' in summaries


async def test_a_run_that_one_worker_cannot_prepare_is_left_to_another(stage):
    act = stage(World(not_here=2))
    async with act.worker():
        run = await act.start()
        result = await run.result()
        history = await run.fetch_history()
    assert result["status"] == "completed"
    failed = [event for event in history.events if event.HasField("workflow_task_failed_event_attributes")]
    failure = failed[0].workflow_task_failed_event_attributes.failure
    assert (failure.application_failure_info.type, failure.message) == ("NotPreparedHere", "the store has nothing")


@pytest.mark.parametrize("result", [{"nonsense": 1}, {}, {"trip": {"outcome": "won"}, "conversation": {}}])
async def test_a_result_of_another_shape_is_a_failed_attempt_never_a_stuck_run(stage, result):  # FAULTS 29
    async def strange(_: dict[str, Any]) -> Any:
        return result

    act = stage(World(replies=[strange, answered()]))
    async with act.worker():
        run = await act.start()
        assert (await run.result())["status"] == "completed"
        first = (await journal(run, "attempt"))[0]
    assert (first["outcome"]["failed"]["kind"], first["rule"]) == ("bad_output", "temporal.invalid_result")
    assert first["outcome_unknown"]


async def test_an_activity_that_breaks_is_an_attempt_of_unknown_outcome(stage):
    act = stage(World(replies=[ApplicationError("marker-in-error", type="Boom"), answered()]))
    async with act.worker():
        run = await act.start()
        assert (await run.result())["status"] == "completed"
        first = (await journal(run, "attempt"))[0]
    assert (first["outcome"]["failed"]["kind"], first["rule"]) == ("worker_lost", "temporal.activity.Boom")
    assert first["outcome_unknown"]
    assert "marker-in-error" not in str(first)


async def until_cancelled(order: dict[str, Any]) -> dict[str, Any]:
    """A call that lasts until it is cancelled, and answers as the real one does: with a value."""
    try:
        while True:
            activity.heartbeat("streaming")
            await asyncio.sleep(0.05)
    except asyncio.CancelledError:
        trip = refused(FailureKind.CANCELLED, outcome_unknown=True)
        conversation = Conversation.model_validate(order["conversation"])
        return ModelReply(trip=trip, conversation=conversation).model_dump(mode="json")


async def test_a_cancelled_run_records_its_call_and_ends_as_cancelled(stage):  # FAULTS 37
    world = World(replies=[until_cancelled])
    act = stage(world)
    async with act.worker():
        run = await act.start()
        await world.calling.wait()
        await run.cancel()
        with pytest.raises(WorkflowFailureError) as failure:
            await run.result()
        assert isinstance(failure.value.cause, CancelledError)
        (attempt,) = await journal(run, "attempt")
        (*_, last) = await journal(run, "run")
    assert (attempt["outcome"]["failed"]["kind"], attempt["outcome_unknown"]) == ("cancelled", True)
    assert last["what"] == "cancelled"
    assert world.journal[max(world.journal)]["what"] == "cancelled"


async def test_a_cancelled_run_that_waits_for_a_person_ends_as_cancelled(stage):
    act = stage(World(plan=plan(gates=("g",)), verdicts=[failing(x) for x in "AAAA"]))
    async with act.worker():
        run = await act.start()
        await act.until(run, "NoProgress")
        await run.cancel()
        with pytest.raises(WorkflowFailureError) as failure:
            await run.result()
    assert isinstance(failure.value.cause, CancelledError)


async def test_a_stop_cuts_the_call_in_flight_short_and_is_recorded(stage):
    world = World(replies=[until_cancelled])
    act = stage(world)
    async with act.worker():
        run = await act.start()
        await world.calling.wait()
        await run.signal("intervene", {"directive": "stop", "reason": "enough", "by": "ann"})
        result = await run.result()
        kinds = [a["outcome"]["failed"]["kind"] for a in await journal(run, "attempt")]
    assert (result["status"], result["by"], result["why"]) == ("stopped", "ann", "enough")
    assert kinds == ["cancelled"]


async def test_a_stop_ends_a_run_whose_store_does_not_take_a_persons_words(stage):
    world = World(plan=plan(gates=("g",)), verdicts=[failing(x) for x in "AAAA"])
    act = stage(world)
    async with act.worker():
        run = await act.start()
        await act.until(run, "NoProgress")
        world.slow, asked = True, len(world.calls)
        world.working.clear()
        await run.signal("intervene", {"directive": "guide", "text": "Try B."})
        await run.signal("intervene", "retry")
        await world.working.wait()
        await run.signal("intervene", {"directive": "stop", "by": "ann"})
        result = await run.result()
        world.going.set()
    assert (result["status"], result["by"], len(world.calls)) == ("stopped", "ann", asked)


async def test_a_pause_interrupts_a_wait_and_the_wait_goes_on_afterwards(stage):
    act = stage(World(replies=[refused(FailureKind.RATE_LIMITED, wait_s=50.0), answered()]))
    async with act.worker():
        run = await act.start()
        for _ in range(50):
            status = await run.query("status")
            if status["status"] == "waiting":
                break
            await act.env.sleep(0.1)
        await run.signal("intervene", {"directive": "pause", "by": "ann"})
        await act.until(run, "Paused")
        await run.signal("intervene", "resume")
        assert (await run.result())["status"] == "completed"
        waits = await journal(run, "wait")
        second = (await journal(run, "attempt"))[1]
    assert [w["interrupted"] for w in waits] == [True, False]
    assert second["backoff_ms"] == sum(w["slept_ms"] for w in waits)


async def test_stages_follow_one_another_and_tell_the_model(stage):
    world = World(plan=plan(stages=2, gates=("g",)), verdicts=[Passed()])
    act = stage(world)
    async with act.worker():
        run = await act.start()
        assert (await run.result())["turns"] == 2
        stages = [r["stage"] for r in await journal(run, "run") if r["what"] == "stage"]
    assert [call.get("stage", 0) for call in world.calls] == [0, 1]
    assert [note["note"] for note in world.notes] == ["stage"]
    assert stages == ["s1"]


async def test_an_answer_is_returned_inline_only_where_the_task_came_inline(stage):
    act = stage(World())
    async with act.worker():
        inline = await (await act.start()).result()
        by_ref = await (await act.start({"agent": {"ref": "a"}, "task": {"ref": "t"}})).result()
    assert (inline["answer"], by_ref["answer"]) == ("the answer", None)


async def test_the_whole_journal_reaches_the_store(stage):
    world = World(plan=plan(gates=("g",)), verdicts=[failing("A"), Passed()])
    act = stage(world)
    async with act.worker():
        run = await act.start()
        await run.result()
        page = await run.query("journal", {"after": 0})
    assert sorted(world.journal) == [r["seq"] for r in page["records"]] == list(range(1, len(world.journal) + 1))


async def test_an_outage_is_waited_out_by_a_timer_that_wakes_at_the_stated_time(stage):
    alone = plan()
    only = alone.stages[0].model_copy(update={"models": alone.stages[0].models[:1]})
    world = World(
        plan=alone.model_copy(update={"stages": (only,)}),
        replies=[refused(FailureKind.OVERLOADED, wait_s=600.0), answered()],
    )
    act = stage(world)
    async with act.worker():
        run = await act.start()
        for _ in range(50):
            status = await run.query("status")
            if status["status"] == "waiting":
                break
            await act.env.sleep(0.1)
        assert status["doing"] == "waiting for openai:first (patience)"
        assert status["until"] - status["since"] == pytest.approx(600, abs=2)
        assert (await run.result())["status"] == "completed"
        (wait,) = await journal(run, "wait")
    assert (wait["reason"], wait["interrupted"]) == ("patience", False)
    assert wait["slept_ms"] == pytest.approx(wait["asked_ms"], abs=5_000)
