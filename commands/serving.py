# ruff: noqa: PLC0415 - `endstop --help` loads no Temporal SDK, no SQL and no web server
"""The inbox from the command line: served until a signal says stop. What it shows, `inbox/` knows."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import click

from commands.opening import Opened, Setup, opened
from commands.refusals import Refused
from commands.working import stop_on_signal


async def serve(setup: Setup, port: int) -> None:
    """Serve the inbox until SIGINT or SIGTERM; runs go on. Refused: it cannot listen at the port."""
    from logs import configure_logging

    configure_logging()
    stop = stop_on_signal()
    async with opened(setup) as things, inbox(things, port) as address:
        click.echo(f"the inbox is at {address}\nWhoever has this address can answer; Ctrl-C stops it, and runs go on.")
        await stop.wait()


@asynccontextmanager
async def inbox(things: Opened, port: int) -> AsyncIterator[str]:
    """An inbox that serves until left; gives its address. Refused: it cannot listen at the port."""
    from inbox.serving import PortTaken, serving

    try:
        async with serving(things.client, things.store, port) as address:
            yield address
    except PortTaken as error:
        raise Refused(str(error)) from error
