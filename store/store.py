"""The store: what a run keeps outside Temporal, behind one class. Its statements are in the modules beside it.

Everything is written once and under a name that follows from what it is, so that every call may be made again:
what is there already is returned, and nothing is overwritten. Content goes again where a person or its age says so.
"""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Self

from sqlalchemy import Connection, Row, Select, Table, select

from encryption import CLEAR, Keys
from ledger.conversation import Conversation, Link, digest
from ledger.model import Frozen
from store import captures, journals, messages, rekeying, removing, schema, uploads
from store.access import Database
from store.captures import Capture
from store.chain import Message, bodies, place_after, place_of_result
from store.errors import ContentMissing
from store.journals import Written
from store.messages import Appended, Stretch, UnusedAnswer
from store.opening import open_database
from store.removing import Removal, Removed
from store.schema import contents, details, insert_absent, runs
from store.uploads import Upload


class RegisteredRun(Frozen):
    """A run that the store knows: by its conversation, which no other run has, and by its workflow id, which may."""

    conversation: str
    workflow_id: str
    agent: str
    at: int
    """When it was registered, in unix seconds."""


def _branched(
    connection: Connection, origin: Conversation, kept: Sequence[Link], beside: Collection[str]
) -> Conversation:
    found = messages.branch(connection, origin, kept)
    rows = [{"ref": digest(text.encode()), "body": text.encode()} for text in beside]
    if rows:
        connection.execute(insert_absent(connection, contents), rows)
    return found


