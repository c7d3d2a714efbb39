"""Which contents of the store a run's messages and records are made of, for whoever removes them. Pure.

The store keeps contents by digest and for all runs, so a run's own are found by what it says: a text that was put
before it became a message, a gate's whole output, a result too large for a model. Files and agents are not among them:
they are the operator's, and other runs' too.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ledger.conversation import digest
from ledger.journal import Entry, GateRecord

SAYS: Final = "A person says:\n"
CHANGED: Final = "A person changed the arguments to "
REJECTED: Final = "A person rejected this call: "
_WHOLE: Final = re.compile(r"\n\[\d+ bytes left out here; the whole result is stored as ([0-9a-f]{24})\]\n")


def own(messages: Iterable[Any], entries: Iterable[Entry]) -> set[str]:
    """References of the task, of what people said, and of the gates' outputs."""
    outputs = {entry.record.output for entry in entries if isinstance(entry.record, GateRecord)} - {""}
    return outputs | {digest(text.encode()) for shown in _texts(messages) for text in _said(shown)}


def cut(messages: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """References of results that were cut, with how each begins: a text may claim to be one, and name another's."""
    for text in _texts(messages):
        if found := _WHOLE.search(text):
            yield found[1], text[: found.start()]


def _texts(messages: Iterable[Any]) -> Iterator[str]:
    for message in messages:
        for part in message.get("parts", ()):
            if part.get("part_kind") in ("user-prompt", "tool-return"):
                content = part.get("content")
                yield from (text for text in (content if isinstance(content, list) else [content]) if _is_text(text))


def _is_text(found: Any) -> bool:  # noqa: ANN401 - whatever a message holds
    return isinstance(found, str)


def _said(shown: str) -> Iterator[str]:
    """The text itself, and the texts in it that may have been put by themselves."""
    yield shown
    yield from _arguments(shown)
    if shown.startswith(REJECTED):
        yield shown.removeprefix(REJECTED)
    for begun in re.finditer(re.escape(SAYS), shown):
        words = shown[begun.end() :]
        yield words
        yield from (words[: end.start()] for end in re.finditer("\n\n", words))  # other notes may follow


def _arguments(shown: str) -> Iterator[str]:
    if shown.startswith(CHANGED):
        written = shown.removeprefix(CHANGED)
        try:
            _, end = json.JSONDecoder().raw_decode(written)
        except (ValueError, RecursionError):
            return
        yield from {written[:end], *(written[: at.start()] for at in re.finditer("\n", written[: end + 16]))}
