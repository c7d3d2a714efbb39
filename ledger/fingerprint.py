"""The fingerprint of a failure: text of a tool's output in, identity out.

Here: `Fingerprint` and how items become two digests. Not here: how items are read (`readings`, `report_forms`), what is
masked (`masks`), or what a repeat costs (the gates). Pure: no I/O, no clock; the same text gives the same digests.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from ledger.failing_items import Item, Mask
from ledger.masks import compares_values, mask
from ledger.model import Frozen
from ledger.output_lines import cleaned, lines_of
from ledger.readings import read_before, read_generic
from ledger.report_forms import read_reports
from ledger.structured_reports import read_structured, told_by_events

VERSION: Final = 4
"""Raise it when a change gives other digests to the same text: fingerprints of two versions never compare equal."""

DIGEST_BYTES: Final = 16
"""128 bits: two of a run's few thousand failures collide with a chance below 1e-31."""


class Fingerprint(Frozen):
    """Identity of an unchanged failure (`exact`), and of its failing items whatever their values (`family`)."""

    version: int
    exact: str
    family: str
    items: tuple[Item, ...]


def fingerprint(output: str, *, exit_code: int = 1, root: str = "", at: datetime | None = None) -> Fingerprint:
    """Fingerprint a failing tool's output.

    The exit code is part of the exact identity, not of the family. `root` is the checkout's folder, cut off paths. `at`
    is the time of the run: times within 36 hours of it are masked; naive means UTC. Order does not matter.
    """
    masked: dict[str, str] = {}

    def remember(text: str) -> str:
        if text not in masked:
            masked[text] = mask(text, at)
        return masked[text]

    text = cleaned(output, root)
    items = tuple(sorted(_read(text, remember), key=_canonical))
    return Fingerprint(version=VERSION, exact=_exact(items, exit_code), family=_family(items), items=items)


def _read(text: str, masked: Mask) -> tuple[Item, ...]:
    """The tool's own structure where it is known, the generic reading otherwise."""
    if items := read_structured(text, masked):
        return items
    lines = lines_of(told_by_events(text))
    if items := read_reports(lines, masked):
        return (*read_before(lines, masked), *items)
    return read_generic(lines, masked)


def _exact(items: Sequence[Item], exit_code: int) -> str:
    return _digest([VERSION, exit_code, *(_canonical(item) for item in items)])


def _family(items: Sequence[Item]) -> str:
    """Items without their values: places, codes and the words of the messages, each once however often it failed."""
    return _digest([VERSION, *sorted({json.dumps([i.kind, i.place, i.code, _wording(i)]) for i in items})])


_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"")


def _wording(item: Item) -> str:
    """A message loses its values, keeps its names: a new name is a new failure. A test that compares is its id."""
    if not compares_values(item.message):
        return _NUMBER.sub("#", item.message)
    return "" if item.kind == "test" else _NUMBER.sub("#", _QUOTED.sub("'#'", item.message))


def _canonical(item: Item) -> str:
    return json.dumps(item.model_dump(), sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def _digest(parts: Sequence[object]) -> str:
    text = json.dumps(parts, ensure_ascii=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).hexdigest()
