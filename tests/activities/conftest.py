"""A store, for activities that need nothing else."""

import pytest

from store import Store


@pytest.fixture
async def store(tmp_path):
    opened = await Store.open(f"sqlite:///{tmp_path}/store.db")
    yield opened
    await opened.close()
