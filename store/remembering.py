"""A store that remembers the conversations it saw last, so that a worker reads only what is new of them.

Never wrong: a conversation is named by the digest of its chain, and what is remembered is only used for a chain that
it is a prefix of, which the store checks. Bounded in bytes; what was used longest ago goes first.
"""

from collections import OrderedDict
from typing import Final

from ledger.conversation import Conversation
from store.access import Database
from store.errors import ConversationBroken
from store.messages import Appended
from store.store import Store

MAX_BYTES: Final = 32 * 2**20
"""Of message bodies, over all conversations: 200 turns of 2 kB in 80 runs at once."""


class _Known:
    """The messages of one conversation, as far as they were seen."""

    def __init__(self, conversation: Conversation, bodies: tuple[bytes, ...]) -> None:
        self.conversation = conversation
        self.bodies = bodies
        self.size = sum(map(len, bodies))


class RememberingStore(Store):
    """For one worker, which asks for the same conversations again and again, a message longer each time."""

    def __init__(self, database: Database, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(database)
        self._max_bytes = max_bytes
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._size = 0

    async def read(self, conversation: Conversation) -> list[bytes]:
        """As the store reads it, from memory as far as it is there."""
        known = self._known.get(conversation.id)
        if known and known.conversation == conversation:
            self._known.move_to_end(conversation.id)
            return list(known.bodies)
        bodies = await self._read_on(conversation, known)
        self._remember(conversation, tuple(bodies))
        return bodies

    async def append(self, conversation: Conversation, key: str, body: bytes, attempt: str = "") -> Appended:
        """As the store appends it; what it holds then is remembered."""
        appended = await super().append(conversation, key, body, attempt)
        self._grown(conversation, appended)
        return appended

    async def append_result(self, answer: Conversation, ordinal: int, body: bytes, attempt: str = "") -> Appended:
        """As the store appends it; the first result of an answer is remembered, the others are read on."""
        appended = await super().append_result(answer, ordinal, body, attempt)
        if ordinal == 0:
            self._grown(answer, appended)
        return appended

    async def _read_on(self, conversation: Conversation, known: _Known | None) -> list[bytes]:
        if known is None or known.conversation.length >= conversation.length:
            return await super().read(conversation)
        try:
            new = await self.read_since(conversation, known.conversation)
        except ConversationBroken:  # another branch: after a reset, or where two workers answered
            return await super().read(conversation)
        return [*known.bodies, *new]

    def _grown(self, before: Conversation, appended: Appended) -> None:
        known = self._known.get(before.id)
        if known and known.conversation == before:
            self._remember(appended.conversation, (*known.bodies, appended.body))

    def _remember(self, conversation: Conversation, bodies: tuple[bytes, ...]) -> None:
        self._forget(conversation.id)
        known = _Known(conversation, bodies)
        if known.size > self._max_bytes:
            return
        self._known[conversation.id] = known
        self._size += known.size
        while self._size > self._max_bytes:
            self._forget(next(iter(self._known)))

    def _forget(self, conversation_id: str) -> None:
        if known := self._known.pop(conversation_id, None):
            self._size -= known.size
