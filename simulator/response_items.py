"""The items of an OpenAI response: what the model thought, said and called, as a plain answer lists them.

The ids tell what a later request may do with an item, so that no memory of past answers is needed: `ItemId`.
"""

import hmac
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, Self

from pydantic import JsonValue

from simulator.dialect import Ask, calls_of
from simulator.replies import Text, ToolCall, ToolCalls
from simulator.signatures import KEY, seal

Item = dict[str, JsonValue]
Prefix = Literal["rs", "msg", "fc"]

CODE: Final = 16
"""Hex digits of the code in an id: enough that none is met by accident."""

ID: Final = re.compile(r"(rs|msg|fc)_([0-9a-z]+?)(\d\d)([sn])([rn])([0-9a-f]{16})")


@dataclass(frozen=True, kw_only=True)
class ItemId:
    """Whose item it is: `answer` is the token of the answer it came in, `place` its number there, from 0.

    `stored`: the vendor kept it, so that it may be named without its content. `reasoned`: the answer holds reasoning.
    """

    answer: str
    place: int
    stored: bool
    reasoned: bool

    def written(self, prefix: Prefix) -> str:
        flags = f"{'s' if self.stored else 'n'}{'r' if self.reasoned else 'n'}"
        body = f"{self.answer}{self.place:02d}{flags}"
        return f"{prefix}_{body}{_code(body)}"

    @classmethod
    def read(cls, text: str) -> Self | None:
        """What an id says; nothing when no simulator issued it."""
        found = ID.fullmatch(text)
        if found is None:
            return None
        _, answer, place, stored, reasoned, code = found.groups()
        if not hmac.compare_digest(code, _code(f"{answer}{place}{stored}{reasoned}")):
            return None
        return cls(answer=answer, place=int(place), stored=stored == "s", reasoned=reasoned == "r")


def _code(body: str) -> str:
    return hmac.digest(KEY, body.encode(), "sha256").hex()[:CODE]


def items(ask: Ask, answer: Text | ToolCalls, token: str) -> list[Item]:
    """All of an answer, in order: reasoning, the message, the calls. An answer without any is one empty message."""
    made = [*_reasoning(ask, answer), *_message(answer), *_calls(answer, token)]
    return [_with_id(ask, answer, token, place, item) for place, item in enumerate(made)]


def _with_id(ask: Ask, answer: Text | ToolCalls, token: str, place: int, item: Item) -> Item:
    known = ItemId(answer=token, place=place, stored=ask.stored, reasoned=bool(answer.thinking))
    prefixes: dict[JsonValue, Prefix] = {"reasoning": "rs", "message": "msg", "function_call": "fc"}
    return {"id": known.written(prefixes[item["type"]]), **item}


def _reasoning(ask: Ask, answer: Text | ToolCalls) -> Iterator[Item]:
    """The item is always there; a summary and the encrypted content only for a request that wants them."""
    if not answer.thinking:
        return
    summary: list[JsonValue] = [{"type": "summary_text", "text": answer.thinking}] if ask.thinking else []
    encrypted: Item = {"encrypted_content": seal("openai", answer.thinking)} if ask.sealed else {}
    yield {"type": "reasoning", "summary": summary, **encrypted}


def _message(answer: Text | ToolCalls) -> Iterator[Item]:
    if answer.text or isinstance(answer, Text):
        content: list[JsonValue] = [output_text(answer.text)]
        yield {"type": "message", "status": _status(answer), "content": content, "role": "assistant"}


def output_text(text: str) -> JsonValue:
    """The part of a message that holds its words."""
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def _calls(answer: Text | ToolCalls, token: str) -> Iterator[Item]:
    for index, call in enumerate(calls_of(answer)):
        yield _call(call, f"call_{token}_{index}", _status(answer))


def _call(call: ToolCall, named: str, status: str) -> Item:
    return {
        "type": "function_call",
        "status": status,
        "arguments": call.arguments,
        "call_id": call.id or named,
        "name": call.name,
    }


def _status(answer: Text | ToolCalls) -> str:
    return "incomplete" if answer.finish_reason in INCOMPLETE else "completed"


INCOMPLETE: Final[dict[str | None, str]] = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Neutral finish word → why this vendor calls the response incomplete; every other word means completed."""
