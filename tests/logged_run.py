"""A program for test_logs: a worker whose activity, workflow and workflow task fail with a marker in every text."""

import asyncio
import sys
from contextlib import suppress
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from logs import configure_logging, core_runtime

ADDRESS, QUEUE, MARKER = sys.argv[1:]
tried: set[str] = set()


@activity.defn
async def fail() -> None:
    activity.logger.info("attempt.failed", extra={"kind": "auth", "tried": 1, "body": {"text": MARKER}})
    try:
        {}[MARKER]
    except KeyError as error:
        raise RuntimeError(MARKER) from error


@workflow.defn(sandboxed=False)
class Fails:
    @workflow.run
    async def run(self, marker: str) -> None:
        if marker not in tried:  # the first workflow task fails, as one of a worker with a bug would
            tried.add(marker)
            raise ValueError(marker)
        workflow.logger.info("run.began", extra={"turn": 0})
        with suppress(Exception):
            await workflow.execute_activity(
                fail, start_to_close_timeout=timedelta(seconds=9), retry_policy=RetryPolicy(maximum_attempts=1)
            )
        raise ApplicationError(marker)


async def main() -> None:
    configure_logging(json=True)
    client = await Client.connect(ADDRESS, runtime=core_runtime())
    async with Worker(client, task_queue=QUEUE, workflows=[Fails], activities=[fail]):
        with suppress(WorkflowFailureError):
            await client.execute_workflow(Fails.run, MARKER, id=QUEUE, task_queue=QUEUE)
    await asyncio.sleep(0.1)  # the core's threads end before the interpreter does


asyncio.run(main())
