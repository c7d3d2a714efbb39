"""The network between a worker and the Temporal server, for tests that cut it. Bytes only; nothing here knows gRPC."""

import asyncio
from contextlib import suppress
from typing import Self

BLOCK = 65_536


class Proxy:
    """`async with Proxy("host:port") as proxy`: connect to `proxy.address`, then cut, swallow and mend."""

    def __init__(self, target: str) -> None:
        self._target = target.rsplit(":", 1)
        self._passing = asyncio.Event()
        self._passing.set()
        self._refusing = False
        self.refused = 0
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self._end_connections()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def cut(self) -> None:
        """End every connection, and every new one at once."""
        self._refusing = True
        self._end_connections()

    def swallow(self) -> None:
        """Let nothing pass and end nothing: what is sent meanwhile is held back, as by a network that is congested."""
        self._passing.clear()

    def mend(self) -> None:
        """Let all pass again."""
        self._refusing = False
        self._passing.set()

    def _end_connections(self) -> None:
        for task in self._connections:
            task.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._connections.add(task)
        try:
            if self._refusing:
                self.refused += 1
            else:
                await self._joined(reader, writer)
        except asyncio.CancelledError:  # cut; that is how a connection of ours may end
            pass
        finally:
            self._connections.discard(task)
            writer.transport.abort()

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._passing.wait()
        host, port = self._target
        try:
            there, back = await asyncio.open_connection(host, int(port))
        except OSError:  # the server itself is away
            return
        try:
            ways = [asyncio.ensure_future(self._pump(reader, back)), asyncio.ensure_future(self._pump(there, writer))]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        finally:
            back.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while block := await reader.read(BLOCK):
                await self._passing.wait()
                writer.write(block)
                await writer.drain()
