"""A store for each test, on SQLite and on a real PostgreSQL server; a test that asks for `path` is about the file."""

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import NullPool, create_engine, text

from store import Store


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test runs on both kinds of database, save those that look into SQLite's file."""
    if "kind" in metafunc.fixturenames:
        both = [] if "path" in metafunc.fixturenames else ["postgresql"]
        metafunc.parametrize("kind", ["sqlite", *both])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "endstop" / "store.db"


@pytest.fixture
def url(kind: str, request: pytest.FixtureRequest) -> str:
    """Where a store can be made; nothing is there yet."""
    if kind == "sqlite":
        return f"sqlite:///{request.getfixturevalue('path')}"
    return request.getfixturevalue("postgres").schema()


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    opened = await Store.open(url)
    yield opened
    await opened.close()


@pytest.fixture
def sql(url: str) -> Callable[..., Sequence[Any]]:
    """Execute a statement on the database behind the store's back."""

    def execute(statement: str, **values: object) -> Sequence[Any]:
        with create_engine(url, poolclass=NullPool).begin() as connection:
            done = connection.execute(text(statement), values)
            return done.fetchall() if done.returns_rows else []

    return execute
