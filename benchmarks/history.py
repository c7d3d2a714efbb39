"""Bytes and events of Temporal history a turn, for runs of several lengths: `python -m benchmarks.history [TURNS ...]`.

A run that went on in new executions counts all of them. What is counted is the history as Temporal serialises it.
"""

import asyncio
import sys
from typing import Any

from temporalio.client import Client, WorkflowHandle

from benchmarks.rig import rig, table

LENGTHS = (10, 50, 200)


async def events_of(client: Client, run: WorkflowHandle[Any, Any]) -> list[Any]:
    """The events of all executions of a run, oldest first."""
    events: list[Any] = []
    execution = run.first_execution_run_id
    while execution:
        history = await client.get_workflow_handle(run.id, run_id=execution).fetch_history()
        events += history.events
        last = history.events[-1]
        execution = last.workflow_execution_continued_as_new_event_attributes.new_execution_run_id
    return events


async def main(lengths: tuple[int, ...]) -> None:
    """Run each length once and print what it left."""
    rows: list[tuple[object, ...]] = []
    async with rig(*lengths) as bench:
        for turns in lengths:
            events = await events_of(bench.client, await bench.run(turns))
            size = sum(event.ByteSize() for event in events)
            rows.append(
                (turns + 1, len(events), f"{len(events) / (turns + 1):.1f}", size, f"{size / (turns + 1):,.0f}")
            )
    table(("turns", "events", "events a turn", "bytes", "bytes a turn"), rows)


if __name__ == "__main__":
    asyncio.run(main(tuple(map(int, sys.argv[1:])) or LENGTHS))
