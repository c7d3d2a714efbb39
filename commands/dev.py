# ruff: noqa: PLC0415 - `endstop --help` loads no Temporal SDK
"""Everything on one machine: a Temporal server with its UI, a worker, the inbox, simulated models where no key is set.

A server that answers at the address already is used and left running. Ctrl-C stops what was started, worker first.
"""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from pydantic import SecretStr

from activities.declared import Declared, Provider
from activities.endpoints import has_keys
from commands.connect import Where, connect, connection
from commands.decoding import codec
from commands.opening import Opened, Setup, open_store, settings_from
from commands.refusals import BadInput, Refused
from commands.server import DevServer, running
from commands.serving import inbox
from commands.simulated_settings import at_simulator
from encryption import CLEAR

if TYPE_CHECKING:
    from settings import Settings
    from simulator.script import Script

LOCAL: Final = frozenset({"127.0.0.1", "localhost", "::1"})
MAX_PORT: Final = 65_535


async def develop(setup: Setup, *, script: Path | None, simulate: bool, ui_port: int | None) -> None:
    """Run all of it until told to stop."""
    from temporalio.runtime import Runtime

    from commands.working import work_with
    from logs import configure_logging, core_runtime

    settings = settings_from(setup.settings).model_copy(update={"deployment": None})  # nobody makes it the current one
    answers = _script(script) if simulate or script or not has_keys(settings.declared) else None
    async with AsyncExitStack() as stack:
        await _server(setup.where, settings, ui_port, stack)
        configure_logging()
        Runtime.set_default(core_runtime(), error_if_already_set=False)  # else the core's own lines come between ours
        if answers is not None:
            settings = await _simulated(settings, answers, stack)
            click.echo(said_by(script))
        await _inbox(settings, setup.where, stack)
        click.echo("a worker is starting; Ctrl-C stops everything")
        await work_with(settings, setup.where)


def folder_of(settings: "Settings") -> Path:
    """Where the development server keeps its state: `.endstop` beside the settings, else here."""
    base = settings.source.parent if settings.source else Path.cwd()
    return base / ".endstop"


def with_simulator(settings: "Settings", url: str) -> "Settings":
    """The same settings with every provider's address and key replaced; agents notice nothing."""
    from settings import Settings

    declared = settings.declared
    providers = {name: _at_simulator(provider, url) for name, provider in declared.providers.items()}
    replaced = {name: getattr(declared, name) for name in Declared.model_fields} | {"providers": providers}
    fields = {name: getattr(settings, name) for name in Settings.model_fields}
    return Settings(**fields | {"declared": Declared(**replaced)})


def _at_simulator(provider: Provider, url: str) -> Provider:
    base_url, key = at_simulator(provider.api, url), SecretStr("simulated")
    return Provider(name=provider.name, api=provider.api, base_url=base_url, key=key, files=provider.files)


def _script(path: Path | None) -> "Script":
    from simulator.script import Script, ScriptError

    try:
        return Script.load(path) if path else Script()
    except ScriptError as error:
        raise BadInput(str(error)) from None


async def _server(where: Where, settings: "Settings", ui_port: int | None, stack: AsyncExitStack) -> None:
    """Use the server that answers at the address, else start one there, whose Web UI knows our codec."""
    address = connection(where)["target_host"]
    try:
        await connect(where, CLEAR)
    except Refused:
        wanted = _new_server(address, folder_of(settings), ui_port)
        decoder = await _codec(settings, wanted.ui, stack)
        await stack.enter_async_context(running(wanted.model_copy(update={"codec": decoder})))
        click.echo(f"Temporal server {address}, its Web UI {wanted.ui}")
    else:
        click.echo(f"using the Temporal server that answers at {address}")


async def _codec(settings: "Settings", ui: str, stack: AsyncExitStack) -> str:
    """Serve a codec where content is encrypted; gives its address, else ""."""
    return await stack.enter_async_context(codec(settings.keys, 0, ui)) if settings.keys.newest else ""


def _new_server(address: str, folder: Path, ui_port: int | None) -> DevServer:
    host, _, port = address.rpartition(":")
    if host not in LOCAL:
        raise Refused(f"no Temporal server answers at {address}, and `endstop dev` starts one on this machine only")
    if ui_port is None and int(port) + 1_000 > MAX_PORT:
        raise BadInput(f"address {address!r}: its Web UI would be at port {int(port) + 1_000}: choose a --ui-port")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return DevServer(
        host=host,
        port=int(port),
        ui_port=ui_port or int(port) + 1_000,
        database=folder / "temporal.db",
        log=folder / "temporal.log",
    )


async def _inbox(settings: "Settings", where: Where, stack: AsyncExitStack) -> None:
    store = await stack.enter_async_context(open_store(settings))
    things = Opened(settings=settings, client=await connect(where, settings.keys), store=store)
    click.echo(f"the inbox is at {await stack.enter_async_context(inbox(things, port=0))}")


async def _simulated(settings: "Settings", answers: "Script", stack: AsyncExitStack) -> "Settings":
    from simulator.server import Simulator

    simulator = await stack.enter_async_context(Simulator(answers))
    click.echo(f"simulated models at {simulator.url}: no key is used, nothing is paid")
    return with_simulator(settings, simulator.url)


def said_by(script: Path | None) -> str:
    """What simulated models answer: a misspelt name in a script would show as nothing but a canned sentence."""
    if script is None:
        return "each answers one canned sentence; --script FILE tells them what else"
    return f"they answer by {script}, as it is now; a model that it does not name answers one canned sentence"
