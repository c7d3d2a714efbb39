"""What an observation gives away, in comparable form: status, codes, words, numbers, how the answer ended.

Here: reading clues from the unwrapped body and the headers. Not here: unwrapping (`unwrapping`), waits (`waits`), or
what a clue means (the rows).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ledger.answer_parts import finishes, has_output
from ledger.embedded import parted
from ledger.limit_arithmetic import over_limit
from ledger.observation import Ended, Observation
from ledger.phrases import code_words, squeezed, words
from ledger.quoted_status import quoted_status
from ledger.unwrapping import MAX_DEPTH, Shape, Unwrapped, unwrap

MAX_STRINGS: Final = 400
MAX_STRING: Final = 4_096
"""Characters of one string that are read: a message, not an echoed document."""
MAX_CODE: Final = 100
MAX_WORDS: Final = 16_384
"""Characters of words in all that rows look through: a verdict stands in the first sentences."""

_CODE_KEYS: Final = (
    "code",
    "type",
    "status",
    "reason",
    "error",
    "source",
    "id",
    "name",
    "metric",
    "exception",
    "title",
)
"""A key that ends in one of these may hold a code: `error_code`, `limit_source`, `quotaId`, `__type`."""
_NOT_CODES: Final = frozenset({"id", "request_id", "requestid", "trace_id", "traceid", "user_id", "event_id", "org_id"})
_STATUS_KEYS: Final = frozenset(
    {"code", "status", "status_code", "statuscode", "http_status", "http_code", "error_code"}
)
_ECHO_KEYS: Final = frozenset(
    {
        "input", "request", "prompt", "messages", "failed_generation", "loc", "ctx", "request_id", "requestid", "url",
        "links", "documentation_url", "doc_url", "validation_link", "content_filter_results", "content_filter_result",
        "user_id", "stack", "stacktrace", "traceback", "trace", "param_value", "flagged_input", "help",
        "previous_errors",
    }
)  # fmt: skip
"""Keys whose values repeat our request, or say where to read on; their words are not the provider's verdict."""


@dataclass(frozen=True, kw_only=True)
class Clues:
    """Everything a classifier row can ask for.

    A dataclass, not a model: it holds parsed JSON of any shape, lives for one judgement and crosses no boundary.
    """

    provider: str
    """Squeezed: letters and digits in lower case."""
    status: int | None
    """The innermost status: an error object's own code, or a gateway's quote, outranks the line it came under."""
    ended: str = ""
    """How the trip broke off, in lower case words; "" where an error was named, which says more."""
    shape: Shape = "empty"
    codes: frozenset[str] = frozenset()
    """Machine codes, squeezed."""
    words: str = ""
    """The error's messages and codes, normalised by `phrases.words`."""
    said: str = ""
    """The same messages in lower case as they came: for numbers and durations."""
    finishes: frozenset[str] = frozenset()
    """Why an answer ended, squeezed."""
    output: bool = False
    """Some of an answer came."""
    named: bool = False
    """An error was named, in words or in a code."""
    over_limit: bool = False
    """The request alone is larger than the limit."""
    should_retry: str = ""
    """The x-should-retry header."""
    errors: tuple[Any, ...] = ()
    """The error parts themselves, for the waits in them."""


def clues_of(seen: Observation) -> Clues:
    """Read every clue of an observation. Never raises, whatever the body holds."""
    failed = seen.status is not None and seen.status >= 400  # noqa: PLR2004 - HTTP's border
    found = unwrap(seen.capped_body(), failed=failed)
    strings = list(_strings(found))
    named = bool(strings) and (failed or bool(found.errors))
    codes = [*_codes(strings), *_header_codes(seen.headers)]
    messages = [text for _, text in strings]
    spelled = [words(text) for text in messages]
    spelled += [code_words(code) for code in codes]
    said = " \n".join(messages).lower()
    return Clues(
        provider=squeezed(seen.provider),
        status=quoted_status(said[:MAX_WORDS], _inner_status(strings, seen.status)),
        ended="" if (failed or named) and not _ours(seen) else _ended(seen, found),
        shape=found.shape,
        codes=frozenset(squeezed(code) for code in codes),
        words=" | ".join(spelled)[:MAX_WORDS],
        said=said[:MAX_WORDS],
        finishes=frozenset() if failed or named else finishes(found.parts),
        named=named,
        output=not failed and has_output(found.parts),
        over_limit=over_limit(said[:MAX_WORDS]),
        errors=found.errors,
        should_retry=seen.headers.get("x-should-retry", "").strip().lower(),
    )


