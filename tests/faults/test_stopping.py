"""Workers that are told to stop, freeze, block or share a queue, and clocks that step (FAULTS 4-7, 9, 37, 42, 43)."""

import asyncio
import json
import re
import signal
import time
from dataclasses import replace
from typing import Any

import pytest
from temporalio import activity
from temporalio.client import WorkflowExecutionStatus
from temporalio.worker import Worker

from ledger.policy import CallPolicy, Policy
from tests.faults.conftest import ROOT, TEXT, Stage, eventually, records
from tests.faults.invariants import invariants_hold, requests_of
from tests.workflows.scripted import World, plan
from workflows import carrying_out
from workflows.agent import AgentWorkflow

AGENT = {"models": ["openai:gpt-5"]}
HELD = TEXT | {"held_until": "told"}


def another(act: Stage) -> Stage:
    """A second worker of the same queue, in the same folder."""
    return replace(act, log=[], process=None, reading=None)


def failure(attempt: dict[str, Any]) -> tuple[str, bool, str]:
    return attempt["outcome"]["failed"]["kind"], attempt.get("outcome_unknown", False), attempt["rule"]


async def test_a_call_that_fits_into_the_grace_ends_before_its_worker(stage):  # FAULTS 4
    act: Stage = await stage({"models": {"gpt-5": [HELD]}})
    run = await act.start(AGENT)
    await act.simulator.received(1)
    act.process.send_signal(signal.SIGTERM)

    async def stopping() -> bool:
        return any(b"worker.stopping" in line for line in act.log)

    await eventually(stopping)
    act.simulator.release("told")
    assert await act.process.wait() == 0
    await act.work()
    assert (await run.result())["status"] == "completed"
    (attempt,) = await records(run, "attempt")
    assert attempt["outcome"] == "succeeded"
    await invariants_hold(act, run)


@pytest.mark.full
async def test_a_call_that_does_not_fit_into_the_grace_is_of_unknown_outcome_and_made_again(stage):  # FAULTS 5
    act: Stage = await stage({"models": {"gpt-5": [{"kind": "hang"}, TEXT]}})
    run = await act.start(AGENT)
    await act.simulator.received(1)
    act.process.terminate()
    assert await act.process.wait() == 0  # after the grace of 30 s
    assert (await act.simulator.finished(1)).outcome == "client_closed"
    await act.work()
    assert (await run.result())["status"] == "completed"
    lost, won = await records(run, "attempt")
    assert failure(lost) == ("worker_lost", True, "temporal.activity.WorkerShutdown")
    assert won["outcome"] == "succeeded"
    await invariants_hold(act, run)


@pytest.mark.full
async def test_a_frozen_workers_call_is_of_unknown_outcome_and_its_late_answer_is_no_second_one(stage):  # FAULTS 6
    late = {"kind": "text", "text": "late"}
    act: Stage = await stage({"models": {"gpt-5": [late | {"held_until": "thawed"}, TEXT]}})
    run = await act.start(AGENT)
    await act.simulator.received(1)
    act.process.send_signal(signal.SIGSTOP)  # it sends no heartbeat any more, and its call goes on
    second = another(act)
    try:
        await second.work()
        assert (await run.result())["answer"] == "done"
    finally:
        act.process.send_signal(signal.SIGCONT)
    act.simulator.release("thawed")
    await act.simulator.finished(1)
    lost, won = await records(run, "attempt")
    assert failure(lost) == ("worker_lost", True, "temporal.heartbeat")
    assert won["outcome"] == "succeeded"
    await second.rest()
    await invariants_hold(act, run)


async def test_a_call_beyond_temporals_own_limit_is_of_unknown_outcome(client, monkeypatch):  # FAULTS 7
    monkeypatch.setattr(carrying_out, "ANSWERING_SLACK", carrying_out.timedelta(seconds=0.2))

    async def beyond(order: dict[str, Any]) -> dict[str, Any]:
        while not activity.is_cancelled():
            activity.heartbeat()
            await asyncio.sleep(0.05)
        raise asyncio.CancelledError

    world = World(plan=plan(policy=Policy(calls=CallPolicy(deadline_s=0.3, attempts=1, patience_s=0))))
    world.replies = [beyond]
    async with Worker(client, task_queue="beyond", workflows=[AgentWorkflow], activities=world.activities()):
        run = await client.start_workflow(
            "AgentWorkflow", {"agent": AGENT, "task": "x"}, id="beyond", task_queue="beyond"
        )
        await eventually(lambda: run.query("intervention"))
        first, *_ = await records(run, "attempt")
        await run.terminate()
    assert failure(first) == ("timeout", True, "temporal.start_to_close")


