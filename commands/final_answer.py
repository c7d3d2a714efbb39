# ruff: noqa: PLC0415 - `endstop --help` loads no SQL
"""The answer of a run that completed: from the store, for people and for programs.

Here: finding it, and how it is laid out. Messages are read leniently as JSON, as in `transcript`; that has the rest.
"""

import json
from typing import TYPE_CHECKING, Any, Final

from pydantic import JsonValue

from commands.tables import plain
from inbox.shell import endstop
from ledger.model import Frozen

if TYPE_CHECKING:
    from ledger.conversation import Conversation
    from store import Store

MAX_SHOWN: Final = 4_000
"""Characters that are shown; `-o json` has the whole."""


class FinalAnswer(Frozen):
    """What the last message said, or why it cannot be told."""

    text: str = ""
    trouble: str = ""

    @property
    def output(self) -> JsonValue:
        """The answer as a value where all of it is a JSON object or list, as structured output is; None elsewhere."""
        if not self.text.lstrip().startswith(("{", "[")):
            return None
        try:
            found: JsonValue = json.loads(self.text)
        except (ValueError, RecursionError):
            return None
        return found

    def for_programs(self) -> dict[str, JsonValue]:
        """Its keys in a JSON document; both are null where there is no text."""
        return {"answer": self.text or None, "output": self.output}


NONE: Final = FinalAnswer()
"""Of a run that has not completed."""


async def answer_of(store: "Store", conversation: "Conversation | None") -> FinalAnswer:
    """The text of a conversation's last message. The run must have completed."""
    from store import ConversationBroken

    try:
        kept = await store.read_kept(conversation) if conversation else []
    except ConversationBroken:
        kept = []
    if not kept:
        return FinalAnswer(trouble="this store does not hold it; is it the one that the worker uses?")
    if kept[-1].removed is not None:
        return FinalAnswer(trouble="it was redacted")
    return FinalAnswer(text=_text(json.loads(kept[-1].body)))


def _text(message: dict[str, Any]) -> str:
    parts = (part for part in message.get("parts", ()) if part.get("part_kind") == "text")
    return "".join(str(part.get("content")) for part in parts)


def told(run: str, answer: FinalAnswer) -> str:
    """The answer for a terminal, each line marked as its own; "" where there is none."""
    if answer.trouble:
        return f"its answer cannot be shown: {answer.trouble}"
    if not answer.text:
        return ""
    value = answer.output
    text = answer.text if value is None else json.dumps(value, ensure_ascii=False, indent=2)
    more = len(text) - MAX_SHOWN
    rest = f"\n[{more:,} more characters: `{endstop('show', run, flags='-o json')}` has them]" if more > 0 else ""
    return "its answer:\n" + "\n".join(f"  | {line}" for line in plain(text[:MAX_SHOWN]).split("\n")) + rest
