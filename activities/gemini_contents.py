"""Gemini's `contents` as they go over the wire, made straight from pydantic-ai's values.

google-genai would check every part of every message against its types, copy it, and rename it: 70 ms of CPU for 400
messages, where all the rest of a call takes 40 (`benchmarks/calls.py --turns 200`). Here: the names and bytes of what
pydantic-ai writes; what is not known here goes the SDK's own way. Not here: what the contents are.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

from activities.transport import finish

NAMES: Final[Mapping[str, str]] = {
    "text": "text",
    "thought": "thought",
    "thought_signature": "thoughtSignature",
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "inline_data": "inlineData",
    "file_data": "fileData",
}
"""A part's field in pydantic-ai's values → on the wire. What a field holds keeps its names, as with the SDK."""

PLACEHOLDER: Final = ({"role": "user", "parts": [{"text": "-"}]},)
"""The SDK refuses to ask nothing; the finished contents replace it in the body."""


class UnknownFieldError(Exception):
    """pydantic-ai wrote a field that is not known here."""


def as_it_is(generate: Any) -> Any:  # noqa: ANN401 - the SDK's method, passed on as it is called
    """The SDK's `generate_content_stream`, which sends the contents as a finished part of the body."""

    async def finished(*, model: str, contents: Sequence[Any], config: Mapping[str, Any]) -> Any:  # noqa: ANN401
        try:
            finish("contents", [_wire(content) for content in contents])
        except UnknownFieldError:
            return await generate(model=model, contents=contents, config=config)
        return await generate(model=model, contents=list(PLACEHOLDER), config=config)

    return finished


def _wire(content: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": content["role"], "parts": [_part(part) for part in content["parts"]]}


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if not part.keys() <= NAMES.keys():
        raise UnknownFieldError
    return {NAMES[name]: _plain(held) for name, held in part.items() if held is not None}


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON, and bytes
    """Bytes as the SDK writes them."""
    match value:
        case bytes():
            return base64.urlsafe_b64encode(value).decode()
        case dict():
            return {name: _plain(held) for name, held in value.items()}
        case list():
            return [_plain(item) for item in value]
        case _:
            return value
