"""Exact bodies of requests, kept where the operator and the agent allow it: the statements that keep and find them.

What is kept is found by run and attempt. Not here: how a body goes again (`removing`), or whether one may be kept.
"""

from sqlalchemy import Connection, select

from ledger.conversation import digest
from ledger.model import Frozen
from ledger.records import CaptureStatus
from store.schema import captures, insert_absent


class Capture(Frozen):
    """A request that was captured, whether or not its body is still here (RULES A17)."""

    attempt: str
    status: CaptureStatus
    bytes: int
    digest: str
    at: int
    """Unix seconds."""


def keep(connection: Connection, conversation: str, attempt: str, body: bytes) -> None:
    """Keep a body. One that was removed meanwhile stays removed: nothing comes back (A18)."""
    row = {"conversation": conversation, "attempt": attempt, "digest": digest(body), "bytes": len(body), "body": body}
    row["status"] = CaptureStatus.RETAINED
    connection.execute(insert_absent(connection, captures).values(row))


def listed(connection: Connection, conversation: str) -> list[Capture]:
    """All of a run, oldest first."""
    columns = (captures.c[name] for name in Capture.model_fields)
    rows = connection.execute(
        select(*columns).where(captures.c.conversation == conversation).order_by(captures.c.number)
    )
    return [Capture.model_validate(row) for row in rows.mappings()]


def body_of(connection: Connection, conversation: str, attempt: str) -> bytes | None:
    """The newest body of an attempt that is still here."""
    wanted = select(captures.c.body).where(
        captures.c.conversation == conversation,
        captures.c.attempt == attempt,
        captures.c.status == CaptureStatus.RETAINED,
    )
    body: bytes | None = connection.execute(wanted.order_by(captures.c.number.desc()).limit(1)).scalar()
    return body
