"""The records of attempts and failovers: what the journal holds of each trip and each move (RULES A1-A23).

Written strictly (`Written` models validate on construction), read leniently: extra fields are ignored, the few
omittable fields default, and no cross-field rule is enforced on reading (A11-A16). Reading old journals is
in `journal.py`. No body, no error text, no prompt ever stands here (A20).
"""

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    model_serializer,
    model_validator,
)

Count = Annotated[int, Field(ge=0, lt=2**63)]
U64 = Annotated[int, Field(ge=0, lt=2**64)]


class Record(BaseModel):
    """Base of what is written to the journal: frozen, unknown fields ignored (A14), some left out when empty (A12)."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)
    omit_when_empty: ClassVar[frozenset[str]] = frozenset()

    @model_serializer(mode="wrap")
    def _leave_out_the_empty(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        return {k: v for k, v in written.items() if not _empty(v) or k not in self.omit_when_empty}


def _empty(value: object) -> bool:
    """An amount of 0.0 is not: a price of nothing is known."""
    return value in (None, "", False, (), []) and not isinstance(value, float)


def reading(info: ValidationInfo) -> bool:
    """True where a journal is being read: cross-field rules bind the writer only (A15)."""
    return bool(info.context and info.context.get("reading"))


READING = {"reading": True}
"""The validation context in which cross-field rules are not enforced."""


class Retry(StrEnum):
    """What follows a failed attempt inside its call (A6). A move to another target is never told here."""

    REPORTED = "reported"
    SAME_MODEL = "same_model"
    RENEWED_FILES = "renewed_files"


class CaptureStatus(StrEnum):
    """Where the exact request body is (A17-A18)."""

    RETAINED = "retained"
    NOT_CAPTURED = "not_captured"
    REDACTED = "redacted"
    EXPIRED = "expired"

    def may_become(self, other: "CaptureStatus") -> bool:
        """Only a retained body can go; nothing comes back (A18)."""
        return self is CaptureStatus.RETAINED and other in (CaptureStatus.REDACTED, CaptureStatus.EXPIRED)


FINISH_REASONS = frozenset({"complete", "token_limit", "tool_call", "stop", "unknown"})
"""What a writer may say of how an answer ended (A9); a reader keeps any other label as it is."""


class RequestDigest(Record):
    """The shape of a request (A21): different digests prove different requests, equal ones only the same shape."""

    system_hash: U64
    messages: Count
    tools: Count
    max_tokens: Count
    temperature: Annotated[float, Field(allow_inf_nan=False)] | None
    """None where none was sent: the vendor's default holds."""


class ModelInput(Record):
    """What was sent, by identity; the body itself only where the operator asked for capture (A17)."""

    omit_when_empty = frozenset({"request"})

    capture_status: CaptureStatus
    request: JsonValue = None
    """Where the body is: `{"ref": digest}`, never the body itself (C10)."""
    bytes: Count
    """Length of the body as it left; 0 iff it was never taken."""
    source_context_digest: str
    """Head of the conversation that the request was made of; "" where it was never taken."""
    parameters: dict[str, JsonValue]
    """Those really sent, after overrides and clamps (A22)."""
    tool_catalog_version: str
    """Same set of tools, same version; nothing else may be read from it (A22)."""
    assembly_version: str
    """Version of the code that assembled the request."""

    @model_validator(mode="after")
    def _capture_is_consistent(self, info: ValidationInfo) -> Self:
        if reading(info):
            return self
        if (self.request is not None) != (self.capture_status is CaptureStatus.RETAINED):
            raise ValueError("request is present if and only if capture_status is retained")
        if (self.bytes == 0) != (self.capture_status is CaptureStatus.NOT_CAPTURED):
            raise ValueError("bytes is 0 if and only if capture_status is not_captured")
        if self.capture_status is CaptureStatus.NOT_CAPTURED and self.source_context_digest:
            raise ValueError("source_context_digest is empty where nothing was captured")
        return self


class FailedOutcome(Record):
    """How an attempt failed and what followed, as decided then (A5)."""

    kind: str
    transient: bool
    capacity: bool
    next: Retry

    @model_validator(mode="after")
    def _next_follows_the_flags(self, info: ValidationInfo) -> Self:
        if not reading(info) and self.next is Retry.SAME_MODEL and not self.transient:
            raise ValueError("next same_model implies transient (A7)")
        return self


