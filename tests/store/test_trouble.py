"""A store in trouble is waited for as long as whoever opened it wants; nothing is lost, doubled or out of order."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator

import psycopg
import pytest
from sqlalchemy import Engine, event
from sqlalchemy.exc import DBAPIError

from ledger.conversation import Conversation
from store import Store, StoreTroubled, opening

RUN = Conversation(id="run-1")


@pytest.fixture(autouse=True)
def _impatient_sqlite(monkeypatch):
    monkeypatch.setattr(opening, "BUSY_S", 0.02)


@pytest.fixture
async def patient(url: str) -> AsyncIterator[Store]:
    """A store that waits for longer than any test lasts."""
    opened = await Store.open(url, patience_s=600)
    yield opened
    await opened.close()


@pytest.fixture
def troubles(monkeypatch) -> asyncio.Queue[str]:
    """Why the store began to wait, each time that it did."""
    told: asyncio.Queue[str] = asyncio.Queue()

    class Log:
        def warning(self, _event: str, *, reason: str) -> None:
            told.put_nowait(reason)

        def info(self, _event: str, *, tries: int) -> None: ...

    monkeypatch.setattr("store.access._log", Log())
    return told


async def whole(store: Store, conversation: Conversation, *bodies: bytes) -> None:
    assert await store.read(conversation) == list(bodies)
    assert await store.latest(RUN.id) == conversation
    assert await store.unused_answers(RUN.id) == []


async def test_an_append_waits_for_a_lock_that_is_held_longer_than_a_statement_waits(patient, path, troubles):
    with sqlite3.connect(path) as database:
        database.execute("BEGIN IMMEDIATE")
        appending = asyncio.create_task(patient.append(RUN, "task", b"task", "1.1.1"))
        assert await troubles.get() == "database is locked"
        assert not appending.done()

    appended = await appending

    assert (appended.attempt, appended.recovered) == ("1.1.1", False)
    await whole(patient, appended.conversation, b"task")


async def test_without_patience_trouble_is_told_in_one_line_and_what_was_asked_can_be_asked_again(store, path):
    with sqlite3.connect(path) as database:
        database.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreTroubled, match=r"^the store does not work now: database is locked$"):
            await store.append(RUN, "task", b"task")

    appended = await store.append(RUN, "task", b"task")

    assert not appended.recovered
    await whole(store, appended.conversation, b"task")


async def test_whoever_is_cancelled_while_the_store_is_in_trouble_is_let_go(patient, path, troubles):
    with sqlite3.connect(path) as database:
        database.execute("BEGIN IMMEDIATE")
        appending = asyncio.create_task(patient.append(RUN, "task", b"task"))
        await troubles.get()
        appending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await appending

    assert await patient.latest(RUN.id) is None


async def test_a_full_disk_takes_no_half_message_and_the_whole_one_once_there_is_room(url, path, troubles):
    connections = []

    def bounded(connection, _record):
        connection.execute("PRAGMA max_page_count=200")
        connections.append(connection)

    event.listen(Engine, "connect", bounded)
    try:
        patient = await Store.open(url, patience_s=600)
        task = (await patient.append(RUN, "task", b"task")).conversation
        appending = asyncio.create_task(patient.append(task, "request", bytes(2_000_000), "1.1.1"))
        assert await troubles.get() == "database or disk is full"
        assert await patient.latest(RUN.id) == task
        assert await patient.find(task, "request") is None
        for connection in connections:
            connection.execute("PRAGMA max_page_count=100000")
    finally:
        event.remove(Engine, "connect", bounded)

    await whole(patient, (await appending).conversation, b"task", bytes(2_000_000))
    await patient.close()


async def test_journal_records_that_met_trouble_are_written_once_and_in_order(patient, path, troubles):
    records = ((number, {"type": "wait", "asked_ms": number}) for number in range(1, 51))
    with sqlite3.connect(path) as database:
        database.execute("BEGIN IMMEDIATE")
        writing = asyncio.create_task(patient.write_journal(RUN.id, records))
        await troubles.get()
    await writing

    assert [record["asked_ms"] for record in await patient.read_journal(RUN.id)] == list(range(1, 51))


@pytest.fixture
def cluster(postgres):
    """The server, running again after the test whatever that did to it."""
    yield postgres
    if not postgres.runs():
        postgres.start()


@pytest.fixture
async def remote(cluster) -> AsyncIterator[tuple[Store, str]]:
    """A patient store on PostgreSQL, and its URL."""
    url = cluster.database()
    opened = await Store.open(url, patience_s=600)
    yield opened, url
    await opened.close()


async def test_a_connection_killed_in_the_middle_of_an_append_costs_nothing(cluster, remote, troubles):
    store, url = remote
    with psycopg.connect(url) as database:
        database.execute("LOCK TABLE messages IN ACCESS EXCLUSIVE MODE")
        appending = asyncio.create_task(store.append(RUN, "task", b"task", "1.1.1"))
        while not (waiting := cluster.waiting(url)):  # noqa: ASYNC110 - another process makes it true
            await asyncio.sleep(0.01)
        cluster.kill(*waiting)
        assert "terminating connection due to administrator command" in await troubles.get()

    appended = await appending

    assert (appended.attempt, appended.recovered) == ("1.1.1", False)
    await whole(store, appended.conversation, b"task")


async def test_connections_killed_while_nobody_uses_them_are_not_noticed(cluster, remote, troubles):
    store, url = remote
    task = (await store.append(RUN, "task", b"task")).conversation
    assert cluster.cut(url) > 0

    await whole(store, (await store.append(task, "guide", b"guidance")).conversation, b"task", b"guidance")
    assert troubles.empty()


@pytest.mark.parametrize("how", ["fast", "immediate"])
async def test_a_server_that_is_away_for_a_while_is_waited_for(cluster, remote, troubles, how):
    store, _ = remote
    task = (await store.append(RUN, "task", b"task")).conversation
    cluster.stop(how)
    appending = asyncio.create_task(store.append(task, "guide", b"guidance"))
    reading = asyncio.create_task(store.read(task))
    for _ in range(2):
        await troubles.get()

    cluster.start()

    assert await reading == [b"task"]
    await whole(store, (await appending).conversation, b"task", b"guidance")


async def test_a_server_that_takes_no_writes_for_a_while_is_waited_for(cluster, remote, troubles):
    store, url = remote
    name = url.rpartition("/")[2]
    cluster.tell(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    cluster.cut(url)
    appending = asyncio.create_task(store.append(RUN, "task", b"task"))
    assert "read-only transaction" in await troubles.get()
    cluster.tell(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    cluster.cut(url)

    await whole(store, (await appending).conversation, b"task")


async def test_a_defect_is_told_at_once_however_patient_the_store_is(patient, sql):
    sql("DROP TABLE messages")

    with pytest.raises(DBAPIError, match="messages"):
        await patient.append(RUN, "task", b"task")
