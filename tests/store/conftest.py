"""A store in a real SQLite file, new for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from store import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "endstop" / "store.db"


@pytest.fixture
def url(path: Path) -> str:
    return f"sqlite:///{path}"


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    opened = await Store.open(url)
    yield opened
    await opened.close()
