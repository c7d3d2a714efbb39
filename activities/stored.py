"""What activities need of the store, as protocols: the store itself is handed to them by the composition root.

Only shapes. What each call promises (that it may be made again, that the first body wins) is said in `store.store`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from ledger.conversation import Conversation


class Appended(Protocol):
    """What the store holds at a place, which need not be what the caller brought."""

    @property
    def conversation(self) -> Conversation:
        """Up to and with this message."""

    @property
    def body(self) -> bytes: ...


class Contents(Protocol):
    """Content by reference."""

    async def put(self, content: bytes | str) -> str: ...

    async def get(self, ref: str) -> bytes: ...


class Transcript(Protocol):
    """Messages of conversations."""

    async def append(self, conversation: Conversation, key: str, body: bytes, attempt: str = "") -> Appended: ...

    async def append_result(self, answer: Conversation, ordinal: int, body: bytes, attempt: str = "") -> Appended: ...

    async def find_result(self, answer: Conversation, ordinal: int) -> Appended | None: ...

    async def read(self, conversation: Conversation) -> list[bytes]: ...


class Details(Protocol):
    """Details of what went wrong, for people."""

    async def put_detail(self, conversation_id: str, attempt: str, body: str) -> None: ...


class Journal(Protocol):
    """The whole journal, of which a workflow holds the newest records."""

    async def write_journal(self, conversation_id: str, entries: Iterable[tuple[int, Mapping[str, Any]]]) -> None: ...
