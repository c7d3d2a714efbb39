# ruff: noqa: PLC0415 - `endstop --help` loads no Temporal SDK and no SQL
"""What a command needs open: the settings, a connection, the store; closed again when it is done.

Refusals in this order, so that nothing is half started: settings (exit 2), server, store (exit 1).
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from commands.connect import Where, connect
from commands.refusals import BadInput, Refused, ServerAway
from ledger.model import Frozen

if TYPE_CHECKING:
    from temporalio.client import Client

    from settings import Settings
    from store import Store


class Setup(Frozen):
    """The flags that every command of a run has: which server, whose settings, how to answer."""

    where: Where = Where()
    settings: Path | None = None
    """The operator's file; None: ENDSTOP_CONFIG, else ./endstop.toml."""
    as_json: bool = False


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A connection and a store, as the settings name them."""

    settings: "Settings"
    client: "Client"
    store: "Store"


@dataclass(frozen=True, kw_only=True)
class Readable:
    """A store, and the server that the settings name or why it does not answer."""

    server: "Client | ServerAway"
    store: "Store"


def settings_from(path: Path | None) -> "Settings":
    """Read the settings. BadInput: they cannot be used."""
    from settings import SettingsError, load_settings

    try:
        return load_settings(path)
    except SettingsError as error:
        raise BadInput(str(error)) from None


@asynccontextmanager
async def opened(setup: Setup) -> AsyncIterator[Opened]:
    """Read the settings, connect, open the store; it is closed on leaving."""
    settings = settings_from(setup.settings)
    client = await connect(setup.where, settings.keys)
    async with open_store(settings) as store:
        yield Opened(settings=settings, client=client, store=store)


@asynccontextmanager
async def opened_to_read(setup: Setup) -> AsyncIterator[Readable]:
    """As `opened`, for what the store tells too: a server that does not answer is a refusal where there is no store."""
    settings = settings_from(setup.settings)
    server: Client | ServerAway
    try:
        server = await connect(setup.where, settings.keys)
    except ServerAway as away:
        if not await asyncio.to_thread(_has_tables, settings.store_url):
            raise
        server = away
    async with open_store(settings) as store:
        yield Readable(server=server, store=store)


def _has_tables(url: str) -> bool:
    """Whether there is a store that can be opened; none is made by looking."""
    from store import StoreUnavailable, look_at

    try:
        return look_at(url).version > 0
    except StoreUnavailable:
        return False


@asynccontextmanager
async def open_store(settings: "Settings") -> AsyncIterator["Store"]:
    """The store that the settings name. Refused: it cannot be opened, or does not work while it is used."""
    from store import Store, StoreTroubled, StoreUnavailable

    try:
        store = await Store.open(settings.store_url, keys=settings.keys)
    except StoreUnavailable as error:
        raise Refused(str(error)) from error
    try:
        yield store
    except StoreTroubled as error:
        raise Refused(f"{error}; try again") from error
    finally:
        await store.close()
