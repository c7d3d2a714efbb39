"""Blocks of lines that belong to one failure, whatever the tool: tracebacks, numbered failures, TAP results.

Here: where such a block ends and what it holds. Not here: which block is tried first, and lines that merely say error
(`readings`).
"""

import re
from collections.abc import Sequence
from enum import IntEnum
from itertools import takewhile
from typing import Final, NamedTuple

from ledger.diagnostics import diagnostic_of
from ledger.failing_items import MAX_MESSAGE, Item, Mask, condense, indent
from ledger.failure_words import Severity, is_noise, severity_of
from ledger.quoted_source import is_caret, is_gutter, is_pointed_at
from ledger.stack_frames import call_above, frame_of

MAX_BLOCK: Final = 60
"""Lines that may belong to one failure."""


MAX_TITLE: Final = 6
"""Lines of a test's name: one for each suite it is nested in."""


class Tier(IntEnum):
    """What outranks what when an output holds several kinds of lines. The lowest number wins."""

    ERROR = 1
    WARNING = 2
    REST = 3


class Found(NamedTuple):
    """One item found, how it ranks, where the reading goes on, and what tells it from a printed copy of itself."""

    tier: Tier
    item: Item
    end: int
    where: str = ""


_TRACEBACK: Final = re.compile(r"\s*+(?:(?:\w+ ){0,2}Traceback \(most recent call last\):|File \"[^\"]+\", line \d+$)")
_EXCEPTION: Final = re.compile(r"\s*+([A-Za-z_][\w.]*(?:::\w+)*)(?: \[\w+\])?(?:: |:$|$)(.*)$")
_NUMBERED: Final = re.compile(r"( {0,4})\d{1,5}\) +(\S.*)$")
_TAP: Final = re.compile(r"(\s*+)not ok\b(?: \d+)?(?: -)? ?(.*)$")
_TAP_NOISE: Final = re.compile(
    r"\s*+(?:#? *duration_ms|type|location|failureType|\.\.\.|---|[\w]+: \|-?$|\d+\.\.\d+|at:|file:|line:)"
)
_OPENS: Final = re.compile(r"--- |Diff in |\S+\.\w+:\d+$")
"""What a diff, or a crash that quotes its source, may begin with: one look instead of three."""

_OLD: Final = re.compile(r"--- [^\s-]")
_CARGO_DIFF: Final = re.compile(r"Diff in (\S+?)(?::\d+:| at line \d+:)$")
_HUNK: Final = re.compile(r"[-+ @\\]|$")
_CHILD: Final = re.compile(r"\s*+# Subtest")
_TRACE: Final = re.compile(
    r"\s*+(?:goroutine \d+|stack ?trace|stack backtrace|backtrace|call stack)\b.{0,20}$", re.IGNORECASE
)
_ENDED: Final = re.compile(r"\bline \d+\.$")
"""So Perl ends a message: what stands below is another's."""

_CAPTION: Final = re.compile(r"[a-z][a-z ]{2,30}:$")
_LABEL: Final = re.compile(
    r"(?:DETAIL|LINE \d+|CONTEXT|STATEMENT|QUERY|Caused by|Reason|Cause|Expected|Received|Actual|Got|Want|left|right"
    r"|Message|Details?|Key|Field|because)\b.{0,40}?:|\s*+[-+] +\S",
    re.IGNORECASE,
)


def read_block(lines: Sequence[str], index: int, section: str, mask: Mask) -> Found | None:
    """Read a block that opens at `index`. `section` is TAP's comment over the results that follow it."""
    line = lines[index]
    if _TRACEBACK.match(line):
        return _traceback(lines, index, mask)
    if numbered := _NUMBERED.match(line):
        return _numbered(lines, index, numbered, mask)
    if tap := _TAP.match(line):
        return _tap(lines, index, tap, section, mask)
    if _OPENS.match(line) and _opens_diff(lines, index):
        return _diff(lines, index, mask)
    return None


def opens_block(line: str) -> bool:
    """A line that begins a failure of its own, and so ends the one before."""
    return bool(_TRACEBACK.match(line) or _NUMBERED.match(line) or _TAP.match(line))


def opens_item(line: str) -> bool:
    """A line that says something for itself: a failure, advice, a count, progress."""
    return opens_block(line) or severity_of(line) is not None or is_noise(line) or diagnostic_of(line) is not None


def _traceback(lines: Sequence[str], index: int, mask: Mask) -> Found:
    """Python's: frames deeper indented, then the exception at the traceback's own depth."""
    syntax = lines[index].lstrip().startswith("File")
    depth = max(indent(lines[index]) - (2 if syntax else 0), 0)
    last = index + (0 if syntax else 1)
    while last < len(lines) and (not lines[last].strip() or indent(lines[last]) > depth):
        last += 1
    end = _paragraph_end(lines, last)
    _, source, frames = condense(lines[index:last], mask)
    head = _EXCEPTION.match(lines[last]) if last < len(lines) else None
    message = condense([head[2] if head else "", *lines[last + 1 : end]], mask).message
    item = Item(
        kind="exception",
        place=frames[-1].partition(" in ")[0] if frames else "",
        code=mask(head[1]).rpartition(".")[2] if head else "",
        message=message,
        source=source,
        frames=frames,
    )
    return Found(Tier.ERROR, item, end)