def _ours(seen: Observation) -> bool:
    """A stop of our own says more than whatever the provider was saying meanwhile."""
    return seen.transport == Ended.CANCELLED


def _ended(seen: Observation, found: Unwrapped) -> str:
    """How it broke off; "" for an answer that came whole, of which the body says the rest."""
    ended = code_words(seen.transport or "")
    if ended == Ended.UNUSABLE:
        return ""
    if ended not in ("", Ended.COMPLETE):
        return ended
    return Ended.TRUNCATED if found.shape == "stream" and not found.ended else ""


def _strings(found: Unwrapped) -> Iterator[tuple[str, str]]:
    """Key and text of every scalar in the error parts, JSON inside strings included, at most `MAX_STRINGS`."""
    if found.text:
        yield "", found.text[:MAX_WORDS]
    left = MAX_STRINGS
    for part in found.errors:
        for item in _walk("", part, MAX_DEPTH):
            yield item
            left -= 1
            if not left:
                return


def _walk(key: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - JSON
    if depth == 0 or key.lower() in _ECHO_KEYS or value is None or isinstance(value, bool):
        return
    match value:
        case Mapping():
            for name, inner in value.items():
                if name.lower().endswith("exception"):
                    yield "exception", name
                yield from _walk(name, inner, depth - 1)
        case list():
            for inner in value:
                yield from _walk(key, inner, depth - 1)
        case str():
            yield from _text(key, value, depth)
        case _:
            yield key, str(value)


def _text(key: str, value: str, depth: int) -> Iterator[tuple[str, str]]:
    """A string, or the object that it holds beside its own words."""
    found = parted(value) if "{" in value else None
    if found is None:
        yield key, value[:MAX_STRING]
        return
    yield key, found.before[:MAX_STRING]
    yield from _walk(key, found.value, depth - 1)
    yield "", found.after[:MAX_STRING]


_SPOKEN: Final = re.compile(
    # botocore: "An error occurred (ThrottlingException) when calling"; AWS SDKs: "ValidationException: ..."
    r"\b([A-Z][A-Za-z]{3,60}Exception)\b"
    # the status that gRPC's errors spell out, between "rpc error:" and "desc"
    r"|\bcode = ([A-Za-z]{3,30}) desc\b"
)


def _codes(strings: list[tuple[str, str]]) -> Iterator[str]:
    for key, text in strings:
        yield from (first or second for first, second in _SPOKEN.findall(text))
        name = key.lower()
        if name in _NOT_CODES or not text or len(text) > MAX_CODE:
            continue
        if name.endswith(_CODE_KEYS):
            yield text.rpartition("#")[2]


def _header_codes(headers: Mapping[str, str]) -> Iterator[str]:
    """Codes that AWS, Azure and Cloudflare put into headers; of `ThrottlingException:http://...` the first part."""
    for name in ("x-amzn-errortype", ":exception-type", "x-ms-error-code", "cf-mitigated", "x-error-code"):
        if code := headers.get(name, "").partition(":")[0].strip():
            yield code.rpartition("#")[2]


def _inner_status(strings: list[tuple[str, str]], outer: int | None) -> int | None:
    """The last status that an error object names, 400 to 599, else the line's."""
    inner = [int(text) for key, text in strings if key.lower().endswith(tuple(_STATUS_KEYS)) and _is_status(text)]
    return inner[-1] if inner else outer


def _is_status(text: str) -> bool:
    return len(text) == 3 and text.isascii() and text.isdigit() and text[0] in "45"  # noqa: PLR2004
