"""Records the histories that the replay tests replay, those that are missing: `python -m tests.histories.record`.

A history that no longer replays belongs to runs that are under way somewhere: put the change behind
`workflow.patched`, keep the old file, and record the new way under a new name.
"""

import asyncio
import sysconfig
from collections.abc import Awaitable, Callable
from pathlib import Path

from temporalio.client import WorkflowFailureError, WorkflowHandle
from temporalio.testing import WorkflowEnvironment

from ledger.failures import FailureKind
from ledger.outcomes import Passed
from tests.histories.checked import CheckedWorld, OddWorld
from tests.histories.wide import WideWorld, call, calls, question
from tests.workflows.conftest import Stage
from tests.workflows.scripted import World, answered, failing, plan, refused, summary, windowed
from tests.workflows.test_trips import until_cancelled
from workflows.payloads import data_converter

HERE = Path(__file__).parent
Act = Callable[[Stage, WorkflowHandle], Awaitable[WorkflowHandle | None]]
"""Plays a run to the end that its history needs; returns the run to record, where it is another one."""


async def to_the_end(_: Stage, run: WorkflowHandle) -> None:
    await run.result()


async def guided(stage: Stage, run: WorkflowHandle) -> None:
    asked = await stage.until(run, "BudgetSpent")
    await run.signal("intervene", {"answer": "retry", "intervention": "int-9", "digest": "stale"})
    word = {"answer": "guide", "text": "think", "intervention": asked["id"], "digest": asked["digest"]}
    await run.execute_update("answer", word)
    await run.result()


async def paused(stage: Stage, run: WorkflowHandle) -> None:
    await run.signal("intervene", {"directive": "pause", "by": "ann"})
    await stage.until(run, "Paused")
    await run.signal("intervene", "resume")
    await run.result()


async def stopped(stage: Stage, run: WorkflowHandle) -> None:
    await stage.world.calling.wait()
    await run.signal("intervene", {"directive": "stop"})
    await run.result()


async def cancelled(stage: Stage, run: WorkflowHandle) -> None:
    await stage.world.calling.wait()
    await run.cancel()
    try:
        await run.result()
    except WorkflowFailureError:
        return


async def says(stage: Stage, run: WorkflowHandle, label: str, **word: str | int) -> None:
    """Answer the next question of this label."""
    asked = await stage.until(run, label)
    await run.execute_update("answer", {**word, "intervention": asked["id"], "digest": asked["digest"]})


async def approvals(stage: Stage, run: WorkflowHandle) -> None:
    await says(stage, run, "ApprovalNeeded", answer="approve")
    await says(stage, run, "ApprovalNeeded", answer="edit", text='{"order": 7}')
    await says(stage, run, "ApprovalNeeded", answer="reject", text="not this one")
    await run.result()


async def replies(stage: Stage, run: WorkflowHandle) -> None:
    await says(stage, run, "Question", answer="reply", text="that one")
    await run.result()


async def lost(stage: Stage, run: WorkflowHandle) -> None:
    await says(stage, run, "OutcomeUnknown", answer="retry")
    await says(stage, run, "OutcomeUnknown", answer="reply", text="it was paid")
    await run.result()


async def checked(stage: Stage, run: WorkflowHandle) -> None:
    await says(stage, run, "WorkspaceLost", answer="retry")
    await run.result()


async def odd(stage: Stage, run: WorkflowHandle) -> None:
    await says(stage, run, "OutcomeUnknown", answer="retry")
    await says(stage, run, "SpendLimit", answer="raise", amount=20)
    await run.result()


async def of_the_child(stage: Stage, run: WorkflowHandle) -> WorkflowHandle:
    child = stage.env.client.get_workflow_handle(f"{run.id}/1.0")
    while not (await run.query("status"))["children"]:
        await stage.env.sleep(1)
    await says(stage, child, "Question", answer="reply", text="that one")
    await run.result()
    return child


async def of_the_parent(stage: Stage, run: WorkflowHandle) -> None:
    await of_the_child(stage, run)


async def first_execution(stage: Stage, run: WorkflowHandle) -> WorkflowHandle:
    await run.result()
    return stage.env.client.get_workflow_handle(run.id, run_id=run.first_execution_run_id)


async def last_execution(stage: Stage, run: WorkflowHandle) -> WorkflowHandle:
    await run.result()
    return stage.env.client.get_workflow_handle(run.id)


