"""A real server, real worker processes that can be killed, and a simulator that counts what reached it."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from temporalio.client import Client, WorkflowHandle

from simulator.script import Script
from simulator.server import Simulator

ROOT = Path(__file__).parent.parent.parent
TEXT = {"kind": "text", "text": "done"}


@dataclass
class Stage:
    """One task queue with one worker process at a time."""

    client: Client
    address: str
    folder: Path
    simulator: Simulator
    queue: str
    log: list[bytes] = field(default_factory=list)
    process: Process | None = None
    reading: asyncio.Task[None] | None = None

    async def work(self, *command: str) -> None:
        """Start a worker and wait until it polls. `command`: what Python runs, if not the worker itself."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("TEMPORAL_", "ENDSTOP_"))}
        keys = {"OPENAI_API_KEY": "key-marker-0815", "ANTHROPIC_API_KEY": "key-marker-0815"}
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            *(command or (str(ROOT / "worker.py"),)),
            cwd=self.folder,
            env=clean | keys | {"TEMPORAL_ADDRESS": self.address},
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        ready = asyncio.Event()
        self.reading = asyncio.create_task(self._read(self.process, ready))
        await ready.wait()
        assert self.process.returncode is None, b"".join(self.log).decode()

    async def _read(self, process: Process, ready: asyncio.Event) -> None:
        """Keep what the worker logs, all the time: a full pipe would stop it."""
        assert process.stdout
        async for line in process.stdout:
            self.log.append(line)
            if b"worker.ready" in line:
                ready.set()
        await process.wait()
        ready.set()

    async def kill(self) -> None:
        """kill -9, as a machine that loses power would."""
        assert self.process
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()

    async def rest(self) -> None:
        """Stop the worker as an operator would, and keep what it logged."""
        if self.process and self.process.returncode is None:
            self.process.terminate()
        if self.reading:
            await self.reading

    async def start(self, agent: dict[str, Any], task: Any = "do it", **options: Any) -> WorkflowHandle:
        return await self.client.start_workflow(
            "AgentWorkflow", {"agent": agent, "task": task}, id=f"run-{uuid4()}", task_queue=self.queue, **options
        )


async def eventually(happened: Callable[[], Any]) -> Any:
    """Poll until something is true, and return it; the guard against hangs ends what never is."""
    while not (found := await happened()):  # noqa: ASYNC110 - another process makes it true
        await asyncio.sleep(0.05)
    return found


async def records(run: WorkflowHandle, kind: str) -> list[dict[str, Any]]:
    page = await run.query("journal", {"after": 0})
    return [record for record in page["records"] if record["type"] == kind]


@asynccontextmanager
async def staged(
    client: Client, address: str, folder: Path, script: dict[str, Any], settings: str = "", top: str = ""
) -> AsyncIterator[Stage]:
    """A stage with a worker that polls, whose models answer by the script. `SIMULATOR` in settings is its address.

    `top` are settings that stand before all tables.
    """
    async with Simulator(Script.parse(script)) as simulator:
        queue = f"faults-{uuid4().hex[:8]}"
        (folder / "endstop.toml").write_text(
            f'task_queue = "{queue}"\n{top}\n'
            f'[providers.openai]\napi = "openai-chat"\nbase_url = "{simulator.url}/v1"\n'
            'key_env = "OPENAI_API_KEY"\n'
            f'[providers.anthropic]\napi = "anthropic-messages"\nbase_url = "{simulator.url}"\n'
            f'key_env = "ANTHROPIC_API_KEY"\n{settings.replace("SIMULATOR", simulator.url)}'
        )
        built = Stage(client, address, folder, simulator, queue)
        try:
            await built.work()
            yield built
        finally:
            await built.rest()


@pytest.fixture
async def stage(temporal_server: str, client: Client, tmp_path: Path) -> AsyncIterator[Callable[[dict[str, Any]], Any]]:
    """Give it a simulator's script; it gives a stage with a worker."""
    async with AsyncExitStack() as closing:

        async def made(script: dict[str, Any], settings: str = "") -> Stage:
            return await closing.enter_async_context(staged(client, temporal_server, tmp_path, script, settings))

        yield made
