"""Reading what a Gemini request says, in both spellings: this vendor takes `thoughtSignature` and `thought_signature`.

Values that are the caller's own (arguments, results, schemas) are left as they are. Judging a request is for
`strict_gemini`, answering it for `gemini`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import JsonValue

from simulator.dialect import AskError, named_in

FREE: Final = frozenset(
    {"args", "response", "parameters", "parametersJsonSchema", "responseSchema", "responseJsonSchema", "labels"}
)
"""Fields whose keys are data, in the vendor's spelling."""

ADDRESS: Final = "https://generativelanguage.googleapis.com/v1beta/files/"
"""A file is named by its address at the vendor, wherever it was uploaded: clients check that it starts like this."""

Turn = Mapping[str, JsonValue]


def spelled(value: JsonValue) -> JsonValue:
    """The same with all field names in the vendor's own spelling (proto3 JSON: both are read, one is written)."""
    match value:
        case dict():
            return {_camel(name): (held if _camel(name) in FREE else spelled(held)) for name, held in value.items()}
        case list():
            return [spelled(held) for held in value]
        case _:
            return value


def _camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name)


def turns_of(body: Mapping[str, JsonValue]) -> list[Turn]:
    """The conversation, spelled; AskError when it is not a list of objects."""
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        raise AskError("* GenerateContentRequest.contents: contents is not specified")
    turns: list[Turn] = [turn for turn in map(spelled, contents) if isinstance(turn, dict)]
    if len(turns) < len(contents):
        raise AskError("* GenerateContentRequest.contents: expected objects with role and parts")
    return turns


def parts_of(turn: Turn) -> Iterator[Mapping[str, JsonValue]]:
    """The parts of a turn that are objects; others are no parts."""
    parts = turn.get("parts")
    yield from (part for part in (parts if isinstance(parts, list) else []) if isinstance(part, dict))


def newest(turns: list[Turn]) -> str:
    """The text of all turns after the model's last one; what a function gave back is an object here, shown as JSON."""
    tail: list[str] = []
    for turn in reversed(turns):
        if turn.get("role") == "model":
            break
        tail += reversed([_text(part) for part in parts_of(turn)])
    return "\n".join(reversed(tail))


def _text(part: Mapping[str, JsonValue]) -> str:
    match part:
        case {"text": str(text)}:
            return text
        case {"functionResponse": {"response": response}}:
            return json.dumps(response, ensure_ascii=False)
        case _:
            return ""


def files_of(body: Mapping[str, JsonValue]) -> Iterator[str]:
    """The uploaded files that the request names; other addresses are the vendor's to fetch."""
    for address in named_in(spelled(body.get("contents")), "fileUri"):
        if address.startswith(ADDRESS):
            yield address.removeprefix(ADDRESS)


def wants_thoughts(body: Mapping[str, JsonValue]) -> bool:
    match spelled(dict(body)):
        case {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}:
            return True
        case _:
            return False
