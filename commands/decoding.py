# ruff: noqa: PLC0415 - `endstop --help` loads no Temporal SDK and no web server
"""The codec server from the command line: served until a signal says stop. What it answers, `inbox/` knows."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import click

from commands.keys import NO_KEYS
from commands.opening import settings_from
from commands.refusals import BadInput, Refused
from commands.working import stop_on_signal
from encryption import Keys


def check_page(ui: str) -> None:
    """Refuse what no browser has as an address of a page: it would refuse every page. BadInput."""
    try:
        parts = urlsplit(ui)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadInput(f"--ui {ui!r}: expected the Web UI's address, such as http://localhost:8233")


async def serve(settings: Path | None, port: int, ui: str) -> None:
    """Serve the codec until SIGINT or SIGTERM. Refused: it cannot listen at the port."""
    from logs import configure_logging

    check_page(ui)
    keys = settings_from(settings).keys
    if not keys.newest:
        raise BadInput(NO_KEYS)
    configure_logging()
    stop = stop_on_signal()
    async with codec(keys, port, ui) as address:
        click.echo(f"the codec is at {address}\nWhoever has this address reads everything; Ctrl-C stops it.")
        await stop.wait()


@asynccontextmanager
async def codec(keys: Keys, port: int, ui: str) -> AsyncIterator[str]:
    """A codec that serves until left; gives its address. Refused: it cannot listen at the port."""
    from inbox.serving import PortTaken, serving_codec
    from workflows.codec import EncryptionCodec

    try:
        async with serving_codec(EncryptionCodec(keys), port, ui) as address:
            yield address
    except PortTaken as error:
        raise Refused(str(error)) from error
