"""Heartbeats of a long activity, on a timer of their own so that a slow provider or command cannot delay them.

The details are small and hold no content: they end in history when a worker dies.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final

from pydantic import JsonValue
from temporalio import activity

EVERY_S: Final = 1.5
"""Seconds between heartbeats; with a heartbeat timeout of 6 s a lost worker is noticed in time (DESIGN 5)."""


@asynccontextmanager
async def heartbeats(
    report: Callable[[], Mapping[str, JsonValue]], every_s: float = EVERY_S, first: asyncio.Event | None = None
) -> AsyncIterator[None]:
    """Within this block, send what `report` tells, at once and then every `every_s` seconds.

    With `first`, at once means when that is set: Temporal's client holds a second heartbeat back for `every_s`, so
    the first must tell all. It is awaited for `every_s` at most.
    """
    beating = asyncio.create_task(_beat(report, every_s, first))
    try:
        yield
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)


async def _beat(report: Callable[[], Mapping[str, JsonValue]], every_s: float, first: asyncio.Event | None) -> None:
    if first:
        with suppress(TimeoutError):
            async with asyncio.timeout(every_s):
                await first.wait()
    while True:
        activity.heartbeat(dict(report()))
        await asyncio.sleep(every_s)
