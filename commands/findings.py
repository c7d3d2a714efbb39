"""What a check of `endstop doctor` finds, as a value; and the boundary that keeps one check from stopping the others.

Not here: the checks themselves (`machine_checks`, `endpoint_checks`, `server_checks`) or how they are shown (`doctor`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, Literal, ParamSpec

import click

from commands.refusals import flat
from ledger.model import Frozen

CHECK_S: Final = 60.0
"""Seconds that one check may take; making a sandbox on a busy machine takes the longest, up to 30."""

P = ParamSpec("P")

Verdict = Literal["ok", "warning", "wrong"]


class Finding(Frozen):
    """One line of the report."""

    check: str
    """What was looked at, such as "key of openai"."""
    verdict: Verdict
    found: str
    remedy: str = ""
    """What to do; "" where there is nothing to do, or where `found` says it already."""


def fine(check: str, found: str) -> Finding:
    """Nothing is to be done."""
    return Finding(check=check, verdict="ok", found=found)


def doubtful(check: str, found: str, remedy: str) -> Finding:
    """Runs work, though not as well or as safely as they could."""
    return Finding(check=check, verdict="warning", found=found, remedy=remedy)


def wrong(check: str, found: str, remedy: str = "") -> Finding:
    """Some run will not work with it."""
    return Finding(check=check, verdict="wrong", found=found, remedy=remedy)


async def made(
    check: str, look: Callable[P, Awaitable[Iterable[Finding]]], *args: P.args, **named: P.kwargs
) -> tuple[Finding, ...]:
    """What a check finds; that it could not be made is a finding too."""
    try:
        async with asyncio.timeout(CHECK_S):
            return tuple(await look(*args, **named))
    except click.ClickException as refused:
        return (wrong(check, flat(refused.format_message())),)
    except TimeoutError:
        return (wrong(check, f"nobody answered within {CHECK_S:g} s", "try again when the machine is less busy"),)
    except Exception as error:  # noqa: BLE001 - the boundary of one check: it must not stop the others
        broke = f"the check itself broke ({type(error).__name__}: {flat(error)[:200]})"
        return (wrong(check, broke, "the other checks hold; please report this one"),)
