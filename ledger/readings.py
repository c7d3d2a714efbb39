"""The generic reading: failing items of a tool nobody described.

Here: the walk over the lines, and what each may be: a block (`failure_blocks`), `file:line: message` (`diagnostics`), a
line that says error. Not here: the layouts of particular tools (`report_forms`), which are tried first.

Three tiers, the highest that holds anything wins: errors, then warnings, then counts and whatever else was said. A
compiler's warnings beside an error, or a changed number of passing tests, thus leave the identity alone.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from ledger.diagnostics import UNQUOTED, Diagnostic, diagnostic_of, heading_of, headline_of, place_in
from ledger.failing_items import Item, Mask, condense
from ledger.failure_blocks import MAX_BLOCK, Found, Tier, block_end, opens_item, read_block
from ledger.failure_words import Severity, is_noise, severity_of
from ledger.quoted_source import is_caret, statement_at
from ledger.stack_frames import Frame, frame_of, is_own

MAX_LEAD: Final = 2
"""Lines before the failing one in its paragraph that still speak of it; more are a log of what went well."""

HEADING_REACH: Final = 5
"""Lines between `File "a.ml", line 1:` and the error it heads: number, source, caret, blank, message."""

MAX_REST: Final = 60
"""Last lines kept of an output that says nothing of a failure."""

_TIERS: Final = {Severity.ERROR: Tier.ERROR, Severity.WARNING: Tier.WARNING}
_ROW: Final = re.compile(r"^\s*+\d+(?::\d+)?(?=\s{2,}\S)")
_CONTEXT_NUMBER: Final = re.compile(r"\d{3,}")
"""Before the failing line a number is a pid, a time or a count of what went well."""

_LACKS: Final = re.compile(r"\b(?:missing|lacks?|add)\b", re.IGNORECASE)

_SELF_SAID: Final = re.compile(r"(?!\w*(?i:error|exception|warning|fatal|failed|failure)\b)[\w.+/-]+(?:\[\d+\])?: \S")
"""`cp: cannot stat …` names who speaks: what stood before it is another's."""

_RELAYS: Final = re.compile(
    r"\*\*\* \[|\bexit(?:ed)?(?: with)?(?: code| status)?:? \d+\b|non-zero exit|ELIFECYCLE|\bError \d+$", re.IGNORECASE
)
"""Tells that a command failed, not why: that is on the line above."""

_SUGGESTS: Final = re.compile(r"candidate|template argument deduction")

MAX_BEFORE: Final = 60
"""Lines before a report that are read: a linter's findings, not the log of a build."""

_BANNER: Final = re.compile(r"={3,} [A-Za-z ]+ ={3,}$")

_SECTION: Final = re.compile(r"# (?:Subtest: )?([^\d\s].*)$")


def read_generic(lines: Sequence[str], mask: Mask) -> tuple[Item, ...]:
    """The failing items of any output. A located item counts once a place, all others once."""
    found = _scan(lines, mask)
    best = min((one.tier for one in found), default=Tier.REST)
    if best == Tier.REST:
        return _rest(lines, mask)
    return tuple({(one.item, one.where): one.item for one in found if one.tier == best}.values())


def read_before(lines: Sequence[str], mask: Mask) -> tuple[Item, ...]:
    """What compilers and linters found that ran in one command before pytest opened its first banner."""
    first = next((index for index, line in enumerate(lines) if _BANNER.match(line)), 0)
    found = [
        one
        for one in _scan(lines[max(0, first - MAX_BEFORE) : first], mask)
        if one.tier == Tier.ERROR and one.item.kind == "diagnostic"
    ]
    return tuple({(one.item, one.where): one.item for one in found}.values())


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
        if not lines[index] or lines[index].isspace():
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
    if block := read_block(lines, index, before.section, mask):
        return block
    if frame_of(line) and not diagnostic_of(line):
        return None
    following = lines[index + 1] if index + 1 < len(lines) else ""
    if at := headline_of(line, following) or diagnostic_of(line, before.heading):
        return _diagnostic(lines, index, at, mask)
    return _said(lines, index, before.floor, mask)


def _diagnostic(lines: Sequence[str], index: int, at: Diagnostic, mask: Mask) -> Found:
    end = block_end(lines, index)
    detail, source, frames = condense(lines[index + 1 : end], mask)
    notes = _notes(lines, end) if at.severity == Severity.ERROR else ()
    item = Item(
        kind="diagnostic",
        place=mask(at.path),
        code=at.code,
        message=" ".join(" ".join((mask(at.message), detail, *map(mask, notes))).split()),
        source="" if UNQUOTED.match(at.code) or _is_of_the_file(at) else source,
        frames=frames,
    )
    return Found(_TIERS.get(at.severity, Tier.REST), item, end, where=f"{at.path}:{at.position}")


def _is_of_the_file(at: Diagnostic) -> bool:
    """Linters report what a whole file lacks at its start: the line there is another's."""
    return at.position in {"1:1", "1:0"} and bool(_LACKS.search(at.message))


def _notes(lines: Sequence[str], index: int) -> tuple[str, ...]:
    """Compilers say in a note below an error what is missing or expected; what might have fitted says nothing."""
    notes: list[str] = []
    last = min(len(lines), index + MAX_BLOCK)
    while index < last and (note := diagnostic_of(lines[index])) and note.severity == Severity.ADVICE:
        if not _SUGGESTS.match(note.message) and is_own(Frame(note.path)):
            notes.append(note.message)
        index = block_end(lines, index)
    return tuple(notes)


def _said(lines: Sequence[str], index: int, floor: int, mask: Mask) -> Found | None:
    """A line that says error, with its paragraph and what is indented below it."""
    severity = severity_of(lines[index])
    if severity is None:
        return None
    end = index + 1 if severity == Severity.COUNT else block_end(lines, index, paragraph=True)
    lead = [_CONTEXT_NUMBER.sub("#", mask(line)) for line in lines[_lead(lines, index, floor) : index]]
    block = [*lead, *lines[index:end]]
    place = next((path for line in block[1:] if (path := place_in(line))), "")
    message, source, frames = condense(block, mask)
    item = Item(kind="line", place=mask(place), message=message, source=source, frames=frames)
    return Found(_TIERS.get(severity, Tier.REST), item, end)


def _lead(lines: Sequence[str], index: int, floor: int) -> int:
    """What a paragraph says before the word of failure belongs to it, where that is a line or two."""
    start = index
    if _SELF_SAID.match(lines[index]) and (floor or not _RELAYS.search(lines[index])):
        return index
    while start > floor and lines[start - 1].strip() and not opens_item(lines[start - 1]):
        start -= 1
        if index - start > MAX_LEAD:
            return index if floor or not _RELAYS.search(lines[index]) else index - 1
    return start


def _rest(lines: Sequence[str], mask: Mask) -> tuple[Item, ...]:
    """An output that names no failure is its own identity: its last lines, counts only where there is nothing else."""
    kept = [line for line in lines if line.strip() and not is_noise(line)]
    told = [line for line in kept if severity_of(line) != Severity.COUNT] or kept
    said = [" ".join(mask(_ROW.sub("", line, count=1)).split()) for line in told[-MAX_REST:]]
    return tuple(Item(kind="line", message=line) for line in dict.fromkeys(said) if line)
