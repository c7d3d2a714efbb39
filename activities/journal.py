"""`write_journal`: copies journal records to the store, where the whole journal stays.

The workflow decides what a record says and which number it has; this only keeps it.
"""

from temporalio import activity

from activities.contract import WRITE_JOURNAL, WriteJournal
from activities.stored import Journal


class JournalWriter:
    """The activity `write_journal`."""

    def __init__(self, store: Journal) -> None:
        self._store = store

    @activity.defn(name=WRITE_JOURNAL)
    async def write_journal(self, request: WriteJournal) -> None:
        """Write the entries, all or none; those that are there already stay as they are."""
        await self._store.write_journal(request.conversation, request.entries)
