"""The transcript's statements, each on a connection of the caller's: hold a message, find one, read a chain.

Messages are opaque bytes here; what a message says is known to the activities.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy import Connection, bindparam, select

from ledger.conversation import Conversation, Link, head_after
from ledger.model import Frozen
from store.chain import Message, Place, branched, chain, ordinal_of, origin_of, result_key
from store.errors import ConversationRedacted
from store.schema import insert_absent, messages, unused_answers


class Appended(Frozen):
    """What the store holds at a place, which need not be what the caller brought."""

    conversation: Conversation
    """Up to and with this message."""
    body: bytes
    attempt: str
    """Who wrote it."""
    recovered: bool
    """It was there before the caller came."""


class UnusedAnswer(Frozen):
    """A message that came to a place already taken by another: kept, possibly paid for, never read into a chain."""

    position: int
    key: str
    attempt: str
    body: bytes


class Stretch(NamedTuple):
    """A chain that a conversation went through between two compactions."""

    messages: tuple[Message, ...]
    made: int
    """So many of them, from the first, were made of the stretch before; 0: there is none before."""


_AT: Final = select(messages.c.head, messages.c.body, messages.c.attempt, messages.c.removed).where(
    *(messages.c[name] == bindparam(name) for name in Place._fields)
)
"""What is at a place; made once, for it is asked before every call and every tool."""


def hold(connection: Connection, place: Place, body: bytes, attempt: str) -> Appended:
    """Put a message at its place, or return the one that is there; the body then goes to the unused ones, if other."""
    head = head_after(place.previous_head, place.key, body)
    row = {**place._asdict(), "head": head, "body": body, "attempt": attempt}
    written = insert_absent(connection, messages).returning(messages.c.number)
    if connection.execute(written, row).one_or_none() is not None:
        return _appended(place, head, body, attempt, recovered=False)
    there = held(connection, place)
    if there is None:
        raise RuntimeError(f"a message at {place} was neither taken nor there")
    if there.body != body:
        connection.execute(insert_absent(connection, unused_answers).values(row))
    return there


def held(connection: Connection, place: Place) -> Appended | None:
    """What the store holds at a place."""
    row = connection.execute(_AT, place._asdict()).one_or_none()
    if row is not None and row.removed is not None:
        raise ConversationRedacted(place.conversation, place.position)
    return None if row is None else _appended(place, row.head, row.body, row.attempt, recovered=True)


def read_chain(connection: Connection, conversation: Conversation, known: Conversation) -> list[Message]:
    """The messages of `conversation` after its prefix `known`, by one query."""
    columns = messages.c
    wanted = select(*(columns[name] for name in Message._fields)).where(
        columns.conversation == conversation.id,
        columns.position >= known.length - 1,
        columns.position < conversation.length,
    )
    rows = connection.execute(wanted)
    return chain(conversation, known, (Message(*row) for row in rows))


def branch(connection: Connection, origin: Conversation, kept: Sequence[Link]) -> Conversation:
    """Insert a branch made of these messages, where it is not there already."""
    made = branched(origin, kept)
    rows = [{**_row(message), "conversation": origin.id} for message in made]
    connection.execute(insert_absent(connection, messages), rows)
    return Conversation(id=origin.id, length=len(made), head=made[-1].head)


def read_whole(connection: Connection, conversation: Conversation) -> list[Stretch]:
    """A conversation, and all that it was made of, in the order in which it came."""
    stretches: list[Stretch] = []
    wanted: Conversation | None = conversation
    made: int = 0
    while wanted is not None:
        found = read_chain(connection, wanted, Conversation(id=conversation.id))
        origin = origin_of(found[0], conversation.id) if found else None
        made = origin.made if origin else 0
        stretches.append(Stretch(tuple(found), made))
        wanted = origin.conversation if origin else None
    return stretches[::-1]


def latest(connection: Connection, conversation: str) -> Conversation | None:
    """The conversation that ends in the message written last, tool results counted up to the first one missing.

    For readers that outlive the workflow, which knows better: an answer that came too late for a call, and last of
    all, stands here as the end.
    """
    columns = messages.c
    last = select(columns.position, columns.previous_head, columns.key, columns.head)
    last = last.where(columns.conversation == conversation).order_by(columns.number.desc()).limit(1)
    row = connection.execute(last).one_or_none()
    if row is None:
        return None
    ordinal = ordinal_of(row.key)
    if ordinal is None:
        return Conversation(id=conversation, length=row.position + 1, head=row.head)
    answer = Conversation(id=conversation, length=row.position - ordinal, head=row.previous_head)
    return _with_results(connection, answer)


def unused(connection: Connection, conversation: str) -> list[UnusedAnswer]:
    """What came too late and was not redacted, in the order in which it came."""
    columns = unused_answers.c
    wanted = select(columns.position, columns.key, columns.attempt, columns.body).where(columns.removed.is_(None))
    rows = connection.execute(wanted.where(columns.conversation == conversation).order_by(columns.number))
    return [UnusedAnswer.model_validate(row) for row in rows.mappings()]


def _with_results(connection: Connection, answer: Conversation) -> Conversation:
    columns = messages.c
    following = select(columns.key, columns.head).where(
        columns.conversation == answer.id,
        columns.position >= answer.length,
        columns.previous_head == answer.head,
    )
    heads = {row.key: row.head for row in connection.execute(following)}
    head, length = answer.head, answer.length
    while (found := heads.get(result_key(length - answer.length))) is not None:
        head, length = found, length + 1
    return Conversation(id=answer.id, length=length, head=head)


def _row(message: Message) -> dict[str, int | str | bytes]:
    """A message that was not removed, as the table has it; whose it is stands beside it."""
    row = message._asdict()
    del row["removed"]
    return row


def _appended(place: Place, head: str, body: bytes, attempt: str, *, recovered: bool) -> Appended:
    conversation = Conversation(id=place.conversation, length=place.position + 1, head=head)
    return Appended(conversation=conversation, body=body, attempt=attempt, recovered=recovered)
