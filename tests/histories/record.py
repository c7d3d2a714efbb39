"""Records the histories that the replay tests replay: `python -m tests.histories.record`.

A history that no longer replays belongs to runs that are under way somewhere: put the change behind
`workflow.patched`, keep the old file, and record the new way under a new name.
"""

import asyncio
import sysconfig
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from temporalio.client import WorkflowFailureError, WorkflowHandle
from temporalio.testing import WorkflowEnvironment

from ledger.failures import FailureKind
from ledger.outcomes import Passed
from tests.workflows.conftest import Stage
from tests.workflows.scripted import World, answered, failing, plan, refused
from tests.workflows.test_trips import until_cancelled
from workflows.payloads import data_converter

HERE = Path(__file__).parent
Act = Callable[[Stage, WorkflowHandle], Awaitable[Any]]


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


def worlds() -> dict[str, tuple[World, Act]]:
    cycle = [failing(letter) for letter in "ABABAB"]
    limited, rejected = refused(FailureKind.RATE_LIMITED), refused(FailureKind.AUTH)
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
    }


async def record(name: str, world: World, act: Act) -> None:
    """Play one run on the time-skipping server and keep its history."""
    binary = str(Path(sysconfig.get_path("scripts")) / "temporal-test-server")
    async with await WorkflowEnvironment.start_time_skipping(
        test_server_existing_path=binary, data_converter=data_converter
    ) as env:
        stage = Stage(env, world)
        async with stage.worker():
            run = await stage.start()
            await act(stage, run)
            (HERE / f"{name}.json").write_text((await run.fetch_history()).to_json())


async def main() -> None:
    for name, (world, act) in worlds().items():
        await record(name, world, act)


if __name__ == "__main__":
    asyncio.run(main())
