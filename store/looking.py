"""Looking at a store without changing it: whether it could be opened and written, and what is in it.

Here: what `endstop doctor` wants to know. Opening a store (`opening`) makes the tables and brings them up to date; this
does neither, and makes no file.
"""

from pathlib import Path

from sqlalchemy import text

from ledger.model import Frozen
from store.errors import StoreUnavailable
from store.opening import engine_of, is_sqlite, placed, refusals, version_of
from store.schema import SCHEMA


class Looked(Frozen):
    """A store that can be opened."""

    where: str
    """For people, without a password."""
    file: Path | None
    """SQLite's file, which need not be there yet; None: it is PostgreSQL's."""
    version: int
    """Of its tables; 0: none of ours are there yet."""
    newest: int = SCHEMA
    """The version that this release makes of it."""


def look_at(url: str) -> Looked:
    """Look; it may take its time. Raises `StoreUnavailable`: it cannot be opened, or not be written."""
    target, where = placed(url)
    file = Path(where) if is_sqlite(target) else None
    if file and not file.exists():
        return Looked(where=where, file=file, version=0)
    with refusals(target, where):
        engine = engine_of(target)
        try:
            with engine.connect() as connection:
                version = version_of(connection, where)
                connection.rollback()
                if file:
                    connection.exec_driver_sql("BEGIN IMMEDIATE")  # as a writer does
                elif connection.execute(text("SHOW transaction_read_only")).scalar_one() == "on":
                    raise StoreUnavailable(where, "it is read-only", "name the server that takes writes in [store] url")
                connection.rollback()
        finally:
            engine.dispose()
    return Looked(where=where, file=file, version=version)
