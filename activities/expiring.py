"""`expire`: removes captured requests and error details that are older than the operator keeps them.

Here: the work, in batches, so that runs may write in between. Not here: when it is done (`workflows.expiry`), or what
removing is (the store).
"""

import time
from collections.abc import Callable
from typing import Final, Protocol

import structlog
from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.contract import EXPIRE

DAY_S: Final = 86_400
BATCH: Final = 100
"""Bodies of a kind that one transaction removes: even of a megabyte each, runs wait for it less than a second."""
BY: Final = "expiry"
"""Who removed it, in the journal."""
SCRUBS: Final = 6
"""How often the files are tried: a try waits for readers as long as any statement waits for a lock."""

_log: Final = structlog.stdlib.get_logger()


class Gone(Protocol):
    """What a batch removed."""

    @property
    def requests(self) -> int: ...

    @property
    def details(self) -> int: ...

    @property
    def nothing(self) -> bool: ...


class ExpiryStore(Protocol):
    """What expiry needs of the store."""

    async def expire(self, before: int, *, by: str, limit: int) -> Gone: ...

    async def scrub(self) -> bool: ...


class Expirer:
    """The activity `expire`. `now` is in unix seconds."""

    def __init__(self, store: ExpiryStore, now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._now = now

    @activity.defn(name=EXPIRE)
    async def expire(self, days: int) -> dict[str, int]:
        """Remove what is older than so many days and say how much that was; a second run finds nothing more."""
        before = int(self._now()) - days * DAY_S
        requests = details = 0
        while not (gone := await self._store.expire(before, by=BY, limit=BATCH)).nothing:
            requests, details = requests + gone.requests, details + gone.details
            activity.heartbeat()
        await self._out_of_the_files()  # also what an earlier try removed and could not bring out
        _log.info("expiry.done", requests=requests, details=details)
        return {"requests": requests, "details": details}

    async def _out_of_the_files(self) -> None:
        for _ in range(SCRUBS):
            if await self._store.scrub():
                return
            activity.heartbeat()
        raise ApplicationError("what was removed still stands in a file that others read", type="StillRead")
