"""Somebody else's worker: the activities Refund and Charge on a task queue of their own, in a thread of their own.

For tests of tools that are activities elsewhere. Refund answers at once; Charge never ends, nor says that it lives.
"""

import asyncio
import threading
from typing import Any, Self

from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Worker

QUEUE = "billing"
TOOLS = f"""
[tools.refund]
activity = "Refund"
task_queue = "{QUEUE}"
description = "Pay money back."
parameters = {{ type = "object", properties = {{ order = {{ type = "string" }}, amount = {{ type = "number" }} }} }}
approval = "always"

[tools.charge]
activity = "Charge"
task_queue = "{QUEUE}"
description = "Take money."
approval = "always"
heartbeat_s = 1
"""


class Billing:
    """`with Billing(address) as billing:`; what was refunded is in `refunds`."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._work()))
        self.refunds: list[dict[str, Any]] = []
        self.charges: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _work(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        client = await Client.connect(self._address)
        async with Worker(client, task_queue=QUEUE, activities=[self.refund, self.charge]):
            self._ready.set()
            await self._stop.wait()

    @activity.defn(name="Refund")
    async def refund(self, arguments: dict[str, Any]) -> str:
        self.refunds.append(arguments)
        return f"paid back {arguments['amount']}"

    @activity.defn(name="Charge")
    async def charge(self, arguments: dict[str, Any]) -> None:
        self.charges.append(arguments)
        await asyncio.Event().wait()
