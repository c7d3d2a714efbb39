"""Opening a store: from its URL to an engine whose tables are there. Every refusal is a `StoreUnavailable`.

The operator's URL names a place, not a driver: that is chosen here. Nothing here runs after opening
except what a new SQLite connection is told.
"""

import asyncio
import errno
import hashlib
import os
import socket
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, insert, inspect, make_url, select, text, update
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.schema import CreateColumn

from encryption import CLEAR, Keys
from store.access import Database
from store.errors import StoreUnavailable
from store.schema import SCHEMA, SINCE, metadata, versions
from store.sealed import encrypt_with
from store.trouble import words_of

BUSY_S = 5.0
"""Seconds a statement waits for another writer's lock before it fails and is left to Temporal's retry."""

FILE_CONNECTIONS = 2
"""Connections of a process to its SQLite file. One writes at a time anyway, and those that meet a lock sleep: with
SQLAlchemy's fifteen, 50 appends at once took up to 0.7 s instead of 0.1 to 0.3. With one, readers wait for a writer."""

SERVER_CONNECTIONS = 10
"""Connections of a process to its PostgreSQL server, each with a thread of its own; 90 others may come to a server that
allows 100, as it does when nobody changed that."""

CONNECTION: Final = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "prepare_threshold": None,
}
"""What the driver is told of a connection to PostgreSQL where the URL says nothing else: in seconds, save the
`tcp_user_timeout`, in milliseconds. A server whose machine is gone without a word is noticed within about ten seconds;
by the system's own defaults it takes two hours. None: no prepared statements, which a pooler between may not know."""

