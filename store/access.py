"""How a statement reaches the database: a connection for its time, a commit where it writes, and never half of it.

Work once begun runs to its end, even when its caller is cancelled meanwhile: SQLite works in a thread that nobody
can stop, and a transaction abandoned there would hold the file's lock against every other writer. A cancelled caller
therefore waits for the end (at most for the lock, `opening.BUSY_S`), and what it wrote is kept.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

T = TypeVar("T")


async def reading(engine: AsyncEngine, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
    async def read() -> T:
        async with engine.connect() as connection:
            return await work(connection)

    return await _to_its_end(read())


async def writing(engine: AsyncEngine, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
    """As one transaction: all of the work or nothing of it."""

    async def write() -> T:
        async with engine.begin() as connection:
            return await work(connection)

    return await _to_its_end(write())


async def _to_its_end(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        raise
