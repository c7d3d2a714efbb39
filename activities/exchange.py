"""What one attempt sent and got, written down while it happens: the evidence that a failure is judged by.

Not here: who fills it in (`transport`), and what it means (`ledger.classify`). It holds content, so it never leaves
the activity. Unlike our other values it changes: a recorder that a cancelled call leaves half filled is the point.
"""

import json
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import JsonValue

from ledger.observation import MAX_BODY, Ended

if TYPE_CHECKING:
    from collections.abc import Mapping

    from activities.wording import Wording
    from ledger.outcomes import Usage

MAX_RESPONSE: Final = 16 * 2**20
"""Bytes of a response that are read, counted after decompression; above all that a model writes in one answer."""

_HALF: Final = MAX_BODY // 2

REQUEST_ID_HEADERS: Final = ("x-request-id", "request-id", "x-goog-request-id", "apim-request-id", "cf-ray")
"""Where vendors and gateways name a request, most telling first."""

NOT_PARAMETERS: Final = frozenset(
    {"model", "messages", "input", "contents", "system", "instructions", "systemInstruction", "tools", "stream"}
    | {"stream_options"}
)
"""A request's target, content, tools, and how it is carried; all other fields are parameters (A22)."""

Phase = Literal["waiting", "sending", "streaming"]


class Exchange:
    """One request and its answer. `sent` and `ended` tell what the provider may have done with it."""

    def __init__(self, *, run: str, attempt: str) -> None:
        self.run = run
        self.attempt = attempt
        self.request: bytes | None = None
        """The body as it was handed to the connection; None: no request was made."""
        self.asked: bytes | None = None
        """The body without the conversation, where it was put in as it is (`wording`)."""
        self.wording: Wording | None = None
        self.sent = False
        """A first byte of the request may have reached the provider."""
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        """Names in lower case."""
        self.received = 0
        """Bytes of the answer's body, after decompression."""
        self.ended: Ended | None = None
        """None while it is under way, and where the reader had enough before the end."""
        self.usage: Usage | None = None
        """What the provider had counted when reading ended, in good order or not."""
        self._head = bytearray()
        self._tail = bytearray()

    @property
    def phase(self) -> Phase:
        return "sending" if self.status is None else "streaming"

    @property
    def answered(self) -> bool:
        """A status line of success came; what follows it may still be anything."""
        return self.status is not None and 200 <= self.status < 300  # noqa: PLR2004 - HTTP's own numbers

    def take(self, piece: bytes) -> None:
        """Count a piece of the body and keep it as far as a classifier reads: its head and its tail."""
        self.received += len(piece)
        room = _HALF - len(self._head)
        self._head += piece[:room]
        rest = piece[room:]
        self._tail = (self._tail + rest[-_HALF:])[-_HALF:] if rest else self._tail

    @property
    def body(self) -> str:
        """The kept body as text; a gap is marked by a line of its own."""
        whole = self.received <= len(self._head) + len(self._tail)
        return (self._head + (b"" if whole else b"\n...\n") + self._tail).decode(errors="replace")

    @property
    def request_id(self) -> str:
        """The vendor's name of the request, or "": one short word, whatever the header held."""
        found = next((self.headers[name] for name in REQUEST_ID_HEADERS if name in self.headers), "")
        return found if found.isascii() and found.isprintable() and len(found) <= 128 else ""  # noqa: PLR2004

    def parameters(self) -> dict[str, JsonValue]:
        """The parameters as they really left (A22), by name; of a structure only its kind, for it may hold content."""
        sent = _object(self.request if self.asked is None else self.asked)
        generation = sent.pop("generationConfig", {})  # where Gemini has most of them
        sent |= generation if isinstance(generation, dict) else {}
        return {name: _plain(value) for name, value in sent.items() if name not in NOT_PARAMETERS}


class Exchanges:
    """The exchanges of one upload, one a request; they are no model's, and are counted nowhere."""

    def __init__(self, *, run: str, attempt: str) -> None:
        self._run = run
        self._attempt = f"{attempt}.file"
        self.last = self.next()
        """The one under way, else the one that ended it."""

    def next(self) -> Exchange:
        """Begin the next request."""
        self.last = Exchange(run=self._run, attempt=self._attempt)
        return self.last

    def out_of_time(self) -> Exchange:
        """The request under way was cut off by a deadline of ours."""
        self.last.ended = Ended.DEADLINE if self.last.sent else Ended.CONNECT_TIMEOUT
        return self.last


def _object(body: bytes | None) -> dict[str, Any]:
    parsed = json.loads(body) if body else {}
    return parsed if isinstance(parsed, dict) else {}


def _plain(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        kind = value.get("type")
        return {"type": kind} if isinstance(kind, str) else {}
    return [] if isinstance(value, list) else value
