"""One connection of one client: HTTP by h11 over asyncio streams, with every way to end it badly.

Bytes and framing only. What is answered is decided by `server` and `delivery`.
"""

import asyncio
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import h11

BODY_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of one request; above all that the vendors take (Anthropic and OpenAI: 32 and 50 MB)."""

READ_SIZE: Final = 65_536

RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)
"""SO_LINGER on with zero seconds: closing sends RST instead of FIN."""


class ClientGoneError(Exception):
    """The client closed or reset its socket before the answer was complete."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A whole request: `path` without its query (some vendors put the key there), header names in lower case.

    `size` counts all bytes of the body; above BODY_LIMIT they were read and thrown away, and `body` is empty.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    size: int


class Wire:
    """Reads requests and writes one answer to each. `sent` counts body bytes of the current answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER)
        self.status: int | None = None
        self.sent = 0

    async def request(self) -> Request | None:
        """The next request, or nothing when the client is done. Raises h11.RemoteProtocolError on nonsense."""
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        self.status, self.sent = None, 0
        head = await self._event()
        if not isinstance(head, h11.Request):
            return None
        body, size = await self._body()
        return Request(
            method=head.method.decode("ascii"),
            path=urlsplit(head.target.decode("ascii")).path,
            headers={name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers},
            body=body,
            size=size,
        )

    async def _body(self) -> tuple[bytes, int]:
        body, size = bytearray(), 0
        while isinstance(event := await self._event(), h11.Data):
            size += len(event.data)
            body += event.data if size <= BODY_LIMIT else b""
        if isinstance(event, h11.ConnectionClosed):
            raise ClientGoneError
        return bytes(body) if size <= BODY_LIMIT else b"", size

    async def _event(self) -> object:
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            if self._http.they_are_waiting_for_100_continue:
                await self._send(h11.InformationalResponse(status_code=100, headers=[]))
            self._http.receive_data(await self._read())

    async def _read(self) -> bytes:
        try:
            return await self._reader.read(READ_SIZE)
        except ConnectionError:
            return b""

    async def gone(self) -> None:
        """Return when the client has closed its socket; early bytes of a next request are kept for `request`."""
        while data := await self._read():
            self._http.receive_data(data)

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the status line and headers; without a content-length the body is chunked."""
        pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await self._send(h11.Response(status_code=status, headers=pairs))
        self.status = status

    async def write(self, data: bytes) -> None:
        """Send a part of the body."""
        await self._send(h11.Data(data=data))
        self.sent += len(data)

    async def finish(self) -> None:
        """End the body as HTTP wants it ended."""
        await self._send(h11.EndOfMessage())

    async def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if not data:
            return
        try:
            self._writer.write(data)
            await self._writer.drain()
        except ConnectionError as problem:
            raise ClientGoneError from problem

    @property
    def reusable(self) -> bool:
        """True when the answer is complete and both sides may go on with another request."""
        return self._http.our_state is h11.DONE and self._http.their_state is h11.DONE

    def reset(self) -> None:
        """End the connection with a TCP reset."""
        raw: socket.socket = self._writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self.abort()

    def abort(self) -> None:
        """End the connection at once; what the client has not read yet may be lost."""
        self._writer.transport.abort()

    async def close(self) -> None:
        """End the connection; what was written is still delivered."""
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            return  # the client ended it first
