"""One attempt under way: its clock, how far it came, and the trip it tells of in the end.

It changes while it runs, so that whatever ends it (an answer, a deadline, a cancel) can say what had happened by then.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, assert_never

from pydantic import JsonValue

from activities.contract import ModelCall
from activities.exchange import Exchange
from activities.heartbeat import EVERY_S
from activities.identity import sent
from ledger.outcomes import Answered, Held, Outcome, Refused, Trip, Usage

if TYPE_CHECKING:
    from activities.client import Request
    from activities.pricing import Tariff
    from activities.quote import Quote

NOTICE_S: Final = 2 * EVERY_S
"""Seconds before the end of a riding wait from which on heartbeats tell what the call may cost: two are due by then."""


class Attempt:
    """`clock` counts seconds from anywhere and never goes back."""

    def __init__(self, call: ModelCall, clock: Callable[[], float]) -> None:
        self.call = call
        self.exchange = Exchange(run=call.conversation.id, attempt=call.attempt)
        self.request: Request | None = None
        self.quote: Quote | None = None
        self.capture = False
        """Whether the agent asks that the request's body be kept."""
        self.quoted = asyncio.Event()
        """Set once it is known what the call may cost: a heartbeat has something to tell."""
        self.files = 0
        """How many files the request names by id."""
        self._may_leave = call.wait_s <= NOTICE_S
        self._clock = clock
        self._came = clock()
        self._began: float | None = None

    def quoted_at(self, quote: "Quote") -> None:
        """Note what the call may cost, before it is made."""
        self.quote = quote
        self.quoted.set()

    @property
    def left_s(self) -> float:
        """Seconds until the trip's deadline, from the end of its wait on."""
        began = self._came if self._began is None else self._began
        return max(0.0, self.call.deadline_s - (self._clock() - began))

    @property
    def tariff(self) -> "Tariff":
        """What the target charges."""
        if self.quote is None:
            raise RuntimeError("an attempt is quoted before anything comes of it")
        return self.quote.tariff

    @property
    def held(self) -> Held | None:
        """Why the call may not be made; None: it may."""
        return self.quote.held(self.call) if self.quote else None

    async def wait(self) -> None:
        """Sleep the backoff that rides inside the attempt."""
        wait_s = self.call.wait_s
        if not self._may_leave:
            await asyncio.sleep(wait_s - NOTICE_S)
            self._may_leave, wait_s = True, NOTICE_S
        if wait_s:
            await asyncio.sleep(wait_s)
        self._began = self._clock()

    def progress(self) -> dict[str, JsonValue]:
        """What a heartbeat tells: a word and a few numbers (`Progress`)."""
        told: dict[str, JsonValue] = {
            "phase": "waiting" if self._began is None else self.exchange.phase,
            "bytes": self.exchange.received,
        }
        if self.quote and self._may_leave:
            most = self.quote.most
            told["bound"] = [most.input_tokens, most.output_tokens, most.cost_usd]
        return told

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
            usage=usage or self._used(outcome),
        )

    def _used(self, outcome: Outcome) -> Usage | None:
        """What the provider told before it broke off; the most that it may charge where it told nothing, or not all."""
        told = self.exchange.usage
        if self.quote is None:
            return told
        match outcome:
            case Refused(failure=failure) if failure.outcome_unknown:
                return self.quote.unfinished(told)
            case Answered():
                return self.quote.unfinished(told)
            case Refused() | Held():
                return self.tariff.priced(told) if told else None
            case never:
                assert_never(never)
