"""Many runs at once on one worker, beside as many of the bare workflow: `python -m benchmarks.many [RUNS [TURNS]]`.

Turns a second of all runs together and worker CPU a turn; spread: how long the last run took to its end, as a multiple
of the first one's, which is near 1 where no run is starved. One run alone, before, says what being many costs or saves.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any

from benchmarks.bare import QUEUE
from benchmarks.rig import ROOT, begun, measured, rig, table
from benchmarks.turns import bare

RUNS, TURNS = 100, 10

Run = Callable[[], Coroutine[Any, Any, Any]]


async def at_once(run: Run, runs: int) -> list[float]:
    """Seconds that each of so many runs took from the common start to its end, in order."""
    began = time.perf_counter()

    async def ended() -> float:
        await run()
        return time.perf_counter() - began

    return sorted(await asyncio.gather(*(ended() for _ in range(runs))))


async def row(name: str, worker: Any, run: Run, runs: int, turns: int) -> tuple[object, ...]:
    took: list[float] = []

    async def all_of_them() -> None:
        took.extend(await at_once(run, runs))

    cost = await measured(worker, all_of_them())
    done = runs * turns
    figures = (done / cost.wall_s, 1_000 * cost.cpu_s / done, took[-1] / took[0])
    return (name, runs, *(f"{figure:.2f}" for figure in figures))


async def main(runs: int, turns: int) -> None:
    """Warm up, measure and print."""
    async with rig(turns - 1) as ours, AsyncExitStack() as closing:
        worker, _ = await begun(closing, ROOT, "-m", "benchmarks.bare", ready="bare worker ready")
        kinds: dict[str, tuple[Any, Run]] = {
            "bare": (worker, lambda: bare(ours.client, turns, QUEUE)),
            "Endstop": (ours.worker, lambda: ours.run(turns - 1)),
        }
        for _, run in kinds.values():
            await run()
        rows = [await row(name, *kinds[name], count, turns) for count in (1, runs) for name in kinds]
    table(("workflow", "runs at once", "turns/s", "worker CPU ms a turn", "spread"), rows)


if __name__ == "__main__":
    given = [*map(int, sys.argv[1:])]
    asyncio.run(main(*(given + [RUNS, TURNS][len(given) :])))
