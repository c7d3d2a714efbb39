"""The generic reading: failing items of a tool nobody described.

Here: what tools do alike: tracebacks, `file:line: message`, numbered failures, TAP, lines that say error. Not here: the
layouts of particular tools (`report_forms`), which read first and take their lines away, nor words and shapes of single
lines (`diagnostics`).

Three tiers, the highest that holds anything wins: errors, then warnings, then counts and whatever else was said. A
compiler's warnings beside an error, or a changed number of passing tests, thus leave the identity alone.
"""

import re
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from ledger.diagnostics import UNQUOTED, Diagnostic, Severity, diagnostic_of, heading_of, headline_of, place_in, severity_of
from ledger.failing_items import Item, condense, frame_of, is_call, is_caret, is_gutter, is_noise, statement_at

MAX_BLOCK: Final = 60
"""Lines that may belong to one failure."""

MAX_LEAD: Final = 2
"""Lines before the failing one in its paragraph that still speak of it; more are a log of what went well."""

HEADING_REACH: Final = 5
"""Lines between `File "a.ml", line 1:` and the error it heads: number, source, caret, blank, message."""

MAX_REST: Final = 60
"""Last lines kept of an output that says nothing of a failure."""

Mask = Callable[[str], str]


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


_TRACEBACK: Final = re.compile(r"^\s*+(?:(?:\w+ ){0,2}Traceback \(most recent call last\):|File \"[^\"]+\", line \d+$)")
_EXCEPTION: Final = re.compile(r"^\s*([A-Za-z_][\w.]*(?:::\w+)*)(?: \[\w+\])?(?:: |:$|$)(.*)$")
_NUMBERED: Final = re.compile(r"^( {0,4})\d{1,5}\) +(\S.*)$")
_TAP: Final = re.compile(r"^(\s*)not ok\b(?: \d+)?(?: -)? ?(.*)$")
_TAP_NOISE: Final = re.compile(r"^\s*+(?:#? *duration_ms|type|location|failureType|\.\.\.|---|[\w]+: \|-?$|\d+\.\.\d+|at:|file:|line:)")
_ROW: Final = re.compile(r"^\s*\d+(?::\d+)?(?=\s{2,}\S)")
_SECTION: Final = re.compile(r"^# (?:Subtest: )?([^\d\s].*)$")
_TRACE: Final = re.compile(r"^\s*+(?:goroutine \d+|stack ?trace|stack backtrace|backtrace|call stack)\b.{0,20}$", re.IGNORECASE)
_CAPTION: Final = re.compile(r"^[a-z][a-z ]{2,30}:$")
_LABEL: Final = re.compile(
    r"^(?:DETAIL|LINE \d+|CONTEXT|STATEMENT|QUERY|Caused by|Reason|Cause|Expected|Received|Actual|Got|Want|left|right|"
    r"Message|Details?|Key|Field|caused by|because)\b.{0,40}?:|^\s*+[-+] +\S",
    re.IGNORECASE,
)


def read_generic(lines: Sequence[str], mask: Mask) -> tuple[Item, ...]:
    """The failing items of any output. A located item counts once a place, all others once."""
    found = _scan(lines, mask)
    best = min((one.tier for one in found), default=Tier.REST)
    if best == Tier.REST:
        return _rest(lines, mask)
    return tuple({(one.item, one.where): one.item for one in found if one.tier == best}.values())


class _Before(NamedTuple):
    """What the lines above have set up."""

    heading: str = ""
    """The file last named on a line of its own, at line `under`."""
    under: int = 0
    section: str = ""
    """TAP's comment over the results that follow."""
    quoted: str = ""
    """A statement that a caret pointed at, before any message."""
    floor: int = 0
    """Where the item last found ended."""


def _scan(lines: Sequence[str], mask: Mask) -> list[Found]:
    found: list[Found] = []
    index, before = 0, _Before()
    while index < len(lines):
        line = lines[index]
        if not line or line.isspace():
            index += 1
            continue
        before = _noted(lines, index, before, mask)
        one = None if _is_quoted(lines, index) else _read_at(lines, index, before, mask)
        if one:
            found.append(_placed(one, index, before, mask))
            before = before._replace(quoted="", floor=one.end)
        index = max(one.end if one else 0, index + 1)
    return found


