"""How long a provider asks us to wait: as it was stated, and as it may be trusted for a kind of failure.

Here: the places where a wait is stated, and in which order they count. Not here: how a duration is written
(`durations`), or what a wait leads to (`calls`). Pure: dates count against the response's Date header, or else the
observation's `at`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ledger.clues import Clues, clues_of
from ledger.durations import EPOCH, duration, moment, seconds
from ledger.embedded import embedded
from ledger.failures import FailureKind
from ledger.observation import Observation
from ledger.unwrapping import MAX_DEPTH

HEALS_S: Final = 900.0
"""What heals within 15 minutes is transient; a longer wait is an allowance that is used up (README of the corpus)."""
MAX_WAIT_S: Final = 31 * 86_400.0
"""The longest allowance that vendors sell is a month."""

_K = FailureKind
_PASSING: Final = frozenset({_K.RATE_LIMITED, _K.OVERLOADED, _K.SERVER_ERROR, _K.TIMEOUT, _K.NETWORK})


def judged_wait(kind: FailureKind, stated: float | None, *, transient: bool) -> float | None:
    """Return the stated wait as far as the kind lets it be trusted, bounded.

    A used up allowance does not come back within minutes: a shorter stated wait is a default of the vendor's gateway,
    and is dropped. A kind that time does not heal has no wait at all. Others are capped at a month.
    """
    if stated is None:
        return None
    if kind is _K.QUOTA_EXHAUSTED and stated <= HEALS_S:
        return None
    trusted = transient or kind in _PASSING or kind is _K.QUOTA_EXHAUSTED
    return min(stated, MAX_WAIT_S) if trusted else None


def stated_wait(seen: Observation) -> float | None:
    """Seconds that the provider stated, parsed and not judged; None where it stated none.

    The first of: retry-after-ms, Retry-After (seconds or date), Google's RetryInfo, a field of the body, a sentence,
    the latest reset among the limits that are used up.
    """
    return wait_in(seen, clues_of(seen))


def wait_in(seen: Observation, clues: Clues) -> float | None:
    """Answer as `stated_wait` does, for an observation whose clues are read already."""
    date = moment(seen.headers.get("date", ""))
    now = seen.at if date is None else date
    body = [item for part in clues.errors for item in _walk(part, MAX_DEPTH)]
    inner = _inner_headers(body)
    candidates = (
        *(from_headers(headers, now) for headers in (seen.headers, inner)),
        from_fields(body, now),
        from_sentences(clues.said, now),
        *(from_resets(headers, now) for headers in (seen.headers, inner)),
    )
    return next((wait for wait in candidates if wait is not None), None)


def from_headers(headers: Mapping[str, str], now: float | None) -> float | None:
    """retry-after-ms is exact and wins (OpenAI's and Azure's SDKs); Retry-After is RFC 9110 section 10.2.3."""
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        stated = seconds(headers.get(name, ""))
        if stated is not None:
            return stated / 1_000
    text = headers.get("retry-after", "").strip()
    return _either(text, now)


_FIELD_UNITS: Final = {
    # squeezed name of a body field: seconds a unit; a unit in the value ("45s") wins
    "retrydelay": 1.0,  # google.rpc.RetryInfo
    "retryafter": 1.0, "retryafterseconds": 1.0, "retryafters": 1.0, "retryafterms": 0.001,
    "retryinseconds": 1.0, "retryin": 1.0, "waitseconds": 1.0, "resetsinseconds": 1.0, "resetinseconds": 1.0,
    "resetafter": 1.0, "resetafterseconds": 1.0, "estimatedtime": 1.0,  # Hugging Face: a model that loads
    "retryaftersecs": 1.0, "quotaresetdelay": 1.0, "resetseconds": 1.0, "resetsin": 1.0, "resettime": 1.0,
    "cooldownseconds": 1.0, "retryaftermilliseconds": 0.001,
}  # fmt: skip
_FIELD_MOMENTS: Final = ("resetsat", "resetat", "resettime", "resettimestamp", "quotaresettime", "quotaresettimestamp")


def from_fields(body: list[tuple[str, Any]], now: float | None) -> float | None:
    """A duration field first, then a moment field."""
    for name, value in body:
        unit = _FIELD_UNITS.get(name)
        if unit is not None and (wait := _length(value, unit)) is not None:
            return wait
    for name, value in body:
        if name in _FIELD_MOMENTS and now is not None and (wait := _until(str(value), now)) is not None:
            return wait
    return None


def _length(value: Any, unit: float) -> float | None:  # noqa: ANN401 - JSON
    if isinstance(value, Mapping):  # a protobuf Duration as an object
        return seconds(str(value.get("seconds", "")))
    stated = seconds(str(value))
    if stated is None:
        return duration(str(value).lower())
    return stated * unit if stated < EPOCH else None


_ANCHORS: Final = (
    "again in", "retry in", "retry after", "again after", "please wait", "wait for", "wait at least", "reset in",
    "resets in", "reset after", "resets after", "available in", "retry-after", "refreshes in",
    "replenished in", "back off for", "请在", "请等待",
)  # fmt: skip
_LEADS: Final = ("about ", "approximately ", "at least ", "another ", "for ", "~", "≈")
_ISO_UTC: Final = re.compile(r"\d{4}-\d\d-\d\d[t ](?:at )?\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:z| utc)")
_ISO_ANCHORS: Final = (
    "regain access on", "reset at", "resets at", "reset on", "resets on", "again at", "retry at",
    "available at", "until",
)  # fmt: skip
_BARE: Final = 1.0
"""A sentence's number without a unit is in seconds, as in Retry-After."""


