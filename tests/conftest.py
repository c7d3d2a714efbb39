"""A real Temporal development server, one for the whole session, and clients of it."""

from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client

from commands.server import DevServer, free_port, running
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