@pytest.mark.full
async def test_two_workers_on_a_queue_send_no_attempt_twice(stage):  # FAULTS 9
    act: Stage = await stage(
        {"models": {"gpt-5": [{"kind": "error", "error": "overloaded", "retry_after_s": 0}, TEXT]}}
    )
    second = another(act)
    await second.work()
    runs = [await act.start(AGENT) for _ in range(12)]
    for run in runs:
        assert (await run.result())["status"] == "completed"
        assert [request.attempt for request in requests_of(act, run)] == ["1.1.1", "1.1.2"]
        await invariants_hold(act, run)
    await second.rest()


async def test_a_terminated_runs_call_is_hung_up(stage):  # FAULTS 37
    act: Stage = await stage({"models": {"gpt-5": [{"kind": "hang"}]}})
    run = await act.start(AGENT)
    await act.simulator.received(1)
    await run.terminate("by an operator")
    assert (await act.simulator.finished(1)).outcome == "client_closed"
    assert len(act.simulator.requests) == 1


STEPPED = """
import pathlib, runpy, sys, time
real, steps = time.time, pathlib.Path("clock")
time.time = lambda: real() + float(steps.read_text())
sys.argv = [sys.argv[1]]
sys.path.insert(0, str(pathlib.Path(sys.argv[0]).parent))
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.full
@pytest.mark.parametrize(
    "step_s",
    [pytest.param(-86_400, id="a day back"), pytest.param(86_400, id="a day ahead")],
)
async def test_a_clock_that_steps_in_mid_call_moves_no_decision_and_no_duration(stage, tmp_path, step_s):  # FAULTS 42
    limited = {"kind": "error", "error": "rate_limited", "retry_after_s": 1, "held_until": "told"}
    act: Stage = await stage({"models": {"gpt-5": [limited, TEXT]}})
    await act.rest()
    (tmp_path / "clock").write_text("0")
    (tmp_path / "stepped.py").write_text(STEPPED)
    await act.work("stepped.py", str(ROOT / "worker.py"))
    run = await act.start(AGENT)
    await act.simulator.received(1)
    (tmp_path / "clock").write_text(str(step_s))
    act.simulator.release("told")
    assert (await run.result())["status"] == "completed"
    journal = await invariants_hold(act, run)
    times = [record["at"] for record in journal if "at" in record]
    assert times == sorted(times)
    assert abs(times[-1] - time.time()) < 3_600
    refused, won = (record for record in journal if record["type"] == "attempt")
    assert won["outcome"] == "succeeded"
    assert all(0 <= attempt[field] < 600_000 for attempt in (refused, won) for field in ("duration_ms", "backoff_ms"))


BLOCKING = """
import pathlib, time

async def block() -> str:
    \"\"\"Hold up the event loop, as a synchronous SDK in an async function does.\"\"\"
    while not pathlib.Path("let go").exists():
        time.sleep(0.01)
    return "it is done"
"""


async def test_an_async_tool_that_blocks_holds_up_no_other_call_and_the_worker_names_it(stage, tmp_path):
    (tmp_path / "blocking.py").write_text(BLOCKING)  # FAULTS 43
    calls = {"kind": "tool_calls", "calls": [{"name": "block"}]}
    script = {"models": {"gpt-5": [HELD], "claude-x": [calls, TEXT]}}
    act: Stage = await stage(script, '[tools.block]\nfunction = "blocking:block"\n')
    bystander = await act.start(AGENT)
    await act.simulator.received(1)
    blocker = await act.start({"models": ["anthropic:claude-x"], "tools": ["block"]})
    told = await eventually(lambda: blocked(act))
    act.simulator.release("told")
    assert (await bystander.result())["status"] == "completed"
    assert (await blocker.describe()).status is WorkflowExecutionStatus.RUNNING
    (tmp_path / "let go").touch()
    assert (await blocker.result())["status"] == "completed"
    assert told["loop"] == "functions"
    assert re.search(r"blocking\.py:\d+ block < ", told["frames"])
    for run in (bystander, blocker):
        assert (await records(run, "attempt"))[0]["outcome"] == "succeeded"
        await invariants_hold(act, run)


async def blocked(act: Stage) -> dict[str, Any]:
    """What the worker logged of a loop that is held up."""
    return next((json.loads(line) for line in act.log if b"loop.blocked" in line), {})
