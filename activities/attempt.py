"""One attempt under way: its clock, how far it came, and the trip it tells of in the end.

It changes while it runs, so that whatever ends it (an answer, a deadline, a cancel) can say what had happened by then.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from pydantic import JsonValue

from activities.contract import ModelCall
from activities.exchange import Exchange
from activities.identity import sent
from ledger.outcomes import Outcome, Trip, Usage

if TYPE_CHECKING:
    from activities.client import Request


class Attempt:
    """`clock` counts seconds from anywhere and never goes back."""

    def __init__(self, call: ModelCall, clock: Callable[[], float]) -> None:
        self.call = call
        self.exchange = Exchange(run=call.conversation.id, attempt=call.attempt)
        self.request: Request | None = None
        self.files = 0
        """How many files the request names by id."""
        self._clock = clock
        self._came = clock()
        self._began: float | None = None

    @property
    def left_s(self) -> float:
        """Seconds until the trip's deadline, from the end of its wait on."""
        began = self._came if self._began is None else self._began
        return max(0.0, self.call.deadline_s - (self._clock() - began))

    async def wait(self) -> None:
        """Sleep the backoff that rides inside the attempt."""
        if self.call.wait_s:
            await asyncio.sleep(self.call.wait_s)
        self._began = self._clock()

    def progress(self) -> dict[str, JsonValue]:
        """What a heartbeat tells: a word and a number."""
        phase = "waiting" if self._began is None else self.exchange.phase
        return {"phase": phase, "bytes": self.exchange.received}

    def trip(self, outcome: Outcome, usage: Usage | None = None) -> Trip:
        """The attempt as it ended. Durations are milliseconds; `duration_ms` is without the wait."""
        now = self._clock()
        began = now if self._began is None else self._began
        return Trip(
            outcome=outcome,
            duration_ms=round((now - began) * 1_000),
            waited_ms=round((began - self._came) * 1_000) if self.call.wait_s else 0,
            sent=sent(self.request, self.exchange.parameters()) if self.request and self.exchange.sent else None,
            request_id=self.exchange.request_id,
            files=self.files,
            usage=usage or self.exchange.usage,
        )
