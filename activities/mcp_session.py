"""The session with one MCP server: opened when the worker starts, kept, and opened anew where it has ended.

Here: how long a session lives, and what is known of a call that got no result. Not here: how a server is reached
(`mcp_dialling`), what a tool of it is to a model (`mcp_tools`).

The SDK wants whatever it opens closed by the task that opened it, so a session has a task of its own. Calls of all runs
share the session; each is a request of its own, which a cancellation takes back.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Final

from mcp import Client, MCPError
from mcp_types import CONNECTION_CLOSED, CallToolResult, Implementation, Tool

from activities.declared_tools import McpServer
from activities.mcp_dialling import dialled, on_a_trip

OPEN_S: Final = 60.0
"""Seconds in which a server has to answer; a program may have to be fetched before its first start."""

CLOSE_S: Final = 10.0
"""Seconds for taking leave. A program gets 2 of them to end by itself, and 2 more after a SIGTERM."""

MAX_PAGES: Final = 100
"""Of a server's list of tools."""

MAX_REASON: Final = 300
"""Characters of the reason why a server cannot be reached."""

_SERVER_ERROR: Final = 500


class Unreachable(Exception):  # noqa: N818 - it names what happened
    """The server took nothing; the message says why, in one line."""


class CallLost(Exception):  # noqa: N818 - it names what happened
    """Nobody knows what came of a call. The message holds no content: it ends in history."""


class McpSession:
    """With one server. `environ` are the worker's variables; a program runs in `folder`."""

    def __init__(self, server: McpServer, environ: Mapping[str, str], folder: Path) -> None:
        self._server = server
        self._environ = environ
        self._folder = folder
        self._held: _Held | None = None
        self._opening = asyncio.Lock()

    async def tools(self) -> Mapping[str, Tool]:
        """What the server offered when the session was opened, by name. Raises `Unreachable`."""
        return (await self._opened()).tools

    async def call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        """Call a tool. Where the server turns out to have taken nothing, once more in a new session.

        Raises `Unreachable`; `CallLost`; `MCPError` for what the server answered in place of a result; `RuntimeError`
        and `ValueError` for a result that is not what the server declared.
        """
        held = await self._opened()
        try:
            return await self._called(held, tool, arguments)
        except Unreachable:
            held.gone.set()
        return await self._called(await self._opened(), tool, arguments)

    async def close(self) -> None:
        """Take leave of the server; a program is ended."""
        if self._held:
            await self._held.end()

    async def _called(self, held: "_Held", tool: str, arguments: dict[str, Any]) -> CallToolResult:
        with on_a_trip(self._server) as trip:
            try:
                return await held.client.call_tool(tool, arguments)
            except MCPError as error:
                if not trip.sent or trip.session_unknown:
                    raise Unreachable(self._line("it took no call")) from None
                if error.code == CONNECTION_CLOSED or trip.status >= _SERVER_ERROR:
                    raise CallLost(f"MCP server {self._server.name} was lost in the middle of a call") from None
                raise

    async def _opened(self) -> "_Held":
        """The session that is open, else a new one. One task opens it, the others wait."""
        async with self._opening:
            if self._held is None or self._held.gone.is_set():
                await self.close()
                self._held = _Held(self._client)
                try:
                    await self._held.opened()
                except Unreachable as error:
                    raise Unreachable(self._line(str(error))) from None
            return self._held

    def _client(self, gone: asyncio.Event) -> Client:
        way = dialled(self._server, self._environ, self._folder, gone)
        return Client(way, client_info=Implementation(name="endstop", version="1"), cache=None)

    def _line(self, why: str) -> str:
        return f"MCP server {self._server.name} cannot be reached: {why}"


class _Held:
    """One session, in a task that opens it, waits for its end and closes it."""

    client: Client
    tools: Mapping[str, Tool]

    def __init__(self, connect: Callable[[asyncio.Event], AbstractAsyncContextManager[Client]]) -> None:
        self.gone = asyncio.Event()
        """Set when it is over, or is to be."""
        self._open = asyncio.Event()
        self._why = ""
        self._task = asyncio.create_task(self._hold(connect))

    async def opened(self) -> None:
        """Wait until it can be used. Raises `Unreachable`."""
        try:
            async with asyncio.timeout(OPEN_S):
                await self._open.wait()
        except TimeoutError:
            self._why = f"no answer within {OPEN_S:g} s"
            await self.end()
        except asyncio.CancelledError:
            await self.end()
            raise
        if self._why:
            raise Unreachable(self._why)

    async def end(self) -> None:
        self.gone.set()
        done, _ = await asyncio.wait({self._task}, timeout=CLOSE_S)
        if not done:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=CLOSE_S)

    async def _hold(self, connect: Callable[[asyncio.Event], AbstractAsyncContextManager[Client]]) -> None:
        try:
            async with connect(self.gone) as client:
                self.tools = await _listed(client)
                self.client = client
                self._open.set()
                await self.gone.wait()
        except Exception as error:  # noqa: BLE001 - the boundary of somebody else's server: calls find out what it means
            self._why = self._why or _reason(error)
        finally:
            self.gone.set()
            self._open.set()


async def _listed(client: Client) -> dict[str, Tool]:
    tools: dict[str, Tool] = {}
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools |= {tool.name: tool for tool in page.tools}
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools


def _reason(error: BaseException) -> str:
    """The first cause in one line; the SDK wraps it in groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:MAX_REASON] if text else type(error).__name__
