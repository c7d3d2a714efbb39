"""A conversation as a person reads it: roles, text, tool calls, results. Pure: stored messages in, lines out.

Messages are read leniently as JSON, so that no provider SDK is loaded to print them; their format is known in
`activities/messages.py`.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Protocol

from commands.tables import plain

SUMMARY_KEY: Final = "summary"
"""Under which the summary of what is old stands in a compacted conversation (`activities/shortening.py`)."""
MAX_SHOWN: Final = 4_000
"""Characters of one part that are shown; `-o json` has the whole."""


class Kept(Protocol):
    """A message as the store has it."""

    @property
    def key(self) -> str: ...

    @property
    def body(self) -> bytes: ...

    @property
    def removed(self) -> int | None:
        """How many bytes it had, where it is not there any more."""


class Stretch(Protocol):
    """Messages between two compactions."""

    @property
    def messages(self) -> Sequence[Kept]: ...

    @property
    def made(self) -> int:
        """So many of them, from the first, were made of the stretch before."""


def messages(stretches: Iterable[Stretch]) -> list[Any]:
    """The stored messages as JSON values, each once; of one that was redacted, that it was, and how long it had been.

    Where the conversation was compacted an element says so: from how much to how much, and the summary, if any.
    """
    found: list[Any] = []
    before: Stretch | None = None
    for stretch in stretches:
        if before is not None:
            found.append(_compaction(before.messages, stretch.messages[: stretch.made]))
        found += map(_value, stretch.messages[stretch.made :])
        before = stretch
    return found


def _value(message: Kept) -> Any:  # noqa: ANN401 - any JSON
    return json.loads(message.body) if message.removed is None else {"redacted": True, "bytes": message.removed}


def _compaction(before: Sequence[Kept], after: Sequence[Kept]) -> dict[str, Any]:
    """What a compaction made of all that was said up to it."""
    known = {message.body for message in before}
    told = [_value(one) for one in after if one.key == SUMMARY_KEY and one.body not in known]
    return {"compacted": {"from": _measured(before), "to": _measured(after), "summary": told[0] if told else None}}


def _measured(kept: Sequence[Kept]) -> dict[str, int]:
    return {"messages": len(kept), "bytes": sum(message.removed or len(message.body) for message in kept)}


def render(conversation: Iterable[Any]) -> Iterator[str]:
    """The conversation in lines, each message numbered from 1; a compaction has a line and no number."""
    number = 0
    for message in conversation:
        if "compacted" in message:
            yield from _told(message["compacted"])
            continue
        number += 1
        if message.get("redacted"):
            yield f"── {number} redacted ({message['bytes']:,} bytes)"
        for part in message.get("parts", ()):
            role, text = _part(part)
            yield f"── {number} {role}"
            yield _shortened(plain(text))


def _told(compacted: dict[str, Any]) -> Iterator[str]:
    """That the conversation was compacted here; what stands above is what it was made of."""
    before, after = compacted["from"], compacted["to"]
    sizes = f"{before['messages']:,} messages ({before['bytes']:,} bytes) to {after['messages']:,} ({after['bytes']:,})"
    yield f"── compacted: for the model all of the above became shorter, {sizes}"
    for part in (compacted["summary"] or {}).get("parts", ()):
        yield _shortened(plain(_part(part)[1]))


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
