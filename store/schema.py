"""The tables, and the one kind of write that a run knows: insert if absent.

Only `removing` and `rekeying` update or delete a row. A column of content has a type of `sealed`; names, numbers and
digests have not. SQL stays neutral between SQLite and PostgreSQL. `at` is in unix seconds, for people and for expiry:
order is by `number`, which grows with every insert, because clocks step.
"""

import time

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite

from store.sealed import SealedBytes, SealedText

SCHEMA = 4
"""Version of these tables. A release adds what an older store lacks, and refuses one of a higher version."""

SINCE = "since"
"""Key of a table's, a column's or an index's `info`: the version that brought it; without it the first."""

metadata = MetaData()


def _number() -> Column[int]:
    """SQLite counts by itself only in a column whose type is exactly INTEGER."""
    return Column("number", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True)


def _at() -> Column[int]:
    return Column("at", BigInteger, nullable=False, default=lambda: int(time.time()))


def _removed() -> Column[int]:
    """How many bytes the body had that is not here any more; NULL: it is here. The body is then empty."""
    return Column("removed", Integer, info={SINCE: 3})


# Not a plain "schema_version": other programs have a table of that name.
versions = Table("endstop_schema", metadata, Column("version", Integer, primary_key=True, autoincrement=False))

contents = Table(
    "contents",
    metadata,
    Column("ref", Text, primary_key=True),
    Column("body", SealedBytes, nullable=False),
    _at(),
)

messages = Table(
    "messages",
    metadata,
    _number(),
    Column("conversation", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("previous_head", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("head", Text, nullable=False),
    Column("body", SealedBytes, nullable=False),
    Column("attempt", Text, nullable=False),
    _at(),
    _removed(),
    # The place of a message: at most one body is ever used there, whoever comes first.
    UniqueConstraint("conversation", "position", "previous_head", "key"),
    UniqueConstraint("conversation", "head"),
)

unused_answers = Table(
    "unused_answers",
    metadata,
    _number(),
    Column("conversation", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("previous_head", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("head", Text, nullable=False),
    Column("body", SealedBytes, nullable=False),
    Column("attempt", Text, nullable=False),
    _at(),
    _removed(),
    UniqueConstraint("conversation", "head", "attempt"),
)

journal = Table(
    "journal",
    metadata,
    _number(),
    Column("conversation", Text, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("digest", Text, nullable=False),
    Column("entry", SealedText, nullable=False),
    _at(),
    # Not (conversation, seq) alone: a run that was reset writes other entries under the same numbers.
    UniqueConstraint("conversation", "seq", "digest"),
    # Run by run in the order in which entries came, page by page, without sorting what is left of a run at each page.
    Index("ix_journal_conversation_number", "conversation", "number", info={SINCE: 4}),
)

runs = Table(
    "runs",
    metadata,
    _number(),
    Column("conversation", Text, nullable=False, unique=True),
    Column("workflow_id", Text, nullable=False, index=True),
    Column("agent", Text, nullable=False),
    _at(),
)

details = Table(
    "details",
    metadata,
    _number(),
    Column("conversation", Text, nullable=False),
    Column("attempt", Text, nullable=False),
    # Bytes: what providers say may hold characters that PostgreSQL refuses in a text.
    Column("body", SealedBytes, nullable=False),
    _at(),
    _removed(),
    UniqueConstraint("conversation", "attempt"),
    # Those that are here: expiry looks at no row that is empty already.
    Index(
        "ix_details_kept_at",
        "at",
        "number",
        sqlite_where=text("removed IS NULL"),
        postgresql_where=text("removed IS NULL"),
        info={SINCE: 4},
    ),
)

captures = Table(
    "captures",
    metadata,
    _number(),
    Column("conversation", Text, nullable=False),
    Column("attempt", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("status", Text, nullable=False),
    # The body of the request as it left; empty once it is redacted or has expired.
    Column("body", SealedBytes, nullable=False),
    _at(),
    # Not (conversation, attempt) alone: a run that was reset sends other requests under the same ids.
    UniqueConstraint("conversation", "attempt", "digest"),
    Index("ix_captures_status_at", "status", "at"),
    info={SINCE: 3},
)

removals = Table(
    "removals",
    metadata,
    _number(),
    Column("conversation", Text, nullable=False),
    Column("what", Text, nullable=False),
    # "" for the transcript.
    Column("attempt", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("by", Text, nullable=False),
    _at(),
    Index("ix_removals_conversation", "conversation"),
    info={SINCE: 3},
)

uploads = Table(
    "uploads",
    metadata,
    _number(),
    Column("provider", Text, nullable=False),
    Column("digest", Text, nullable=False),
    # "": what was uploaded before is gone there. The newest row of a file counts.
    Column("file_id", Text, nullable=False),
    Column("expires_at", BigInteger),
    _at(),
    Index("ix_uploads_provider_digest", "provider", "digest"),
    info={SINCE: 2},
)


def insert_absent(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An insert that does nothing where any unique constraint of the table is already met."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table).on_conflict_do_nothing()
    return postgresql.insert(table).on_conflict_do_nothing()
