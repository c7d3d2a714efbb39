"""The journal inside the workflow: numbers the records, answers the query with the newest, brings all to the store."""

from collections import deque
from collections.abc import Sequence
from typing import Any

from activities.contract import WriteJournal
from ledger.journal import Entry, JournalRecord
from workflows.carrying_out import write_journal
from workflows.messages import JournalPage

ENTRIES_HELD = 500
"""Entries that the query can answer from the workflow; the store has all."""
FLUSH_EVERY = 50
"""Entries that may wait before they go to the store."""
MAX_PAGE = 200


class Notebook:
    """A run's journal. `seq` is the sequence number of the last entry, from 1 over the whole run."""

    def __init__(self, seq: int = 0) -> None:
        self.seq = seq
        self._held: deque[Entry] = deque(maxlen=ENTRIES_HELD)
        self._unwritten: list[Entry] = []

    def note(self, records: Sequence[JournalRecord]) -> None:
        """Number the records and keep them."""
        for record in records:
            self.seq += 1
            entry = Entry(seq=self.seq, record=record)
            self._held.append(entry)
            self._unwritten.append(entry)

    @property
    def full(self) -> bool:
        """Whether so many entries wait that they should go to the store now."""
        return len(self._unwritten) >= FLUSH_EVERY

    async def flush(self, conversation: str) -> None:
        """Bring what is unwritten to the store, and what is noted meanwhile; idempotent by sequence number."""
        while self._unwritten:
            written = tuple((entry.seq, entry.record.model_dump(mode="json")) for entry in self._unwritten)
            await write_journal(WriteJournal(conversation=conversation, entries=written))
            del self._unwritten[: len(written)]  # only now: a flush that was cancelled lost nothing

    def page(self, asked: Any) -> JournalPage:  # noqa: ANN401 - a query takes what it is sent
        """The records after `{"after": seq}`, at most `{"limit": n}`; without them the newest."""
        asked = asked if isinstance(asked, dict) else {}
        after, limit = asked.get("after"), asked.get("limit")
        count = min(limit, MAX_PAGE) if isinstance(limit, int) and limit > 0 else MAX_PAGE
        if isinstance(after, int):
            held = [entry for entry in self._held if entry.seq > after][:count]
        else:
            after, held = self.seq, list(self._held)[-count:]
        return JournalPage(
            records=tuple(entry.written() for entry in held),
            next=held[-1].seq if held else after,
            first=self._held[0].seq if self._held else self.seq + 1,
        )
