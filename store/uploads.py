"""Which file of ours a provider holds, under which id: the statements, on a connection of the caller's.

A file is known by the digest of its content. Here: what was noted. Not here: whether an id is still good
(`activities.attaching`), or the file itself, which is in `contents`.
"""

from sqlalchemy import Connection, select

from ledger.model import Frozen
from store.schema import uploads

GONE = ""
"""Stands for an id where what was uploaded is not at the provider any more."""


class Upload(Frozen):
    """A file at a provider."""

    file_id: str
    expires_at: int | None
    """Unix seconds; None: it stays until somebody deletes it."""


def newest(connection: Connection, provider: str, digest: str) -> Upload | None:
    """What was noted last of a file at a provider, unless that is that it is gone."""
    columns = uploads.c
    wanted = select(columns.file_id, columns.expires_at).where(columns.provider == provider, columns.digest == digest)
    row = connection.execute(wanted.order_by(columns.number.desc()).limit(1)).one_or_none()
    return None if row is None or row.file_id == GONE else Upload.model_validate(row, from_attributes=True)
