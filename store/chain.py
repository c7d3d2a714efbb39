"""How messages chain, as pure functions: what comes before a message, and which messages a reference names.

A message chains to the head before it. The results of the parallel tool calls of one answer are the exception: each
chains to the answer itself, under a key that carries its ordinal, so that no tool needs to know another's result.
The n-th result is read after the one before it. A branch is a chain of its own from position 0, whose first key names
what it was made of. No SQL here.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ledger.conversation import Conversation, Link, digest, head_after
from store.errors import ConversationBroken, ConversationRedacted

_RESULT = "tool:"
_ORIGIN = "compacted:"


class Place(NamedTuple):
    """Where a message goes. At most one body is ever used at a place."""

    conversation: str
    position: int
    """From 0."""
    previous_head: str
    key: str


class Message(NamedTuple):
    position: int
    previous_head: str
    key: str
    head: str
    body: bytes
    removed: int | None = None
    """Bytes of the body that was removed; None: it is here."""
    attempt: str = ""
    """Who wrote it."""


class Origin(NamedTuple):
    """What a branch was made of: its first message names it."""

    conversation: Conversation
    made: int
    """So many messages of the branch were made of it; what follows came later."""


def place_after(conversation: Conversation, key: str) -> Place:
    """The place right after a conversation. Keys of tool results are refused: those have `place_of_result`."""
    if key.startswith(_RESULT):
        raise ValueError(f"key {key!r}: keys that begin with {_RESULT!r} belong to tool results; use append_result")
    return Place(conversation.id, conversation.length, conversation.head, key)


def place_of_result(answer: Conversation, ordinal: int) -> Place:
    """The place of the result of an answer's tool call number `ordinal`, from 0."""
    if ordinal < 0:
        raise ValueError(f"ordinal {ordinal}: tool calls of an answer are numbered from 0")
    return Place(answer.id, answer.length + ordinal, answer.head, result_key(ordinal))


def result_key(ordinal: int) -> str:
    return f"{_RESULT}{ordinal}"


def ordinal_of(key: str) -> int | None:
    """The ordinal of a tool result, from 0; None for any other message."""
    return int(key.removeprefix(_RESULT)) if key.startswith(_RESULT) else None


def branched(origin: Conversation, kept: Sequence[Link]) -> list[Message]:
    """The messages of a branch of the same conversation: other bodies under the keys that they had.

    The first one's key names what the branch was made of, and the digest of all that it holds: the same branch is the
    same rows, and two that differ share none. Results follow the answer with their calls, all of them.
    """
    made: list[Message] = []
    answer, head = ("", 0), ""
    tag = digest(b"\x00".join(digest(one.body).encode() + one.key.encode() for one in kept))
    for position, one in enumerate(kept):
        key = one.key if position else f"{_ORIGIN}{origin.place}:{len(kept)}:{tag}"
        ordinal = ordinal_of(key)
        if ordinal is None:
            previous = head
        else:
            previous = answer[0]
            if position != answer[1] + ordinal:
                raise ValueError(f"message {position} is the result of call {ordinal} of no answer before it")
        head = head_after(previous, key, one.body)
        made.append(Message(position, previous, key, head, one.body, attempt=one.attempt))
        if ordinal is None:
            answer = (head, position + 1)
    return made


def origin_of(first: Message, conversation_id: str) -> Origin | None:
    """What a chain with this first message was made of; None: it began with it."""
    if not first.key.startswith(_ORIGIN):
        return None
    place, made, _ = first.key.removeprefix(_ORIGIN).split(":")
    length, _, head = place.partition("/")
    return Origin(Conversation(id=conversation_id, length=int(length), head=head), int(made))


def chain(conversation: Conversation, known: Conversation, messages: Iterable[Message]) -> list[Message]:
    """The messages that `conversation` has after its prefix `known`, in order, found by walking back from its head.

    `messages` may hold rows of other branches; they are never reached. It holds every row of the chain from position
    `known.length - 1` on. A missing link, an altered body or a `known` that is no prefix raises `ConversationBroken`.
    """
    held = {message.head: message for message in messages}
    heads = {(message.position, message.previous_head, message.key): message.head for message in held.values()}
    found: list[Message] = []
    head = conversation.head
    for position in reversed(range(known.length, conversation.length)):
        message = held.get(head)
        if message is None or message.position != position:
            raise ConversationBroken(conversation.id, position, f"no message there has the head {head!r}")
        if message.removed is None and head_after(message.previous_head, message.key, message.body) != head:
            raise ConversationBroken(conversation.id, position, "the message was altered after it was stored")
        found.append(message)
        head = _head_before(message, heads)
    if head != known.head:
        raise ConversationBroken(conversation.id, known.length, f"the chain before it does not end in {known.head!r}")
    return found[::-1]


def bodies(conversation: Conversation, messages: Iterable[Message]) -> list[bytes]:
    """The bodies of a chain's messages; one that was redacted raises `ConversationRedacted`."""
    found = []
    for message in messages:
        if message.removed is not None:
            raise ConversationRedacted(conversation.id, message.position)
        found.append(message.body)
    return found


def _head_before(message: Message, heads: dict[tuple[int, str, str], str]) -> str:
    """The head before a message; one that no message has, where a result's predecessor is not there."""
    ordinal = ordinal_of(message.key)
    if not ordinal:
        return message.previous_head
    key = result_key(ordinal - 1)
    return heads.get((message.position - 1, message.previous_head, key), f"{message.previous_head}/{key}")
