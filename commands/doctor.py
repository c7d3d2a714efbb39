"""`endstop doctor`: what a setup needs, line by line, with what to do where something is missing. It changes nothing.

Here: which checks are made, in which order, and how findings are shown. A check that fails stops no other; what needs
settings or a server is left out where there are none, and that is said.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import click

from commands import machine_checks as machine
from commands import server_checks as server
from commands import worker_checks as workers
from commands.connect import connect, connection
from commands.endpoint_checks import keys, providers
from commands.findings import Finding, Verdict, fine, made, wrong
from commands.opening import Setup, settings_from
from commands.refusals import BadInput
from commands.tables import plain_line, print_json
from commands.words import counted
from encryption import CLEAR

if TYPE_CHECKING:
    from temporalio.client import Client

    from settings import Settings

VERDICTS: Final[tuple[Verdict, ...]] = ("ok", "warning", "wrong")
MACHINE: Final = {
    "store": machine.store,
    "sandbox": machine.sandbox,
    "functions": machine.functions,
    "commands": machine.commands,
    "MCP servers": machine.mcp,
    "workspaces": machine.workspaces,
}
_TEMPORAL: Final = {
    "namespace": server.namespace,
    "search attributes": server.search_attributes,
    "runs": server.failing_runs,
}
_TEMPORAL_BY_SETTINGS: Final = {
    "worker": workers.workers,
    "task queues": workers.elsewhere,
    "expiry": server.expiry,
}
_WIDTH: Final = max(map(len, VERDICTS)) + 2


async def examine(setup: Setup) -> int:
    """Make all checks and tell. Exit code 0: nothing is wrong, though there may be warnings."""
    findings = []
    async for found in checks(setup):
        findings.append(found)
        if not setup.as_json:
            click.echo("\n".join(_lines(found)))
    healthy = all(found.verdict != "wrong" for found in findings)
    if setup.as_json:
        print_json({"healthy": healthy, "findings": findings})
    else:
        click.echo(summary(findings))
    return 0 if healthy else 1


def _lines(found: Finding) -> Iterator[str]:
    yield plain_line(f"{found.verdict:{_WIDTH}}{found.check}: {found.found}")
    if found.remedy:
        yield plain_line(f"{'':{_WIDTH}}{found.remedy}")


def summary(findings: Sequence[Finding]) -> str:
    """How much of each verdict, the worst first: "1 wrong, 2 warnings, 9 ok"."""
    count = {verdict: sum(found.verdict == verdict for found in findings) for verdict in VERDICTS}
    return f"{count['wrong']} wrong, {counted(count['warning'], 'warning')}, {count['ok']} ok"


async def checks(setup: Setup) -> AsyncIterator[Finding]:
    """Make all checks, one after the other."""
    settings: Settings | None = None
    try:
        settings = settings_from(setup.settings)
    except BadInput as error:
        yield wrong("settings", error.message, "the checks that need the settings were not made")
    if settings:
        yield fine("settings", str(settings.source or "no endstop.toml: the defaults"))
        async for found in _of_the_machine(settings):
            yield found
    async for found in _of_temporal(setup, settings):
        yield found


async def _of_the_machine(settings: "Settings") -> AsyncIterator[Finding]:
    for found in keys(settings.declared):
        yield found
    for found in await made("addresses", providers, settings.declared):
        yield found
    for check, look in MACHINE.items():
        for found in await made(check, look, settings):
            yield found


async def _of_temporal(setup: Setup, settings: "Settings | None") -> AsyncIterator[Finding]:
    clients: list[Client] = []

    async def reach() -> list[Finding]:
        clients.append(await connect(setup.where, settings.keys if settings else CLEAR))
        return [fine("Temporal", f"a server answers at {connection(setup.where)['target_host']}")]

    for found in await made("Temporal", reach):
        yield found
    for client in clients:
        for check, asks in _TEMPORAL.items():
            for found in await made(check, asks, client):
                yield found
        if settings:
            for check, asks_by in _TEMPORAL_BY_SETTINGS.items():
                for found in await made(check, asks_by, client, settings):
                    yield found