class Store:
    """Transcripts, contents, journals, runs and error details in one database.

    A call returns after its commit. Trouble that outlasts the patience raises `StoreTroubled`; calling again is always
    safe.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    async def open(cls, url: str, *, patience_s: float = 0, keys: Keys = CLEAR) -> Self:
        """Open the store at `sqlite:///PATH` or `postgresql://…`, making it if it is not there.

        Raises `StoreUnavailable`, whose text is one line for a person. An open store that does not work is tried again
        for `patience_s` seconds, then raises `StoreTroubled`. With keys what is written is encrypted.
        """
        return cls(await open_database(url, keys, patience_s))

    async def close(self) -> None:
        await self._database.close()

    async def put(self, content: bytes | str) -> str:
        """Keep some content; its reference is its digest, so the same content is kept once. Text is kept as UTF-8."""
        body = content.encode() if isinstance(content, str) else content
        ref = digest(body)
        await self._insert(contents, ref=ref, body=body)
        return ref

    async def get(self, ref: str) -> bytes:
        """The content that was put under this reference; raises `ContentMissing`."""
        rows = await self._select(select(contents.c.body).where(contents.c.ref == ref))
        if not rows:
            raise ContentMissing(ref, "is not in the store")
        body: bytes = rows[0].body
        if digest(body) != ref:
            raise ContentMissing(ref, "was altered after it was stored")
        return body

    async def append(self, conversation: Conversation, key: str, body: bytes, attempt: str = "") -> Appended:
        """Append a message under a key: what it answers (a digest of the request, of the notes, a word).

        The first body at (conversation, key) wins and is what every caller gets; another is kept as unused.
        """
        place = place_after(conversation, key)
        return await self._database.writing(lambda connection: messages.hold(connection, place, body, attempt))

    async def find(self, conversation: Conversation, key: str) -> Appended | None:
        """What an earlier attempt appended to this very conversation under this key, if any did."""
        place = place_after(conversation, key)
        return await self._database.reading(lambda connection: messages.held(connection, place))

    async def append_result(self, answer: Conversation, ordinal: int, body: bytes, attempt: str = "") -> Appended:
        """Append the result of the answer's tool call number `ordinal`, from 0. Results may come in any order.

        `answer` ends in the answer that carries the calls. The conversation returned can be read once the results
        before this one are there too.
        """
        place = place_of_result(answer, ordinal)
        return await self._database.writing(lambda connection: messages.hold(connection, place, body, attempt))

    async def find_result(self, answer: Conversation, ordinal: int) -> Appended | None:
        """The result of the answer's tool call number `ordinal`, from 0, if it is there."""
        place = place_of_result(answer, ordinal)
        return await self._database.reading(lambda connection: messages.held(connection, place))

    async def read(self, conversation: Conversation) -> list[bytes]:
        """The messages of exactly this chain, in order; raises `ConversationBroken`.

        Never a message of another branch, of another run under the same workflow id, or of a call that came too late.
        """
        return await self.read_since(conversation, Conversation(id=conversation.id))

    async def read_since(self, conversation: Conversation, known: Conversation) -> list[bytes]:
        """The messages after a prefix that the caller has; a `known` that is no prefix raises `ConversationBroken`."""
        found = await self._database.reading(lambda connection: messages.read_chain(connection, conversation, known))
        return bodies(conversation, found)

    async def read_kept(self, conversation: Conversation) -> list[Message]:
        """The messages of this chain, in order, with what is left of those that were redacted: for people."""
        start = Conversation(id=conversation.id)
        return await self._database.reading(lambda connection: messages.read_chain(connection, conversation, start))

    async def read_whole(self, conversation: Conversation) -> list[Stretch]:
        """All that was said, across compactions, oldest first, redacted or not: for people."""
        return await self._database.reading(lambda connection: messages.read_whole(connection, conversation))

    async def branch(self, origin: Conversation, kept: Sequence[Link], beside: Collection[str] = ()) -> Conversation:
        """Go on from other messages than the conversation's own, which stay. All of it is written, or none.

        `beside` are contents to keep with it. The same branch again is the one that is there.
        """
        return await self._database.writing(lambda connection: _branched(connection, origin, kept, beside))

    async def latest(self, conversation_id: str) -> Conversation | None:
        """Where a conversation stands as far as the store can tell, for when its workflow cannot be asked."""
        return await self._database.reading(lambda connection: messages.latest(connection, conversation_id))

    async def unused_answers(self, conversation_id: str) -> list[UnusedAnswer]:
        """Messages that came to a place already taken, in the order in which they came."""
        return await self._database.reading(lambda connection: messages.unused(connection, conversation_id))

    async def write_journal(self, conversation_id: str, entries: Iterable[tuple[int, Mapping[str, Any]]]) -> None:
        """Write entries under their numbers, from 1, in order: all of them or none."""
        all_of_them = tuple(entries)  # they are read again where the store is tried again
        await self._database.writing(lambda connection: journals.write(connection, conversation_id, all_of_them))

    async def read_journal(
        self, conversation_id: str, after: int = 0, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """The run's entries above `after`, in order, each with its `seq`; after a reset, those of the new branch."""
        return await self._database.reading(lambda connection: journals.read(connection, conversation_id, after, limit))

    async def journal_since(self, at: int, agent: str | None = None) -> AsyncIterator[Written]:
        """The entries of all runs, or of an agent's, that came since a time in unix seconds, run by run.

        Few are held at a time, however many there are; what comes meanwhile may be among them or not.
        """
        last: Written | None = None
        while page := await self._database.reading(partial(journals.since, at=at, agent=agent, last=last)):
            for last in page:
                yield last

    async def register_run(self, conversation_id: str, workflow_id: str, agent: str) -> None:
        await self._insert(runs, conversation=conversation_id, workflow_id=workflow_id, agent=agent)

    async def runs_of(self, workflow_id: str) -> list[RegisteredRun]:
        """The runs that had this workflow id, newest first."""
        wanted = select(runs.c.conversation, runs.c.workflow_id, runs.c.agent, runs.c.at)
        rows = await self._select(wanted.where(runs.c.workflow_id == workflow_id).order_by(runs.c.number.desc()))
        return [RegisteredRun.model_validate(row, from_attributes=True) for row in rows]

    async def put_detail(self, conversation_id: str, attempt: str, body: str) -> None:
        """Keep what a provider said when an attempt failed, secrets already masked. The first of an attempt stays."""
        await self._insert(details, conversation=conversation_id, attempt=attempt, body=body.encode(errors="replace"))

    async def get_details(self, conversation_id: str) -> dict[str, str]:
        """Every detail of a run by its attempt's id, oldest first; none that was removed."""
        wanted = select(details.c.attempt, details.c.body).where(details.c.conversation == conversation_id)
        rows = await self._select(wanted.where(details.c.removed.is_(None)).order_by(details.c.number))
        return {row.attempt: row.body.decode(errors="replace") for row in rows}

    async def keep_request(self, conversation_id: str, attempt: str, body: bytes) -> None:
        """Keep the body of a request as it left."""
        await self._database.writing(lambda connection: captures.keep(connection, conversation_id, attempt, body))

    async def captured(self, conversation_id: str) -> list[Capture]:
        """Every request of a run that was captured, without its body, oldest first."""
        return await self._database.reading(lambda connection: captures.listed(connection, conversation_id))

    async def captured_body(self, conversation_id: str, attempt: str) -> bytes | None:
        """What an attempt sent, byte for byte; None: it was never captured, or it is gone."""
        return await self._database.reading(lambda connection: captures.body_of(connection, conversation_id, attempt))

    async def redact(self, conversation_id: str, attempt: str | None, *, by: str) -> Removed:
        """Remove the captured requests and error details of a run, or of one attempt of it."""
        return await self._database.writing(
            lambda connection: removing.redact(connection, conversation_id, attempt, by)
        )

    async def redact_transcript(self, conversation_id: str, refs: Collection[str], *, by: str) -> Removed:
        """Remove all content of a run that has ended; of the contents in `refs`, those that no other run names.

        Whoever calls this knows that the run has ended: a run whose messages are gone cannot go on.
        """
        return await self._database.writing(
            lambda connection: removing.redact_transcript(connection, conversation_id, by, refs)
        )

    async def expire(self, before: int, *, by: str, limit: int) -> Removed:
        """Remove requests and details that came before a time (unix seconds), the oldest, at most `limit` of each."""
        return await self._database.writing(lambda connection: removing.expire(connection, before, by, limit))

    async def removals(self, conversation_id: str) -> list[Removal]:
        """What was removed of a run, by whom and when, in order."""
        return await self._database.reading(lambda connection: removing.listed(connection, conversation_id))

    async def scrub(self) -> bool:
        """Bring what was removed out of the database's files too; False: others read there, try again later."""
        return await self._database.reading(removing.scrub)

    async def keys_in_use(self) -> dict[str, int]:
        """How many rows of content are encrypted under which key, by its name; "" those in clear."""
        return await self._database.reading(rekeying.tally)

    async def rekey(self) -> int:
        """Encrypt all content with the newest key, what is in clear too; returns the number of rows written again."""
        return await rekeying.rekey(self._database)

    async def find_upload(self, provider: str, digest: str) -> Upload | None:
        """Under which id a provider holds the content of this digest, if it was uploaded and not forgotten since."""
        return await self._database.reading(lambda connection: uploads.newest(connection, provider, digest))

    async def put_upload(self, provider: str, digest: str, file_id: str, expires_at: int | None) -> None:
        """Remember an upload; it counts instead of every earlier one. `expires_at` is in unix seconds."""
        await self._insert(schema.uploads, provider=provider, digest=digest, file_id=file_id, expires_at=expires_at)

    async def forget_upload(self, provider: str, digest: str) -> None:
        """Note that the provider does not have the file any more."""
        await self._insert(schema.uploads, provider=provider, digest=digest, file_id=uploads.GONE)

    async def _insert(self, table: Table, **row: str | bytes | int | None) -> None:
        """Insert if absent."""
        await self._database.writing(
            lambda connection: connection.execute(insert_absent(connection, table).values(row))
        )

    async def _select(self, wanted: Select[Any]) -> Sequence[Row[Any]]:
        rows: Sequence[Row[Any]] = await self._database.reading(lambda connection: connection.execute(wanted).all())
        return rows
