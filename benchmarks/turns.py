"""Turns a second and worker CPU a turn, side by side with a bare workflow: `python -m benchmarks.turns [ROUNDS]`.

Five workflows take turns in one run: the bare one with two activities a turn, the same with the second one local, and
with it on another task queue; Endstop with a tool that needs no workspace, which is a local activity, and with one in a
workspace, which is on another queue. A figure is the median over the rounds, a ratio the median of the ratios within
each round. The first round is not counted: it warms up.
"""

import asyncio
import statistics
import sys
from collections import defaultdict
from contextlib import AsyncExitStack
from typing import Any
from uuid import uuid4

from temporalio.client import Client

from benchmarks.bare import ELSEWHERE, LOCAL, QUEUE, BareWorkflow
from benchmarks.rig import FUNCTION, IN_WORKSPACE, ROOT, Cost, begun, measured, rig, table

LENGTHS = (10, 50, 200)
ROUNDS = 3
BARE = "bare"
THEIRS = {BARE: QUEUE, "bare, tool local": LOCAL, "bare, tool on another queue": ELSEWHERE}
OURS = {FUNCTION: "Endstop", IN_WORKSPACE: "Endstop, tool in a workspace"}

Costs = dict[tuple[str, int], list[Cost]]


async def bare(client: Client, turns: int, tool_queue: str) -> Any:
    """A run of the bare workflow."""
    return await client.execute_workflow(
        BareWorkflow.run, args=[turns, tool_queue], id=f"bare-{uuid4()}", task_queue=QUEUE
    )


async def measure(rounds: int) -> Costs:
    """All lengths, all workflows, one after the other, round by round."""
    costs: Costs = defaultdict(list)
    async with rig(*LENGTHS) as ours, AsyncExitStack() as closing:
        worker, _ = await begun(closing, ROOT, "-m", "benchmarks.bare", ready="bare worker ready")
        for number in range(rounds + 1):
            for turns in LENGTHS if number else LENGTHS[:1]:
                took = {
                    **{name: await measured(worker, bare(ours.client, turns, queue)) for name, queue in THEIRS.items()},
                    **{name: await measured(ours.worker, ours.run(turns, tool=tool)) for tool, name in OURS.items()},
                }
                for name, cost in took.items() if number else ():
                    costs[name, turns].append(cost)
    return costs


def rows(costs: Costs) -> list[tuple[object, ...]]:
    """One row a workflow and length."""
    found: list[tuple[object, ...]] = []
    for (name, turns), took in costs.items():
        done = turns + (name in OURS.values())  # our last turn has the answer and no tool
        reference = costs[BARE, turns]
        speed = [done / cost.wall_s for cost in took]
        cpu = [1_000 * cost.cpu_s / done for cost in took]
        speeds = [own * other.wall_s / turns for own, other in zip(speed, reference, strict=True)]
        cpus = [own * turns / (1_000 * other.cpu_s) for own, other in zip(cpu, reference, strict=True)]
        figures = (statistics.median(values) for values in (speed, speeds, cpu, cpus))
        found.append((name, turns, *(f"{value:.2f}" for value in figures)))
    return found


def main(rounds: int) -> None:
    """Measure and print."""
    header = ("workflow", "turns", "turns/s", "ratio to bare", "worker CPU ms a turn", "ratio to bare")
    table(header, rows(asyncio.run(measure(rounds))))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
