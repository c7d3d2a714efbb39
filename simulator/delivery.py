"""How each kind of reply is carried out on a connection, good or bad. Its bytes are the dialect's.

`deliver` returns how the answer ended when we ended it; a client that leaves first cancels it from outside.
"""

import asyncio
import json
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, assert_never

from pydantic import JsonValue

from simulator.dialect import Ask, Dialect, Problem
from simulator.replies import (
    Cut,
    Drip,
    Error,
    ErrorInStream,
    Hang,
    Huge,
    Raw,
    Refuse,
    Reply,
    Text,
    ToolCalls,
)
from simulator.wire import Wire

JSON: Final = "application/json"
EVENTS: Final = "text/event-stream; charset=utf-8"
BLOCK: Final = 65_536
Complete = Text | ToolCalls | Error | Raw | Huge | ErrorInStream | Drip
"""The replies that end as HTTP wants it, whatever they say."""

FIRST_ERROR: Final = 300
"""The lowest status that HTTP clients take for a failure."""

GZIP: Final = 31
"""zlib's window argument for the gzip format."""


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """Where and for what a reply is sent. `token` is unique to the request."""

    wire: Wire
    dialect: Dialect
    ask: Ask
    token: str

    async def start(self, status: int, content_type: str, headers: Mapping[str, str] | None = None) -> None:
        named = self.dialect.request_id_header
        request_id = {named: f"req_{self.token}"} if named else {}
        await self.wire.start(status, {"content-type": content_type, **request_id, **(headers or {})})

    async def start_answer(self) -> None:
        await self.start(200, EVENTS if self.ask.stream else JSON)

    def parts(self, answer: Text | ToolCalls) -> Iterator[bytes]:
        """The events of a streamed answer, or the two halves of a plain one."""
        if self.ask.stream:
            yield from self.dialect.events(self.ask, answer, self.token)
            return
        body = _encoded(self.dialect.whole(self.ask, answer, self.token))
        yield body[: len(body) // 2]
        yield body[len(body) // 2 :]

    def problem(self, reply: Error | ErrorInStream) -> Problem:
        same = reply.model_dump(include={"error", "message", "param", "code", "retry_after_s"})
        return Problem(model=self.ask.model, **same)


async def deliver(reply: Reply, to: Delivery) -> Literal["sent", "cut"]:
    """Carry out the reply; "cut" when its script ends it before its end. `hang` and `stall` never return."""
    match reply:
        case Hang():
            if reply.where == "after_headers":
                await to.start_answer()
            await _for_ever()
        case Cut():
            await _cut(reply, to)
        case Refuse():
            if reply.ending == "reset":
                to.wire.reset()
        case _:
            await _send(reply, to)
            return "sent"
    return "cut"


async def _send(reply: Complete, to: Delivery) -> None:
    match reply:
        case Text() | ToolCalls():
            await _answer(reply, to)
        case Error():
            await _error(reply, to)
        case Raw():
            await _plain(to, reply.status, reply.headers, reply.body.encode())
        case Huge():
            await _huge(reply, to)
        case ErrorInStream():
            await _error_in_stream(reply, to)
        case Drip():
            await _drip(reply, to)
        case _:
            assert_never(reply)


async def _answer(answer: Text | ToolCalls, to: Delivery) -> None:
    if not to.ask.stream:
        await _plain(to, 200, {}, b"".join(to.parts(answer)))
        return
    await to.start_answer()
    async for part in _paced(to.parts(answer), answer.event_delay_s):
        await to.wire.write(part)
    await to.wire.finish()


async def _paced(parts: Iterator[bytes], delay_s: float) -> AsyncIterator[bytes]:
    for index, part in enumerate(parts):
        if index and delay_s:
            await asyncio.sleep(delay_s)
        yield part


async def _plain(to: Delivery, status: int, headers: Mapping[str, str], body: bytes) -> None:
    await to.start(status, JSON, {**headers, "content-length": str(len(body))})
    await to.wire.write(body)
    await to.wire.finish()


async def _error(reply: Error, to: Delivery) -> None:
    problem = to.problem(reply)
    envelope = to.dialect.error(problem, to.token)
    if envelope.status < FIRST_ERROR and to.ask.stream:
        await to.start_answer()
        await to.wire.write(to.dialect.error_event(problem, to.token))
        await to.wire.finish()
        return
    wait = {} if reply.retry_after_s is None else {"retry-after": f"{reply.retry_after_s:g}"}
    await _plain(to, envelope.status, {**wait, **reply.headers}, _encoded(envelope.body))


async def _error_in_stream(reply: ErrorInStream, to: Delivery) -> None:
    """To a request that did not ask for a stream, the error's envelope is the body of the 200."""
    problem = to.problem(reply)
    if not to.ask.stream:
        await _plain(to, 200, {}, _encoded(to.dialect.error(problem, to.token).body))
        return
    await to.start_answer()
    await _first_parts(to, reply.answer, reply.after_events)
    await to.wire.write(to.dialect.error_event(problem, to.token, reply.after_events))
    await to.wire.finish()


async def _first_parts(to: Delivery, answer: Text | ToolCalls, count: int) -> None:
    async for part in _paced(_first(to.parts(answer), count), answer.event_delay_s):
        await to.wire.write(part)


def _first(parts: Iterator[bytes], count: int) -> Iterator[bytes]:
    for _, part in zip(range(count), parts, strict=False):
        yield part


async def _cut(reply: Cut, to: Delivery) -> None:
    await to.start_answer()
    count = reply.after_events if to.ask.stream else min(reply.after_events, 1)
    await _first_parts(to, reply.answer, count)
    match reply.ending:
        case "stall":
            await _for_ever()
        case "clean":
            await to.wire.finish()
        case "reset":
            to.wire.reset()
        case "close":
            pass  # the server closes every connection whose answer is not complete
        case _:
            assert_never(reply.ending)


async def _drip(reply: Drip, to: Delivery) -> None:
    await to.start_answer()
    for byte in b"".join(to.parts(reply.answer)):
        await asyncio.sleep(reply.interval_s)
        await to.wire.write(bytes([byte]))
    await to.wire.finish()


async def _huge(reply: Huge, to: Delivery) -> None:
    """Chunked, so that no header warns of the size."""
    squeeze = zlib.compressobj(wbits=GZIP) if reply.gzip else None
    await to.start(200, JSON, {"content-encoding": "gzip"} if squeeze else None)
    for block in _filler(reply.size):
        await to.wire.write(squeeze.compress(block) if squeeze else block)
        await asyncio.sleep(0)  # a socket that never fills up would keep the loop from everything else
    if squeeze:
        await to.wire.write(squeeze.flush())
    await to.wire.finish()


def _filler(size: int) -> Iterator[bytes]:
    yield b'"'
    for start in range(0, size - 2, BLOCK):
        yield b"x" * min(BLOCK, size - 2 - start)
    yield b'"'


async def _for_ever() -> None:
    await asyncio.Event().wait()


def _encoded(body: JsonValue) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()
