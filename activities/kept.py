"""What `call_model` needs of the store: protocols beside those of `stored`, with who wrote an answer first."""

from typing import Protocol

from activities.stored import Appended, Contents, Details
from ledger.conversation import Conversation


class Kept(Appended, Protocol):
    """A message as the store holds it."""

    @property
    def attempt(self) -> str:
        """Id of the attempt that wrote it."""

    @property
    def recovered(self) -> bool:
        """It was there before the caller came."""


class AtProvider(Protocol):
    """A file that a provider holds."""

    @property
    def file_id(self) -> str: ...

    @property
    def expires_at(self) -> int | None:
        """Unix seconds; None: it stays."""


class Uploads(Protocol):
    """Which files a provider holds, by the digest of their content."""

    async def find_upload(self, provider: str, digest: str) -> AtProvider | None: ...

    async def put_upload(self, provider: str, digest: str, file_id: str, expires_at: int | None) -> None: ...

    async def forget_upload(self, provider: str, digest: str) -> None: ...


class Requests(Protocol):
    """Exact bodies of requests."""

    async def keep_request(self, conversation_id: str, attempt: str, body: bytes) -> None: ...


class CallStore(Contents, Details, Uploads, Requests, Protocol):
    """Reads a conversation, and finds or appends an answer."""

    async def read(self, conversation: Conversation) -> list[bytes]: ...

    async def find(self, conversation: Conversation, key: str) -> Kept | None: ...

    async def append(self, conversation: Conversation, key: str, body: bytes, attempt: str = "") -> Kept: ...
