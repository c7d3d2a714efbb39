"""The one place where a request leaves: a single one per attempt, recorded as it goes and comes.

Here: the HTTP transport under every vendor's SDK. It refuses a second request of an attempt (SDKs and adapters resend
on their own account, which would be paid and counted nowhere) and a request to any host but the declared one, names
run and attempt to the provider, never follows a redirect, decompresses within a bound, and fills the attempt's
`Exchange`. Not here: what the bytes mean.

It wraps the SDK's own default HTTP client, so that its proxies from the environment, TCP keepalive and pool of 1000
connections stay as its vendor meant them; a bare custom transport would lose all three.
"""

import json
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import httpx2
from pydantic_core import to_json

from activities.exchange import MAX_RESPONSE, Exchange
from ledger.observation import Ended

if TYPE_CHECKING:
    from activities.wording import Wording

RUN_HEADER: Final = "x-endstop-run"
ATTEMPT_HEADER: Final = "x-endstop-attempt"

CONNECT_S: Final = 10.0
"""Seconds for a connection to come about; OpenAI's and Anthropic's SDKs allow 5, which a slow proxy misses."""

TIMEOUT: Final = httpx2.Timeout(None, connect=CONNECT_S, pool=CONNECT_S)
"""The whole trip has a deadline of its own; an idle timeout would add nothing that a slow drip could not escape."""

ENCODINGS: Final = "gzip, deflate"
"""What we decompress ourselves, in bounded steps; a vendor that sends another is refused."""

_STEP: Final = 65_536
"""Bytes that one step of decompression yields at most."""

_ZLIB_OR_GZIP: Final = zlib.MAX_WBITS | 32

_under_way: ContextVar[Exchange | None] = ContextVar("exchange", default=None)


class SecondRequestError(httpx2.TransportError):
    """A client library tried to send another request within one attempt. It was not sent."""


class ForeignHostError(httpx2.TransportError):
    """A client library tried to send to another host than the operator declared. Nothing was looked up or sent."""


class OversizeError(httpx2.TransportError):
    """The answer is larger than we read."""


class UndecodableError(httpx2.TransportError):
    """The answer is compressed in a way that we do not, or cannot, undo."""


def under_way() -> Exchange:
    """The exchange that requests of this task belong to."""
    exchange = _under_way.get()
    if exchange is None:
        raise RuntimeError("a request without an attempt: wrap the call in `recorded(exchange)`")
    return exchange


def finish(field: str, items: Iterable[Any]) -> None:
    """Take the finished conversation of the request that is under way: items of this field of its body."""
    wording = under_way().wording
    if wording is None:
        raise RuntimeError("a conversation without a wording: set it on the exchange before the call")
    wording.finish(field, items)


@contextmanager
def recorded(exchange: Exchange) -> Iterator[None]:
    """Within this block, requests of this task belong to `exchange`."""
    token = _under_way.set(exchange)
    try:
        yield
    finally:
        _under_way.reset(token)


class OneRequest(httpx2.AsyncBaseTransport):
    """Lets one request leave per attempt, through `inner`, to the host of `base_url` and nobody else.

    The operator chose that host, which may be a local one. A model's name and an answer's addresses are others' words:
    whatever a client library makes of them, key and conversation stay with the host that they were meant for.
    """

    def __init__(self, inner: httpx2.AsyncClient, base_url: str) -> None:
        self._inner = inner
        self._origin = _origin(httpx2.URL(base_url))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        exchange = under_way()
        if exchange.request is not None:
            raise SecondRequestError("only one request may leave per attempt")
        body = await request.aread()  # an upload's form is not in memory yet
        exchange.request = body
        if exchange.wording and exchange.wording.field:
            exchange.asked, exchange.request = _with_words(body, exchange.wording)
            request = _carrying(request, exchange.request)
        if _origin(request.url) != self._origin:
            exchange.ended = Ended.BAD_ADDRESS
            raise ForeignHostError("a request to another host than the declared one was not sent")
        _mark(request, exchange)
        try:
            return await _recorded(await self._inner.send(request, stream=True, follow_redirects=False), exchange)
        except httpx2.HTTPError as problem:
            exchange.ended = _ending(problem, exchange)
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()


def _with_words(body: bytes, wording: "Wording") -> tuple[bytes, bytes]:
    """A body without, and with, the conversation, for which the SDK left its field empty."""
    rest = json.loads(body)
    rest.pop(wording.field)
    asked = to_json(rest)
    return asked, b'%b,"%b":[%b]}' % (asked[:-1], wording.field.encode(), wording.json)


def _carrying(request: httpx2.Request, body: bytes) -> httpx2.Request:
    """The same request with another body."""
    headers = [(name, value) for name, value in request.headers.multi_items() if name != "content-length"]
    return httpx2.Request(request.method, request.url, headers=headers, content=body, extensions=request.extensions)


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port  # a port that goes without saying is None


def _mark(request: httpx2.Request, exchange: Exchange) -> None:
    request.headers[RUN_HEADER] = exchange.run
    request.headers[ATTEMPT_HEADER] = exchange.attempt
    request.headers["accept-encoding"] = ENCODINGS

    async def trace(event: str, info: Mapping[str, Any]) -> None:
        # A proxy's CONNECT goes out under the same event; it is not our request.
        if event.endswith("send_request_headers.started") and info["request"].method != b"CONNECT":
            exchange.sent = True

    # Each SDK has a timeout of its own and asks for it: here all of them get the same.
    request.extensions = {**request.extensions, "trace": trace, "timeout": TIMEOUT.as_dict()}


