"""A conversation in a vendor's words as JSON, kept, so that a longer one costs only what is new of it.

At 200 turns, putting all messages into words again was most of what a call cost (`benchmarks/calls.py --turns 200`).
Here: which words may be kept, and for how long. Not here: the words (pydantic-ai), what a target may read of a message
(`adapting`), the rest of the body, which the SDK writes and `transport` puts the words into.

Never other words than without it: what is kept is only used where the stored messages that it was made of are the first
ones of the request, byte for byte, and only of messages whose words depend on no other message.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import dropwhile
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_core import to_json

from activities.adapting import Adapting, alternating, opening_of
from activities.client import Request
from activities.declared import Api, Thinking
from activities.messages import parse

MAX_BYTES: Final = 32 * 2**20
"""Of JSON, over all conversations of one provider: 200 turns of 2 kB in 80 runs at once. A run that ended goes when
others need the room."""

_OF_THEIR_OWN: Final = (UserPromptPart, ToolReturnPart, TextPart, ToolCallPart, ThinkingPart)
"""Parts whose words depend on no other message; with `openai-chat` thinking is none of them: pydantic-ai repeats the
name of the field that it came in at later messages."""

_NOT_OF_ANSWERS: Final = ("system", "developer", "user")


class Key(NamedTuple):
    """What else than the messages decides on the words."""

    run: str
    origin: str
    """`identity.origin` of the target."""
    thinking: Thinking | None


class Wording:
    """The conversation of one request, on its way into words."""

    def __init__(self, key: Key, bodies: tuple[bytes, ...], adapting: Adapting, before: "Wording | None") -> None:
        self.key = key
        self.bodies = bodies
        """The stored messages that it is made of."""
        self.adapting = adapting
        known = before.bodies if before else ()
        self.new = list(alternating(adapting.all(map(parse, bodies[len(known) :]), start=len(known))))
        """What has to be put into words: the messages after the kept ones."""
        self.round: list[ModelMessage] = [*before.opening, *self.new] if before else self.new
        """Of the messages as they are adapted, what tells how the last tool round began (`adapting.may_think`)."""
        self.opening: list[ModelMessage] = opening_of(self.round)
        self.field = ""
        """The field of the body that holds the conversation; "" until it is in words."""
        self.json = b""
        """The items of that field, with commas between them."""
        self._before = before.json if before else b""

    @property
    def follows(self) -> bool:
        """Whether what is new begins with an answer that can be told from what is put before every conversation."""
        first = self.new[0] if self.new else None
        return isinstance(first, ModelResponse) and any(isinstance(p, (TextPart, ToolCallPart)) for p in first.parts)

    def finish(self, field: str, items: Iterable[Any]) -> None:
        """Take the words of what is new: the items of the body's field.

        Behind kept words, the instructions that some vendors want in front of every conversation are there already.
        """
        new = dropwhile(_stands_before, items) if self._before else items
        written = to_json(list(new))[1:-1]
        self.field, self.json = field, b",".join(filter(None, (self._before, written)))


class Wordings:
    """The conversations that one provider was asked with, for one worker. What was used longest ago goes first."""

    def __init__(self, api: Api, max_bytes: int = MAX_BYTES) -> None:
        self._api = api
        self._max_bytes = max_bytes
        self._kept: OrderedDict[Key, Wording] = OrderedDict()
        self._size = 0

    def of(self, request: Request, run: str, origin: str) -> Wording:
        """A request's conversation, of which only what is new has to be put into words."""
        key = Key(run, origin, request.thinking)
        before = self._taken(key)
        if before and _leads(before.bodies, request.messages):
            longer = Wording(key, request.messages, before.adapting, before)
            if longer.follows:
                return longer
        return Wording(key, request.messages, Adapting(self._api, origin), None)

    def keep(self, wording: Wording, files: Mapping[str, object]) -> None:
        """Keep what was put into words, unless a later request may have to say it otherwise."""
        if not wording.field or files or not all(map(self._is_of_its_own, wording.new)):
            return
        self._taken(wording.key)  # a call that was thought lost may have kept the same
        self._kept[wording.key] = wording
        self._size += len(wording.json)
        while self._size > self._max_bytes:
            self._taken(next(iter(self._kept)))

    def _taken(self, key: Key) -> Wording | None:
        found = self._kept.pop(key, None)
        self._size -= len(found.json) if found else 0
        return found

    def _is_of_its_own(self, message: ModelMessage) -> bool:
        return all(
            isinstance(part, _OF_THEIR_OWN) and not (isinstance(part, ThinkingPart) and self._api == "openai-chat")
            for part in message.parts
        )


def _leads(known: tuple[bytes, ...], bodies: tuple[bytes, ...]) -> bool:
    return len(known) < len(bodies) and bodies[: len(known)] == known


def _stands_before(item: Any) -> bool:  # noqa: ANN401 - a vendor's own form
    return isinstance(item, Mapping) and item.get("role") in _NOT_OF_ANSWERS
