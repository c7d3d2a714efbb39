"""Real servers, one of each for the whole session: Temporal's, with clients of it, and PostgreSQL."""

import signal
from collections.abc import AsyncIterator, Iterator

import pytest
from temporalio.client import Client

from commands.server import DevServer, free_port, running
from tests import postgres as postgresql
from workflows.payloads import data_converter

WHOLE_RUNS = ("tests/faults/", "tests/test_examples", "tests/test_cli", "tests/store/", "tests/inbox/")
"""Where tests start processes of their own. A file is one process's from end to end, so the longest begin first."""


def pytest_configure() -> None:
    """A shell lets what it runs in the background ignore Ctrl-C, and all that starts from there would ignore it too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first; within a file, and among the others, as they were."""
    items.sort(key=lambda item: not item.nodeid.startswith(WHOLE_RUNS))


@pytest.fixture(scope="session")
async def temporal_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Its address. It keeps all runs of the session, so tests use workflow ids and task queues of their own."""
    log = tmp_path_factory.mktemp("temporal") / "server.log"
    async with running(DevServer(port=free_port(), log=log)) as server:
        yield server.address


@pytest.fixture
async def client(temporal_server: str) -> Client:
    return await Client.connect(temporal_server, data_converter=data_converter)


@pytest.fixture(scope="session")
def postgres() -> Iterator[postgresql.Postgres]:
    """Started by the first test that asks for it."""
    with postgresql.running() as server:
        yield server
