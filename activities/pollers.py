"""Who polls a task queue, as Temporal tells, and how a worker of ours is known there.

For a worker that starts or cannot prepare a run beside others, and for `endstop doctor`. Not here: how a worker polls
(`polling`).
"""

import os
import re
import socket
import time
from collections.abc import Sequence
from typing import Any, Final

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.service import RPCError

ALIVE_S: Final = 90.0
"""Seconds since a worker was last heard of. It asks again every minute; a server lists it for five."""

ELSEWHERE_S: Final = 60.0
"""Seconds for which a worker leaves a run that it cannot prepare to others, from the first time that it could not."""

KEPT: Final = 1_024
"""Runs whose first refusal is remembered; after that all are forgotten, and get their minute anew."""

MACHINE: Final = 16
"""Characters of a machine's name that its workers are known by: the last, in which those of one cluster differ."""

OURS: Final = re.compile(r"[0-9]+@[^@/]*/es:([0-9a-z]+)")
"""How a worker of ours is known. `es:` marks it: what stands behind a slash in another program's name is no store."""

Poller = Any
"""Temporal's PollerInfo."""


def identity(store: str) -> str:
    """How a worker is known to Temporal: process, machine and store, such as `4711@vm/es:1a2b`.

    History has it in every second event, so it is short.
    """
    machine = socket.gethostname().partition(".")[0][-MACHINE:]
    return f"{os.getpid()}@{machine}/es:{store}"


def machine_of(worker: str) -> str:
    """The machine in an identity."""
    return worker.rpartition("@")[2].partition("/")[0]


def store_of(worker: str) -> str:
    """The store in an identity; "" in that of a program which is none of our workers, or of an older release."""
    found = OURS.fullmatch(worker)
    return found[1] if found else ""


async def pollers(client: Client, queue: str, *, runs: bool) -> Sequence[Poller]:
    """The workers that were heard of lately: those of workflows, or of activities. Raises `RPCError`."""
    kind = TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW if runs else TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY
    asked = DescribeTaskQueueRequest(namespace=client.namespace, task_queue=TaskQueue(name=queue), task_queue_type=kind)
    told = await client.workflow_service.describe_task_queue(asked)
    now = time.time()
    return [poller for poller in told.pollers if now - poller.last_access_time.seconds < ALIVE_S]


class Others:
    """The workers beside this one, which is known as `own`, on its task queue."""

    def __init__(self, client: Client, queue: str, own: str) -> None:
        self._client = client
        self._queue = queue
        self._own = own
        self._since: dict[str, float] = {}

    async def known(self) -> tuple[str, ...]:
        """Their identities, sorted; none where the server does not tell."""
        try:
            polling = await pollers(self._client, self._queue, runs=True)
        except RPCError:
            return ()
        return tuple(sorted({poller.identity for poller in polling} - {self._own}))

    async def may_take(self, run: str) -> bool:
        """Whether another worker may prepare what this one cannot: there is one, and it had no minute for it yet."""
        if not await self.known():
            return False
        if len(self._since) >= KEPT:
            self._since.clear()
        now = time.monotonic()
        return now - self._since.setdefault(run, now) < ELSEWHERE_S
