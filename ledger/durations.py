"""Durations and moments as providers write them, read into seconds.

Here: "9m38.016s", "17 seconds", "01:12:30", HTTP dates, ISO dates, epochs in seconds or milliseconds.
Not here: where in an answer
they stand (`waits`). Every pattern is bounded and anchored at one position; nothing raises.
"""

import math
import re
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Final

_UNITS: Final = {
    "ms": 0.001, "millisecond": 0.001, "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60,
    "h": 3_600, "hr": 3_600, "hour": 3_600, "d": 86_400, "day": 86_400, "w": 604_800, "week": 604_800,
    "秒": 1, "分钟": 60, "分": 60, "小时": 3_600, "天": 86_400,
}  # fmt: skip
_TERM: Final = re.compile(r"[\s,]{0,3}(?:and )?(\d{1,15}(?:\.\d{1,9})?)[\s-]{0,2}([a-z]{1,12}|秒|分钟|分|小时|天)?")
_MAX_TERMS: Final = 5
_CLOCK: Final = re.compile(r"\s{0,3}(\d{1,3}):([0-5]\d):([0-5]\d)")

EPOCH: Final = 1_000_000_000
"""A number of seconds from here on is a moment (2001), not a duration (31 years)."""
_EPOCH_MS: Final = EPOCH * 1_000


def duration(text: str, at: int = 0, *, bare: float | None = None) -> float | None:
    """Seconds of the duration that begins at `at` in lower case `text`; None where none begins there.

    Terms add up ("1h2m3s"). A number without a unit counts `bare` seconds each, or ends it where that is None.
    """
    if clock := _CLOCK.match(text, at):
        return int(clock[1]) * 3_600.0 + int(clock[2]) * 60 + int(clock[3])
    total: float | None = None
    for _ in range(_MAX_TERMS):
        found = _TERM.match(text, at)
        unit = _unit(found[2], bare) if found else None
        if not found or unit is None:
            break
        total = (total or 0.0) + float(found[1]) * unit
        at = found.end()
        if not found[2]:
            break
    return total


def _unit(name: str | None, bare: float | None) -> float | None:
    if not name:
        return bare
    return _UNITS.get(name) or _UNITS.get(name.removesuffix("s"))


def seconds(text: str) -> float | None:
    """A plain non-negative number, else None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def moment(text: str) -> float | None:
    """Unix seconds of an HTTP date, an ISO date with its offset, or an epoch in seconds or milliseconds.

    A date without an offset is not read: nobody says whose clock it is.
    """
    number = seconds(text)
    if number is not None:
        return number / 1_000 if number >= _EPOCH_MS else number if number >= EPOCH else None
    found = _iso(text) or _http(text)
    return None if found is None or found.tzinfo is None else found.timestamp()


def _iso(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.strip().upper().removesuffix(" UTC").strip() + _offset(text))
    except ValueError:
        return None


def _offset(text: str) -> str:
    return "+00:00" if text.strip().upper().endswith(" UTC") else ""


def _http(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
