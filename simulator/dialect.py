"""What a vendor's API must tell the simulator to be spoken: the Protocol and the values it exchanges.

One module per API implements it (`openai_chat`, `gemini`, …); `routing` lists them. Nothing here opens a socket or
knows a script.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from pydantic import JsonValue

from simulator.replies import ErrorWord, Text, ToolCall, ToolCalls, Usage
from simulator.signatures import Vendor

TOOL_DATA = ("input", "args", "response")
"""Fields of a conversation that hold a tool's own data, whatever its keys look like."""

BYTES_PER_TOKEN = 4
"""The usual rule of thumb for English text; only for replies whose script gives no usage."""


class AskError(ValueError):
    """A request this API refuses; the message goes back in the vendor's envelope for `error`.

    `param` and `code` are what OpenAI says besides: which part of the request, and which rule.
    """

    def __init__(
        self, message: str, error: ErrorWord = "invalid_request", *, param: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.error: ErrorWord = error
        self.param = param
        self.code = code


@dataclass(frozen=True, kw_only=True)
class Ask:
    """What a request asks for. `newest`: the text of all after the model's last answer; `size`: the body's bytes.

    `thinking`: it wants to be shown what the model thinks. `sealed`: it wants that encrypted, to send it back.
    `stored`: it lets the vendor keep the answer, so that later requests may name its parts.
    """

    model: str
    stream: bool
    newest: str
    size: int
    usage_in_stream: bool = True
    thinking: bool = False
    sealed: bool = False
    stored: bool = False

    @property
    def tokens(self) -> int:
        """What the request counts as, unless a script says otherwise."""
        return max(1, _tokens(self.size))


@dataclass(frozen=True, kw_only=True)
class Problem:
    """An error to put into a vendor's envelope; message, param and code replace the vendor's usual ones."""

    error: ErrorWord
    model: str
    message: str | None = None
    param: str | None = None
    code: str | None = None
    retry_after_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Envelope:
    """An error as the vendor sends it; a status below 300 says that it comes as an answer, streamed if asked."""

    status: int
    body: JsonValue


class Dialect(Protocol):
    """One API of one vendor. `token` is unique to the request: ids of the answer are made from it.

    `request_id_header` is empty where the vendor has none. `events_before` counts what was sent before an error.
    `check` raises AskError for what the real vendor refuses in a request that could be read. `files` are the uploaded
    files that a request names, `missing` is what it gets when one of them is gone or was never there.
    """

    name: str
    vendor: Vendor
    request_id_header: str

    def recognises(self, path: str) -> bool: ...

    def key(self, headers: Mapping[str, str]) -> str: ...

    def read(self, path: str, body: Mapping[str, JsonValue], size: int) -> Ask: ...

    def check(self, ask: Ask, body: Mapping[str, JsonValue]) -> None: ...

    def files(self, body: Mapping[str, JsonValue]) -> Iterator[str]: ...

    def missing(self, name: str) -> AskError: ...

    def whole(self, ask: Ask, answer: Text | ToolCalls, token: str) -> JsonValue: ...

    def events(self, ask: Ask, answer: Text | ToolCalls, token: str) -> Iterator[bytes]: ...

    def error(self, problem: Problem, token: str) -> Envelope: ...

    def error_event(self, problem: Problem, token: str, events_before: int = 0) -> bytes: ...


def text_field(body: Mapping[str, JsonValue], name: str) -> str:
    """A field that must hold text; AskError says which one is missing."""
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise AskError(f"you must provide a {name} parameter")
    return value


def messages_of(body: Mapping[str, JsonValue]) -> list[Mapping[str, JsonValue]]:
    """The conversation of a request; AskError when it is not a list of objects."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise AskError("messages: expected a list with at least one message")
    if not all(isinstance(message, dict) for message in messages):
        raise AskError("messages: expected objects with role and content")
    return [message for message in messages if isinstance(message, dict)]


def newest_text(messages: list[Mapping[str, JsonValue]]) -> str:
    """All text after the model's last answer: a person's words and tool results, whichever came last."""
    tail: list[str] = []
    for message in reversed(messages):
        if message.get("role") == "assistant":
            break
        if message.get("role") not in ("system", "developer"):
            tail.append(flat(message.get("content")))
    return "\n".join(reversed(tail))


def flat(content: JsonValue) -> str:
    """All text of a content, whatever it is nested in."""
    match content:
        case str():
            return content
        case list():
            return "\n".join(flat(part) for part in content)
        case {"text": str(text)}:
            return text
        case {"content": nested} | {"output": nested}:  # a result of a tool
            return flat(nested)
        case _:
            return ""


def named_in(value: JsonValue, field: str) -> Iterator[str]:
    """Every text that stands in this field, anywhere in a conversation but in arguments and results of tools."""
    match value:
        case dict():
            for name, held in value.items():
                if name == field and isinstance(held, str):
                    yield held
                elif name not in TOOL_DATA:
                    yield from named_in(held, field)
        case list():
            for held in value:
                yield from named_in(held, field)
        case _:
            return


def usage_of(ask: Ask, answer: Text | ToolCalls) -> Usage:
    """The scripted usage, or one token per 4 bytes of what went in and came out."""
    if answer.usage is not None:
        return answer.usage
    written = len(answer.text.encode())
    if isinstance(answer, ToolCalls):
        written += sum(len(call.name) + len(call.arguments.encode()) for call in answer.calls)
    thought = _tokens(len(answer.thinking.encode()))
    return Usage(
        input_tokens=ask.tokens,
        output_tokens=max(1, _tokens(written)) + thought,
        reasoning_tokens=thought,
    )


def _tokens(size: int) -> int:
    return -(-size // BYTES_PER_TOKEN)


def calls_of(answer: Text | ToolCalls) -> tuple[ToolCall, ...]:
    return answer.calls if isinstance(answer, ToolCalls) else ()


def arguments_of(call: ToolCall) -> JsonValue:
    """The arguments as JSON; malformed ones as the text they are."""
    try:
        parsed: JsonValue = json.loads(call.arguments)
    except ValueError:
        return call.arguments
    return parsed


def pieces(text: str, count: int) -> Iterator[str]:
    """`text` in at most `count` parts of nearly equal length, none empty."""
    step = max(1, -(-len(text) // count))
    for start in range(0, len(text), step):
        yield text[start : start + step]
