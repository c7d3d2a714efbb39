"""The kinds of reply a script can ask for. How each is carried out is in `delivery`, when it is chosen in `lanes`."""

import json
from typing import Annotated, Literal, Self

import h11
from pydantic import AfterValidator, BeforeValidator, Field, PositiveInt, model_validator

from simulator.model import Frozen, Headers

Seconds = Annotated[float, Field(ge=0, le=86_400)]

ErrorWord = Literal[
    "rate_limited",
    "overloaded",
    "quota_exhausted",
    "billing",
    "auth",
    "access_denied",
    "model_unavailable",
    "too_large",
    "invalid_request",
    "content_refused",
    "file_missing",
    "server_error",
]
"""What went wrong, in words that are the same for all vendors; each dialect owns the vendor's envelope for it."""

FRAMING = ("content-length", "transfer-encoding")
"""Headers the socket decides: `cut`, `drip` and `huge` depend on them."""

NO_BODY = (204, 205, 304)


def _as_json_text(value: object) -> object:
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)
    except TypeError as problem:  # a date in TOML, a set in Python
        raise ValueError(f"JSON cannot say this: {problem}") from problem


def _sendable(headers: Headers) -> Headers:
    if named := [name for name in FRAMING if name in headers]:
        raise ValueError(f"{named[0]} is computed from the body: leave it out")
    try:
        h11.Response(status_code=200, headers=list(headers.items()))
    except h11.LocalProtocolError as problem:
        raise ValueError(f"HTTP cannot send this: {problem}") from problem
    return headers


ScriptedHeaders = Annotated[Headers, AfterValidator(_sendable), Field(validate_default=True)]


JsonText = Annotated[str, BeforeValidator(_as_json_text)]
"""Text sent as it is; anything else that JSON can say is accepted and encoded."""


class Usage(Frozen):
    """Token counts. `cached_tokens` are a part of the input, `reasoning_tokens` (thinking) a part of the output."""

    input_tokens: int = Field(ge=0)
    output_tokens: int = Field(ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    reasoning_tokens: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _parts_are_no_more_than_the_whole(self) -> Self:
        if self.cached_tokens > self.input_tokens:
            raise ValueError("cached_tokens is a part of input_tokens and cannot be more")
        if self.reasoning_tokens > self.output_tokens:
            raise ValueError("reasoning_tokens is a part of output_tokens and cannot be more")
        return self


class ToolCall(Frozen):
    """One call of a tool. `arguments` is JSON text, so that malformed arguments can be scripted too."""

    name: str
    arguments: JsonText = "{}"
    id: str | None = None


class ReplyBase(Frozen):
    """What every reply may say about its turn.

    `when_contains`: only for a request whose newest input (all after the model's last answer) holds this text.
    `repeat`: not used up by being sent. `delay_s`: wait before the first byte. `held_until`: wait until
    this label is released (`Simulator.release`, `POST /_release/LABEL`), then for the delay.
    """

    when_contains: str | None = None
    repeat: bool = False
    delay_s: Seconds = 0
    held_until: str | None = None


class Answer(ReplyBase):
    """What the two kinds of good answer share.

    `text`: the answer's words. `chunks`: in how many pieces each text (and each call's arguments) is streamed.
    `event_delay_s`: wait before each event but the first.
    `usage`: without it one token per 4 bytes is counted. `finish_reason`: stop, length,
    tool_calls and content_filter become the vendor's word, any other value is sent as it is. `thinking`: what the
    model thought before it answered, signed by the vendor where it signs; shown to requests that ask to see it, as
    the vendors do, and always in chat completions (`reasoning_content`, as DeepSeek and vLLM have it).
    """

    text: str = ""
    thinking: str = ""
    chunks: PositiveInt = 3
    event_delay_s: Seconds = 0
    usage: Usage | None = None
    finish_reason: str | None = None


class Text(Answer):
    """An answer in words."""

    kind: Literal["text"] = "text"


class ToolCalls(Answer):
    """An answer that calls tools, all in one message; `text` comes before the calls."""

    kind: Literal["tool_calls"] = "tool_calls"
    calls: tuple[ToolCall, ...] = Field(min_length=1)


GoodAnswer = Annotated[Text | ToolCalls, Field(discriminator="kind")]


class Error(ReplyBase):
    """The vendor's own error envelope and status for `error`; `retry_after_s` is also its `retry-after` header.

    `param` and `code` are fields that only OpenAI's envelopes have.
    """

    kind: Literal["error"] = "error"
    error: ErrorWord
    message: str | None = None
    param: str | None = None
    code: str | None = None
    retry_after_s: Seconds | None = None
    headers: ScriptedHeaders = Field(default={})


class Raw(ReplyBase):
    """Any status, headers and body, sent as written: an HTML page in a 200, an error object in a 200, nothing."""

    kind: Literal["raw"] = "raw"
    status: int = Field(default=200, ge=200, le=599)
    headers: ScriptedHeaders = Field(default={})
    body: JsonText = ""

    @model_validator(mode="after")
    def _status_may_have_a_body(self) -> Self:
        if self.body and self.status in NO_BODY:
            raise ValueError(f"status {self.status} has no body in HTTP")
        return self


class Huge(ReplyBase):
    """A 200 with `size` bytes of one JSON string, made while they are sent; `gzip` makes it a bomb."""

    kind: Literal["huge"] = "huge"
    size: int = Field(ge=2)
    gzip: bool = False


class Hang(ReplyBase):
    """The request is read and never answered; with `after_headers` the status line arrives and nothing more."""

    kind: Literal["hang"] = "hang"
    where: Literal["before_headers", "after_headers"] = "before_headers"


class Cut(ReplyBase):
    """The first `after_events` events of `answer`, then the ending; of a plain answer its first half, or nothing at 0.

    close: the connection ends in the middle of the body; reset: it ends with a TCP reset; clean: HTTP ends
    properly but the vendor's last events are missing; stall: nothing more comes, the connection stays open.
    """

    kind: Literal["cut"] = "cut"
    after_events: int = Field(ge=0)
    ending: Literal["close", "reset", "clean", "stall"] = "close"
    answer: GoodAnswer = Text(text="This answer is cut before its end.")


class ErrorInStream(ReplyBase):
    """A 200 that starts well: `after_events` events of `answer`, then the vendor's error event, then the end."""

    kind: Literal["error_in_stream"] = "error_in_stream"
    after_events: int = Field(default=0, ge=0)
    error: ErrorWord
    message: str | None = None
    answer: GoodAnswer = Text(text="This answer ends in an error.")


class Refuse(ReplyBase):
    """The request is read, then the connection ends (or is reset) without one byte of an answer."""

    kind: Literal["refuse"] = "refuse"
    ending: Literal["close", "reset"] = "close"


class Drip(ReplyBase):
    """A good answer whose body arrives one byte every `interval_s` seconds: never idle, never done."""

    kind: Literal["drip"] = "drip"
    interval_s: Seconds = 1
    answer: GoodAnswer = Text(text="This answer drips.")


Reply = Annotated[
    Text | ToolCalls | Error | Raw | Huge | Hang | Cut | ErrorInStream | Refuse | Drip,
    Field(discriminator="kind"),
]