class Failed(Record):
    """Wire form `{"failed": {...}}` (A11)."""

    failed: FailedOutcome


AttemptOutcome = Literal["succeeded"] | Failed


class AttemptRecord(Record):
    """One trip to a provider, the first and the failed ones included (A1)."""

    omit_when_empty = frozenset(
        {
            "id",
            "finish_reason",
            "stopped_for",
            "model_input",
            "rule",
            "request_id",
            "outcome_unknown",
            "recovered",
            "purpose",
        }
    )

    type: Literal["attempt"] = "attempt"
    id: str = ""
    """Minted before the request goes out, unique over the run (A3); "" only in old journals, never a key."""
    stage: str
    iteration: Count
    """The turn within its stage, from 1."""
    turn: Count = 0
    """The turn within the run, from 1."""
    call: Count = 0
    """The call within its turn, from 1."""
    provider: str
    model: str
    attempt: Count
    """1, 2, 3 ... over every trip of one call, without gaps (A2)."""
    backoff_ms: Count
    """The wait really slept before this attempt (A4)."""
    duration_ms: Count
    """Without the wait."""
    at: Count
    """Unix seconds at the end of the attempt."""
    outcome: AttemptOutcome
    finish_reason: str = ""
    stopped_for: str | None = None
    digest: RequestDigest | None
    """None where the worker was lost before it could tell."""
    model_input: ModelInput | None = None
    rule: str = ""
    """The classifier row that named the failure."""
    request_id: str = ""
    outcome_unknown: bool = False
    """The provider may have done, and billed, the work."""
    recovered: str = ""
    """Id of the earlier attempt whose stored answer this one found, or whose answer came before its own (`found`)."""
    purpose: str = ""
    """`summary`: it asked for a summary of the conversation; "": it went on with it."""

    @property
    def found(self) -> bool:
        """It found a stored answer, so no request was sent: the answer is paid once, by whoever wrote it.

        One that sent a request all the same was paid too, and its answer is kept unused.
        """
        return bool(self.recovered) and self.digest is None

    @model_validator(mode="after")
    def _finish_belongs_to_an_answer(self, info: ValidationInfo) -> Self:
        if reading(info):
            return self
        if not self.id:
            raise ValueError("id must not be empty (A3)")
        if self.attempt < 1:
            raise ValueError("attempt counts from 1 (A2)")
        if self.outcome == "succeeded" and self.finish_reason not in FINISH_REASONS:
            raise ValueError(f"finish_reason of an answer must be one of {sorted(FINISH_REASONS)} (A9)")
        if self.outcome != "succeeded" and self.finish_reason:
            raise ValueError("finish_reason is empty where no answer came (A9)")
        if self.stopped_for is not None and self.finish_reason != "unknown":
            raise ValueError("stopped_for goes only with finish_reason unknown (A10)")
        return self

    @property
    def failed(self) -> FailedOutcome | None:
        """The failure, or None where an answer came."""
        return self.outcome.failed if isinstance(self.outcome, Failed) else None


class FailoverRecord(Record):
    """One move of a turn to another target, after the failed attempt's record, which is never amended (A23)."""

    type: Literal["failover"] = "failover"
    stage: str
    iteration: Count
    at: Count
    from_provider: str
    from_model: str
    to_provider: str
    to_model: str
    kind: str
    """Equal to the kind of the attempt that caused it; "" where no failure did."""
    reason: str
    """snake_case: a failure's reason, or escalated, failback, answered, directed, benched."""


class UsageRecord(Record):
    """What an attempt used; a success always has one (A1), a failure where the provider told."""

    omit_when_empty = frozenset({"cost_usd", "estimated"})

    type: Literal["usage"] = "usage"
    attempt_id: str
    input_tokens: Count
    output_tokens: Count
    cache_read_tokens: Count = 0
    cache_write_tokens: Count = 0
    cost_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """None: the price is unknown, which is not 0."""
    estimated: bool = False


class SubRunRecord(Record):
    """What the run of a sub-agent or a judge came to; it has a journal of its own. Part of the record of its end."""

    omit_when_empty = frozenset({"cost_usd", "unpriced", "estimated"})

    run: str
    """Its id behind this run's and a slash."""
    name: str
    """The tool or the gate that it was."""
    attempts: Count
    input_tokens: Count
    output_tokens: Count
    cost_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """None: no price is known, which is not 0."""
    unpriced: Count = 0
    estimated: Count = 0
    estimated_usd: float = 0
