# ruff: noqa: PLC0415 - `endstop --help` loads no Temporal SDK
"""The connection to Temporal: its own environment, profiles and flags, and its errors in one line each.

Which server a command talks to is decided here only. Flags are named as in the `temporal` CLI and win over the
environment, which wins over the profile; without any of them it is 127.0.0.1:7233, namespace "default".
"""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from commands.refusals import BadInput, Refused, ServerAway, flat
from ledger.model import Frozen

if TYPE_CHECKING:
    from temporalio.client import Client
    from temporalio.envconfig import ClientConnectConfig
    from temporalio.service import RPCError

    from encryption import Keys

DEFAULT_ADDRESS: Final = "127.0.0.1:7233"
"""Where `temporal server start-dev` and `endstop dev` listen."""
CONNECT_S: Final = 10.0
"""Seconds; an address that swallows packets answers nothing at all."""

_AWAY: Final = frozenset({"UNAVAILABLE", "UNKNOWN", "INTERNAL", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED", "CANCELLED"})
"""gRPC's words for a server that is gone, starts, or has no room: the SDK itself tries them again, for ten seconds."""


class Where(Frozen):
    """Which server and namespace, as far as flags say; None leaves it to the environment or the profile."""

    address: str | None = None
    namespace: str | None = None
    profile: str | None = None
    config_file: Path | None = None


FLAGS: Final = (
    click.option("--address", metavar="HOST:PORT", help="Temporal server; else TEMPORAL_ADDRESS."),
    click.option("--namespace", "-n", help="Temporal namespace; else TEMPORAL_NAMESPACE."),
    click.option("--profile", help="Profile of Temporal's config file; else TEMPORAL_PROFILE."),
    click.option("--config-file", type=Path, help="Temporal's config file; else TEMPORAL_CONFIG_FILE."),
)
"""The flags of every command that talks to Temporal; their values make a `Where`."""


def connection(where: Where) -> "ClientConnectConfig":
    """Resolve flags, environment and profile. BadInput: the profile or the config file cannot be used."""
    from temporalio.envconfig import ClientConfig

    if where.config_file is not None and not where.config_file.is_file():
        raise BadInput(f"--config-file {where.config_file}: no such file; it is TOML with [profile.NAME] tables")
    file = str(where.config_file) if where.config_file else None
    try:
        found = ClientConfig.load_client_connect_config(where.profile, config_file=file)
    except RuntimeError as error:  # the SDK's own type has no public name
        raise BadInput(f"Temporal's configuration cannot be used: {flat(error)}") from error
    found.setdefault("target_host", DEFAULT_ADDRESS)
    if where.address is not None:
        found["target_host"] = where.address
    if where.namespace is not None:
        found["namespace"] = where.namespace
    if not re.fullmatch(r"\S+:\d{1,5}", found["target_host"]):
        raise BadInput(f"address {found['target_host']!r}: expected HOST:PORT in --address or TEMPORAL_ADDRESS")
    return found


async def connect(where: Where, keys: "Keys") -> "Client":
    """Connect, or refuse in one line that says where no server answered."""
    from temporalio.client import Client

    from workflows.codec import converter_with

    found = connection(where)
    try:
        async with asyncio.timeout(CONNECT_S):
            return await Client.connect(**found, data_converter=converter_with(keys))
    except (RuntimeError, ValueError, TimeoutError) as error:  # how the SDK reports a refused connection
        address = found["target_host"]
        raise ServerAway(
            f"no Temporal server answers at {address}: start one with `endstop dev`, "
            "or name yours with --address or TEMPORAL_ADDRESS"
        ) from error


@contextmanager
def rpc_errors(subject: str) -> Iterator[None]:
    """Turn what Temporal answers about a subject, such as "run 'x'", into one line."""
    from temporalio.service import RPCError

    try:
        yield
    except RPCError as error:
        kind = ServerAway if error.status.name in _AWAY else Refused
        raise kind(f"{subject}: {_in_words(error)}") from error


def _in_words(error: "RPCError") -> str:
    from temporalio.service import RPCStatusCode

    match error.status:
        case RPCStatusCode.NOT_FOUND if lacks_namespace(error):
            return f"{flat(error.message)} Name an existing namespace with --namespace or TEMPORAL_NAMESPACE"
        case RPCStatusCode.NOT_FOUND:
            return f"{flat(error.message)}; `endstop ls` shows the runs"
        case RPCStatusCode.DEADLINE_EXCEEDED | RPCStatusCode.CANCELLED:
            return "nobody answered in time; is a worker running (`endstop worker`)?"
        case RPCStatusCode.FAILED_PRECONDITION:
            return "no worker is there to answer; start one with `endstop worker`"
        case _:
            return f"Temporal answered {error.status.name.lower()}: {flat(error.message)}"


def lacks_namespace(error: "RPCError") -> bool:
    """Whether it is the namespace that was not found; Temporal tells it from a missing run by words alone."""
    return "namespace" in error.message.lower()
