# ruff: noqa: PLC0415 - `endstop --help` loads no Temporal SDK
"""The guided tour: one whole run in a folder of its own, explained as it happens, that ends by itself.

Everything is real but the models: server, worker process, HTTP, SQL, pytest in a workspace. On a terminal the visitor
types the guidance; elsewhere the tour answers itself. The run's files are `examples/fix-tests/`.
"""

import asyncio
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from activities.declared import SandboxKind
from activities.sandbox import SandboxUnusable, check, found
from commands.answering import body_of, open_question, send_answer
from commands.connect import Where
from commands.opening import Opened, Setup, opened
from commands.reading import show_run
from commands.refusals import Refused
from commands.server import DevServer, free_port, running
from commands.starting import read_request, start
from commands.tour_words import ASKED, GUIDANCE, WELCOME, Narrator
from commands.watch import Watch
from ledger.model import Frozen
from workflows.replies import Said

if TYPE_CHECKING:
    from simulator.server import Simulator

ROOT: Final = Path(__file__).parent.parent
EXAMPLE: Final = ROOT / "examples" / "fix-tests"
RUN: Final = "tour"
SIMULATED_KEY: Final = "simulated"
PAUSE_S: Final = 2.0
"""Seconds to read a question where nobody can press Enter."""


class Stage(Frozen):
    """Where the tour plays."""

    folder: Path
    setup: Setup
    server: DevServer


async def tour() -> int:
    """Play the tour. The exit code: 0 the run completed."""
    _check_parts()
    folder = Path(tempfile.mkdtemp(prefix="endstop-demo-"))
    code = 1
    try:
        code = await _play(folder)
    finally:
        if code:
            click.echo(f"the logs of the tour are in {folder}", err=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return code


def _check_parts() -> None:
    """Refuse before anything starts where a part is not installed."""
    if not EXAMPLE.is_dir():
        raise Refused(f"the tour needs {EXAMPLE}, which is part of a checkout of Endstop")
    if importlib.util.find_spec("pytest") is None:
        raise Refused("the tour's gate runs pytest, which is not installed: pip install pytest")


async def _play(folder: Path) -> int:
    click.echo(WELCOME + "\n")
    async with AsyncExitStack() as stack:
        stage = await _build(folder, stack)
        worker = await stack.enter_async_context(_worker(stage))
        things = await stack.enter_async_context(opened(stage.setup))
        act = asyncio.ensure_future(_act(stage, things))
        gone = asyncio.ensure_future(worker.wait())
        await asyncio.wait({act, gone}, return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        if not act.done():
            act.cancel()
            raise Refused(f"the tour's worker ended early: see {folder / 'worker.log'}")
        return act.result()


async def _build(folder: Path, stack: AsyncExitStack) -> Stage:
    """Set up the folder, the simulated models and the server."""
    simulator = await stack.enter_async_context(_simulator(folder))
    files = folder / "fix-tests"
    shutil.copytree(EXAMPLE, files, ignore=shutil.ignore_patterns(".endstop", "__pycache__"))
    settings = files / "endstop.toml"
    settings.write_text(f'sandbox = "{await _sandbox()}"\n{_simulated(settings.read_text(), simulator.url)}')
    server = DevServer(port=free_port(), ui_port=free_port(), log=folder / "temporal.log")
    await stack.enter_async_context(running(server))
    click.echo(f"Temporal server {server.address}, simulated models {simulator.url}; a worker is starting")
    click.echo(f"Web UI           {server.ui}/namespaces/default/workflows/{RUN}")
    where = Where(address=server.address, namespace="default", config_file=_no_profile(folder))
    return Stage(folder=folder, setup=Setup(where=where, settings=settings), server=server)


@asynccontextmanager
async def _simulator(folder: Path) -> "AsyncIterator[Simulator]":
    from simulator.script import Script
    from simulator.server import Simulator

    async with Simulator(Script.load(EXAMPLE / "script.toml"), folder / "simulator.log") as simulator:
        yield simulator


async def _sandbox() -> SandboxKind:
    """The tour's own choice, told in one line: a script may do without one, the code of a real model should not."""
    try:
        await check(found())
    except SandboxUnusable:
        click.echo(
            'No bubblewrap works here: the tour, a script, runs its gate with sandbox = "none"; real models need it'
        )
        return "none"
    click.echo("The gate runs in a sandbox, bubblewrap")
    return "bubblewrap"


def _simulated(settings: str, url: str) -> str:
    """The example's settings with the vendors' addresses replaced; nothing else changes."""
    return settings.replace("https://api.openai.com", url).replace("https://api.anthropic.com", url)


def _no_profile(folder: Path) -> Path:
    """An empty configuration, so that the visitor's own profile is neither used nor touched."""
    empty = folder / "temporal.toml"
    empty.touch()
    return empty


@asynccontextmanager
async def _worker(stage: Stage) -> AsyncIterator[asyncio.subprocess.Process]:
    """A worker as an operator would run it, with its log in the tour's folder."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("TEMPORAL_")}
    environment = ours | {
        "TEMPORAL_ADDRESS": stage.server.address,
        "TEMPORAL_CONFIG_FILE": str(stage.setup.where.config_file),
        "ENDSTOP_CONFIG": str(stage.setup.settings),
        "OPENAI_API_KEY": SIMULATED_KEY,
        "ANTHROPIC_API_KEY": SIMULATED_KEY,
    }
    with (stage.folder / "worker.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(ROOT / "worker.py"),
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()


async def _act(stage: Stage, things: Opened) -> int:
    """Start the run, watch it, answer its question, watch it to its end."""
    files = stage.folder / "fix-tests"
    request = read_request(stage.setup, files / "agent.toml", f"@{files / 'task.md'}", RUN)
    click.echo("\n$ endstop start agent.toml --task @task.md --watch\n")
    await start(things, request)
    watch = Watch(things.client, RUN, explain=Narrator().explain)
    asked = await watch.until_asked()
    if asked is not None:
        click.echo(f"{ASKED}\n")
        await _answer(things, await _guidance())
    code = await watch.until_end()
    await _look_back(stage)
    return code


async def _guidance() -> str:
    """The visitor's words on a terminal, the tour's own elsewhere."""
    if sys.stdin.isatty():
        words = f"Tell the model something, or press Enter for:\n  {GUIDANCE}"
        typed: str = await asyncio.to_thread(
            click.prompt, words, default=GUIDANCE, show_default=False, prompt_suffix="\n> "
        )
        return typed
    click.echo(f'Nobody can type here, so the tour does:\n\n$ endstop answer {RUN} guide --text "{GUIDANCE}"\n')
    await asyncio.sleep(PAUSE_S)
    return GUIDANCE


async def _answer(things: Opened, text: str) -> None:
    asked = await open_question(things.client, RUN)
    body = await body_of(Said(label="guide", text=text), things.store.put)
    await send_answer(things.client, RUN, (asked.id, asked.digest), body)


async def _look_back(stage: Stage) -> None:
    click.echo(f"\n$ endstop show {RUN}\n")
    await show_run(stage.setup, RUN)
    if sys.stdin.isatty():
        words = f"\nThe Web UI at {stage.server.ui} shows the same run, until you press Enter"
        await asyncio.to_thread(click.prompt, words, default="", show_default=False, prompt_suffix=" ")
    click.echo("\nNow with your own models, in examples/fix-tests:")
    click.echo("`endstop dev`, and in a second shell `endstop start agent.toml --task @task.md --watch`")
