"""Workers that die, are away, or are sent what they cannot take (FAULTS 1, 3, 8, 28; I1, I2)."""

from collections import Counter
from typing import Any

from temporalio.worker import Worker

from ledger.policy import CallPolicy, Policy
from tests.faults.conftest import TEXT, Stage, eventually, records
from tests.workflows.scripted import World, answered, plan
from workflows.agent import AgentWorkflow

AGENT = {"models": ["openai:gpt-5"]}


def sent(stage: Stage) -> list[str]:
    """The attempt ids that reached the provider, in order."""
    return [request.attempt for request in stage.simulator.requests]


def each_request_has_its_attempt(stage: Stage, attempts: list[dict[str, Any]]) -> None:
    """I1 and I2: every request has exactly one record, and no attempt id arrived twice."""
    recorded = Counter(a["id"] for a in attempts)
    assert set(recorded.values()) == {1}
    assert Counter(sent(stage)).most_common(1)[0][1] == 1
    assert set(sent(stage)) <= set(recorded)


async def test_a_worker_killed_in_mid_call_loses_the_call_and_nothing_else(stage):  # FAULTS 1
    act = await stage({"models": {"gpt-5": [{"kind": "hang"}, TEXT]}})
    run = await act.start(AGENT)
    await act.simulator.received(1)
    await act.kill()
    await act.work()
    assert (await run.result())["status"] == "completed"
    lost, won = await records(run, "attempt")
    assert (lost["outcome"]["failed"]["kind"], lost["outcome_unknown"], lost["rule"]) == (
        "worker_lost",
        True,
        "temporal.heartbeat",
    )
    assert won["outcome"] == "succeeded"
    each_request_has_its_attempt(act, [lost, won])


async def test_a_worker_killed_before_it_sent_anything_is_unknown_all_the_same(stage):  # FAULTS 3
    limited = {"kind": "raw", "status": 429, "headers": {"retry-after": "4"}, "body": {"error": {"message": "slow"}}}
    act = await stage({"models": {"gpt-5": [limited, TEXT]}})
    run = await act.start(AGENT)
    await act.simulator.received(1)

    async def waiting_inside() -> bool:
        flying = (await run.query("ledger"))["in_flight"]
        return bool(flying and flying["id"] == "1.1.2")

    await eventually(waiting_inside)
    await act.kill()
    await act.work()
    assert (await run.result())["status"] == "completed"
    attempts = await records(run, "attempt")
    kinds = [a["outcome"]["failed"]["kind"] if a["outcome"] != "succeeded" else "ok" for a in attempts]
    assert kinds == ["rate_limited", "worker_lost", "ok"]
    assert attempts[1]["outcome_unknown"]
    assert "1.1.2" not in sent(act)
    each_request_has_its_attempt(act, attempts)


async def test_an_attempt_that_no_worker_took_is_not_sent_and_spends_nothing(client):  # FAULTS 8
    world = World(plan=plan(policy=Policy(calls=CallPolicy(pickup_s=1))))
    options: dict[str, Any] = {"task_queue": "not-sent", "workflows": [AgentWorkflow], "activities": world.activities()}
    async with Worker(client, no_remote_activities=True, **options):
        run = await client.start_workflow(
            "AgentWorkflow", {"agent": AGENT, "task": "x"}, id="not-sent", task_queue="not-sent"
        )

        async def twice() -> bool:
            return len(await records(run, "attempt")) >= 2

        await eventually(twice)
    async with Worker(client, **options):
        assert (await run.result())["status"] == "completed"
        attempts = await records(run, "attempt")
    lost = [a["outcome"]["failed"] for a in attempts[:-1]]
    assert {(f["kind"], f["next"]) for f in lost} == {("not_sent", "same_model")}
    assert attempts[-1]["outcome"] == "succeeded"
    assert not any(a.get("outcome_unknown") for a in attempts)
    assert len(world.calls) == 1


async def test_a_stop_while_tools_run_ends_the_run_as_stopped(client):
    world = World(replies=[answered("read_file", "list_files")], slow=True)
    async with Worker(client, task_queue="stop-tools", workflows=[AgentWorkflow], activities=world.activities()):
        run = await client.start_workflow(
            "AgentWorkflow", {"agent": AGENT, "task": "x"}, id="stop-tools", task_queue="stop-tools"
        )
        await world.working.wait()
        await run.signal("intervene", {"directive": "stop", "by": "ann"})
        world.going.set()
        result = await run.result()
    assert (result["status"], result["by"]) == ("stopped", "ann")
    assert len(world.calls) == 1


async def test_a_conversation_beyond_temporals_limits_never_enters_history(stage):  # FAULTS 28
    act = await stage({"models": {"gpt-5": [TEXT]}})
    from store import Store

    store = await Store.open(f"sqlite:///{act.folder / '.endstop' / 'store.db'}")
    ref = await store.put("a long story " * 200_000)  # 2.6 MB; Temporal takes payloads of 2 MB
    await store.close()
    run = await act.start(AGENT, {"ref": ref})
    assert (await run.result())["status"] == "completed"
    history = await run.fetch_history()
    assert max(event.ByteSize() for event in history.events) < 4_096
    assert len(str(act.simulator.requests[0].body)) > 2_600_000
