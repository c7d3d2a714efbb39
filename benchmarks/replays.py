"""What a worker needs to take over a long run: replaying its history, beside the bare workflow's of as many turns.

`python -m benchmarks.replays [TURNS]`: seconds of this process's processor for a replay, the least of several, as no
other work is in it; and as a ratio to the bare workflow's, whose history has the same number of activities.
"""

import asyncio
import sys
import time
from contextlib import AsyncExitStack

from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from benchmarks.bare import QUEUE, BareWorkflow
from benchmarks.rig import ROOT, begun, rig, table
from workflows.agent import AgentWorkflow
from workflows.payloads import data_converter

TURNS, SAMPLES = 200, 7


async def replayed_s(workflow: type, history: WorkflowHistory) -> float:
    """Processor seconds of the fastest of several replays."""
    took = []
    for _ in range(SAMPLES):
        began = time.process_time()
        await Replayer(workflows=[workflow], data_converter=data_converter).replay_workflow(history)
        took.append(time.process_time() - began)
    return min(took)


async def main(turns: int) -> None:
    """Make both histories, replay them and print."""
    async with rig(turns - 1) as ours, AsyncExitStack() as closing:
        await begun(closing, ROOT, "-m", "benchmarks.bare", ready="bare worker ready")
        run = await (await ours.run(turns - 1)).fetch_history()
        handle = await ours.client.start_workflow(
            BareWorkflow.run, args=[turns, QUEUE], id="bare-replayed", task_queue=QUEUE
        )
        await handle.result()
        other = await handle.fetch_history()
    took = {"bare": await replayed_s(BareWorkflow, other), "Endstop": await replayed_s(AgentWorkflow, run)}
    events = {"bare": len(other.events), "Endstop": len(run.events)}
    rows = [
        (n, turns, events[n], f"{s:.3f}", f"{1_000 * s / turns:.2f}", f"{s / took['bare']:.2f}")
        for n, s in took.items()
    ]
    table(("workflow", "turns", "events", "CPU s", "CPU ms a turn", "ratio to bare"), rows)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else TURNS))
