"""An object inside a sentence: "AnthropicException - {...}", "Error code: 429 - {'error': {...}}".

Here: finding it, in JSON or as Python prints a dictionary, and what stands around it. Not here: a body that is JSON as
a whole (`unwrapping`), or what the object says. Nothing raises, and each step is linear.
"""

import json
import re
from typing import Any, Final, NamedTuple

MAX_PRINTED: Final = 16_384
"""Characters of a printed dictionary that are read: an error, not the request that it echoes."""

_TOKEN: Final = re.compile(r"'((?:[^'\\]|\\.)*)'|\"(?:[^\"\\]|\\.)*\"|\b(None|True|False)\b", re.DOTALL)
_CONSTANTS: Final = {"None": "null", "True": "true", "False": "false"}


class Parted(NamedTuple):
    """A sentence, parted at the object that it holds."""

    before: str
    value: Any
    after: str


def parted(text: str) -> Parted | None:
    """Part `text` at its first object; None where it holds none, or an empty one."""
    at = text.find("{")
    if at < 0:
        return None
    value, end = _json(text, at) or _printed(text, at) or (None, at)
    return Parted(text[:at], value, text[end:]) if value else None


def embedded(text: str) -> Any | None:  # noqa: ANN401 - JSON
    """Return the first object inside a sentence, None where there is none."""
    found = parted(text)
    return found and found.value


def _json(text: str, at: int) -> tuple[Any, int] | None:
    try:
        return json.JSONDecoder().raw_decode(text, at)
    except (ValueError, RecursionError):
        return None


def _printed(text: str, at: int) -> tuple[Any, int] | None:
    """Read `str(dictionary)` up to the last brace: what Python gateways put into a `detail`."""
    end = text.rfind("}", at, at + MAX_PRINTED) + 1
    try:
        return json.loads(_TOKEN.sub(_in_json, text[at:end])), end
    except (ValueError, RecursionError):
        return None


def _in_json(token: re.Match[str]) -> str:
    if token[2]:
        return _CONSTANTS[token[2]]
    if token[1] is None:
        return token[0]
    text = token[1].replace("\\'", "'").replace("\\x", "\\u00").replace('\\"', '"').replace('"', '\\"')
    return f'"{text}"'
