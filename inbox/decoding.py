"""The codec server: what Temporal's Web UI and command ask to have payloads decrypted, in Temporal's own protocol.

Who has its address, which holds the token, reads everything. It answers POST .../decode and .../encode on the loopback
interface, to the Web UI's own pages and to programs; a page of another origin is refused, whatever it knows.
"""

import json
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from google.protobuf import json_format
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.converter import PayloadCodec

from encryption import KeyMissing
from inbox.guard import NAMES, Guard

MAX_BODY: Final = 64 * 2**20
"""The Web UI sends the payloads of a page of events at once, each up to 2 MB."""


def application(codec: PayloadCodec, guard: Guard, ui: str) -> Starlette:
    """The whole application. `ui` is the Web UI's address; on this machine it may go by either name."""
    origins = _origins(ui)
    server = _Server(codec, guard, origins)
    # "*" is for headers only: the UI sends X-Namespace, and as its operator wants it Authorization.
    cors = Middleware(CORSMiddleware, allow_origins=origins, allow_methods=["POST"], allow_headers=["*"])
    return Starlette(
        routes=[
            Route("/{token}/decode", server.decode, methods=["POST"]),
            Route("/{token}/encode", server.encode, methods=["POST"]),
        ],
        middleware=[cors],
        exception_handlers={HTTPException: _failed},
    )


class _Server:
    """The two addresses."""

    def __init__(self, codec: PayloadCodec, guard: Guard, origins: list[str]) -> None:
        self._codec = codec
        self._guard = guard
        self._origins = origins

    async def encode(self, request: Request) -> Response:
        sent = await self._read(request)
        return _answer(await self._codec.encode(sent))

    async def decode(self, request: Request) -> Response:
        """Decrypt what can be; a payload whose key is not here stays as it is, and hides none of the others."""
        return _answer([await self._opened(payload) for payload in await self._read(request)])

    async def _opened(self, payload: Payload) -> Payload:
        try:
            return (await self._codec.decode([payload]))[0]
        except KeyMissing:
            return payload

    async def _read(self, request: Request) -> list[Payload]:
        """The payloads of a request that may be made."""
        if not self._guard.is_ours(request.headers.get("host", "")):
            raise HTTPException(HTTPStatus.BAD_REQUEST, "This codec answers at 127.0.0.1 and localhost only.")
        if not self._guard.opens(request.path_params["token"]):
            raise HTTPException(HTTPStatus.FORBIDDEN, "This codec answers at the address that it printed.")
        origin = request.headers.get("origin")
        if origin is not None and origin not in self._origins:
            raise HTTPException(HTTPStatus.FORBIDDEN, "This codec answers pages of the Web UI only: see --ui.")
        try:
            return list(json_format.Parse(await _body(request), Payloads()).payloads)
        except (json_format.ParseError, UnicodeDecodeError, RecursionError):
            raise HTTPException(HTTPStatus.BAD_REQUEST, 'Expected {"payloads": [...]}.') from None


def _origins(ui: str) -> list[str]:
    """The origins of a Web UI's pages, as browsers write them."""
    parts = urlsplit(ui)
    goes_without_saying = parts.port in (None, {"http": 80, "https": 443}.get(parts.scheme))
    host, port = parts.hostname or "", "" if goes_without_saying else f":{parts.port}"
    names = NAMES if host in NAMES else (f"[{host}]" if ":" in host else host,)
    return [f"{parts.scheme}://{name}{port}" for name in names]


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A request may have {MAX_BODY:,} bytes.")
    return bytes(body)


def _answer(payloads: list[Payload]) -> Response:
    written = json_format.MessageToDict(Payloads(payloads=payloads))
    return Response(json.dumps(written), media_type="application/json", headers={"Cache-Control": "no-store"})


def _failed(_: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    return PlainTextResponse(error.detail, error.status_code)