def from_sentences(text: str, now: float | None) -> float | None:
    """A duration after words such as "try again in"; else a date in UTC after words such as "regain access on"."""
    for at in _after(text, _ANCHORS):
        if (wait := duration(text, at, bare=_BARE)) is not None:
            return wait
    if now is not None:
        for at in _after(text, _ISO_ANCHORS):
            found = _ISO_UTC.match(text, at)
            if found and (wait := _until(found[0].replace(" at ", " ").replace("z", " utc"), now)) is not None:
                return wait
    return None


def _after(text: str, anchors: tuple[str, ...]) -> Iterator[int]:
    """Positions behind each anchor, spaces and lead-in words skipped."""
    for anchor in anchors:
        at = text.find(anchor)
        while at >= 0:
            end = at + len(anchor)
            yield _skip(text, end)
            at = text.find(anchor, end)


def _skip(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", ":") and at < len(text):
        at += 1
    lead = next((lead for lead in _LEADS if text.startswith(lead, at)), "")
    return at + len(lead)


_LEFT: Final = "remaining"


def from_resets(headers: Mapping[str, str], now: float | None) -> float | None:
    """Return the latest reset among the limits of which nothing is left; full limits' resets say nothing."""
    waits = [wait for name in _spent(headers) if (wait := _either(headers.get(name, ""), now)) is not None]
    return max(waits, default=None)


def _spent(headers: Mapping[str, str]) -> Iterator[str]:
    """Names of the reset headers that belong to a used up limit."""
    for name, text in headers.items():
        if _LEFT in name and (seconds(text) == 0 or text.strip().startswith("-")):
            yield name.replace(_LEFT, "reset")
        elif name.endswith("-used-percent") and (seconds(text) or 0) >= 100:  # noqa: PLR2004 - Codex plan windows
            yield name.removesuffix("used-percent") + "reset-after-seconds"
        elif name.endswith("-status") and text.strip() == "rejected":  # Anthropic subscription windows
            yield name.removesuffix("status") + "reset"


def _either(text: str, now: float | None) -> float | None:
    """A number of seconds, a duration with units, or a moment."""
    stated = seconds(text)
    if stated is not None and moment(text) is None:
        return stated
    if (length := duration(text.lower())) is not None:
        return length
    return None if now is None else _until(text, now)


def _until(text: str, now: float) -> float | None:
    """Seconds until a moment; one that has passed means at once."""
    then = moment(text)
    return None if then is None else max(0.0, round(then - now, 3))


def _walk(value: Any, depth: int) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - JSON
    if not depth:
        return
    match value:
        case Mapping():
            for name, inner in value.items():
                yield "".join(mark for mark in name.lower() if mark.isalnum()), inner
                yield from _walk(inner, depth - 1)
        case list():
            for inner in value:
                yield from _walk(inner, depth - 1)
        case str() if "{" in value:
            yield from _walk(embedded(value), depth - 1)
        case _:
            return


def _inner_headers(body: list[tuple[str, Any]]) -> Mapping[str, str]:
    """Headers of an upstream response that a gateway wrapped into its body."""
    found = [value for name, value in body if name == "headers" and isinstance(value, Mapping)]
    return {name.lower(): str(value) for inner in found for name, value in inner.items()}
