"""A conversation as a person reads it: roles, text, tool calls, results. Pure: stored messages in, lines out.

Messages are read leniently as JSON, so that no provider SDK is loaded to print them; their format is known in
`activities/messages.py`.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, Protocol

from commands.tables import plain

MAX_SHOWN: Final = 4_000
"""Characters of one part that are shown; `-o json` has the whole."""


class Kept(Protocol):
    """A message as the store has it."""

    @property
    def body(self) -> bytes: ...

    @property
    def removed(self) -> int | None:
        """How many bytes it had, where it is not there any more."""


def messages(kept: Iterable[Kept]) -> list[Any]:
    """The stored messages as JSON values; of one that was redacted, that it was, and how long it had been."""
    return [
        json.loads(message.body) if message.removed is None else {"redacted": True, "bytes": message.removed}
        for message in kept
    ]


def render(conversation: Iterable[Any]) -> Iterator[str]:
    """The conversation in lines, each message numbered from 1."""
    for number, message in enumerate(conversation, 1):
        if message.get("redacted"):
            yield f"── {number} redacted ({message['bytes']:,} bytes)"
        for part in message.get("parts", ()):
            role, text = _part(part)
            yield f"── {number} {role}"
            yield _shortened(plain(text))


def _part(part: dict[str, Any]) -> tuple[str, str]:
    match part.get("part_kind"):
        case "user-prompt":
            return "to the model", _prompt(part.get("content"))
        case "tool-return" | "retry-prompt":
            failed = " (failed)" if part.get("outcome") == "failed" or part["part_kind"] == "retry-prompt" else ""
            return f"result of {part.get('tool_name')}{failed}", _text(part.get("content"))
        case "text":
            return "model", _text(part.get("content"))
        case "thinking":
            return "model, thinking", _text(part.get("content"))
        case "tool-call":
            return f"model calls {part.get('tool_name')}", _text(part.get("args"))
        case other:
            return str(other), _text(part.get("content"))


def _prompt(content: Any) -> str:  # noqa: ANN401 - whatever a message holds
    """A task, and the words that announce its files."""
    match content:
        case [*pieces]:
            return "\n".join(map(_prompt, pieces))
        case {"kind": "text-content", "content": str(announced)}:
            return announced
        case _:
            return _text(content)


def _text(content: Any) -> str:  # noqa: ANN401 - whatever a message holds
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _shortened(text: str) -> str:
    if len(text) <= MAX_SHOWN:
        return text
    return f"{text[:MAX_SHOWN]}\n[{len(text) - MAX_SHOWN:,} more characters; -o json has them]"
