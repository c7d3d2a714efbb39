# ruff: noqa: PLC0415 - `endstop --help` loads no Temporal SDK
"""Where an example or a drill is played: a folder of its own, simulated models, a Temporal server, worker processes.

All of it is taken down at the end; only where the play failed its logs stay. What is played is in `demo` and `drill`.
"""

import asyncio
import importlib.util
import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from activities.declared import SandboxKind
from activities.sandbox import SandboxUnusable, check, found
from commands.connect import Where
from commands.examples import Example
from commands.opening import Setup
from commands.refusals import Refused
from commands.server import DevServer, free_port, running
from ledger.model import Frozen

if TYPE_CHECKING:
    from simulator.server import Simulator

WORKER: Final = Path(__file__).parent.parent / "worker.py"
SIMULATED_KEY: Final = "simulated"


class Stage(Frozen):
    """Where one example plays, under one run id."""

    run: str
    example: Example
    """The copy that is played."""
    setup: Setup
    server: DevServer


async def played(example: Example, run: str, act: Callable[[Stage], Awaitable[int]]) -> int:
    """Build a stage, play on it, take it down. The exit code of `act`; its logs stay where that is not 0."""
    if example.has_project and importlib.util.find_spec("pytest") is None:
        raise Refused("the gate of this example runs pytest, which is not installed: pip install pytest")

    async def play(folder: Path, stack: AsyncExitStack) -> int:
        stage = await _built(example, run, folder, stack)
        workers = await _workers(stage, folder, stack)
        return await while_all_work(act(stage), workers, folder)

    return await in_own_folder("demo", play)


async def in_own_folder(name: str, play: Callable[[Path, AsyncExitStack], Awaitable[int]]) -> int:
    """Play in a folder of its own, with what is put on the stack. The exit code; the folder stays where it is not 0."""
    folder = Path(tempfile.mkdtemp(prefix=f"endstop-{name}-"))
    code = 1
    try:
        async with AsyncExitStack() as stack:
            code = await play(folder, stack)
    finally:
        if code:
            click.echo(f"the logs of the {name} are in {folder}", err=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return code


async def while_all_work(act: Awaitable[int], workers: list[asyncio.subprocess.Process], folder: Path) -> int:
    """Await the play. Refused: a worker ended before it did."""
    acting = asyncio.ensure_future(act)
    working = [asyncio.ensure_future(worker.wait()) for worker in workers]
    try:
        await asyncio.wait({acting, *working}, return_when=asyncio.FIRST_COMPLETED)
        if not acting.done():
            raise Refused(f"a worker ended early: see {folder}/*.log")
        return acting.result()
    finally:
        for future in (acting, *working):
            future.cancel()


async def _built(example: Example, run: str, folder: Path, stack: AsyncExitStack) -> Stage:
    """Set up the simulated models, the folder and the server."""
    simulator = await stack.enter_async_context(_simulator(example, folder))
    copy = example.copied(folder, models=simulator.url, sandbox=await sandbox_here() if example.has_project else None)
    server = DevServer(port=free_port(), ui_port=free_port(), log=folder / "temporal.log")
    await stack.enter_async_context(running(server))
    click.echo(f"Temporal server {server.address}, simulated models {simulator.url}; a worker is starting")
    click.echo(f"Web UI           {server.ui}/namespaces/default/workflows/{run}")
    where = where_only(server, folder)
    return Stage(run=run, example=copy, setup=Setup(where=where, settings=copy.settings), server=server)


@asynccontextmanager
async def _simulator(example: Example, folder: Path) -> "AsyncIterator[Simulator]":
    from simulator.script import Script
    from simulator.server import Simulator

    async with Simulator(Script.load(example.script), folder / "simulator.log") as simulator:
        yield simulator


async def sandbox_here() -> SandboxKind:
    """The demo's own choice, told in one line: a script may do without one, the code of a real model should not."""
    try:
        await check(found())
    except SandboxUnusable:
        click.echo(
            'No bubblewrap works here: the demo, a script, runs its gate with sandbox = "none"; real models need it'
        )
        return "none"
    click.echo("The gate runs in a sandbox, bubblewrap")
    return "bubblewrap"


def where_only(server: DevServer, folder: Path) -> Where:
    """This server, by an empty configuration, so that the visitor's own profile is neither used nor touched."""
    empty = folder / "temporal.toml"
    empty.touch()
    return Where(address=server.address, namespace="default", config_file=empty)


async def _workers(stage: Stage, folder: Path, stack: AsyncExitStack) -> list[asyncio.subprocess.Process]:
    """A worker as an operator would run it, and the example's own beside it; each with its log in the folder."""
    programs = {"worker.log": WORKER, "other-worker.log": stage.example.worker}
    environment = environment_of(stage.setup)
    return [
        await stack.enter_async_context(working(program, environment, folder / log))
        for log, program in programs.items()
        if program
    ]


def environment_of(setup: Setup) -> dict[str, str]:
    """As in a shell where the environment is active, so that `python` is ours; nothing of the visitor's Temporal."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("TEMPORAL_")}
    return ours | {
        "PATH": os.pathsep.join((sysconfig.get_path("scripts"), ours.get("PATH", os.defpath))),
        "TEMPORAL_ADDRESS": str(setup.where.address),
        "TEMPORAL_CONFIG_FILE": str(setup.where.config_file),
        "ENDSTOP_CONFIG": str(setup.settings),
        "OPENAI_API_KEY": SIMULATED_KEY,
        "ANTHROPIC_API_KEY": SIMULATED_KEY,
    }


@asynccontextmanager
async def working(program: Path, environment: dict[str, str], log: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a worker's program as a process, ended on leaving."""
    with log.open("ab") as written:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(program),
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=written,
            stderr=written,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
