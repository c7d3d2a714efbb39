"""Quoted source: the lines around a message that show code, and the mark under it.

Here: telling a quoted line and a pointing line from prose, and the statement that is pointed at. Not here: which item a
statement belongs to (`failing_items`, `readings`).
"""

import re
from typing import Final

_POINTERS: Final = "^~━▲┬"
_CARET: Final = re.compile(r"^\s*+(?:\d+ ?)?[|│·:]?[\s|│·╵]*+(?:-+\s+)*(?:\^[\^~\-]*|~+\^?~*|─*┬─*|[━▲^]+)(?=\s|$)")
_GUTTER: Final = re.compile(r"^\s*+(?:>\s*)?\d+(?: +\d+)?(?: ?[|│▏┆]|:(?!\d)|\t|\s\s)|^\s*+[|│┆·]")
_NUMBERED: Final = re.compile(r"^\s*+\d+ (?=\S)")
"""tsc's gutter is a colour: without it only the mark below tells a number from prose."""
_MARGIN: Final = re.compile(r"^\s*+>?\s*+\d*+\s*+[|│▏┆·:]?[|/ ]*")


def is_caret(line: str) -> bool:
    """A line that points at a column of the line before."""
    return any(mark in line for mark in _POINTERS) and bool(_CARET.match(line))


def caret_label(line: str) -> str:
    """What a compiler writes behind the mark: `^^ expected String`."""
    return _CARET.sub("", line).strip()


def is_gutter(line: str) -> bool:
    """A numbered line of quoted source, or the bar that continues it."""
    return bool(_GUTTER.match(line))


def is_pointed_at(line: str, following: str) -> bool:
    """A line of quoted source behind its number alone, told by the mark below it."""
    return bool(_NUMBERED.match(line)) and is_caret(following)


def without_gutter(line: str) -> str:
    """The source behind the number and the bar."""
    return _MARGIN.sub("", line)


def statement_at(source: str, caret: str) -> str:
    """The statement a caret points into: what stands beside it on the same line is not the failure."""
    column = next((at for at, mark in enumerate(caret) if mark in _POINTERS), 0)
    bare = without_gutter(source) if is_gutter(source) or _NUMBERED.match(source) else source
    column = max(0, min(column - (len(source) - len(bare)), len(bare) - 1))
    start = max(bare.rfind(mark, 0, column) for mark in ";{}") + 1
    end = min((at for mark in ";{}" if (at := bare.find(mark, column)) >= 0), default=len(bare))
    return bare[start:end].strip() or bare.strip()
