"""Reading a file that was named on the command line, or standard input: whole, or line by line, within bounds.

Here: opening, bounds, and JSON that may be broken. Not here: what the content means (each command's own). What cannot
be read is a BadInput that names the file and what to do.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

from commands.refusals import BadInput

STANDARD_INPUT: Final = "-"


def called(file: str) -> str:
    """Name the file as an error names it."""
    return "standard input" if file == STANDARD_INPUT else file


def whole(file: str, at_most: int) -> bytes:
    """Return the whole content. BadInput: it cannot be read, or has more bytes than that."""
    with _opened(file) as opened, _told_plainly(file):
        content = opened.read(at_most + 1)
    if len(content) > at_most:
        raise BadInput(f"{called(file)}: is larger than {at_most // 2**20} MiB; give less at a time")
    return content


def lines(file: str, at_most: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield number (from 1) and content of each line that is not blank, as it comes; None: more bytes than that."""
    with _opened(file) as opened:
        number = 0
        while line := _line(file, opened, at_most):
            number += 1
            if len(line) > at_most:
                while line and not line.endswith(b"\n"):
                    line = _line(file, opened, at_most)
                yield number, None
            elif not line.isspace():
                yield number, line


def parsed(text: str | bytes) -> tuple[bool, Any]:
    """Whether the text is JSON, and its value, else the line at which it stops to be."""
    try:
        return True, json.loads(text)
    except (ValueError, RecursionError) as error:
        return False, getattr(error, "lineno", 1)


def mended(text: str) -> str:
    """Replace half a character, where a log was cut: it is no reason to refuse the rest, and cannot be printed."""
    return text.encode(errors="replace").decode()


def _line(file: str, opened: BinaryIO, at_most: int) -> bytes:
    with _told_plainly(file):
        return opened.readline(at_most + 1)


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == STANDARD_INPUT:
        yield sys.stdin.buffer
        return
    with _told_plainly(file):
        opened = Path(file).open("rb")  # noqa: SIM115 - closed below, where errors of the caller are its own
    with opened:
        yield opened


@contextmanager
def _told_plainly(file: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = f"cannot be read ({error.strerror})"
        raise BadInput(f"{called(file)}: {reason}; name a file, or - for standard input") from None
