"""What the simulator received and what became of each answer: in memory, and as fsynced JSON lines in a file.

The file is evidence: the line of a request is on the disk before the first byte of its answer is sent. Bodies are
kept in memory only, and only the newest of them; the file has their size and digest.
"""

import asyncio
import json
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, JsonValue

from simulator.model import Frozen, Headers

SECRET_HEADERS: Final = frozenset({"authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie"})
MASK: Final = "***"

BODIES_KEPT: Final = 64 * 1024 * 1024
"""Bytes of request bodies held in memory; the oldest are dropped first, their records stay."""

Outcome = Literal["sent", "cut", "client_closed", "stopped"]
"""sent: all of it; cut: ended by us as scripted; client_closed: by them, before its end; stopped: we went down."""


class Received(Frozen):
    """One request. `seq` counts all from 1; `number` those of its model and lane, 0 when no reply was chosen for it."""

    seq: int
    at: datetime
    dialect: str
    model: str
    lane: str
    number: int
    attempt: str
    method: str
    path: str
    headers: Headers
    body_size: int
    body_sha256: str
    raw: bytes | None = Field(default=None, exclude=True, repr=False)

    @property
    def body(self) -> JsonValue:
        """The JSON that was sent; nothing when it was no JSON or is no longer kept."""
        try:
            parsed: JsonValue = json.loads(self.raw or b"null")
        except ValueError:
            return None
        return parsed


class Answered(Frozen):
    """What became of the answer to request `seq`. `status` is missing when not even the status line was sent."""

    seq: int
    at: datetime
    model: str
    lane: str
    number: int
    attempt: str
    reply: str
    status: int | None
    bytes_sent: int
    outcome: Outcome


def masked(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers as they may be kept: the values of those that hold keys are replaced."""
    return {name: MASK if name in SECRET_HEADERS else value for name, value in headers.items()}


class Log:
    """Appends records and wakes whoever waits for them."""

    def __init__(self, path: Path | str | None = None) -> None:
        self.received: list[Received] = []
        self.files: list[Received] = []
        self.answered: dict[int, Answered] = {}
        self._news = asyncio.Condition()
        self._file = None if path is None else Path(path).open("a", encoding="utf-8")  # noqa: SIM115 - closed by close()
        self._kept = 0
        self._oldest_kept = 0

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    async def add_received(self, record: Received) -> None:
        self._append("received", record)
        self.received.append(record)
        self._kept += len(record.raw or b"")
        self._drop_old_bodies()
        await self._tell()

    def add_file(self, record: Received) -> None:
        """A request to a files API: no trip to a model, so it has a list and numbers of its own."""
        self._append("file", record)
        self.files.append(record)

    async def add_answered(self, record: Answered) -> None:
        self._append("answered", record)
        self.answered[record.seq] = record
        await self._tell()

    async def wait_received(self, count: int) -> list[Received]:
        """The first `count` requests, when that many have arrived."""
        async with self._news:
            await self._news.wait_for(lambda: len(self.received) >= count)
        return self.received[:count]

    async def wait_answered(self, seq: int) -> Answered:
        """What became of the answer to request `seq`, when it has ended."""
        async with self._news:
            await self._news.wait_for(lambda: seq in self.answered)
        return self.answered[seq]

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    def _append(self, event: str, record: Frozen) -> None:
        if self._file is None:
            return
        self._file.write(json.dumps({"event": event, **record.model_dump(mode="json")}) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _drop_old_bodies(self) -> None:
        while self._kept > BODIES_KEPT and self._oldest_kept < len(self.received):
            old = self.received[self._oldest_kept]
            self.received[self._oldest_kept] = old.model_copy(update={"raw": None})
            self._kept -= len(old.raw or b"")
            self._oldest_kept += 1
