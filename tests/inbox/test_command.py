"""`endstop inbox`: the address it prints opens the page, and a signal stops it."""

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import pytest

ROOT = Path(__file__).parent.parent.parent
Begin = Callable[..., Awaitable[Process]]


@pytest.fixture
async def begin(temporal_server: str, tmp_path: Path) -> AsyncIterator[Begin]:
    async with AsyncExitStack() as closing:

        async def begun(*args: str) -> Process:
            clean = {k: v for k, v in os.environ.items() if not k.startswith(("TEMPORAL_", "ENDSTOP_"))}
            command = [sys.executable, str(ROOT / "cli.py"), "inbox", "--address", temporal_server, *args]
            process = await asyncio.create_subprocess_exec(*command, cwd=tmp_path, env=clean, stdout=PIPE, stderr=PIPE)
            closing.push_async_callback(ended, process)
            return process

        yield begun


async def ended(process: Process) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_the_printed_address_opens_the_inbox_until_a_signal_stops_it(begin: Begin, number: signal.Signals):
    process = await begin("--port", "0")
    assert process.stdout
    first = (await process.stdout.readline()).decode()
    address = first.split("the inbox is at ")[1].strip()
    async with httpx2.AsyncClient(timeout=60) as browser:
        assert (await browser.get(address.split("?")[0])).status_code == 403
        assert (await browser.get(address)).status_code == 200
        assert (await browser.get(address.split("?")[0])).status_code == 200
    process.send_signal(number)
    _, log = await process.communicate()
    assert process.returncode == 0
    assert address.split("token=")[1] not in log.decode()
    assert "Traceback" not in log.decode()


async def test_a_port_in_use_is_refused_in_one_line(begin: Begin):
    with socket.create_server(("127.0.0.1", 0)) as other:
        process = await begin("--port", str(other.getsockname()[1]))
        out, log = await process.communicate()
    assert (process.returncode, out) == (1, b"")
    (line,) = log.decode().splitlines()
    assert line.startswith("endstop: the inbox cannot listen at 127.0.0.1:")
    assert "choose another --port" in line
