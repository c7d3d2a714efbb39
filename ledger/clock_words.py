"""Times written in text: which of them are the run's own clock.

Here: dates, times and epoch numbers near the run, and the time stamps that loggers and CI put before a line. Not here:
other masks (`masks`). A date far from the run is a value and stays.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

_NEAR: Final = timedelta(hours=36)
"""Covers time zones, midnight and a run of some hours on either side of `at`."""

_MONTHS: Final = {
    m: i + 1 for i, m in enumerate(["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"])
}
_MONTH: Final = "(" + "|".join(_MONTHS) + ")"

STAMP: Final = re.compile(
    r"^\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?\]?:? ?|"
    r"^\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]? (?=\S)|"
    r"^\[?\d{1,2}:\d\d:\d\d [AP]M\]?(?: -)? (?=\S)",
    re.MULTILINE,
)
"""A stamp before a line, with the one blank that parts it from the text (the rest is indentation)."""

_ISO: Final = re.compile(
    r"\b(\d{4})([-/])(\d\d)[-/](\d\d)"
    r"(?:[T _]\d\d[:_-]\d\d(?:[:_-]\d\d(?:[.,_]\d{1,9})?)?(?:\.{3})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?(?!\d)"
)
_MAIL: Final = re.compile(
    rf"\b(?:\w{{3}}, )?(\d\d?)[ /-]{_MONTH}[ /-](\d{{4}})(?: |::?)"
    r"\d\d:\d\d:\d\d(?:\.\d{1,9})?(?: (?:GMT|UTC|[+-]\d{4}))?"
)
_SYSLOG: Final = re.compile(rf"\b(?:\w{{3}} )?{_MONTH} +(\d\d?) \d\d:\d\d:\d\d(?: (?:\w{{3,4}} )?(\d{{4}}))?\b")
_LONG: Final = re.compile(rf"\b{_MONTH} (\d\d?), (\d{{4}}),? \d\d?:\d\d:\d\d(?: [AP]M)?")
_EPOCH: Final = re.compile(r"(?<![\w.])(\d{10})(\d{3}|\d{6}|\d{9})?(\.\d+)?(?![\w.])")


def mask_times(text: str, at: datetime | None) -> str:
    """Put `<time>` for every time within 36 hours of `at`; without `at` nothing is masked."""
    if at is None:
        return text
    moment = at if at.tzinfo else at.replace(tzinfo=UTC)
    text = _EPOCH.sub(lambda m: "<time>" if abs(int(m[1]) - moment.timestamp()) < _NEAR.total_seconds() else m[0], text)
    text = _ISO.sub(_when(moment, lambda m: (int(m[1]), int(m[3]), int(m[4]))), text)
    text = _MAIL.sub(_when(moment, lambda m: (int(m[3]), _MONTHS[m[2]], int(m[1]))), text)
    text = _LONG.sub(_when(moment, lambda m: (int(m[3]), _MONTHS[m[1]], int(m[2]))), text)
    return _SYSLOG.sub(_when(moment, lambda m: (int(m[3] or moment.year), _MONTHS[m[1]], int(m[2]))), text)


def _when(at: datetime, read: Callable[[re.Match[str]], tuple[int, int, int]]) -> Callable[[re.Match[str]], str]:
    def put(found: re.Match[str]) -> str:
        year, month, day = read(found)
        try:
            noon = datetime(year, month, day, 12, tzinfo=UTC)
        except ValueError:  # 2026-13-45 is not a date: leave it alone
            return found[0]
        return "<time>" if abs(noon - at) < _NEAR + timedelta(hours=12) else found[0]

    return put
