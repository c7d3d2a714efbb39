"""Keeps the exact body of a request that left, where the agent asks for it and the operator allows it (A17-A19).

It is a service beside the call: whatever goes wrong here, the answer that was paid for is reported as it is. Not here:
what left (`exchange`), where it is kept and how it goes again (the store).
"""

import asyncio
from typing import Final

import structlog

from activities.attempt import Attempt
from activities.contract import ModelReply
from activities.kept import Requests
from ledger.conversation import digest
from ledger.outcomes import Captured

KEEP_S: Final = 5.0
"""Seconds that a body may take to be kept: it is not worth a wait for a store in trouble, as an answer is."""

_log: Final = structlog.stdlib.get_logger()


class Capturer:
    """`allowed` is the operator's word, which counts whenever a body would be kept."""

    def __init__(self, store: Requests, *, allowed: bool) -> None:
        self._store = store
        self._allowed = allowed

    async def captured(self, reply: ModelReply, attempt: Attempt) -> ModelReply:
        """Keep what the attempt sent, and say so in its reply; a reply of nothing sent stays as it is."""
        sent, body = reply.trip.sent, attempt.exchange.request
        if not (self._allowed and attempt.capture and sent and body and await self._kept(attempt, body)):
            return reply
        captured = Captured(bytes=len(body), digest=digest(body), context=attempt.call.conversation.head)
        trip = reply.trip.model_copy(update={"sent": sent.model_copy(update={"captured": captured})})
        return reply.model_copy(update={"trip": trip})

    async def _kept(self, attempt: Attempt, body: bytes) -> bool:
        """The named boundary of the service: no trouble of the store's may cost an answer.

        A cancel that comes meanwhile came after the call's own end.
        """
        call = attempt.call
        keeping = asyncio.ensure_future(self._store.keep_request(call.conversation.id, call.attempt, body))
        try:
            await asyncio.wait([keeping], timeout=KEEP_S)
        except asyncio.CancelledError:
            await asyncio.wait([keeping], timeout=KEEP_S)
        if not keeping.done():
            keeping.cancel()
            problem: BaseException | None = TimeoutError()
        else:
            problem = keeping.exception()
        if problem:
            _log.warning("call_model.not_captured", attempt=call.attempt, error=type(problem).__name__)
        return problem is None
