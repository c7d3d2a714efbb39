"""Bringing all content under the newest key, so that an older one can be dropped; and counting what is under which.

It may run beside the workers: a row that somebody changed meanwhile, as a removal does, is left as it then is.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

from sqlalchemy import Case, Column, Connection, Row, bindparam, func, select, update

from store.access import Database
from store.schema import metadata
from store.sealed import NOT_A_KEY, SealedBytes, SealedText, as_stored, key_of, newest_key

AT_ONCE: Final = 100
"""Rows of one transaction: they are in memory at once, and other writers wait for it."""


async def rekey(database: Database) -> int:
    """Write all that is not under the database's newest key again, encrypted with it; returns how many rows that were.

    `StoreTroubled`: the key of some row is not here.
    """
    newest, done = newest_key(database.engine), 0
    for column in sealed_columns():
        after = None
        while rows := await database.reading(partial(_stale, column=column, newest=newest, after=after)):
            done += await database.writing(partial(_write_again, column=column, rows=rows))
            after = rows[-1][0]
    return done


def sealed_columns() -> Iterator[Column[Any]]:
    """Every column that holds content."""
    for table in metadata.sorted_tables:
        yield from (column for column in table.columns if isinstance(column.type, SealedBytes | SealedText))


def tally(connection: Connection) -> dict[str, int]:
    """How many rows are encrypted under which key, by its name; "" those in clear."""
    found: Counter[str] = Counter()
    for column in sealed_columns():
        key: Case[Any] = key_of(column)
        rows = connection.execute(select(key, func.count()).where(func.length(as_stored(column)) > 0).group_by(key))
        for name, count in rows:
            found[_written(name)] += count
    return dict(found)


def _stale(connection: Connection, column: Column[Any], newest: str, after: Any) -> Sequence[Row[Any]]:  # noqa: ANN401 - of whichever type the key has
    """The next rows that are not under the newest key: (primary key, as stored, as it was put)."""
    (place,) = column.table.primary_key
    wanted = select(place, as_stored(column), column).where(
        key_of(column) != _stored(column, newest), func.length(as_stored(column)) > 0
    )
    if after is not None:
        wanted = wanted.where(place > after)
    return connection.execute(wanted.order_by(place).limit(AT_ONCE)).all()


def _write_again(connection: Connection, column: Column[Any], rows: Sequence[Row[Any]]) -> int:
    """Write rows as `_stale` gave them under the newest key; returns how many were still what they were."""
    (place,) = column.table.primary_key
    same = as_stored(column) == bindparam("was", type_=as_stored(column).type)
    written = update(column.table).where(place == bindparam("place"), same).values({column: bindparam("clear")})
    done = 0
    for row in rows:
        values = dict(zip(("place", "was", "clear"), row, strict=True))
        done += connection.execute(written, values).rowcount
    return done


def _stored(column: Column[Any], name: str) -> bytes | str:
    return bytes.fromhex(name) if isinstance(column.type, SealedBytes) else name


def _written(name: bytes | str) -> str:
    """As people read it."""
    written = name if isinstance(name, str) else bytes(name).hex()
    return "" if written == NOT_A_KEY else written
