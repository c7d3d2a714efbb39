"""A Temporal development server that keeps its runs in a file, so that it can be killed and go on."""

import asyncio
import signal
from asyncio.subprocess import DEVNULL, Process
from pathlib import Path
from typing import Self

from commands.server import DevServer, answers, arguments, free_port, program


class MortalServer:
    """`async with MortalServer(folder) as server`: connect to `server.address`, then kill and start."""

    def __init__(self, folder: Path, *more: str, log: Path | None = None) -> None:
        """`more`: flags of `temporal server start-dev`."""
        log = log or folder / "server.log"
        self._server = DevServer(port=free_port(), database=folder / "temporal.db", log=log)
        self._more = more
        self._process: Process | None = None

    @property
    def address(self) -> str:
        return self._server.address

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._ended(signal.SIGTERM)

    async def start(self) -> None:
        """Start it and wait until it answers."""
        with self._server.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                program(), *arguments(self._server), *self._more, stdin=DEVNULL, stdout=log, stderr=log
            )
        while not await answers(self.address):
            assert self._process.returncode is None, self._server.log.read_text()

    async def kill(self) -> None:
        """kill -9."""
        await self._ended(signal.SIGKILL)

    async def _ended(self, number: signal.Signals) -> None:
        if self._process and self._process.returncode is None:
            self._process.send_signal(number)
            await self._process.wait()