def worlds() -> dict[str, tuple[World, Act]]:
    cycle = [failing(letter) for letter in "ABABAB"]
    everywhere = ("refund", "refund", "read_output")
    always, once = (call(0, "refund", arguments="d", approval=word) for word in ("always", "once"))
    asked_for = [calls(always), calls(once), calls(once), calls(always)]
    family = [calls(call(0, "helper")), calls(question()), answered(), answered()]
    limited, rejected = refused(FailureKind.RATE_LIMITED), refused(FailureKind.AUTH)
    outgrown = [answered("read_file", tokens=900), answered("read_file", tokens=500), refused(FailureKind.TOO_LARGE)]
    wordless = [refused(FailureKind.TOO_LARGE), refused(FailureKind.CONTENT_REFUSED), refused(FailureKind.AUTH)]
    summed_up = [answered("read_file", tokens=900), summary(), answered("read_file", tokens=500), *wordless]
    return {
        "plain": (World(), to_the_end),
        "tools": (World(replies=[answered("read_file", "list_files"), answered("write_file"), answered()]), to_the_end),
        "failover": (World(replies=[limited, limited, rejected, answered()]), to_the_end),
        "escalated": (World(plan=plan(gates=("g", "h")), verdicts=[*cycle[:4], Passed()]), to_the_end),
        "guided": (World(plan=plan(gates=("g",)), verdicts=[*cycle, Passed()]), guided),
        "paused": (World(replies=[limited, answered()]), paused),
        "stages": (World(plan=plan(stages=3)), to_the_end),
        "stopped": (World(replies=[until_cancelled]), stopped),
        "cancelled": (World(replies=[until_cancelled]), cancelled),
        "elsewhere": (WideWorld(replies=[calls(*map(call, range(3), everywhere)), answered()]), to_the_end),
        "approvals": (WideWorld(replies=[*asked_for, answered()]), approvals),
        "replies": (WideWorld(replies=[calls(call(0, "refund"), question(1)), answered()]), replies),
        "lost": (WideWorld(replies=[calls(call(0, "charge")), calls(call(0, "pay")), answered()]), lost),
        "child": (WideWorld(replies=[*family]), of_the_child),
        "compacted": (World(plan=windowed("drop_tool_results"), replies=[*outgrown, answered()]), to_the_end),
        "summarised": (World(plan=windowed("summarise"), replies=[*summed_up, answered()]), to_the_end),
        "parent": (WideWorld(replies=[*family]), of_the_parent),
        "checked": (CheckedWorld(), checked),
        "odd": (OddWorld(), odd),
    }


def long_worlds() -> dict[str, tuple[World, Act]]:
    """Those that go on in a new execution, which needs a server that suggests it soon."""
    steps = [*(answered("read_file") for _ in range(6)), answered()]
    return {
        "continued": (World(replies=[*steps]), first_execution),
        "carried": (World(replies=[*steps]), last_execution),
    }


async def record(name: str, world: World, act: Act, env: WorkflowEnvironment) -> None:
    """Play one run and keep its history."""
    stage = Stage(env, world)
    async with stage.worker():
        run = await stage.start()
        found = await act(stage, run) or run
        history = await found.fetch_history()
        # As every server but the time-skipping one does: the ids of sub-agents are made from it.
        history.events[0].workflow_execution_started_event_attributes.workflow_id = found.id
        (HERE / f"{name}.json").write_text(without_folders(history.to_json()))


def without_folders(written: str) -> str:
    """Without the folders of the machine that records, which failures name in their traces."""
    return written.replace(f"{sysconfig.get_path('purelib')}/", "").replace(f"{HERE.parent.parent}/", "")


async def main() -> None:
    programs = Path(sysconfig.get_path("scripts"))
    for name, (world, act) in worlds().items():
        if not (HERE / f"{name}.json").exists():
            async with await WorkflowEnvironment.start_time_skipping(
                test_server_existing_path=str(programs / "temporal-test-server"), data_converter=data_converter
            ) as env:
                await record(name, world, act, env)
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=str(programs / "temporal"),
        data_converter=data_converter,
        dev_server_extra_args=["--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=40"],
    ) as env:
        for name, (world, act) in long_worlds().items():
            if not (HERE / f"{name}.json").exists():
                await record(name, world, act, env)


if __name__ == "__main__":
    asyncio.run(main())
