"""What a benchmark of whole runs needs: a server, a provider simulator and workers, each a process of its own.

The server is the one that `endstop dev` starts, in memory, with its setting `history.transferProcessorMaxPollRPS=5000`.
A turn is one model call and one tool that returns 2,000 bytes; the agent reads another file each time, by `read_file`
in its workspace or by a function of the operator's, which needs none.
"""

import asyncio
import json
import os
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import uuid4

from temporalio.client import Client, WorkflowHandle

from commands.server import DevServer, free_port, running
from workflows.payloads import data_converter

ROOT: Final = Path(__file__).parent.parent
TOOL_BYTES: Final = 2_000
IN_WORKSPACE: Final = "read_file"
FUNCTION: Final = "read_note"
"""The tool that needs no workspace."""
TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Rig:
    """A server, and a worker of Endstop in a folder of its own."""

    client: Client
    worker: Process

    async def run(self, turns: int, *, tool: str = IN_WORKSPACE) -> WorkflowHandle[Any, Any]:
        """One run of so many turns with a tool, and a last one with the answer; returns when it completed."""
        agent = {"models": [f"openai:{tool}-{turns}"], "tools": [tool], "limits": {"turns": turns + 1}}
        agent |= {"workspace": "notes"} if tool == IN_WORKSPACE else {}
        handle = await self.client.start_workflow(
            "AgentWorkflow", {"agent": agent, "task": "read them all"}, id=f"bench-{uuid4()}", task_queue="bench"
        )
        result = await handle.result()
        if (result["status"], result["turns"]) != ("completed", turns + 1):
            raise SystemExit(f"a run of {turns} turns ended otherwise: {result}")
        return handle


@asynccontextmanager
async def rig(*turns: int) -> AsyncIterator[Rig]:
    """Everything started, for runs of these lengths; stopped on leaving."""
    with TemporaryDirectory() as kept:
        folder = Path(kept)
        _write_files(folder, turns)
        async with AsyncExitStack() as closing:
            server = await closing.enter_async_context(running(DevServer(port=free_port(), log=folder / "server.log")))
            simulated = await begun(closing, folder, "-m", "simulator", "--script", "script.json", ready="listening on")
            url = simulated[1].split()[-1]
            (folder / "endstop.toml").write_text(
                'task_queue = "bench"\n[workspaces.notes]\nsource = "notes"\n'
                f'[tools.{FUNCTION}]\nfunction = "notebook:{FUNCTION}"\nidempotent = true\ntimeout_s = 5\n'
                f'[providers.openai]\napi = "openai-chat"\nbase_url = "{url}/v1"\nkey_env = "OPENAI_API_KEY"\n'
            )
            os.environ["TEMPORAL_ADDRESS"] = server.address
            worker, _ = await begun(closing, folder, str(ROOT / "worker.py"), ready="worker.ready")
            client = await Client.connect(server.address, data_converter=data_converter)
            yield Rig(client=client, worker=worker)


async def begun(closing: AsyncExitStack, folder: Path, *args: str, ready: str) -> tuple[Process, str]:
    """A Python process and the line that says it is ready; it is stopped when the stack closes."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("ENDSTOP_")}
    environment = clean | {"OPENAI_API_KEY": "bench", "PYTHONPATH": str(ROOT)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, *args, cwd=folder, env=environment, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT
    )
    assert process.stdout
    said = b""
    async for line in process.stdout:
        said += line
        if ready.encode() in line:
            drain = asyncio.create_task(process.stdout.read())  # a full pipe would hold the process up
            closing.push_async_callback(_ended, process, drain)
            return process, line.decode().strip()
    raise SystemExit(f"{args[0]} did not start:\n{said.decode()}")


async def _ended(process: Process, drain: asyncio.Task[bytes]) -> None:
    if process.returncode is None:
        process.send_signal(signal.SIGTERM)
    await process.wait()
    await drain


def cpu_s(process: Process) -> float:
    """Seconds of CPU that a process has used, in user and kernel mode, all threads."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@dataclass(frozen=True)
class Cost:
    """What one run took."""

    wall_s: float
    cpu_s: float


async def measured(worker: Process, run: Any) -> Cost:
    """Await a run, and say what it took of the clock and of the worker's processor."""
    wall, cpu = time.perf_counter(), cpu_s(worker)
    await run
    return Cost(wall_s=time.perf_counter() - wall, cpu_s=cpu_s(worker) - cpu)


def _write_files(folder: Path, turns: tuple[int, ...]) -> None:
    (folder / "notes").mkdir()
    for number in range(max(turns)):
        line = f"note {number} " + "x" * 88
        text = "\n".join([line] * (TOOL_BYTES // (len(line) + 1) + 1))[:TOOL_BYTES]
        (folder / "notes" / f"{number}.txt").write_text(text)
    (folder / "notebook.py").write_text(
        f'from pathlib import Path\n\ndef {FUNCTION}(path: str) -> str:\n    """Read a note."""\n'
        '    return (Path("notes") / path).read_text()\n'
    )
    models = {
        f"{tool}-{length}": [*(_reads(tool, number) for number in range(length)), {"kind": "text", "text": "done"}]
        for tool in (IN_WORKSPACE, FUNCTION)
        for length in turns
    }
    (folder / "script.json").write_text(json.dumps({"models": models}))


def _reads(tool: str, number: int) -> dict[str, object]:
    return {"kind": "tool_calls", "calls": [{"name": tool, "arguments": {"path": f"{number}.txt"}}]}


def table(header: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    """Print a Markdown table."""
    for row in (header, ("---",) * len(header), *rows):
        print("| " + " | ".join(map(str, row)) + " |")
