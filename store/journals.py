"""The journal's statements: entries in, the entries of the branch that a run is on out.

An entry is JSON here; `ledger/journal.py` knows what it says and reads it leniently.
"""

import json
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

from sqlalchemy import Connection, func, select, tuple_

from ledger.conversation import digest
from ledger.model import Frozen
from store.schema import insert_absent, journal, runs

AT_ONCE: Final = 1_000
"""Entries of a long read that are in memory at once."""


class Written(Frozen):
    """An entry of some run's journal, as it was written."""

    conversation: str
    number: int
    """Grows with every entry of the store."""
    entry: dict[str, Any]


def write(connection: Connection, conversation: str, entries: Iterable[tuple[int, Mapping[str, Any]]]) -> None:
    """Insert what is not there yet. The same entry under the same number is one entry, however often it comes."""
    rows = [_row(conversation, seq, entry) for seq, entry in entries]
    if rows:
        connection.execute(insert_absent(connection, journal), rows)


def read(connection: Connection, conversation: str, after: int, limit: int | None) -> list[dict[str, Any]]:
    """The first `limit` entries whose seq is above `after`, in order, each with its `seq`.

    A run that was reset writes other entries under numbers that are taken. The newest entry of a number counts, and
    entries that follow it in number but were written before it belong to the branch that was left: they stay in the
    table and are not read here.
    """
    floors = _floors(connection, conversation)
    wanted = select(journal.c.seq, journal.c.number, journal.c.entry)
    wanted = wanted.where(journal.c.conversation == conversation, journal.c.seq > after)
    rows = connection.execute(wanted.order_by(journal.c.seq, journal.c.number).limit(None if floors else limit))
    current = ((row.seq, row.entry) for row in rows if row.number >= _floor(floors, row.seq))
    return [{**json.loads(entry), "seq": seq} for seq, entry in islice(current, limit)]


def since(connection: Connection, at: int, agent: str | None, last: Written | None) -> list[Written]:
    """The next entries after `last` that came since a time in unix seconds, of every run or of an agent's runs.

    Run by run, and of a run in the order in which they came. What a run wrote before it was reset is among them: that
    happened too.
    """
    wanted = select(journal.c.conversation, journal.c.number, journal.c.entry).where(journal.c.at >= at)
    if last is not None:
        place = tuple_(journal.c.conversation, journal.c.number)
        wanted = wanted.where(place > (last.conversation, last.number))
    if agent is not None:
        wanted = wanted.join(runs, runs.c.conversation == journal.c.conversation).where(runs.c.agent == agent)
    rows = connection.execute(wanted.order_by(journal.c.conversation, journal.c.number).limit(AT_ONCE))
    return [Written(conversation=of, number=number, entry=json.loads(entry)) for of, number, entry in rows]


def _floors(connection: Connection, conversation: str) -> list[tuple[int, int]]:
    """Every seq that has several entries, with the number of its newest: where a reset run went another way."""
    several = select(journal.c.seq, func.max(journal.c.number)).where(journal.c.conversation == conversation)
    rows = connection.execute(several.group_by(journal.c.seq).having(func.count() > 1))
    return [(seq, number) for seq, number in rows]


def _floor(floors: list[tuple[int, int]], seq: int) -> int:
    return max((number for other, number in floors if other <= seq), default=0)


def _row(conversation: str, seq: int, entry: Mapping[str, Any]) -> dict[str, Any]:
    text = json.dumps(entry, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return {"conversation": conversation, "seq": seq, "digest": digest(text.encode()), "entry": text}
