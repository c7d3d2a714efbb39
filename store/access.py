"""How a statement reaches the database: a thread for a whole piece of work, a commit where it writes, and never half.

Work once begun runs to its end, even when its caller is cancelled meanwhile: nobody can stop a thread, and a
transaction abandoned there would hold the lock of SQLite's file against every other writer. A cancelled caller
therefore waits for the end (at most for the lock, `opening.BUSY_S`), and what it wrote is kept.

Work that met trouble which passes is begun again, as often as the patience of whoever opened the store allows; a caller
that is cancelled between two tries is let go at once. All work may be done twice: a commit whose answer was lost may
have been made.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final, TypeVar

import structlog
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from store.trouble import trouble_in

PAUSES_S: Final = (0.1, 0.2, 0.5, 1.0, 2.0)
"""Seconds between tries, the last for all that follow: a store that is back is noticed soon, and not besieged."""

T = TypeVar("T")
_log: Final = structlog.stdlib.get_logger()


class Database:
    """A database and its threads, one a connection. A piece of work is one hop into a thread, whatever it executes."""

    def __init__(self, engine: Engine, *, connections: int, patience_s: float = 0) -> None:
        self.engine = engine
        self._threads = ThreadPoolExecutor(connections, thread_name_prefix="store")
        self._patience_s = patience_s

    async def reading(self, work: Callable[[Connection], T]) -> T:
        """Do work that writes nothing. Raises `StoreTroubled`."""

        def read() -> T:
            with self.engine.connect() as connection:
                return work(connection)

        return await self._again_and_again(read)

    async def writing(self, work: Callable[[Connection], T]) -> T:
        """Do work as one transaction: all of it or nothing. Raises `StoreTroubled`."""

        def write() -> T:
            with self.engine.begin() as connection:
                return work(connection)

        return await self._again_and_again(write)

    async def close(self) -> None:
        await asyncio.to_thread(self._threads.shutdown)
        self.engine.dispose()

    async def _again_and_again(self, work: Callable[[], T]) -> T:
        """Raises `StoreTroubled` where it did not work within the patience; what is no trouble that passes at once."""
        until, tries = time.monotonic() + self._patience_s, 0
        while True:
            try:
                done = await _to_its_end(asyncio.get_running_loop().run_in_executor(self._threads, work))
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


async def _to_its_end(work: asyncio.Future[T]) -> T:
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([work])
        raise
