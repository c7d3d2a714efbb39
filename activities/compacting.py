"""The activity `compact`: makes a conversation shorter, as a new branch of it in the store.

Idempotent: the same conversation, cut the same way, gives the same rows. Nothing of the old branch is changed. Not
here: what is dropped (`shortening`), or when (the ledger).
"""

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from pydantic import JsonValue
from temporalio import activity

from activities.agents import Agents
from activities.catalog import READ_OUTPUT
from activities.contract_compacting import COMPACT, CompactConversation
from activities.heartbeat import heartbeats
from activities.messages import text_of
from activities.shortening import Shortened, summarised, without_results
from activities.stored import Contents
from ledger.conversation import Conversation, Link
from store import Message


class CompactStore(Contents, Protocol):
    """What compacting needs of the store."""

    async def read(self, conversation: Conversation) -> list[bytes]: ...

    async def read_kept(self, conversation: Conversation) -> list[Message]: ...

    async def branch(
        self, origin: Conversation, kept: Sequence[Link], beside: Collection[str] = ()
    ) -> Conversation: ...


class Compactor:
    """Compacts conversations of one store."""

    def __init__(self, store: CompactStore) -> None:
        self._store = store
        self._agents = Agents(store)

    @activity.defn(name=COMPACT)
    async def compact(self, asked: CompactConversation) -> dict[str, Any]:
        """Return a `CompactDone`. What frees nothing is not done."""
        async with heartbeats(lambda: {"phase": "compacting"}):
            return await self._compacted(asked)

    async def _compacted(self, asked: CompactConversation) -> dict[str, JsonValue]:
        agent = await self._agents.get(asked.agent_ref)
        readable = READ_OUTPUT in agent.stages[asked.stage].tools
        messages = [Link(one.key, one.body, one.attempt) for one in await self._store.read_kept(asked.conversation)]
        before = sum(len(one.body) for one in messages)
        shorter = await self._shortened(asked, messages, int(asked.verbatim * before), readable=readable)
        freed = shorter.size < before
        place = asked.conversation
        if freed:
            place = await self._store.branch(place, shorter.kept, shorter.dropped if readable else ())
        return {
            "conversation": place.place,
            "bytes_before": before,
            "bytes_after": shorter.size if freed else before,
            "dropped": len(shorter.dropped) if freed else 0,
            "replaced": shorter.replaced if freed else 0,
        }

    async def _shortened(
        self, asked: CompactConversation, messages: list[Link], limit: int, *, readable: bool
    ) -> Shortened:
        if asked.summary is None:
            return without_results(messages, limit, readable=readable)
        *_, summary = await self._store.read(asked.summary)
        return summarised(messages, limit, text_of(summary))
