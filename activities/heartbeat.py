"""Heartbeats of a long activity, on a timer of their own so that a slow provider or command cannot delay them.

The details are small and hold no content: they end in history when a worker dies.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

from pydantic import JsonValue
from temporalio import activity

EVERY_S: Final = 1.5
"""Seconds between heartbeats; with a heartbeat timeout of 6 s a lost worker is noticed in time (DESIGN 5)."""


@asynccontextmanager
async def heartbeats(report: Callable[[], Mapping[str, JsonValue]], every_s: float = EVERY_S) -> AsyncIterator[None]:
    """Within this block, send what `report` tells, at once and then every `every_s` seconds."""
    beating = asyncio.create_task(_beat(report, every_s))
    try:
        yield
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)


async def _beat(report: Callable[[], Mapping[str, JsonValue]], every_s: float) -> None:
    while True:
        activity.heartbeat(dict(report()))
        await asyncio.sleep(every_s)
