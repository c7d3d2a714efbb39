"""What `call_model` needs of a client of model providers, and the values that pass between them.

Another client could take this place: it sends exactly one request through the transport that records the exchange,
and gives the answer back as a stored message. Not here: any vendor, any SDK, and what an answer is worth.
"""

from typing import Protocol

from activities.declared import Thinking, ToolDeclaration
from activities.exchange import Exchange
from ledger.model import Frozen


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

    async def close(self) -> None:
        """Close the connections."""
