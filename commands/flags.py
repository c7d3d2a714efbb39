"""What the commands have in common on the command line: their shared flags, and how their coroutines are run."""

import asyncio
import errno
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import wraps
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NoReturn

import click

from commands.connect import FLAGS, Where
from commands.opening import Setup
from commands.refusals import Refused

Command = Callable[..., int]

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""What a write fails with where its target takes no more."""

SETTINGS_FLAG = click.option("--settings", type=Path, help="The operator's file; else ENDSTOP_CONFIG, ./endstop.toml.")


def _version(context: click.Context, _: click.Parameter, asked: bool) -> None:  # noqa: FBT001 - click's own signature
    if asked:
        try:
            click.echo(version("endstop"))
        except PackageNotFoundError:
            raise Refused("this is a checkout that is not installed: it has no version") from None
        context.exit()


VERSION_FLAG = click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version."
)
OUTPUT_FLAG = click.option(
    "--output", "-o", type=click.Choice(["text", "json"]), default="text", help="text is for people, json for programs."
)


def setup_flags(command: Command) -> Command:
    """Give a command the flags of a `Setup`, which it receives as `setup`."""

    @wraps(command)
    def with_setup(*, settings: Path | None, output: str = "text", **flags: Any) -> int:  # noqa: ANN401 - click's values
        where = Where(**{name: flags.pop(name) for name in Where.model_fields})
        return command(setup=Setup(where=where, settings=settings, as_json=output == "json"), **flags)

    for flag in reversed((*FLAGS, SETTINGS_FLAG)):
        with_setup = flag(with_setup)
    return with_setup


def run_to_end(action: Coroutine[Any, Any, int | None], *, goes_on: str = "stopped by you") -> int:
    """Run a command's coroutine and return its exit code. Ctrl-C and SIGTERM end it in good order, in one line."""
    try:
        return asyncio.run(_until_told(action)) or 0
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise Refused(goes_on) from None


def run_process(main: Callable[[], object]) -> NoReturn:
    """A command to its process's end. The interpreter is not finalized: Temporal's threads abort or hang that.

    The boundary for an output that takes no more, such as a full disk: one line on stderr, exit code 1.
    """
    code, reason = 1, None
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except OSError as problem:
        if problem.errno not in _FULL or problem.filename is not None:  # a stream has no name in its errors
            raise
        reason = problem.strerror
    if reason := _unwritten() or reason:
        click.echo(f"endstop: cannot write its output: {reason}", err=True)
        code = 1
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


def _unwritten() -> str | None:
    """Why stdout does not take what it still holds; a reader that went away is no reason."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return None
    except OSError as problem:
        return problem.strerror
    return None


async def _until_told(action: Coroutine[Any, Any, int | None]) -> int | None:
    task = asyncio.ensure_future(action)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task
