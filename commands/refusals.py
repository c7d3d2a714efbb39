"""How a command says no: one line on stderr and an exit code.

Here: the ways to end early, and the command group that prints them. Which command refuses what is told where the
command lives. Exit codes: 0 done, 1 refused or failed, 2 the command was not usable as it was typed.
"""

import sys
from typing import Any, NoReturn

import click


class Refused(click.ClickException):
    """The command was understood and could not be done: what, where, what to do. Exit code 1."""

    exit_code = 1


class ServerAway(Refused):
    """The Temporal server gave no answer; it may give one later. Who can wait does, for everybody else it is a no."""


class BadInput(click.ClickException):
    """What was typed, or a file that it names, cannot be used. Exit code 2."""

    exit_code = 2


def flat(text: object) -> str:
    """Put a message that may span lines on one line."""
    return " ".join(str(text).split())


class OneLineGroup(click.Group):
    """A command group that answers every mistake, click's own included, with one line on stderr."""

    def main(self, *args: Any, **extra: Any) -> Any:  # noqa: ANN401 - click's own signature
        extra["standalone_mode"] = False
        try:
            code = super().main(*args, **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message(), err=True)
            sys.exit(error.exit_code)
        except click.ClickException as error:
            _end(flat(error.format_message()), error.exit_code)
        except click.Abort:
            _end("stopped by you", 1)
        sys.exit(code if isinstance(code, int) else 0)


def _end(message: str, code: int) -> NoReturn:
    click.echo(f"endstop: {message}", err=True)
    sys.exit(code)
