"""Taking content out of the store: by a person's word, or because it is old. Nothing else deletes a row or empties it.

A row stays, with what identifies it (position, key, digest, bytes, status); its body becomes empty, and `removals`
tells who had that done, in the same transaction. What is removed is gone from the file once `scrub` was called.
"""

import re
import time
from collections.abc import Collection, Iterator, Sequence
from typing import Final, Literal

from sqlalchemy import ColumnElement, Connection, Table, delete, insert, literal, select, text, update

from ledger.model import Frozen
from ledger.records import CaptureStatus
from store.schema import captures, contents, details, journal, messages, removals, unused_answers
from store.sealed import clear_length

GONE: Final = b""
AT_ONCE: Final = 1_000
"""References in one statement."""
REF_DIGITS: Final = 24
"""Characters of a reference (`ledger.conversation.digest`)."""
_DIGITS: Final = re.compile(rb"[0-9a-f]{%d,}" % REF_DIGITS)

What = Literal["request", "detail", "transcript"]


class Removal(Frozen):
    """Something that is not here any more."""

    what: What
    attempt: str
    """Id of the attempt; "" for the transcript."""
    status: CaptureStatus
    by: str
    at: int
    """Unix seconds."""


class Removed(Frozen):
    """What one call removed."""

    requests: int = 0
    details: int = 0
    messages: int = 0
    contents: int = 0

    @property
    def nothing(self) -> bool:
        return self == Removed()


def redact(connection: Connection, conversation: str, attempt: str | None, by: str) -> Removed:
    """Remove the captured requests and error details of a run, or of one attempt of it."""
    requests = _retained(captures.c.conversation == conversation, captures.c.attempt, attempt)
    failed = _told(details.c.conversation == conversation, details.c.attempt, attempt)
    return Removed(
        requests=_forget_requests(connection, requests, CaptureStatus.REDACTED, by),
        details=_forget_details(connection, failed, CaptureStatus.REDACTED, by),
    )


def redact_transcript(connection: Connection, conversation: str, by: str, refs: Collection[str]) -> Removed:
    """Remove all content of a run: its messages, requests and details, and of the contents those that it alone names.

    `refs` are the contents that the run was given or made.
    """
    note = {"conversation": conversation, "what": "transcript", "attempt": "", "status": "redacted", "by": by}
    gone = 0
    for table in (messages, unused_answers):
        gone += _empty(connection, table, table.c.conversation == conversation, table.c.removed.is_(None))
    if gone:
        connection.execute(insert(removals).values(note))
    beside = redact(connection, conversation, None, by)
    return beside.model_copy(update={"messages": gone, "contents": _drop(connection, refs, conversation)})


def expire(connection: Connection, before: int, by: str, limit: int) -> Removed:
    """Remove the oldest requests and details that came before a time (unix seconds), at most `limit` of each."""
    requests = captures.c.number.in_(
        select(captures.c.number)
        .where(captures.c.status == CaptureStatus.RETAINED, captures.c.at < before)
        .order_by(captures.c.at, captures.c.number)
        .limit(limit)
    )
    failed = details.c.number.in_(
        select(details.c.number)
        .where(details.c.removed.is_(None), details.c.at < before)
        .order_by(details.c.at, details.c.number)
        .limit(limit)
    )
    return Removed(
        requests=_forget_requests(connection, requests, CaptureStatus.EXPIRED, by),
        details=_forget_details(connection, failed, CaptureStatus.EXPIRED, by),
    )


def listed(connection: Connection, conversation: str) -> list[Removal]:
    """What was removed of a run, in order."""
    columns = (removals.c[name] for name in Removal.model_fields)
    rows = connection.execute(
        select(*columns).where(removals.c.conversation == conversation).order_by(removals.c.number)
    )
    return [Removal.model_validate(row) for row in rows.mappings()]


def scrub(connection: Connection) -> bool:
    """Bring what was removed out of the database's files. False: somebody still reads what was there before.

    SQLite overwrites what is removed in its pages (`opening`), but the pages as they were stand in the -wal file until
    that is emptied, which every reader's end allows. PostgreSQL does it in its own time, by autovacuum.
    """
    if connection.dialect.name != "sqlite":
        return True
    connection.execution_options(isolation_level="AUTOCOMMIT")
    busy = connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)")).one()[0]
    return not busy


def _retained(of_run: ColumnElement[bool], column: ColumnElement[str], attempt: str | None) -> ColumnElement[bool]:
    mine = of_run if attempt is None else of_run & (column == attempt)
    return mine & (captures.c.status == CaptureStatus.RETAINED)


def _told(of_run: ColumnElement[bool], column: ColumnElement[str], attempt: str | None) -> ColumnElement[bool]:
    mine = of_run if attempt is None else of_run & (column == attempt)
    return mine & details.c.removed.is_(None)


def _forget_requests(connection: Connection, which: ColumnElement[bool], status: CaptureStatus, by: str) -> int:
    _note(connection, captures, which, "request", status, by)
    done = connection.execute(update(captures).where(which).values(body=GONE, status=status))
    return done.rowcount


def _forget_details(connection: Connection, which: ColumnElement[bool], status: CaptureStatus, by: str) -> int:
    _note(connection, details, which, "detail", status, by)
    return _empty(connection, details, which)


def _note(
    connection: Connection, table: Table, which: ColumnElement[bool], what: What, status: CaptureStatus, by: str
) -> None:
    """Tell of every row that goes, before it does: the transaction's first statement, so that it takes the lock."""
    gone = select(
        table.c.conversation,
        literal(what),
        table.c.attempt,
        literal(str(status)),
        literal(by),
        literal(int(time.time())),
    ).where(which)
    names = ("conversation", "what", "attempt", "status", "by", "at")
    connection.execute(insert(removals).from_select(names, gone, include_defaults=False))


def _empty(connection: Connection, table: Table, *which: ColumnElement[bool]) -> int:
    emptied = update(table).where(*which).values(removed=clear_length(table.c.body), body=GONE)
    return connection.execute(emptied).rowcount


def _drop(connection: Connection, refs: Collection[str], conversation: str) -> int:
    """Delete contents, unless another run's messages or journal name them: all of these are read, once."""
    ours = {ref for some in _batches(refs) for ref in connection.scalars(select(contents.c.ref).where(_among(some)))}
    for column in (messages.c.body, journal.c.entry) if ours else ():
        others = select(column).where(column.table.c.conversation != conversation)
        for content in connection.scalars(others.execution_options(stream_results=True)):
            ours -= _named_in(content if isinstance(content, bytes) else content.encode(), ours)
    return sum(connection.execute(delete(contents).where(_among(some))).rowcount for some in _batches(ours))


def _batches(refs: Collection[str]) -> Iterator[Sequence[str]]:
    """As many as a statement takes on any database."""
    every = sorted(refs)
    return (every[at : at + AT_ONCE] for at in range(0, len(every), AT_ONCE))


def _among(refs: Sequence[str]) -> ColumnElement[bool]:
    return contents.c.ref.in_(refs)


def _named_in(content: bytes, refs: Collection[str]) -> set[str]:
    """The references that a content holds, whatever stands around them. How many are looked for costs nothing."""
    digits = (found[0].decode() for found in _DIGITS.finditer(content))
    words = (run[at : at + REF_DIGITS] for run in digits for at in range(len(run) - REF_DIGITS + 1))
    return {word for word in words if word in refs}
