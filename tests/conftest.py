"""Real servers, one of each for the whole session: Temporal's, with clients of it, and PostgreSQL."""

from collections.abc import AsyncIterator, Iterator

import pytest
from temporalio.client import Client

from commands.server import DevServer, free_port, running
from tests import postgres as postgresql
from workflows.payloads import data_converter


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
