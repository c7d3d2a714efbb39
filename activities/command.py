"""Running one command in a folder: no shell, its own process group, limits on time and output.

Here: starting it, reading what it says within bounds, and ending all of it. Not here: what its exit code means
(`run_gate`), what a sandbox shows it (`sandbox`), or which environment and folder it gets beyond what it is told.
"""

import asyncio
import os
import re
import signal
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from ledger.model import Frozen

FLOOD: Final = 64
"""A command that writes more than this many times what is kept of its output is ended: it will not come to a point."""

DRAIN_S: Final = 1.0
"""How long the rest of the output is awaited after the command has ended: a process that left the group may hold it."""

_CHUNK: Final = 65_536

_STARTED: Final = b'"exit-code"'
"""What bubblewrap tells by its status descriptor of a command that it could execute, and of no other."""

_REASON: Final = re.compile(r"(?:bwrap: )?(?:execvp )?(?P<what>.*): (?P<why>.*)", re.DOTALL)

Limit = Literal["", "time", "output"]
"""For which limit a command was ended; "" where it ended by itself."""


class Command(Frozen):
    """What to run, where, and within which limits."""

    argv: tuple[str, ...]
    folder: Path
    environment: dict[str, str]
    """All of it: nothing is inherited."""
    timeout_s: float
    output_bytes: int
    """Kept of the output: the first and the last half of this each."""
    sandbox: tuple[str, ...] = ()
    """The words of bubblewrap that go before `argv`; () runs it as it is."""


class Ran(Frozen):
    """The command was started and is over."""

    exit_code: int
    """Negative: the signal that ended it. Meaningless where it was ended for a limit."""
    output: str
    """Both streams as they came; bytes that are no UTF-8 are replaced."""
    limit: Limit = ""


class NotStarted(Frozen):
    """The command could not be started."""

    reason: str


@dataclass(kw_only=True)
class _Output:
    """The first and the last half of what came, and how much that was."""

    keep: int
    first: bytearray = field(default_factory=bytearray)
    last: bytearray = field(default_factory=bytearray)
    came: int = 0

    def add(self, chunk: bytes) -> None:
        self.came += len(chunk)
        room = self.keep // 2 - len(self.first)
        self.first += chunk[:room]
        self.last += chunk[room:]
        del self.last[: -(self.keep - self.keep // 2)]

    @property
    def flooded(self) -> bool:
        return self.came > FLOOD * self.keep

    def text(self) -> str:
        left_out = self.came - len(self.first) - len(self.last)
        between = f"\n[{left_out} bytes left out]\n".encode() if left_out else b""
        return bytes(self.first + between + self.last).decode(errors="replace")


async def run_command(command: Command) -> Ran | NotStarted:
    """Run it to its end or to a limit, whichever comes first; nothing of its process group outlives this call.

    A cancellation ends the command too. A process that made a group of its own is out of reach here, unless the
    command is in a sandbox: that ends with all that is in it.
    """
    with os.fdopen(os.memfd_create("status"), "rb") as status:
        ran = await _run(command, status.fileno())
        status.seek(0)
        started = not command.sandbox or _STARTED in status.read(_CHUNK)
    if isinstance(ran, Ran) and ran.exit_code == 1 and not ran.limit and not started:
        return NotStarted(reason=_reason(ran.output))
    return ran


async def _run(command: Command, status: int) -> Ran | NotStarted:
    reader, writer = os.pipe()
    try:
        process = await _start(command, writer, status)
    except OSError as error:
        os.close(reader)
        return NotStarted(reason=f"{error.filename or command.argv[0]}: {os.strerror(error.errno or 0).lower()}")
    except BaseException:
        os.close(reader)
        raise
    finally:
        os.close(writer)
    output = _Output(keep=command.output_bytes)
    async with _read_meanwhile(reader, output, process):
        in_time = await _ended(process, command.timeout_s)
    limit: Limit = "output" if output.flooded else "" if in_time else "time"
    return Ran(exit_code=process.returncode or 0, output=output.text(), limit=limit)


def _reason(said: str) -> str:
    """What bubblewrap said, and nothing but it: the command itself did not come to say anything."""
    parts = _REASON.fullmatch(said.strip())
    return f"{parts['what']}: {parts['why'].lower()}" if parts else said.strip()


async def _start(command: Command, output: int, status: int) -> Process:
    """Both streams go into one pipe of ours, in the order in which they are written; there is nothing to read."""
    before = (*command.sandbox, "--json-status-fd", str(status), "--") if command.sandbox else ()
    return await asyncio.create_subprocess_exec(
        *before,
        *command.argv,
        cwd=command.folder,
        env=command.environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=(status,) if command.sandbox else (),
        start_new_session=True,
    )


async def _ended(process: Process, timeout_s: float) -> bool:
    """Wait for the command, then end its whole group in any case; False where its time ran out first."""
    try:
        async with asyncio.timeout(timeout_s):
            await process.wait()
    except TimeoutError:
        return False
    else:
        return True
    finally:
        _kill(process)
        await process.wait()


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError):  # all of the group are gone already
        os.killpg(process.pid, signal.SIGKILL)


@asynccontextmanager
async def _read_meanwhile(reader: int, output: _Output, process: Process) -> AsyncIterator[None]:
    """Read while the block runs, and after it what is left, for at most `DRAIN_S`."""
    stream = asyncio.StreamReader()
    try:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(reader, "rb", buffering=0)
        )
    except BaseException:  # cancelled between its start and the wait for its end: nobody would end it any more
        _kill(process)
        raise
    reading = asyncio.create_task(_read(stream, output, process))
    try:
        yield
        await asyncio.wait({reading}, timeout=DRAIN_S)
    finally:
        reading.cancel()
        transport.close()


async def _read(stream: asyncio.StreamReader, output: _Output, process: Process) -> None:
    while chunk := await stream.read(_CHUNK):
        output.add(chunk)
        if output.flooded:
            _kill(process)
            return
