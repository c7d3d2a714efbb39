"""How SQLite finds what is read in parts: by an index and in its order, so that a part costs what it holds."""

import sqlite3

import pytest
from sqlalchemy import event

from store import Store
from tests.store.test_migration import old  # noqa: F401 - a fixture: the store of the first release

SORTED = "USE TEMP B-TREE FOR ORDER BY"
SORTED_IN_PART = "USE TEMP B-TREE FOR RIGHT PART OF ORDER BY"


async def journal_in_parts(store):
    return [one async for one in store.journal_since(5)]


async def journal_of_an_agent_in_parts(store):
    return [one async for one in store.journal_since(5, "fix-tests")]


async def expiry(store):
    await store.expire(2**40, by="expiry", limit=1)


READS = [journal_in_parts, journal_of_an_agent_in_parts, expiry]


async def plans(store, path, read) -> str:
    """How SQLite carries out each statement of a read, line by line."""
    told = []
    event.listen(store._database.engine, "before_cursor_execute", lambda *said: told.append(said[2:4]))
    await read(store)
    with sqlite3.connect(path) as connection:
        rows = [row for said in told for row in connection.execute(f"EXPLAIN QUERY PLAN {said[0]}", said[1])]
    return "\n".join(row[3] for row in rows)


@pytest.fixture
async def many(path, monkeypatch):
    """A store whose journal is read ten entries at a time."""
    monkeypatch.setattr("store.journals.AT_ONCE", 10)
    store = await Store.open(f"sqlite:///{path}")
    for name in ("run-1", "run-2"):
        await store.register_run(name, name, "fix-tests")
        await store.write_journal(name, [(seq, {"n": seq}) for seq in range(1, 26)])
        await store.put_detail(name, "1.1.1", "no such model")
        await store.keep_request(name, "1.1.1", b"{}")
    yield store
    await store.close()


@pytest.mark.parametrize("read", READS)
async def test_what_is_read_in_parts_is_sorted_anew_at_no_part(many, path, read):
    plan = await plans(many, path, read)
    assert "SEARCH" in plan
    assert SORTED not in plan
    assert SORTED_IN_PART not in plan


async def test_expiry_looks_at_no_detail_that_is_empty_already(many, path):
    plan = await plans(many, path, expiry)
    assert "USING INDEX ix_details_kept_at" in plan
    assert "SCAN details" not in plan


@pytest.mark.usefixtures("old")
async def test_a_store_of_the_first_release_gets_the_indexes_too(sql, url, kind):
    store = await Store.open(url)
    await store.close()
    table = (
        "sqlite_master WHERE type = 'index'" if kind == "sqlite" else "pg_indexes WHERE schemaname = current_schema()"
    )
    column = "name" if kind == "sqlite" else "indexname"
    found = {name for (name,) in sql(f"SELECT {column} FROM {table}")}
    assert {"ix_journal_conversation_number", "ix_details_kept_at"} <= found
