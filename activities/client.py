"""What `call_model` needs of a client of model providers, and the values that pass between them.

Another client could take this place: it sends exactly one request through the transport that records the exchange,
and gives the answer back as a stored message. Not here: any vendor, any SDK, and what an answer is worth.
"""

from typing import Annotated, Literal, Protocol

from pydantic import Field, JsonValue

from activities.declared import Thinking
from activities.exchange import Exchange, Exchanges
from activities.files import MediaType
from activities.tool_declaration import ToolDeclaration
from ledger.model import Frozen


class ById(Frozen):
    """A file that the target's provider holds: the request names it."""

    form: Literal["by_id"] = "by_id"
    file_id: str


class Inline(Frozen):
    """A file that travels in the request."""

    form: Literal["inline"] = "inline"
    content: bytes


Form = Annotated[ById | Inline, Field(discriminator="form")]


class NewFile(Frozen):
    """A file to be uploaded."""

    ref: str
    """Digest of its content."""
    media_type: MediaType
    content: bytes


class Uploaded(Frozen):
    """What a provider calls a file now."""

    file_id: Annotated[str, Field(min_length=1, max_length=1_024)]
    expires_at: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    """Unix seconds; None: it stays."""


class Request(Frozen):
    """What a target is asked, before a client puts it into a vendor's words."""

    model: str
    instructions: str
    messages: tuple[bytes, ...]
    """Stored messages, oldest first."""
    tools: tuple[ToolDeclaration, ...] = ()
    max_tokens: int
    temperature: float | None = None
    thinking: Thinking | None = None
    output: dict[str, JsonValue] | None = None
    """JSON schema of the answer; None: free text."""
    files: dict[str, Form] = Field(default_factory=dict)
    """How the files of the messages get there, by the digests under which the messages name them."""


class Came(Frozen):
    """The provider's answer was read to its end, whatever it is worth."""

    message: bytes
    """As it is stored."""


class NothingCame(Frozen):
    """No whole answer came. The exchange tells why; one without a request: the client could not word this one."""

    no_credentials: bool = False
    """The client found none on this machine, or could not renew them; nothing was sent to the provider."""


class ModelClient(Protocol):
    """Asks one provider. Connections are shared by all calls; one client lives as long as its worker."""

    async def warm(self) -> None:
        """Do now what the first call would otherwise do while others wait: imports, certificates, first use."""

    async def ask(self, request: Request, exchange: Exchange) -> Came | NothingCame:
        """Send one request. Failures of the provider are values; cancelling closes the socket at once."""

    async def upload(self, file: NewFile, exchanges: Exchanges) -> Uploaded | None:
        """Upload a file, each request of it once, in an exchange of its own; None: the last of them tells why not."""

    async def close(self) -> None:
        """Close the connections."""