def _paragraph_end(lines: Sequence[str], start: int) -> int:
    """A message goes on over the lines below it until a blank one or another failure."""
    end = start + 1
    while end < min(len(lines), start + MAX_BLOCK) and lines[end].strip() and not opens_item(lines[end]):
        end += 1
    return min(end, len(lines))


def _numbered(lines: Sequence[str], index: int, head: re.Match[str], mask: Mask) -> Found | None:
    """`1) name` and its body, to the next number or to a summary left of the body."""
    depth = len(head[1])
    end = index + 1
    while end < min(len(lines), index + MAX_BLOCK):
        following = _NUMBERED.match(lines[end])
        if following and len(following[1]) <= depth:
            break
        if severity_of(lines[end]) == Severity.COUNT and indent(lines[end]) <= depth:
            break
        end += 1
    name, code, body = _named(head[2].strip(), lines[index + 1 : end])
    message, source, frames = condense(body, mask)
    if not message and not frames:
        return None
    item = Item(kind="test", place=mask(name), code=code, message=message, source=source, frames=frames)
    return Found(Tier.ERROR, item, end)


def _named(name: str, body: Sequence[str]) -> tuple[str, str, Sequence[str]]:
    """(name, code, rest of the body): some runners name the test in the lines below the number."""
    title = list(takewhile(str.strip, body))[: MAX_TITLE + 1]
    if title and len(title) <= MAX_TITLE and title[-1].endswith(":"):  # mocha: suites, then the test and a colon
        return " > ".join((name, *(line.strip() for line in title))), "", body[len(title) :]
    if name.endswith(":") and body:  # minitest: `Failure:`, then the test
        return body[0].strip(), name.rstrip(":"), body[1:]
    return name, "", body


def _tap(lines: Sequence[str], index: int, head: re.Match[str], section: str, mask: Mask) -> Found:
    """`not ok N - name` with its comments or YAML. A parent that only sums up its children adds nothing."""
    end = index + 1
    while end < len(lines) and (not lines[end] or indent(lines[end]) > len(head[1]) or lines[end].startswith("#")):
        if _CHILD.match(lines[end]):
            break
        end += 1
    body = [line.lstrip("# ") if line.startswith("#") else line for line in lines[index + 1 : end]]
    if any("subtestsFailed" in line for line in body):
        return Found(Tier.REST, Item(kind="suite", place=mask(head[2])), end)
    message, source, frames = condense([line for line in body if not _TAP_NOISE.match(line)], mask)
    title = mask(head[2].partition(" # time=")[0])
    place = f"{mask(section)} > {title}" if section else title
    return Found(Tier.ERROR, Item(kind="test", place=place, message=message, source=source, frames=frames), end)


def _opens_diff(lines: Sequence[str], index: int) -> bool:
    if _CARGO_DIFF.match(lines[index]):
        return True
    return bool(_OLD.match(lines[index])) and index + 1 < len(lines) and lines[index + 1].startswith("+++ ")


def _diff(lines: Sequence[str], index: int, mask: Mask) -> Found:
    """A unified diff, as formatters print: the file and its changed lines. What stands around them is context."""
    cargo = _CARGO_DIFF.match(lines[index])
    start = end = index + (1 if cargo else 2)
    while end < len(lines) and _HUNK.match(lines[end]) and not _opens_diff(lines, end):
        end += 1
    changed = [line for line in lines[start:end] if line[:1] in {"-", "+"}]
    item = Item(
        kind="diff",
        place=mask(cargo[1] if cargo else lines[index][4:].partition("\t")[0]),
        message=" ".join(" ".join(mask(line).split()) for line in changed)[:MAX_MESSAGE],
    )
    return Found(Tier.ERROR, item, end)


def block_end(lines: Sequence[str], index: int, *, paragraph: bool = False) -> int:
    """Below a failing line: deeper indented lines, frames, quoted source, labelled details; blanks only between those.

    With `paragraph` also what stands directly below it, as far as it does not speak for itself.
    """
    depth = indent(lines[index])
    warns = severity_of(lines[index]) == Severity.WARNING
    ended = _ENDED.search(lines[index])
    end = probe = index + 1
    while probe < min(len(lines), index + MAX_BLOCK):
        line = lines[probe]
        if _OPENS.match(line) and (_opens_diff(lines, probe) or _heads_source(lines, probe)):
            break
        if line.strip():
            mild = warns and indent(line) > depth
            adjacent = paragraph and end == probe and not ended and not opens_item(line)
            if not (mild or _continues(lines, probe, depth) or adjacent):
                break
            end = probe + 1
        probe += 1
    return end


def _heads_source(lines: Sequence[str], index: int) -> bool:
    """A file alone on its line, over a statement that is pointed at: how node begins to tell of a crash."""
    return lines[index][-1:].isdigit() and index + 2 < len(lines) and is_caret(lines[index + 2])


def _continues(lines: Sequence[str], probe: int, depth: int) -> bool:
    line = lines[probe]
    below = lines[probe + 1] if probe + 1 < len(lines) else ""
    if is_gutter(line) or is_caret(line) or is_pointed_at(line, below) or _LABEL.match(line) or _TRACE.match(line):
        return True
    if diagnostic_of(line) or opens_block(line):
        return False
    if is_caret(below):  # source without a number or a margin
        return True
    if indent(line) > depth or frame_of(line) or call_above(lines, probe):
        return True
    # `with expansion:` and the like: a word of the tool's own, then the values
    captions = _CAPTION.match(line) and severity_of(line) != Severity.COUNT
    return bool(captions) and indent(below) > depth and not diagnostic_of(below)
