"""What fails: the item, and how the lines that describe one are condensed into it.

Here: `Item`, and the one way from lines to message, source and frames. Not here: where in an output an item begins and
ends (`readings`, `report_forms`), nor the hash (`fingerprint`).
"""

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from ledger.failure_words import is_noise
from ledger.model import Frozen
from ledger.quoted_source import caret_label, is_caret, is_gutter, statement_at, without_gutter
from ledger.stack_frames import Frame, call_above, frame_of, is_own

MAX_MESSAGE: Final = 4_000
"""Characters of one item's message: an assertion's whole diff fits, a dumped object does not."""

MAX_FRAMES: Final = 12
"""Innermost frames kept of a stack; recursion repeats the rest."""

Mask = Callable[[str], str]

_ARGUMENTS: Final = re.compile(r"\((?!\*)")
"""Where a frame's arguments begin; `(*Server)` in Go is part of a method's name."""


class Item(Frozen):
    """One failing thing. No line or column numbers; text is masked already. Empty means the tool did not say."""

    kind: str
    """What it is: `diagnostic`, `exception`, `test`, `report` (from XML or JSON), or a `line` that says error."""
    place: str = ""
    """File or test id."""
    code: str = ""
    """The tool's own code, or the exception's class."""
    message: str = ""
    source: str = ""
    """The statement the tool points at."""
    frames: tuple[str, ...] = ()
    """`file in function` of the project's own frames, in the tool's order."""


class Condensed(NamedTuple):
    """What the lines of one item say: one line of text, one statement, the project's own frames."""

    message: str
    source: str
    frames: tuple[str, ...]


class _Gathered:
    """The parts of one item while its lines are read."""

    def __init__(self) -> None:
        self.message: list[str] = []
        self.source = ""
        self.frames: list[str] = []

    def call(self, frame: Frame, quoted: str = "") -> None:
        if is_own(frame):
            self.frames.append(
                f"{frame.file} in {_ARGUMENTS.split(frame.function)[0]}" if frame.function else frame.file
            )
            self.source = quoted or self.source


def condense(lines: Sequence[str], mask: Mask) -> Condensed:
    """Sort the lines of one item into message, source and frames. Blank lines, context and noise are dropped."""
    parts = _Gathered()
    alone = sum(is_gutter(line) for line in lines) == 1
    index = 0
    while index < len(lines):
        index = _take(lines, index, parts, alone=alone)
    text = " ".join(" ".join(mask(part).split()) for part in parts.message if part)
    frames = tuple(mask(frame) for frame in parts.frames[-MAX_FRAMES:])
    return Condensed(text[:MAX_MESSAGE], " ".join(mask(parts.source).split()), frames)


def _take(lines: Sequence[str], index: int, parts: _Gathered, *, alone: bool) -> int:
    """Put one line where it belongs; return the next to look at."""
    line = lines[index]
    following = lines[index + 1] if index + 1 < len(lines) else ""
    if not line or line.isspace():
        return index + 1
    if call := call_above(lines, index):
        parts.call(call)
        return index + 2
    if is_caret(following) and not is_caret(line):
        parts.source = parts.source or statement_at(line, following)
    elif frame := frame_of(line):
        after, quoted = _quoted_below(lines, index)
        parts.call(frame, quoted)
        return after
    elif is_caret(line):
        parts.message.append(caret_label(line))
    elif is_gutter(line) or _is_number_in_gutter(lines, index):
        shown = without_gutter(line) if alone or line.lstrip().startswith(">") else ""
        parts.source = parts.source or shown
    elif not is_noise(line):
        parts.message.append(line.strip())
    return index + 1


def _is_number_in_gutter(lines: Sequence[str], index: int) -> bool:
    """An empty line of quoted source: its number, and nothing behind it."""
    return index > 0 and lines[index].replace(" ", "").isdigit() and is_gutter(lines[index - 1])


def _quoted_below(lines: Sequence[str], index: int) -> tuple[int, str]:
    """Python quotes a frame's source, deeper indented, on the next line: (next line to look at, the source)."""
    after = index + 1
    if after >= len(lines) or not lines[index].lstrip().startswith('File "'):
        return after, ""
    quoted = lines[after]
    if not quoted.strip() or indent(quoted) <= indent(lines[index]) or frame_of(quoted):
        return after, ""
    after += 1
    while after < len(lines) and is_caret(lines[after]):
        after += 1
    return after, quoted.strip()


def indent(line: str) -> int:
    """Columns before the text."""
    return len(line) - len(line.lstrip())
