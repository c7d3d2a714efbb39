"""The inbox on a port of this machine: listening, serving, stopping. Never on another interface than loopback."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import uvicorn
from temporalio.client import Client

from inbox.app import application
from inbox.guard import Guard
from inbox.waiting import Kept

HOST: Final = "127.0.0.1"
STOP_S: Final = 5
"""Seconds that requests in flight have when the inbox stops."""


class PortTaken(Exception):  # noqa: N818 - what the operator reads
    """The inbox cannot listen there; the message is one line."""


@asynccontextmanager
async def serving(client: Client, store: Kept, port: int) -> AsyncIterator[str]:
    """Serve until left; gives the address that opens the inbox, token included. Port 0: any free one."""
    with _listening(port) as listener:
        port = listener.getsockname()[1]
        guard = Guard(port)
        server = _Server(_config(client, store, guard))
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://{HOST}:{port}/?token={guard.token}"
        finally:
            server.should_exit = True
            await task


class _Server(uvicorn.Server):
    """Uvicorn without its signal handlers: who runs it decides when it stops."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _config(client: Client, store: Kept, guard: Guard) -> uvicorn.Config:
    """No access log, which would hold the token; no trust in headers about who a request came from."""
    return uvicorn.Config(
        application(client, store, guard),
        access_log=False,
        lifespan="off",
        log_config=None,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_S,
        ws="none",
    )


@contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            raise PortTaken(
                f"the inbox cannot listen at {HOST}:{port} ({error.strerror}): choose another --port"
            ) from error
        listener.listen()
        yield listener
