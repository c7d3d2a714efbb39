"""How a transcript is named without being carried: a reference to a chain of messages, and the chain's digest.

The messages themselves are in the store. Digests are blake2b of 16 bytes, written as 32 hex characters.
"""

import hashlib
from typing import Annotated

from pydantic import Field

from ledger.model import Frozen


class Conversation(Frozen):
    """A reference to a transcript: the first `length` messages of the chain that ends in `head`."""

    id: str
    """The first execution's run id, so that a reused workflow id never meets another run's messages."""
    length: Annotated[int, Field(ge=0)] = 0
    head: str = ""
    """Digest of the chain; "" for an empty conversation."""


def digest(content: bytes) -> str:
    """The name of some content: 32 hex characters."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def head_after(previous: str, key: str, body: bytes) -> str:
    """The chain's digest after a message: previous head, the key it was appended under, and its body."""
    return digest(b"\x00".join((previous.encode(), key.encode(), body)))
