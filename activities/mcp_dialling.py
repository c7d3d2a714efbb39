"""How an MCP server is reached: as a program that is started, or at an address; and what became of a call on its way.

Here: what a program inherits, what a request carries, and how either end is noticed. Not here: how long a session lives
(`mcp_session`). Only who declares a server loads this module: the SDK costs a second of CPU.
"""

import os
import shutil
from asyncio import Event
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import httpx2
from mcp import StdioServerParameters, stdio_client
from mcp.client.stdio import DEFAULT_INHERITED_ENV_VARS
from mcp.client.streamable_http import streamable_http_client

from activities.declared_tools import McpServer

Streams = tuple[Any, Any]
"""What comes from the server, and what goes to it; the SDK's names for their types are private."""

MAX_EVENT: Final = 64 * 2**20
"""Bytes of one message over HTTP: the SDK's own limit of 1 MiB would lose large results."""

INHERITED: Final = ("PATH", "HOME", "LANG")
"""Variables of the worker that every program gets."""

_TIMEOUT: Final = httpx2.Timeout(None, connect=10.0)
"""Calls have a time limit of their own, and a server may be silent for as long."""

_NOT_FOUND: Final = 404
_SESSION: Final = "mcp-session-id"


@dataclass
class Trip:
    """What became of one call on its way to the server."""

    sent: bool
    status: int = 0
    """Of the answer over HTTP; 0 while there is none."""
    session_unknown: bool = False
    """The server does not know the session any more, as the protocol says it (404): it was started anew."""


_trip: ContextVar[Trip | None] = ContextVar("_trip", default=None)
"""The SDK sends each request in the context of whoever asked for it."""


@contextmanager
def on_a_trip(server: McpServer) -> Iterator[Trip]:
    """Within this block, requests of this task are noted. What goes to a program always counts as sent."""
    trip = Trip(sent=bool(server.command))
    token = _trip.set(trip)
    try:
        yield trip
    finally:
        _trip.reset(token)


def dialled(
    server: McpServer, environ: Mapping[str, str], folder: Path, gone: Event
) -> AbstractAsyncContextManager[Streams]:
    """The way to a server; `gone` is set as soon as nobody is at its other end. A program runs in `folder`."""
    reached = _program(server, environ, folder) if server.command else _address(server, environ)
    return _watched(reached, gone)


@asynccontextmanager
async def _program(server: McpServer, environ: Mapping[str, str], folder: Path) -> AsyncIterator[Streams]:
    """Start it with the variables it is to have. The SDK adds some of its own, which `env` takes away again.

    What it writes to its standard error is not read: it may be content.
    """
    word, *words = server.command
    program = str(folder / word) if "/" in word else word
    given = {name: environ[name] for name in (*INHERITED, *server.env) if name in environ}
    if shutil.which(program, path=given.get("PATH")) is None:
        raise FileNotFoundError(f"there is no program {word}")
    without = (f"--unset={name}" for name in DEFAULT_INHERITED_ENV_VARS if name not in given)
    parameters = StdioServerParameters(command="env", args=[*without, "--", program, *words], env=given, cwd=folder)
    with Path(os.devnull).open("w") as unread:  # noqa: ASYNC230 - no disk is behind it
        async with stdio_client(parameters, errlog=unread) as streams:
            yield streams


@asynccontextmanager
async def _address(server: McpServer, environ: Mapping[str, str]) -> AsyncIterator[Streams]:
    key = environ.get(server.key_env, "").strip()
    async with (
        httpx2.AsyncClient(
            headers={"authorization": f"Bearer {key}"} if key else None,
            timeout=_TIMEOUT,
            event_hooks={"request": [_leaving], "response": [_answered]},
        ) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=MAX_EVENT) as streams,
    ):
        yield streams


async def _leaving(request: httpx2.Request) -> None:
    trip = _trip.get()
    if trip is None:
        return

    async def trace(event: str, info: Mapping[str, Any]) -> None:
        # A proxy's CONNECT goes out under the same event; it is not our request.
        if event.endswith("send_request_headers.started") and info["request"].method != b"CONNECT":
            trip.sent = True

    request.extensions = {**request.extensions, "trace": trace}


async def _answered(response: httpx2.Response) -> None:
    if trip := _trip.get():
        trip.status = response.status_code
        trip.session_unknown = response.status_code == _NOT_FOUND and _SESSION in response.request.headers


@asynccontextmanager
async def _watched(reached: AbstractAsyncContextManager[Streams], gone: Event) -> AsyncIterator[Streams]:
    async with reached as (from_server, to_server):
        yield _Watched(from_server, gone), to_server


class _Watched:
    """What comes from the server; the SDK itself tells nobody that nothing will come any more."""

    def __init__(self, stream: Any, gone: Event) -> None:  # noqa: ANN401 - as above
        self._stream = stream
        self._gone = gone

    @property
    def last_context(self) -> Any:  # noqa: ANN401 - the SDK looks for it, where the stream has it
        return getattr(self._stream, "last_context", None)

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:  # noqa: ANN401 - a message, or what was none
        try:
            return await anext(self._stream)
        except BaseException:
            self._gone.set()
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_raised: object) -> None:
        await self.aclose()
