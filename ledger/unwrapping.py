"""From a raw body to the error objects and the answer parts in it, whatever they are wrapped in.

Here: server-sent events, JSON lines, an object or a list, `response.error`, `choices[0].error`, JSON inside a string, a
plain string, HTML, nothing at all. Not here: what is read from the parts (`clues`) or what it means (the rows).
Nothing raises on any input, and each step is linear in a body that is capped before.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from ledger.embedded import embedded
from ledger.page_text import page_text

Shape = Literal["empty", "html", "text", "json", "stream"]

MAX_DEPTH: Final = 12
"""Levels of nesting that are read; a gateway of gateways needs about six."""
MAX_PARTS: Final = 2_000
"""Events of a stream that are kept, the last ones."""

_ANSWER_KEYS: Final = frozenset(
    {"choices", "candidates", "output", "content", "delta", "generations", "generated_text", "item", "part", "usage"}
)
"""Where models' words live: never read as an error."""
_NESTING_KEYS: Final = ("response", "message", "data", "result", "chunk", "body", "header")
_ERROR_KEYS: Final = ("error", "errors", "fault", "exception", "err")
_STREAM_MARKS: Final = ("data:", "event:", ":", "id:", "retry:")


@dataclass(frozen=True, kw_only=True)
class Unwrapped:
    """What a body holds."""

    shape: Shape
    errors: tuple[Any, ...] = ()
    """Error parts, the outer before the inner: objects, lists or strings."""
    parts: tuple[Mapping[str, Any], ...] = ()
    """JSON objects that were found at the top: the whole answer, or a stream's events."""
    text: str = ""
    """The words of a body that is no JSON."""
    ended: bool = False
    """A stream said that it is over."""


def unwrap(body: str, *, failed: bool) -> Unwrapped:
    """Read a body. `failed`: the status says error, so all of a JSON body is about the error."""
    text = body.strip().removeprefix("\ufeff")
    if not text:
        return Unwrapped(shape="empty")
    found, value = parsed(text)
    if found:
        return _from_json(value, failed=failed)
    if text.startswith(_STREAM_MARKS):
        return _from_stream(text, failed=failed)
    if text.startswith("<"):
        return Unwrapped(shape="html", text=page_text(text))
    if not failed and text[0] in "{[" and text[1:].lstrip()[:1] in ('"', "{", "[") and "\n{" not in text:
        return Unwrapped(shape="json")
    lines = [value for found, value in map(parsed, text.splitlines()) if found and isinstance(value, dict)]
    if lines:
        return _from_events(lines, failed=failed, done=False)
    inner = embedded(text) if failed else None
    return Unwrapped(shape="text", text=text, errors=() if inner is None else (inner,))


def parsed(text: str) -> tuple[bool, Any]:
    """Whether `text` is JSON, and its value. Too deep, too many digits, cut off: it is not."""
    try:
        return True, json.loads(text)
    except (ValueError, RecursionError):
        return False, None


def _from_json(value: Any, *, failed: bool) -> Unwrapped:  # noqa: ANN401 - JSON
    if isinstance(value, str):
        inner = unwrap(value, failed=failed) if value.lstrip()[:1] in ("{", "[") else None
        return inner or Unwrapped(shape="text", text=value)
    parts = tuple(part for part in (value if isinstance(value, list) else [value]) if isinstance(part, dict))
    if not parts:
        return Unwrapped(shape="json", errors=(value,) if failed and value else ())
    errors = (value,) if failed else tuple(_errors(parts))
    return Unwrapped(shape="json", errors=errors, parts=parts)


def _from_stream(text: str, *, failed: bool) -> Unwrapped:
    events: list[dict[str, Any]] = []
    done = False
    for name, data in _events(text):
        found, value = parsed(data)
        done = done or data.strip() == "[DONE]"
        if found and isinstance(value, dict):
            events.append(value)
        elif name == "error" and data.strip():
            events.append({"error": value if found else data})
    return _from_events(events, failed=failed, done=done)


def _events(text: str) -> Iterator[tuple[str, str]]:
    """Name and data of each event; comments are left out."""
    name, data = "", [""]
    for line in [*text.splitlines(), ""]:
        field, _, value = line.partition(":")
        match field.strip():
            case "event":
                name = value.strip()
            case "data":
                data.append(value.strip())
            case "" if not line.strip():
                yield name, "\n".join(data[1:])
                name, data = "", [""]
            case _:
                pass


def _from_events(events: list[dict[str, Any]], *, failed: bool, done: bool) -> Unwrapped:
    kept = tuple(events[-MAX_PARTS:])
    errors = kept if failed else tuple(_errors(kept))
    return Unwrapped(shape="stream", errors=errors, parts=kept, ended=done or any(map(_is_last, kept)))


_LAST_TYPES: Final = frozenset(
    {"message_stop", "response.completed", "response.incomplete", "response.failed", "message-end", "error"}
)
_FINISH_KEYS: Final = ("finish_reason", "finishReason", "stopReason", "done_reason")


def _is_last(event: Mapping[str, Any]) -> bool:
    """A stream's last event in the words of the four protocols, of Ollama and of Cohere."""
    if str(event.get("type")) in _LAST_TYPES or event.get("done") is True or "messageStop" in event:
        return True
    listed = [*_dicts(event.get("choices")), *_dicts(event.get("candidates")), event]
    return any(part.get(key) for part in listed for key in _FINISH_KEYS)


def _errors(parts: tuple[Mapping[str, Any], ...]) -> Iterator[Any]:
    for part in parts:
        yield from _error_parts(part, MAX_DEPTH)


def _error_parts(part: Mapping[str, Any], depth: int) -> Iterator[Any]:
    """Error objects inside an answer, never the model's own words. Tencent writes its keys with capitals."""
    keyed = {str(key).lower(): value for key, value in part.items()}
    if _is_error(keyed):
        yield {key: value for key, value in part.items() if key not in _ANSWER_KEYS}
    if depth:
        nested = [keyed[key] for key in _NESTING_KEYS if isinstance(keyed.get(key), dict)]
        for inner in [*nested, *_dicts(part.get("choices"))]:
            yield from _error_parts(inner, depth - 1)


def _is_error(part: Mapping[str, Any]) -> bool:
    """Whether an object, its keys in lower case, tells of an error."""
    if any(part.get(key) for key in _ERROR_KEYS) or part.get("type") == "error" or part.get("object") == "error":
        return True
    if any(key.endswith("exception") and isinstance(value, dict) for key, value in part.items()):
        return True
    flat = [part[key] for key in ("error_code", "error_msg", "errorcode", "errormessage") if key in part]
    if flat:
        return any(flat)
    return _is_refusing_envelope(part)


def _is_refusing_envelope(part: Mapping[str, Any]) -> bool:
    """{"base_resp": {"status_code": 1008}}, {"code": 50505, "message": ...}, {"detail": ...}, {"success": false}."""
    base = part.get("base_resp")
    if isinstance(base, dict) and base.get("status_code"):
        return True
    if any(part.get(key) for key in _ANSWER_KEYS):
        return False
    said = any(isinstance(part.get(key), str) and part.get(key) for key in ("message", "msg", "detail"))
    if part.get("success") is False:
        return True
    return said and part.get("type") != "message" and part.get("code") not in (0, "0", 200, "200", "success")


def _dicts(value: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - JSON
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
