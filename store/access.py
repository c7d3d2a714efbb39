"""How a statement reaches the database: a connection for its time, a commit where it writes, and never half of it.

Work once begun runs to its end, even when its caller is cancelled meanwhile: SQLite works in a thread that nobody
can stop, and a transaction abandoned there would hold the file's lock against every other writer. A cancelled caller
therefore waits for the end (at most for the lock, `opening.BUSY_S`), and what it wrote is kept.

Work that met trouble which passes is begun again, as often as the patience of whoever opened the store allows; a caller
that is cancelled between two tries is let go at once. All work may be done twice: a commit whose answer was lost may
have been made.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, TypeVar

import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from store.trouble import trouble_in

PAUSES_S: Final = (0.1, 0.2, 0.5, 1.0, 2.0)
"""Seconds between tries, the last for all that follow: a store that is back is noticed soon, and not besieged."""

_PATIENCE: Final = "patience_s"
T = TypeVar("T")
_log: Final = structlog.stdlib.get_logger()


def patient(engine: AsyncEngine, seconds: float) -> AsyncEngine:
    """The engine, with which work is tried again for so long."""
    return engine.execution_options(**{_PATIENCE: seconds})


async def reading(engine: AsyncEngine, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
    async def read() -> T:
        async with engine.connect() as connection:
            return await work(connection)

    return await _again_and_again(read, engine.get_execution_options().get(_PATIENCE, 0.0))


async def writing(engine: AsyncEngine, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
    """As one transaction: all of the work or nothing of it."""

    async def write() -> T:
        async with engine.begin() as connection:
            return await work(connection)

    return await _again_and_again(write, engine.get_execution_options().get(_PATIENCE, 0.0))


async def _again_and_again(work: Callable[[], Coroutine[Any, Any, T]], patience_s: float) -> T:
    """Raises `StoreTroubled` where it did not work within this time; what is no trouble that passes at once."""
    until, tries = time.monotonic() + patience_s, 0
    while True:
        try:
            done = await _to_its_end(work())
        except SQLAlchemyError as error:
            trouble = trouble_in(error)
            if trouble is None:
                raise
            left = until - time.monotonic()
            if left <= 0:
                raise trouble from None
            if not tries:
                _log.warning("store.troubled", reason=trouble.reason)
            await asyncio.sleep(min(left, PAUSES_S[min(tries, len(PAUSES_S) - 1)]))
            tries += 1
        else:
            if tries:
                _log.info("store.works_again", tries=tries)
            return done


async def _to_its_end(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        raise
