"""Trouble that passes: which errors of a database mean that it cannot serve now, and may again.

Locked, out of reach, restarting, full, read-only for a while: none of them says anything of the statement, which may be
made again as it is. All else (a table that is gone, a value that does not fit) is a defect and raised as it is.
"""

import sqlite3
from typing import Final

from sqlalchemy import exc

from store.errors import StoreTroubled

_OF_SQLITE: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
    }
)
"""Primary result codes; the extended ones carry them in their lowest byte."""

_READ_ONLY: Final = "25006"
"""SQLSTATE of a write to a PostgreSQL server that is not the primary, or not yet."""


def trouble_in(error: exc.SQLAlchemyError) -> StoreTroubled | None:
    """The error as trouble that passes; None: it is a defect."""
    match error:
        case exc.DBAPIError(orig=sqlite3.Error() as cause):
            passes = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF in _OF_SQLITE
        case exc.OperationalError() | exc.InterfaceError():
            passes = True
        case exc.InternalError():
            passes = getattr(error.orig, "sqlstate", None) == _READ_ONLY
        case _:
            passes = False
    return StoreTroubled(words_of(error)) if passes else None


def words_of(error: Exception) -> str:
    """What the database or the system says of an error, on one line, without the statement that it may quote."""
    cause = error.orig if isinstance(error, exc.DBAPIError) else error
    told = getattr(getattr(cause, "diag", None), "message_primary", None)
    words = cause.strerror if isinstance(cause, OSError) and cause.strerror else told or str(cause)
    return " ".join(words.split())
