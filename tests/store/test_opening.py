"""A store opens where a person points it, for its owner only, or says in one line why not."""

import asyncio
import os
import sqlite3
import sys
import threading

import pytest

from store import Store, StoreUnavailable


async def test_a_new_store_and_its_folder_are_for_their_owner_only(store, path):
    await store.put("task")

    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}


async def test_a_new_store_leaves_no_other_file_behind(url, path):
    await (await Store.open(url)).close()

    assert [file.name for file in path.parent.iterdir()] == ["store.db"]


async def test_the_folder_and_mode_of_a_file_that_is_there_are_left_alone(tmp_path):
    path = tmp_path / "store.db"
    path.touch(mode=0o640)
    path.chmod(0o640)
    tmp_path.chmod(0o755)

    await (await Store.open(f"sqlite:///{path}")).close()

    assert (tmp_path.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o755, 0o640)


async def test_a_store_outlives_its_process(store, url):
    ref = await store.put("task")
    await store.close()

    again = await Store.open(url)

    assert await again.get(ref) == b"task"
    await again.close()


async def test_a_relative_path_is_below_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    await (await Store.open("sqlite:///.endstop/store.db")).close()

    assert (tmp_path / ".endstop" / "store.db").is_file()


async def test_an_url_may_name_the_driver(path):
    await (await Store.open(f"sqlite+pysqlite:///{path}")).close()

    assert path.is_file()


async def test_a_store_waits_for_other_writers_and_reads_beside_them(store, path):
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        database.execute("BEGIN IMMEDIATE")
        writing = asyncio.create_task(store.put("task"))
        assert await store.runs_of("nightly") == []
        assert not writing.done()
    assert await store.get(await writing) == b"task"


async def refusal(url: str) -> str:
    with pytest.raises(StoreUnavailable) as refused:
        await Store.open(url)
    return str(refused.value)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "the URL cannot be read"),
        ("/home/me/store.db", "the URL cannot be read"),
        ("postgresql://me:hunter2@host:port/endstop", "the URL cannot be read"),
        ("mysql://me:hunter2@host/endstop", "'mysql' is not a kind of store"),
        ("sqlite://", "it does not name just a file"),
        ("sqlite:///:memory:", "it does not name just a file"),
        ("sqlite:///store.db?mode=ro", "it does not name just a file"),
        ("postgresql+no_such_driver://me:hunter2@host/endstop", "no_such_driver"),
    ],
)
async def test_an_url_of_no_store_is_refused_in_one_line_that_shows_no_password(url, reason):
    said = await refusal(url)

    assert reason in said
    assert "set [store] url in endstop.toml to sqlite:///FOLDER/store.db" in said
    assert "hunter2" not in said
    assert "\n" not in said


def _is_a_folder(path):
    path.mkdir(parents=True)


def _is_below_a_file(path):
    path.parent.write_text("a file")


def _is_no_database(path):
    path.parent.mkdir()
    path.write_text("a text that is long enough to be looked at as a database" * 20)


def _has_another_programs_table(path):
    path.parent.mkdir()
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE messages (id)")


def _has_no_version(path):
    path.parent.mkdir()
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE endstop_schema (version)")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (_is_a_folder, "Is a directory"),
        (_is_below_a_file, "Not a directory"),
        (_is_no_database, "file is not a database"),
        (_has_another_programs_table, "another program's table 'messages' is in it"),
        (_has_no_version, "No row was found when one was required"),
    ],
)
async def test_a_file_that_is_no_store_is_refused_in_one_line_that_names_it(url, path, spoil, reason):
    spoil(path)

    said = await refusal(url)

    assert said.startswith(f"cannot open the store {path}: {reason}; ")
    assert "\n" not in said


async def test_a_folder_that_may_not_be_written_is_refused_in_one_line(url, path, tmp_path):
    tmp_path.chmod(0o500)
    user = os.geteuid()
    try:
        # No folder is closed to root: 65534 is nobody.
        os.seteuid(user or 65534)
        said = await refusal(url)
    finally:
        os.seteuid(user)

    assert "Permission denied; set [store] url in endstop.toml" in said


async def test_a_driver_that_is_not_installed_is_named_with_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)

    said = await refusal("postgresql://me:hunter2@host/endstop")

    assert "its driver 'psycopg' is not installed; run: pip install 'psycopg[binary]'" in said
    assert "hunter2" not in said


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        pytest.param("postgresql://me:hunter2@127.0.0.1:1/endstop", "Connection refused", id="nobody listens"),
        pytest.param("postgresql://me:hunter2@127.0.0.1:PORT/postgres", 'role "me" does not exist', id="not let in"),
        pytest.param("postgresql://endstop@127.0.0.1:PORT/nothing", 'database "nothing" does not', id="no database"),
    ],
)
async def test_a_server_that_cannot_be_used_is_refused_in_one_line_that_names_it(postgres, url, reason):
    url = url.replace("PORT", str(postgres.port))

    said = await refusal(url)

    assert said.startswith(f"cannot open the store {url.replace('hunter2', '***')}: ")
    assert reason in said
    assert said.endswith(
        "check that its server runs and lets this user in, or set [store] url in endstop.toml to another store"
    )
    assert "\n" not in said


async def test_a_user_who_may_make_no_tables_is_refused_in_one_line(postgres):
    url = postgres.database()
    postgres.tell("CREATE ROLE reader LOGIN")

    assert "permission denied for schema public" in await refusal(url.replace("endstop@", "reader@"))


async def test_another_programs_database_is_left_as_it_was(url, path):
    _has_another_programs_table(path)
    before = path.read_bytes()

    await refusal(url)

    assert path.read_bytes() == before


async def test_a_refused_store_leaves_no_connection_behind(url, path):
    _has_another_programs_table(path)
    before = set(threading.enumerate())

    await refusal(url)

    # Each connection to SQLite has a thread of its own, which ends soon after it is closed.
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=5)
        assert not thread.is_alive()
