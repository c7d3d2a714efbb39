"""What the caller of a provider saw of one failed trip: the classifier's input.

Here: the value itself and the words for how a trip ended. Not here: what any of it means (`classify`).
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from pydantic import Field, FiniteFloat, field_validator

from ledger.model import Frozen

MAX_BODY: Final = 64 * 1024
"""Characters of a body that are read: the head names the error, the tail holds a stream's last event."""


class Ended(StrEnum):
    """How a trip ended, as its caller saw it; the value of `Observation.transport`.

    Below HTTP it is a fact of the connection. Four of them are the caller's reading of an answer that came whole:
    TOKEN_LIMIT, REFUSED, UNUSABLE and MISFIT. A caller that only kept the body may leave it out; the body is then read.
    """

    COMPLETE = "complete"
    """A whole response was read; status, headers and body say the rest. The same as None."""
    DNS_ERROR = "dns_error"
    CONNECT_ERROR = "connect_error"
    """Refused, unreachable, or reset while connecting: nothing was sent."""
    CONNECT_TIMEOUT = "connect_timeout"
    POOL_TIMEOUT = "pool_timeout"
    """No free connection of ours in time: nothing was sent."""
    PROXY_ERROR = "proxy_error"
    PROXY_KEY = "proxy_key"
    """The proxy wants credentials that it did not get (407): time does not heal it."""
    TLS_ERROR = "tls_error"
    """The handshake broke off: nothing was sent."""
    TLS_VERIFY_FAILED = "tls_verify_failed"
    """The certificate is not trusted here: time does not heal it."""
    BAD_ADDRESS = "bad_address"
    """The base URL cannot be used at all (scheme, host, port)."""
    WRITE_TIMEOUT = "write_timeout"
    WRITE_ERROR = "write_error"
    RESET_BEFORE_HEADERS = "reset_before_headers"
    RESET_MID_STREAM = "reset_mid_stream"
    READ_TIMEOUT = "read_timeout"
    """The provider was silent for too long, before or within the answer."""
    DEADLINE = "deadline"
    """The total time of the trip ran out."""
    TRUNCATED = "truncated"
    """The connection closed in good order, but the stream lacks its last event."""
    OVERSIZE = "oversize"
    """The response was larger than we read."""
    TOKEN_LIMIT = "token_limit"  # noqa: S105 - tokens of text
    """The answer ended by its token budget without anything usable."""
    REFUSED = "refused"
    """The answer ended by a safety stop or a refusal."""
    UNUSABLE = "unusable"
    """A whole answer with nothing usable in it: empty, malformed, a web page, a broken tool call."""
    MISFIT = "misfit"
    """A whole answer that does not fit the output schema of its stage."""
    CANCELLED = "cancelled"
    """We closed the connection because a person or Temporal stopped the call."""


class Observation(Frozen):
    """One failed trip to a provider. Holds content: it never leaves the activity that made it."""

    provider: str = ""
    """The vendor or gateway; decides which vendor's numeric codes are meant. Any word is taken."""
    api: str = ""
    status: int | None = None
    """None: no status line came."""
    headers: Mapping[str, str] = Field(default_factory=dict)
    """Of the response. Names are read in any case and held in lower case."""
    body: str = ""
    """Raw text as far as it came; of a stream, its events. A connection error's message where nothing came."""
    transport: str | None = None
    """An `Ended`, or another client's word for it."""
    at: FiniteFloat | None = None
    """Unix seconds when it was seen. Dates are read against the Date header, or else this; with neither, not at all."""

    @field_validator("headers")
    @classmethod
    def _lower(cls, value: Mapping[str, str]) -> Mapping[str, str]:
        return {name.lower(): text for name, text in value.items()}

    def capped_body(self) -> str:
        """Return the body's head and tail, `MAX_BODY` characters at most."""
        if len(self.body) <= MAX_BODY:
            return self.body
        return f"{self.body[: MAX_BODY // 2]}\n{self.body[-MAX_BODY // 2 :]}"