_DRIVERS = {"sqlite": "sqlite+pysqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
_PACKAGES = {"psycopg": "'psycopg[binary]'"}
_RUNS = "check that its server runs and lets this user in, or set [store] url in endstop.toml to another store"
_EXPECTED = "set [store] url in endstop.toml to sqlite:///FOLDER/store.db or postgresql://USER@HOST/DATABASE"
_SCHEMA_LOCK = 0x656E_6473_746F_70
"""Key of the advisory lock under which PostgreSQL's tables are made; any number that others do not use."""


async def open_database(url: str, keys: Keys = CLEAR, patience_s: float = 0) -> Database:
    """The store's database at `url`, whose content is encrypted with the keys, with its tables.

    Work that meets trouble is tried again for `patience_s` seconds.
    """
    target, where = placed(url)
    engine = await asyncio.to_thread(_opened, target, where, keys)
    connections = FILE_CONNECTIONS if is_sqlite(target) else SERVER_CONNECTIONS
    return Database(engine, connections=connections, patience_s=patience_s)


def _opened(target: URL, where: str, keys: Keys) -> Engine:
    """Tables are made where there are none, under a lock."""
    with refusals(target, where), ExitStack() as undo:
        if is_sqlite(target):
            _prepare_file(Path(where))
        engine = engine_of(target)
        undo.callback(engine.dispose)
        encrypt_with(engine, keys)
        with engine.connect() as connection:
            _ensure_tables(connection, where)
        undo.pop_all()
    return engine


def placed(url: str) -> tuple[URL, str]:
    """Where the store is: the URL with our driver, and the same for people, without a password."""
    target = _with_driver(url)
    shown = target.database or "" if is_sqlite(target) else make_url(url).render_as_string(hide_password=True)
    return target, shown


def tag(url: str) -> str:
    """Four characters by which workers tell whether they use one store; a server known by two names has two."""
    target, where = placed(url)
    here = f"{socket.gethostname()}:{Path(where).resolve()}"
    place = here if is_sqlite(target) else f"{target.host}:{target.port}/{target.database}"
    return hashlib.blake2b(place.encode(), digest_size=2).hexdigest()


@contextmanager
def refusals(target: URL, where: str) -> Iterator[None]:
    """Raise what keeps a store from being opened as `StoreUnavailable`."""
    try:
        yield
    except ImportError as error:
        name = error.name or "psycopg"  # which says nothing of itself where it is here and its libpq is not
        reason = f"its driver {name!r} is not installed"
        raise StoreUnavailable(where, reason, f"run: pip install {_PACKAGES.get(name, name)}") from error
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        remote = isinstance(error, DBAPIError) and not is_sqlite(target)
        raise StoreUnavailable(where, words_of(error), _RUNS if remote else _EXPECTED) from error


def _with_driver(url: str) -> URL:
    """The URL with our driver, whichever it names. A refused URL is not echoed: it may hold a password."""
    try:
        target = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise StoreUnavailable("by its URL", "the URL cannot be read", _EXPECTED) from error
    driver = _DRIVERS.get(target.get_backend_name())
    if driver is None or target.drivername not in (driver, target.get_backend_name()):
        raise StoreUnavailable("by its URL", f"{target.drivername!r} is not a kind of store", _EXPECTED)
    if is_sqlite(target) and (target.database in (None, "", ":memory:") or target.query):
        raise StoreUnavailable("by its URL", "it does not name just a file", _EXPECTED)
    return target.set(drivername=driver)


def is_sqlite(target: URL) -> bool:
    """Whether it is a file of this machine; else a PostgreSQL server."""
    return target.get_backend_name() == "sqlite"


def _prepare_file(path: Path) -> None:
    """Make the file, and its folder, for the owner's eyes only. One that is there is left as it is.

    It appears at once and already in WAL mode: processes that switch one file to WAL together block each other until
    one fails. One that is there is never opened here: closing it would drop SQLite's locks elsewhere in this process.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if path.exists():
        return
    if not path.parent.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, new = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".new", dir=path.parent)
    os.close(handle)
    try:
        with closing(sqlite3.connect(new)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
        with suppress(FileExistsError):
            os.link(new, path)
    finally:
        Path(new).unlink()


def engine_of(target: URL) -> Engine:
    """An engine that has not connected yet.

    Without `hide_parameters` an SQL error would carry message bodies into logs and histories.
    """
    if not is_sqlite(target):
        told = {name: value for name, value in CONNECTION.items() if name not in target.query}
        return create_engine(
            target,
            hide_parameters=True,
            pool_pre_ping=True,
            connect_args=told,
            pool_size=SERVER_CONNECTIONS,
            max_overflow=0,
        )
    engine = create_engine(
        target, hide_parameters=True, connect_args={"timeout": BUSY_S}, pool_size=FILE_CONNECTIONS, max_overflow=0
    )
    event.listen(engine, "connect", _tell_sqlite)
    return engine


def _tell_sqlite(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's own connection type
    """FULL: a commit outlives a loss of power too. The history names messages that must then still be here.

    What is removed is overwritten with zeros; without that it would stay in the file's free space.
    """
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA secure_delete=ON")
    cursor.close()


def _ensure_tables(connection: Connection, where: str) -> None:
    """Make the tables where there are none of ours, and add those that an older release did not have."""
    if version_of(connection, where) == SCHEMA:
        return
    _lock_schema(connection)
    if (there := version_of(connection, where)) < SCHEMA:
        metadata.create_all(connection)
        if there:
            _add_columns(connection, there)
            _add_indexes(connection, there)
        written = update(versions) if there else insert(versions)
        connection.execute(written.values(version=SCHEMA))
    connection.commit()


def _add_columns(connection: Connection, version: int) -> None:
    """Give the tables of an earlier release the columns that they lack; all of those may be empty."""
    for table in metadata.tables.values():
        if table.info.get(SINCE, 1) <= version:
            for column in table.columns:
                if column.info.get(SINCE, 1) > version:
                    added = CreateColumn(column).compile(dialect=connection.dialect)
                    connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {added}"))


def _add_indexes(connection: Connection, version: int) -> None:
    """Give the tables of an earlier release the indexes that they lack; new tables have theirs."""
    for table in metadata.tables.values():
        for index in table.indexes:
            if index.info.get(SINCE, 1) > version:
                index.create(connection, checkfirst=True)


def version_of(connection: Connection, where: str) -> int:
    """The version of our tables; 0: none are there. Those of a later release, and another program's, are refused."""
    there = set(inspect(connection).get_table_names())
    version = connection.execute(select(versions.c.version)).scalar_one() if versions.name in there else 0
    if version > SCHEMA:
        reason = f"its schema is version {version}, this release reads up to {SCHEMA}"
        raise StoreUnavailable(where, reason, "upgrade endstop, or point [store] url to another store")
    ours_to_make = {table.name for table in metadata.tables.values() if table.info.get(SINCE, 1) > version}
    if taken := sorted(there & ours_to_make):
        raise StoreUnavailable(where, f"another program's table {taken[0]!r} is in it", _EXPECTED)
    return version


def _lock_schema(connection: Connection) -> None:
    """Begin a transaction that only one process at a time can be in."""
    if connection.dialect.name == "sqlite":
        # Python's driver begins no transaction before CREATE TABLE by itself.
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _SCHEMA_LOCK})
