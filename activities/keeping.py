"""Keeping what an attempt brought, in a store that may be in trouble: a paid answer, and what a provider said.

All other use of the store waits inside it (`STORE_S`) and is tried again by whoever asked: Temporal, or the ledger.
"""

import asyncio
from typing import Final

from activities.attempt import Attempt
from activities.kept import CallStore, Kept

PAUSE_S: Final = 1.0
"""Seconds between two rounds of waiting for the store."""
CANCELLED_S: Final = 6.0
"""Seconds in which a cancelled call may still store its answer: SQLite's lock may take five of them."""


async def keep_answer(store: CallStore, attempt: Attempt, key: str, message: bytes) -> Kept:
    """Store an answer that is paid for, before the activity completes.

    A store in trouble is tried again for as long as the attempt's own time lasts, then `StoreTroubled` is raised. A
    call that is cancelled meanwhile has `CANCELLED_S` left.
    """
    storing = asyncio.ensure_future(_stored(store, attempt, key, message))
    try:
        return await asyncio.shield(storing)
    except asyncio.CancelledError:
        await asyncio.wait([storing], timeout=CANCELLED_S)
        if storing.done() and not storing.exception():
            return storing.result()
        storing.cancel()
        raise


async def keep_detail(store: CallStore, attempt: Attempt, said: str) -> None:
    """Keep a provider's words. A store in trouble costs these and not what became of the attempt."""
    from store import StoreTroubled  # noqa: PLC0415 - the store is loaded by whoever brought it

    try:
        await store.put_detail(attempt.call.conversation.id, attempt.call.attempt, said)
    except StoreTroubled:
        return


async def _stored(store: CallStore, attempt: Attempt, key: str, message: bytes) -> Kept:
    from store import StoreTroubled  # noqa: PLC0415 - as above

    call = attempt.call
    while True:
        try:
            return await store.append(call.conversation, key, message, call.attempt)
        except StoreTroubled:
            if not attempt.left_s:
                raise
            await asyncio.sleep(PAUSE_S)
