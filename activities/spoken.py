"""What a person wrote, wherever it is: in the message itself, or in the store under a reference.

Not here: what becomes of it (`notes`, `tool_calls`).
"""

from typing import Final

from activities.stored import Contents
from ledger.answers import Edit, Reject, Reply
from ledger.notes import GuideNote

NOT_THERE: Final = "[a person wrote something here that this store does not have]"
"""Stands for words that a reference names and the store does not hold. No JSON, so no tool runs by it."""


async def spoken(store: Contents, said: Edit | Reject | Reply | GuideNote) -> str:
    """The words; "" for none. A reference that names nothing would be asked for for ever: whoever reads is told."""
    if not said.ref:
        return said.text or ""
    from store import ContentMissing  # noqa: PLC0415 - whoever asks a model does without SQL

    try:
        return (await store.get(said.ref)).decode(errors="replace")
    except ContentMissing:
        return NOT_THERE
