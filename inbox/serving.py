"""A web application on a port of this machine: listening, serving, stopping. Never on another interface than loopback.

There are two: the inbox, and the codec of the Web UI (`decoding`).
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp
from temporalio.client import Client
from temporalio.converter import PayloadCodec

from inbox import app, decoding
from inbox.guard import Guard
from inbox.waiting import Kept

HOST: Final = "127.0.0.1"
STOP_S: Final = 5
"""Seconds that requests in flight have when the inbox stops."""


class PortTaken(Exception):  # noqa: N818 - what the operator reads
    """Something else listens there; the message is one line."""


@asynccontextmanager
async def serving(client: Client, store: Kept, port: int) -> AsyncIterator[str]:
    """Serve until left; gives the address that opens the inbox, token included. Port 0: any free one."""
    async with _served("inbox", port, lambda guard: app.application(client, store, guard)) as (address, guard):
        yield f"{address}/?token={guard.token}"


@asynccontextmanager
async def serving_codec(codec: PayloadCodec, port: int, ui: str) -> AsyncIterator[str]:
    """Serve until left; gives the codec's address, token included, for the Web UI whose address is `ui`."""
    async with _served("codec", port, lambda guard: decoding.application(codec, guard, ui)) as (address, guard):
        yield f"{address}/{guard.token}"


@asynccontextmanager
async def _served(name: str, port: int, application: Callable[[Guard], ASGIApp]) -> AsyncIterator[tuple[str, Guard]]:
    with _listening(name, port) as listener:
        port = listener.getsockname()[1]
        guard = Guard(port)
        server = _Server(_config(application(guard)))
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://{HOST}:{port}", guard
        finally:
            server.should_exit = True
            await task


class _Server(uvicorn.Server):
    """Uvicorn without its signal handlers: who runs it decides when it stops."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _config(application: ASGIApp) -> uvicorn.Config:
    """No access log, which would hold the token; no trust in headers about who a request came from."""
    return uvicorn.Config(
        application,
        access_log=False,
        lifespan="off",
        log_config=None,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_S,
        ws="none",
    )


@contextmanager
def _listening(name: str, port: int) -> Iterator[socket.socket]:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            raise PortTaken(
                f"the {name} cannot listen at {HOST}:{port} ({error.strerror}): choose another --port"
            ) from error
        listener.listen()
        yield listener