async def _recorded(response: httpx2.Response, exchange: Exchange) -> httpx2.Response:
    exchange.status = response.status_code
    exchange.headers = dict(response.headers)
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in _DECODERS:
        await response.aclose()
        raise UndecodableError("the answer is compressed in a way that was not asked for")
    framing = ("content-encoding", "content-length", "transfer-encoding")
    kept = [(name, value) for name, value in response.headers.multi_items() if name not in framing]
    version = {key: response.extensions[key] for key in ("http_version",) if key in response.extensions}
    stream = _Recorded(response, exchange, _DECODERS[encoding]())
    return httpx2.Response(response.status_code, headers=kept, stream=stream, extensions=version)


class _Recorded(httpx2.AsyncByteStream):
    """The answer's body, decompressed, counted and kept while the SDK reads it.

    Iterating it again goes on where the first iteration stopped: SDKs drain a stream that way to reuse its connection.
    """

    def __init__(self, response: httpx2.Response, exchange: Exchange, pieces: "_AsItIs | _Inflate") -> None:
        self._response = response
        self._exchange = exchange
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._raw():
                for piece in self._pieces.feed(chunk):
                    self._exchange.take(piece)
                    if self._exchange.received > MAX_RESPONSE:
                        raise OversizeError(f"the answer is larger than {MAX_RESPONSE} bytes")
                    yield piece
            self._pieces.finish()
        except httpx2.HTTPError as problem:
            self._exchange.ended = _ending(problem, self._exchange)
            raise
        self._exchange.ended = Ended.COMPLETE

    def _raw(self) -> httpx2.AsyncByteStream:
        stream = self._response.stream
        if not isinstance(stream, httpx2.AsyncByteStream):
            raise TypeError("the inner client must be asynchronous")
        return stream

    async def aclose(self) -> None:
        await self._response.aclose()


class _AsItIs:
    """No compression."""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        yield chunk

    def finish(self) -> None:
        """Nothing is held back."""


class _Inflate:
    """gzip or zlib, at most `_STEP` bytes at a time, so that a bomb is noticed before it is unpacked."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(_ZLIB_OR_GZIP)

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            try:
                piece = self._zlib.decompress(chunk, _STEP)
            except zlib.error as problem:
                raise UndecodableError("the answer's compression is broken") from problem
            if piece:
                yield piece
            chunk = self._zlib.unconsumed_tail

    def finish(self) -> None:
        if not self._zlib.eof:
            raise httpx2.RemoteProtocolError("the compressed answer ends in its middle")


_DECODERS: Final[Mapping[str, type[_AsItIs] | type[_Inflate]]] = {
    "": _AsItIs,
    "identity": _AsItIs,
    "gzip": _Inflate,
    "x-gzip": _Inflate,
    "deflate": _Inflate,
}


_ENDINGS: Final[tuple[tuple[type[httpx2.HTTPError], Ended], ...]] = (
    # The first class that fits; httpx2's tree has the timeouts and the connection errors under TransportError.
    (OversizeError, Ended.OVERSIZE),
    (UndecodableError, Ended.UNUSABLE),
    (httpx2.ConnectTimeout, Ended.CONNECT_TIMEOUT),
    (httpx2.PoolTimeout, Ended.POOL_TIMEOUT),
    (httpx2.WriteTimeout, Ended.WRITE_TIMEOUT),
    (httpx2.ReadTimeout, Ended.READ_TIMEOUT),
    (httpx2.WriteError, Ended.WRITE_ERROR),
    (httpx2.UnsupportedProtocol, Ended.BAD_ADDRESS),
    (httpx2.LocalProtocolError, Ended.BAD_ADDRESS),
)

_CONNECT_CAUSES: Final[tuple[tuple[type[BaseException], Ended], ...]] = (
    (socket.gaierror, Ended.DNS_ERROR),
    (ssl.SSLCertVerificationError, Ended.TLS_VERIFY_FAILED),
    (ssl.SSLError, Ended.TLS_ERROR),
)


def _ending(problem: httpx2.HTTPError, exchange: Exchange) -> Ended:
    for kind, ended in _ENDINGS:
        if isinstance(problem, kind):
            return ended
    if isinstance(problem, httpx2.ProxyError):  # its words are the status line of what answered CONNECT
        return Ended.PROXY_KEY if str(problem).startswith("407") else Ended.PROXY_ERROR
    if isinstance(problem, httpx2.ConnectError):
        return _why_not_connected(problem)
    return Ended.RESET_BEFORE_HEADERS if exchange.status is None else Ended.RESET_MID_STREAM


def _why_not_connected(problem: BaseException) -> Ended:
    """The cause behind a failed connection: HTTP libraries wrap it several times."""
    seen: BaseException | None = problem
    while seen is not None:
        for kind, ended in _CONNECT_CAUSES:
            if isinstance(seen, kind):
                return ended
        seen = seen.__cause__ or seen.__context__
    return Ended.CONNECT_ERROR