def _noted(lines: Sequence[str], index: int, before: _Before, mask: Mask) -> _Before:
    line = lines[index]
    if path := heading_of(line):
        return before._replace(heading=path, under=index)
    if section := _SECTION.match(line):
        return before._replace(section=section[1])
    if is_caret(line) and index:
        return before._replace(quoted=mask(statement_at(lines[index - 1], line)))
    return before


def _placed(one: Found, index: int, before: _Before, mask: Mask) -> Found:
    """Give an item what stood above it: the statement node prints first, the file that heads a compiler's message."""
    known: dict[str, str] = {}
    if before.quoted and not one.item.source and one.tier == Tier.ERROR:
        known["source"] = before.quoted
    if one.item.kind == "line" and not one.item.place and index - before.under <= HEADING_REACH:
        known["place"] = mask(before.heading)
    return one._replace(item=one.item.model_copy(update=known)) if known else one


def _is_quoted(lines: Sequence[str], index: int) -> bool:
    """Source over a caret, as node prints it before the message: words of failure in it say nothing yet."""
    return index + 1 < len(lines) and is_caret(lines[index + 1]) and not diagnostic_of(lines[index])


def _read_at(lines: Sequence[str], index: int, before: _Before, mask: Mask) -> Found | None:
    line = lines[index]
    if _TRACEBACK.match(line):
        return _traceback(lines, index, mask)
    if numbered := _NUMBERED.match(line):
        return _numbered(lines, index, numbered, mask)
    if tap := _TAP.match(line):
        return _tap(lines, index, tap, before.section, mask)
    if frame_of(line) and not diagnostic_of(line):
        return None
    following = lines[index + 1] if index + 1 < len(lines) else ""
    if diagnostic := headline_of(line, following) or diagnostic_of(line, before.heading):
        return _diagnostic(lines, index, diagnostic, mask)
    return _said(lines, index, before.floor, mask)


def indent(line: str) -> int:
    """Columns before the text."""
    return len(line) - len(line.lstrip())


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
    message, _, _ = condense([head[2] if head else "", *lines[last + 1 : end]], mask)
    name = mask(head[1]).rpartition(".")[2] if head else ""
    return Found(Tier.ERROR, Item(kind="exception", code=name, message=message, source=source, frames=frames), end)


def _paragraph_end(lines: Sequence[str], start: int) -> int:
    """A message goes on over the lines below it until a blank one or another failure."""
    end = start + 1
    while end < min(len(lines), start + MAX_BLOCK) and lines[end].strip() and not _starts(lines[end]):
        end += 1
    return min(end, len(lines))


def _starts(line: str) -> bool:
    return bool(
        _TRACEBACK.match(line) or diagnostic_of(line) or severity_of(line) is not None or is_noise(line)
    )


def _numbered(lines: Sequence[str], index: int, head: re.Match[str], mask: Mask) -> Found | None:
    """`1) name` and its body, to the next number or to the first line left of the name's own column, in any test runner."""
    end = index + 1
    while end < min(len(lines), index + MAX_BLOCK):
        following = _NUMBERED.match(lines[end])
        if following and len(following[1]) <= len(head[1]):
            break
        if severity_of(lines[end]) == Severity.COUNT and indent(lines[end]) <= len(head[1]):
            break
        end += 1
    message, source, frames = condense(lines[index + 1 : end], mask)
    if not message and not frames:
        return None
    item = Item(kind="test", place=mask(head[2].strip()), message=message, source=source, frames=frames)
    return Found(Tier.ERROR, item, end)


def _tap(lines: Sequence[str], index: int, head: re.Match[str], section: str, mask: Mask) -> Found:
    """`not ok N - name` with its comments or YAML. A parent that only sums up its children adds nothing."""
    end = index + 1
    while end < len(lines) and (not lines[end] or indent(lines[end]) > len(head[1]) or lines[end].startswith("#")):
        if re.match(r"\s*# Subtest", lines[end]):
            break
        end += 1
    body = [line.lstrip("# ") if line.startswith("#") else line for line in lines[index + 1 : end]]
    if any("subtestsFailed" in line for line in body):
        return Found(Tier.REST, Item(kind="suite", place=mask(head[2])), end)
    message, source, frames = condense([line for line in body if not _TAP_NOISE.match(line)], mask)
    title = re.sub(r" # time=.*$", "", mask(head[2]))
    place = f"{mask(section)} > {title}" if section else title
    return Found(Tier.ERROR, Item(kind="test", place=place, message=message, source=source, frames=frames), end)


