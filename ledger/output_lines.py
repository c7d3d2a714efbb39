"""From a tool's raw output to the lines a reading works on.

Here: the caps, colours, carriage returns, stamps before lines, drawn frames, the checkout's root. Not here: what a line
means (`failing_items` and the readings). After this module no line is longer than 400 characters and all together hold
at most 256 KiB, so every later step is linear in the input.
"""

import re
from typing import Final

from ledger.clock_words import STAMP

MAX_OUTPUT: Final = 256 * 1024
"""Characters kept of an output. The head names the first failure, the tail the last one and the summary."""

_HEAD: Final = MAX_OUTPUT // 4

LINE_HEAD: Final = 300
LINE_TAIL: Final = 100
"""Characters kept of a long line; measured: cutting costs no accuracy, an unbroken line of 100 KiB costs minutes."""

_ESCAPE: Final = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]?[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[()][A-Z0-9])")
_CONTROL: Final = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127])
MAX_BLANKS: Final = 160
"""Blanks in a row kept: a mark under column 160 still points, and no pattern meets a longer run."""

_RUN: Final = re.compile(rf"\s{{{MAX_BLANKS},}}+")
_DRAWN: Final = re.compile(r"^ {0,2}[│┃║╷╵╭╰┌└├┤╮╯]+[─━═]* ?|[ ]?[│┃║]$")
_MARGIN: Final = re.compile(r"^\s*(?:\+(?:-\+-+ \d+ -+|-+(?: \d+ -+)?)?|\|)(?: |$)")
_PREFIX: Final = re.compile(
    r"^(?:==\d+== ?"  # valgrind, sanitizers
    r"|#\d+ (?:\d+\.\d{2,3} |(?=(?:ERROR|DONE|CACHED|CANCELED)\b|\[))|\d+\.\d{2,3} (?=\S)"  # BuildKit
    r"|[WEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ "  # klog
    # a logger's pid; Redis
    r"|[\[(]?\d{2,7}[\])]? (?=(?:[\w.-]{1,40} )?\[?(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\b)"
    r"|\d{1,7}:[MCSX] "
    r"|##\[\w+\]|\[(?:ERROR|error|info|warn)\] ?"  # CI, Maven, sbt
    r"|[a-z][\w.-]{0,40}[-_]\d+ +\| (?=\S))"  # compose
)


def cleaned(output: str, root: str = "") -> str:
    """Cap an output, take colours and stamps off, and cut `root`, the checkout's folder, off every path below it."""
    text = _ESCAPE.sub("", _capped(output)).translate(_CONTROL)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    # twice: CI puts its stamp before the logger's own
    return STAMP.sub("", STAMP.sub("", _without_root(text, root.rstrip("/"))))


def lines_of(text: str) -> list[str]:
    """Split a cleaned output into lines, none longer than 400 characters, without drawn frames."""
    lines = [_cut(line) for line in text.split("\n")]
    return _ungrouped(lines) if "Exception Group" in text else lines


def _ungrouped(lines: list[str]) -> list[str]:
    """Take the drawn margin off Python's exception groups: below it they are tracebacks like any other."""
    plain: list[str] = []
    inside = False
    for line in lines:
        margin = _MARGIN.match(line)
        inside = bool(margin) and (inside or "Exception Group" in line)
        plain.append(line[margin.end() :] if inside and margin else line)
    return plain


def _capped(output: str) -> str:
    if len(output) <= MAX_OUTPUT:
        return output
    return f"{output[:_HEAD]}\n{output[_HEAD - MAX_OUTPUT :]}"


def _without_root(text: str, root: str) -> str:
    if not root:
        return text
    text = text.replace(f"file://{root}/", "").replace(f"{root}/", "").replace(root, ".")
    name = root.rpartition("/")[2]
    return re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "<checkout>", text) if _MADE_UP.match(name) else text


_MADE_UP: Final = re.compile(r"(?=.*\d)[\w.-]{6,}$")
"""A checkout's name with a digit in it was made up for a run; tools print it as their project's. Words stay words."""


def _cut(line: str) -> str:
    line = line.rstrip()
    if not line:
        return line
    line = _RUN.sub(" " * MAX_BLANKS, line)
    if len(line) > LINE_HEAD + LINE_TAIL:
        line = f"{line[:LINE_HEAD]}…{line[-LINE_TAIL:]}"
    return _PREFIX.sub("", _DRAWN.sub("", line))
