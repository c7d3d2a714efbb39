"""The simulator itself: listens, reads requests, asks the script, sends the reply, logs both.

Vendors' words are in the dialects, the choice of a reply in `turns`, bad endings in `delivery`, bytes in `wire`.
"""

import asyncio
import json
import logging
import secrets
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Self

import h11
from pydantic import JsonValue

from simulator import admin
from simulator.delivery import Delivery, deliver
from simulator.lanes import Lanes
from simulator.library import Library
from simulator.log import Answered, Log, Outcome, Received
from simulator.routing import dialect_for
from simulator.script import Script
from simulator.turns import Turn, answered, take
from simulator.wire import ClientGoneError, Request, Wire

_logger = logging.getLogger("simulator")


class Simulator:
    """An async context manager: `async with Simulator(script) as sim`, then point clients at `sim.url`."""

    def __init__(
        self,
        script: Script | None = None,
        log: Path | str | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self._lanes = Lanes(script or Script())
        self._log_path = log
        self._address = (host, port)
        self._life = secrets.token_hex(4)
        self._seq = 0
        self._library = Library(self._lanes.script, self._life)
        self._labels: dict[str, asyncio.Event] = {}
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._log = Log(self._log_path)
        self._controls = admin.Controls(
            log=self._log,
            script=lambda: self._lanes.script,
            use=self.use,
            release=self.release,
            expire=self.expire_files,
        )
        host, port = self._address
        try:
            self._server = await asyncio.start_server(self._accept, host, port)
        except OSError:
            self._log.close()
            raise
        self._address = self._server.sockets[0].getsockname()[:2]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()
        self._log.close()

    @property
    def url(self) -> str:
        """The address without a path, e.g. `http://127.0.0.1:40123`."""
        host, port = self._address
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def requests(self) -> tuple[Received, ...]:
        """All requests for a model so far, in the order they arrived; never cleared."""
        return tuple(self._log.received)

    @property
    def file_requests(self) -> tuple[Received, ...]:
        """All requests to the vendors' files APIs so far, with numbers of their own."""
        return tuple(self._log.files)

    @property
    def connections_open(self) -> int:
        return len(self._connections)

    def use(self, script: Script) -> None:
        """Replace the script and start counting from 1 again; the log and `seq` go on."""
        self._lanes = Lanes(script)
        self._library.use(script)

    def release(self, label: str) -> None:
        """Let go of the replies that are `held_until` this label, now and later."""
        self._label(label).set()

    def expire_files(self, name: str | None = None) -> int:
        """Let the uploaded file of this id vanish, or all of them; how many did."""
        return self._library.shelf.expire(name)

    async def received(self, count: int) -> list[Received]:
        """Wait until `count` requests have arrived and return them."""
        return await self._log.wait_received(count)

    async def finished(self, seq: int) -> Answered:
        """Wait until the answer to request `seq` has ended, and how: `client_closed` proves they hung up."""
        return await self._log.wait_answered(seq)

    def _label(self, label: str) -> asyncio.Event:
        return self._labels.setdefault(label, asyncio.Event())

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(Wire(reader, writer)))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, wire: Wire) -> None:
        try:
            while (request := await wire.request()) is not None:
                await self._respond(request, wire)
                if not wire.reusable:
                    return
        except h11.RemoteProtocolError as problem:
            _logger.warning("a client sent no HTTP: %s", problem)
        except ClientGoneError:
            pass  # nobody is left to tell
        except asyncio.CancelledError:
            wire.abort()  # a client that does not read must not keep us from stopping
            raise
        finally:
            await wire.close()

    async def _respond(self, request: Request, wire: Wire) -> None:
        dialect = dialect_for(request.method, request.path)
        if dialect is None:
            await self._respond_otherwise(request, wire)
            return
        self._seq += 1
        turn = take(request, dialect, self._lanes, self._library.shelf, self._seq)
        await self._log.add_received(turn.record)
        if turn.choice.exhausted:
            _logger.warning("script exhausted: model %s lane %r", turn.record.model, turn.record.lane)
        to = Delivery(wire=wire, dialect=dialect, ask=turn.ask, token=f"{self._life}{turn.record.seq:06d}")
        await self._deliver(turn, to)

    async def _respond_otherwise(self, request: Request, wire: Wire) -> None:
        """Files first, then what is asked of the simulator itself."""
        served = self._library.serve(request)
        if served is not None:
            self._log.add_file(served.record)
            await _send_json(wire, served.answer.status, served.answer.body, served.answer.headers)
            return
        status, body = admin.answer(request, self._controls)
        await _send_json(wire, status, body)

    async def _deliver(self, turn: Turn, to: Delivery) -> None:
        outcome: Outcome = "stopped"
        try:
            outcome = await _unless_gone(to.wire, self._when_due(turn, to))
        finally:
            await self._log.add_answered(answered(turn, to.wire, outcome))

    async def _when_due(self, turn: Turn, to: Delivery) -> Outcome:
        reply = turn.choice.reply
        if reply.held_until is not None:
            await self._label(reply.held_until).wait()
        if reply.delay_s:
            await asyncio.sleep(reply.delay_s)
        return await deliver(reply, to)


async def _unless_gone(wire: Wire, answer: Coroutine[None, None, Outcome]) -> Outcome:
    """How the answer ended: `client_closed` as soon as the client closes its socket before it is complete."""
    work = asyncio.ensure_future(answer)
    watch = asyncio.ensure_future(wire.gone())
    try:
        await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
        return work.result() if work.done() else "client_closed"
    except ClientGoneError:
        return "client_closed"
    finally:
        work.cancel()
        watch.cancel()
        await asyncio.gather(work, watch, return_exceptions=True)


async def _send_json(wire: Wire, status: int, body: JsonValue, headers: Mapping[str, str] | None = None) -> None:
    encoded = json.dumps(body).encode()
    framing = {"content-type": "application/json", "content-length": str(len(encoded))}
    await wire.start(status, {**framing, **(headers or {})})
    await wire.write(encoded)
    await wire.finish()
