"""What a trip leaves behind: the records of one attempt and its usage (RULES A1-A10), and what the run is charged.

A sub-run leaves no attempts here, for they stand in its own journal, but what they came to.
"""

from typing import assert_never

from ledger.calls import MAX_BOUNDS, Call, GiveUp, Move, Next, RenewFiles, RetrySame, WaitFor
from ledger.failures import Failure, FailureKind
from ledger.journal import JournalRecord
from ledger.outcomes import Answered, Refused, Sent, Trip
from ledger.records import (
    AttemptOutcome,
    AttemptRecord,
    CaptureStatus,
    Failed,
    FailedOutcome,
    ModelInput,
    Retry,
    SubRunRecord,
    UsageRecord,
)
from ledger.state import Ledger, Moment
from ledger.totals import SubRun

REASONS: dict[FailureKind, str] = {
    # reasons of a failover where they are not the kind's own word (RULES A25, C17, C23)
    FailureKind.RATE_LIMITED: "at_capacity",
    FailureKind.OVERLOADED: "at_capacity",
    FailureKind.QUOTA_EXHAUSTED: "at_capacity",
    FailureKind.BILLING: "credits_exhausted",
    FailureKind.AUTH: "auth_failed",
    FailureKind.ACCESS_DENIED: "forbidden",
    FailureKind.NETWORK: "unreachable",
    FailureKind.TIMEOUT: "unreachable",
}


def reason_of(failure: Failure) -> str:
    """Why a failure moves a turn."""
    return REASONS.get(failure.kind, failure.kind.value)


def charged(ledger: Ledger, call: Call, trip: Trip) -> Ledger:
    """Count an attempt and what it used.

    An answer that an earlier attempt wrote was paid once: what it used takes the place of the bound that was charged
    while that attempt's outcome was unknown. Without such a bound, or without knowing what it used, nothing is taken
    back; nor where this attempt sent a request too: then both were paid.
    """
    totals = ledger.totals.model_copy(update={"attempts": ledger.totals.attempts + 1})
    usage = trip.usage
    if usage is None:
        return ledger.having(totals=totals)
    bounds = dict(ledger.turn.bounds)
    found = trip.outcome.recovered if isinstance(trip.outcome, Answered) and trip.sent is None else ""
    if bound := bounds.pop(found, None):
        totals = totals.without_usage(bound)
    if usage.estimated:
        bounds[attempt_id(ledger, call)] = usage
    kept = dict(list(bounds.items())[-MAX_BOUNDS:])
    return ledger.having(totals=totals.with_usage(usage), turn=ledger.turn.model_copy(update={"bounds": kept}))


def attempt_id(ledger: Ledger, call: Call) -> str:
    """turn.call.attempt of the attempt under way."""
    return f"{ledger.turn.number}.{call.number}.{call.attempt}"


def trip_records(
    ledger: Ledger, call: Call, trip: Trip, then: Next | None, moment: Moment
) -> tuple[JournalRecord, ...]:
    """The attempt, then its usage. `then` is what follows a failure; None where nothing does in this call."""
    attempt = _attempt(ledger, call, trip, then, moment)
    usage = trip.usage
    if usage is None:
        return (attempt,)
    return (
        attempt,
        UsageRecord(
            attempt_id=attempt.id,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            cost_usd=usage.cost_usd,
            estimated=usage.estimated,
        ),
    )


def sub_run(ran: SubRun) -> SubRunRecord:
    """What a run that this one started came to."""
    sums = ran.totals.model_dump(exclude={"failovers", "charges"})
    return SubRunRecord(run=ran.run, name=ran.name, **sums)


def _attempt(ledger: Ledger, call: Call, trip: Trip, then: Next | None, moment: Moment) -> AttemptRecord:
    answered = trip.outcome if isinstance(trip.outcome, Answered) else None
    failure = trip.outcome.failure if isinstance(trip.outcome, Refused) else None
    return AttemptRecord(
        id=attempt_id(ledger, call),
        stage=moment.stage(ledger).name,
        iteration=ledger.turn.iteration,
        turn=ledger.turn.number,
        call=call.number,
        provider=call.target.provider,
        model=call.target.model,
        attempt=call.attempt,
        backoff_ms=call.slept_ms + trip.waited_ms,
        duration_ms=trip.duration_ms,
        at=moment.at,
        outcome=_outcome(failure, then),
        finish_reason=answered.finish_reason if answered else "",
        stopped_for=answered.stopped_for if answered else None,
        digest=trip.sent.digest if trip.sent else None,
        model_input=_model_input(trip.sent) if trip.sent else None,
        rule=failure.rule if failure else "",
        request_id=trip.request_id,
        outcome_unknown=failure.outcome_unknown if failure else False,
        recovered=answered.recovered if answered else "",
        purpose="summary" if ledger.aside else "",
    )


def _outcome(failure: Failure | None, then: Next | None) -> AttemptOutcome:
    if failure is None:
        return "succeeded"
    failed = FailedOutcome(
        kind=failure.kind.value, transient=failure.transient, capacity=failure.capacity, next=_next(then)
    )
    return Failed(failed=failed)


def _next(then: Next | None) -> Retry:
    """What follows in this call (A6); a move, a long wait and a person all end it."""
    match then:
        case RetrySame():
            return Retry.SAME_MODEL
        case RenewFiles():
            return Retry.RENEWED_FILES
        case None | Move() | WaitFor() | GiveUp():
            return Retry.REPORTED
        case _:
            assert_never(then)


def _model_input(sent: Sent) -> ModelInput:
    """Capture is off unless it was asked for (A18); identity is recorded in any case (A17).

    A captured body is named by reference: it stands in the store, where it can go again (C10).
    """
    captured = sent.captured
    return ModelInput(
        capture_status=CaptureStatus.RETAINED if captured else CaptureStatus.NOT_CAPTURED,
        request={"ref": captured.digest} if captured else None,
        bytes=captured.bytes if captured else 0,
        source_context_digest=captured.context if captured else "",
        parameters=sent.parameters,
        tool_catalog_version=sent.tool_catalog_version,
        assembly_version=sent.assembly_version,
    )
