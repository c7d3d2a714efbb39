"""The workflow that Endstop is compared with: the same number of activities a turn, and nothing else.

As a program it is its worker: `python -m benchmarks.bare`, with Temporal's environment. The worker's options are those
of Endstop's own.
"""

import asyncio
from datetime import timedelta
from typing import Any

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.envconfig import ClientConfig
from temporalio.worker import Worker

QUEUE = "bare"
ELSEWHERE = "bare-elsewhere"
"""The queue of the second activity in the variant that, like a run with a workspace, sends its tools to another one."""
LOCAL = "local"
"""No queue: the second activity is a local one, as Endstop's tools that are quick and need no workspace are."""
ACTIVITIES = ("model", "tool")
"""Activities a turn."""
LIMIT = timedelta(seconds=60)


@activity.defn
async def echo(given: dict[str, Any]) -> dict[str, Any]:
    """Return what came."""
    return given


@workflow.defn
class BareWorkflow:
    """So many turns of two activities."""

    @workflow.run
    async def run(self, turns: int, tool_queue: str) -> int:
        """Run them one after the other."""
        for turn in range(turns):
            for name, queue in zip(ACTIVITIES, (QUEUE, tool_queue), strict=True):
                given = {"turn": turn, "name": name}
                if queue == LOCAL:
                    await workflow.execute_local_activity(echo, given, start_to_close_timeout=LIMIT)
                    continue
                await workflow.execute_activity(
                    echo,
                    given,
                    task_queue=queue,
                    start_to_close_timeout=LIMIT,
                    heartbeat_timeout=timedelta(seconds=6),
                )
        return turns


async def main() -> None:
    """Work on both queues until told to stop."""
    config = ClientConfig.load_client_connect_config()
    client = await Client.connect(**config, data_converter=pydantic_data_converter)
    options: dict[str, Any] = {
        "activities": [echo],
        "max_concurrent_activities": 200,
        "sticky_queue_schedule_to_start_timeout": timedelta(seconds=2),
    }
    async with (
        Worker(client, task_queue=QUEUE, workflows=[BareWorkflow], **options),
        Worker(client, task_queue=ELSEWHERE, **options),
    ):
        print("bare worker ready", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