def _diagnostic(lines: Sequence[str], index: int, at: Diagnostic, mask: Mask) -> Found:
    end = _block_end(lines, index)
    detail, source, frames = condense(lines[index + 1 : end], mask)
    source = "" if UNQUOTED.match(at.code) else source
    message = " ".join(" ".join((mask(at.message), detail)).split())
    item = Item(kind="diagnostic", place=mask(at.path), code=at.code, message=message, source=source, frames=frames)
    tier = Tier.ERROR if at.severity == Severity.ERROR else Tier.WARNING
    return Found(Tier.REST if at.severity == Severity.ADVICE else tier, item, end, where=f"{at.path}:{at.position}")


def _said(lines: Sequence[str], index: int, floor: int, mask: Mask) -> Found | None:
    """A line that says error, with the paragraph it opens and what is indented below it."""
    severity = severity_of(lines[index])
    if severity is None:
        return None
    end = index + 1 if severity == Severity.COUNT else _block_end(lines, index, paragraph=True)
    block = lines[_lead(lines, index, floor) : end]
    place = next((path for line in block[1:] if (path := place_in(line))), "")
    message, source, frames = condense(block, mask)
    item = Item(kind="line", place=mask(place), message=message, source=source, frames=frames)
    tiers = {Severity.ERROR: Tier.ERROR, Severity.WARNING: Tier.WARNING}
    return Found(tiers.get(severity, Tier.REST), item, end)


def _lead(lines: Sequence[str], index: int, floor: int) -> int:
    """What a paragraph says before the word of failure belongs to it, where that is a line or two."""
    start = index
    while start > floor and lines[start - 1].strip() and not _starts(lines[start - 1]):
        start -= 1
        if index - start > MAX_LEAD:
            return index
    return start


def _block_end(lines: Sequence[str], index: int, *, paragraph: bool = False) -> int:
    """Below a failing line: deeper indented lines, frames, quoted source, labelled details; blanks only between those."""
    depth = indent(lines[index])
    end = probe = index + 1
    warns = severity_of(lines[index]) == Severity.WARNING
    while probe < min(len(lines), index + MAX_BLOCK):
        line = lines[probe]
        if line.strip():
            mild = warns and indent(line) > depth
            if not mild and not _continues(lines, probe, depth) and not (paragraph and end == probe and not _starts(line)):
                break
            end = probe + 1
        probe += 1
    return end


def _continues(lines: Sequence[str], probe: int, depth: int) -> bool:
    line = lines[probe]
    if is_gutter(line) or is_caret(line) or _LABEL.match(line) or _TRACE.match(line):
        return True
    if diagnostic_of(line) or _NUMBERED.match(line) or _TAP.match(line) or _TRACEBACK.match(line):
        return False
    if indent(line) > depth or frame_of(line) is not None or is_call(lines, probe):
        return True
    # `with expansion:` and the like: a word of the tool's own, then the values
    below = lines[probe + 1] if probe + 1 < len(lines) else ""
    if severity_of(line) == Severity.COUNT:
        return False
    return _CAPTION.match(line) is not None and indent(below) > depth and not diagnostic_of(below)


def _rest(lines: Sequence[str], mask: Mask) -> tuple[Item, ...]:
    """An output that names no failure is its own identity: each of its last lines, counts only if there is nothing else."""
    kept = [line for line in lines if line.strip() and not is_noise(line)]
    told = [line for line in kept if severity_of(line) != Severity.COUNT] or kept
    said = [" ".join(mask(_ROW.sub("", line)).split()) for line in told[-MAX_REST:]]
    return tuple(Item(kind="line", message=line) for line in dict.fromkeys(said) if line)
