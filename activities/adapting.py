"""A stored conversation in the form that one target takes: the same words, whoever spoke them.

Pure: messages in, messages out. Any of the protocols may have written a message, and any may read it next, in the
middle of a tool round too. Here: what only the writer's own provider and model can read (signed thinking, ids of its
servers) and what vendors disagree on (ids and names of tool calls). Not here: a vendor's words (pydantic-ai), the
format of a stored message (`messages`), instructions, which belong to a stage and never stand in a conversation.

An answer's own target gets it back verbatim, so that signatures hold: they cover all that came before, and what came
before is adapted to the same target in the same way every time.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
)

from activities.declared import Api

ORIGIN: Final = "origin"
"""Key of an answer's metadata under which stands who wrote it (`identity.origin`); metadata is sent to nobody."""

ID_LENGTH: Final = 9
"""Letters of an id of ours, as Mistral wants it: exactly 9 of a-z, A-Z, 0-9. All others take more and longer ones:
Anthropic ^[a-zA-Z0-9_-]+$, OpenAI 40 characters in chat completions and 64 in responses, Gemini anything."""

_LETTERS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_-]")
MAX_NAME: Final = 64
"""Characters of a tool's name: OpenAI's and Anthropic's limit; Gemini's first one must be a letter or "_"."""


class ConversationBrokenError(ValueError):
    """A tool call has no result, or a result no call: a bug of ours, which every vendor would refuse."""


def may_think(messages: Sequence[ModelMessage], api: Api) -> bool:
    """Whether thinking may be asked for. Messages are adapted already.

    Anthropic refuses it in a tool round that began with another model, or without thinking: "a final `assistant`
    message must start with a thinking block". The next turn may think again.
    """
    if api != "anthropic-messages":
        return True
    return all(isinstance(part, ThinkingPart) for message in opening_of(messages) for part in message.parts[:1])


def opening_of(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The message with which the tool round under way began; none where there is none under way."""
    return list(takewhile(_continues_a_round, reversed(messages)))[-1:]


def _continues_a_round(message: ModelMessage) -> bool:
    kind = ToolCallPart if isinstance(message, ModelResponse) else ToolReturnPart
    return any(isinstance(part, kind) for part in message.parts)


class Adapting:
    """One pass over a conversation, oldest message first; it may go on where it stopped, after whole tool rounds."""

    def __init__(self, api: Api, origin: str) -> None:
        self._api = api
        self._origin = origin
        self._used: set[str] = set()
        self._open: list[tuple[str, ToolCallPart]] = []
        """Calls without a result yet: the id as it is stored, and the call as it is sent."""

    def all(self, messages: Iterable[ModelMessage], start: int = 0) -> Iterator[ModelMessage]:
        """Adapt messages, of which `start` stand before in the conversation."""
        for index, message in enumerate(messages, start):
            if isinstance(message, ModelRequest):
                yield replace(message, parts=[self._asked(part) for part in message.parts])
            else:
                self._all_answered()
                own = (message.metadata or {}).get(ORIGIN) == self._origin
                parts = list(self._answered(message, index, own=own))
                yield replace(message, parts=parts) if own else ModelResponse(parts=parts, timestamp=message.timestamp)
        self._all_answered()

    def _all_answered(self) -> None:
        if self._open:
            raise ConversationBrokenError(f"{len(self._open)} tool calls of an answer have no result")

    def _asked(self, part: ModelRequestPart) -> ModelRequestPart:
        """A result by the id and name that its call has now; of two calls with one id the first comes first."""
        if not isinstance(part, ToolReturnPart):
            return part
        found = next((entry for entry in self._open if entry[0] == part.tool_call_id), None)
        if found is None:
            raise ConversationBrokenError("a tool result answers no call of the answer before it")
        self._open.remove(found)
        call = found[1]
        return ToolReturnPart(
            tool_name=call.tool_name,
            content=part.content,
            tool_call_id=call.tool_call_id,
            outcome=part.outcome,
            timestamp=part.timestamp,
        )

    def _answered(self, message: ModelResponse, index: int, *, own: bool) -> Iterator[ModelResponsePart]:
        for place, part in enumerate(message.parts):
            match part:
                case ToolCallPart():
                    call = self._call(part, f"{index}.{place}", own=own)
                    self._open.append((part.tool_call_id, call))
                    yield call
                case TextPart() if not part.content.strip() and not (own and part.provider_details):
                    pass  # nobody takes blank text, save a signature's carrier
                case TextPart():
                    yield part if own else TextPart(content=part.content)
                case ThinkingPart():
                    if own and _can_go_back(part, self._api):
                        yield part
                case _ if own:
                    yield part
                case _:
                    pass  # a vendor's own tools and files of its making mean nothing elsewhere

    def _call(self, part: ToolCallPart, place: str, *, own: bool) -> ToolCallPart:
        """The call under an id that the reader takes, and that no other call of the conversation has."""
        keeps = own and part.tool_call_id and part.tool_call_id not in self._used
        known = part.tool_call_id if keeps else _lettered(f"{place} {part.tool_call_id}")
        self._used.add(known)
        name = _plain_name(part.tool_name)
        if own:
            return replace(part, tool_call_id=known, tool_name=name)
        return ToolCallPart(tool_name=name, args=part.args, tool_call_id=known)


def _can_go_back(part: ThinkingPart, api: Api) -> bool:
    """Thinking that its own vendor takes back as thinking; unsigned it would go back as words of the answer."""
    match api:
        case "anthropic-messages":
            return bool(part.signature)
        case "openai-responses":
            return bool(part.signature or (part.provider_details or {}).get("raw_content"))
        case "openai-chat" | "google":
            return True  # a field of the message; a part that is marked as a thought


def _lettered(text: str) -> str:
    number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
    letters = []
    for _ in range(ID_LENGTH):
        number, letter = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[letter])
    return "".join(letters)


def _plain_name(name: str) -> str:
    """A name that every vendor takes; models invent others ("functions.read_file"), and are told so in the result."""
    plain = _NOT_IN_NAMES.sub("_", name) or "_"
    return (plain if plain[0].isalpha() or plain[0] == "_" else f"_{plain}")[:MAX_NAME]


def alternating(messages: Iterable[ModelMessage]) -> Iterator[ModelMessage]:
    """Join what follows each other on our side: results of parallel calls, and a note after them, in stored order."""
    asked: list[ModelRequestPart] = []
    for message in messages:
        if isinstance(message, ModelRequest):
            asked += message.parts
        elif message.parts:
            if asked:
                yield ModelRequest(parts=asked)
                asked = []
            yield message
    if asked:
        yield ModelRequest(parts=asked)
