"""The kinds of provider failure and what each one allows: the remedy table of the ledger.

One row a kind. The row gives defaults; a classifier row may set each flag for its case. Which answer of a
provider is which kind is decided in `classify.py`; what follows from a kind is decided in `calls.py`.
"""

from enum import StrEnum
from typing import Self

from pydantic import Field

from ledger.model import Frozen


class FailureKind(StrEnum):
    """What went wrong on one trip to a provider. The wire value is the word itself."""

    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    QUOTA_EXHAUSTED = "quota_exhausted"
    BILLING = "billing"
    AUTH = "auth"
    ACCESS_DENIED = "access_denied"
    MODEL_UNAVAILABLE = "model_unavailable"
    TOO_LARGE = "too_large"
    INVALID_REQUEST = "invalid_request"
    CONTENT_REFUSED = "content_refused"
    FILE_MISSING = "file_missing"
    OUTPUT_TRUNCATED = "output_truncated"
    BAD_OUTPUT = "bad_output"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"
    NETWORK = "network"
    WORKER_LOST = "worker_lost"
    NOT_SENT = "not_sent"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class Bench(StrEnum):
    """How long a target that was left for this kind stays out of use."""

    COOL_DOWN = "cool_down"
    """`Policy.bench_s`, or the stated wait where that is longer: trouble that heals by time."""
    RESET = "reset"
    """Until the reset the provider stated; the rest of the run where it stated none."""
    RUN = "run"
    """The rest of the run, until a person says `retry`."""
    TURN = "turn"
    """Not benched: only this turn's request did not fit."""


class Schedule(StrEnum):
    """Which backoff schedule of the policy a transient failure follows (RULES A29, DESIGN 4)."""

    BLIP = "blip"
    """The provider was not reached, or broke off: 1, 2, 4 s."""
    REACHED = "reached"
    """It was reached and then failed: 5, 10, 20 s."""
    CAPACITY = "capacity"
    """It said that it has no room: 15, 30, 60 s."""


class Remedy(Frozen):
    """One row of the table: the default flags of a kind, and its bench."""

    transient: bool
    """The same request to the same target heals by time alone within about 15 minutes."""
    capacity: bool
    """The provider says it has no room for us, for now or until a reset."""
    failover: bool
    """Another target may well take the request."""
    bench: Bench
    meaning: str


def _row(flags: str, bench: Bench, meaning: str) -> Remedy:
    transient, capacity, failover = (flag == "y" for flag in flags.split())
    return Remedy(transient=transient, capacity=capacity, failover=failover, bench=bench, meaning=meaning)


_K, _B = FailureKind, Bench
REMEDY: dict[FailureKind, Remedy] = {
    # kind: transient capacity failover, bench, meaning (DESIGN section 4)
    _K.RATE_LIMITED: _row("y y y", _B.COOL_DOWN, "our short-window throttle"),
    _K.OVERLOADED: _row("y y y", _B.COOL_DOWN, "provider has no room"),
    _K.QUOTA_EXHAUSTED: _row("n y y", _B.RESET, "allowance or cap used up; resets later"),
    _K.BILLING: _row("n n y", _B.RUN, "no money, suspended, or plan lacks it"),
    _K.AUTH: _row("n n y", _B.RUN, "key missing, invalid, expired"),
    _K.ACCESS_DENIED: _row("n n y", _B.RUN, "region, permission, account hold"),
    _K.MODEL_UNAVAILABLE: _row("n n y", _B.RUN, "unknown, retired, not enabled"),
    _K.TOO_LARGE: _row("n n y", _B.TURN, "over a token or byte limit (only to a target that is larger)"),
    _K.INVALID_REQUEST: _row("n n n", _B.TURN, "our request is malformed"),
    _K.CONTENT_REFUSED: _row("n n y", _B.TURN, "safety, policy, recitation"),
    _K.FILE_MISSING: _row("n n n", _B.TURN, "an upload expired or is not visible"),
    _K.OUTPUT_TRUNCATED: _row("n n y", _B.TURN, "answer cut by the token budget"),
    _K.BAD_OUTPUT: _row("y n y", _B.COOL_DOWN, "200 with nothing usable, malformed tool call"),
    _K.SERVER_ERROR: _row("y n y", _B.COOL_DOWN, "provider fault without capacity words"),
    _K.TIMEOUT: _row("y n y", _B.COOL_DOWN, "a deadline ran out on either side"),
    _K.NETWORK: _row("y n y", _B.COOL_DOWN, "no response, or the stream was cut"),
    _K.WORKER_LOST: _row("y n y", _B.COOL_DOWN, "the worker died: outcome unknown"),
    _K.NOT_SENT: _row("y n n", _B.TURN, "no worker took it, or it lacked its store or a tool: spends only patience"),
    _K.CANCELLED: _row("n n n", _B.TURN, "a person or Temporal stopped it: recorded, then obeyed"),
    _K.UNKNOWN: _row("n n y", _B.TURN, "nothing matched (status >= 500 counts as transient)"),
}

BLIPS = frozenset({FailureKind.NETWORK, FailureKind.WORKER_LOST, FailureKind.NOT_SENT, FailureKind.BAD_OUTPUT})
"""Kinds where waiting longer than a blip buys nothing: nothing on the provider's side is known to be ill."""


class Failure(Frozen):
    """One failed trip as it was judged when it happened; nobody recomputes the flags from the kind (A5)."""

    kind: FailureKind
    transient: bool
    capacity: bool = False
    failover: bool = False
    renew_files: bool = False
    """The provider says that a file the request names is missing (A8)."""
    outcome_unknown: bool = False
    """The provider may have done, and billed, the work."""
    wait_s: float | None = Field(default=None, ge=0)
    """Seconds that the provider asked for, already judged against the kind; None: it stated none."""
    rule: str = ""
    """The classifier row that decided, for people who wonder."""

    @classmethod
    def of(
        cls,
        kind: FailureKind,
        *,
        transient: bool | None = None,
        capacity: bool | None = None,
        failover: bool | None = None,
        renew_files: bool = False,
        outcome_unknown: bool = False,
        wait_s: float | None = None,
        rule: str = "",
    ) -> Self:
        """A failure with the remedy table's flags, save those that the caller sets."""
        row = REMEDY[kind]
        return cls(
            kind=kind,
            transient=row.transient if transient is None else transient,
            capacity=row.capacity if capacity is None else capacity,
            failover=row.failover if failover is None else failover,
            renew_files=renew_files,
            outcome_unknown=outcome_unknown,
            wait_s=wait_s,
            rule=rule,
        )

    @property
    def schedule(self) -> Schedule:
        """The backoff schedule this failure follows when nobody stated a wait."""
        if self.capacity:
            return Schedule.CAPACITY
        return Schedule.BLIP if self.kind in BLIPS else Schedule.REACHED
