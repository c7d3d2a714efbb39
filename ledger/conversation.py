"""How a transcript is named without being carried: a reference to a chain of messages, and the chain's digest.

The messages themselves are in the store. Digests are blake2b of 16 bytes, written as 24 hex characters.
"""

import hashlib
from typing import Annotated, Any, NamedTuple

from pydantic import Field, model_serializer, model_validator

from ledger.model import Frozen


class Conversation(Frozen):
    """A reference to a transcript: the first `length` messages of the chain that ends in `head`.

    Written as `id/length/head`: it stands in history several times a turn. A result leaves the id out (`place`).
    """

    id: str
    """The first execution's run id, so that a reused workflow id never meets another run's messages."""
    length: Annotated[int, Field(ge=0)] = 0
    head: str = ""
    """Digest of the chain; "" for an empty conversation."""

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:  # noqa: ANN401 - whatever the wire holds
        match value.split("/") if isinstance(value, str) else []:
            case [identity, length, head]:
                return {"id": identity, "length": length, "head": head}
            case [length, head]:
                return {"id": "", "length": length, "head": head}
            case _:
                return value

    @model_serializer
    def _as_text(self) -> str:
        return f"{self.id}/{self.place}"

    @property
    def place(self) -> str:
        """How a result names the conversation to whoever sent its id: `length/head`."""
        return f"{self.length}/{self.head}"

    def within(self, sent: "Conversation") -> "Conversation":
        """What a result named by its place alone, as the conversation that it was sent."""
        return self.model_copy(update={"id": sent.id})


class Link(NamedTuple):
    """A message of a chain, as it goes into a branch."""

    key: str
    body: bytes
    attempt: str = ""
    """Who wrote it."""


def digest(content: bytes) -> str:
    """The name of some content: 24 hex characters."""
    return hashlib.blake2b(content, digest_size=12).hexdigest()


def head_after(previous: str, key: str, body: bytes) -> str:
    """The chain's digest after a message: previous head, the key it was appended under, and its body."""
    return digest(b"\x00".join((previous.encode(), key.encode(), body)))
