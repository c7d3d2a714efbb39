"""The whole: `decide` takes a fact, `resolve` a person's answer, `direct` a directive; each says what to do next.

Pure: the same ledger, fact, plan, time and random number give the same step. A record is returned with the decision,
so that none can be forgotten.
"""

from typing import assert_never

from ledger.answering import Refusal, direct, expire, halt, resolve
from ledger.calling_tools import run_tools, with_children
from ledger.calls import Call
from ledger.compacting import (
    after_compaction,
    after_summary,
    is_without_summary,
    to_make_room,
    without_summary,
)
from ledger.decisions import CallModel, RunTools, Wait
from ledger.failures import Failure, FailureKind
from ledger.following import follow, next_after
from ledger.interventions import SpendLimit
from ledger.journal import RunRecord, WaitRecord
from ledger.outcomes import Answered, Began, Compacted, Expired, Fact, GatesRan, Held, Refused, ToolsRan, Trip, Waited
from ledger.rounds import after_gates, after_tools
from ledger.state import Ledger, Moment, Step, Stopping
from ledger.trips import attempt_id, charged, trip_records
from ledger.turning import (
    Records,
    ask,
    begin_call,
    begin_stage,
    make_room,
    run_gates,
    send,
    settle,
    unmoved,
    wait_or_ask,
)

__all__ = ["Ledger", "Moment", "Refusal", "Step", "decide", "direct", "halt", "resolve"]


def decide(ledger: Ledger, fact: Fact, moment: Moment) -> Step:
    """What follows a fact. A fact that does not belong to the decision under way changes nothing."""
    match fact:
        case Began():
            return begin_stage(
                ledger, 0, (RunRecord(at=moment.at, what="began", revision=moment.plan.revision),), moment
            )
        case Trip():
            return _after_trip(ledger, fact, moment)
        case Compacted():
            return after_compaction(ledger, fact, moment)
        case ToolsRan():
            return after_tools(ledger, fact, moment)
        case GatesRan():
            return after_gates(ledger, fact, moment)
        case Waited():
            return _after_wait(ledger, fact, moment)
        case Expired(intervention=asked):
            return expire(ledger, asked, moment)
        case _:
            assert_never(fact)


def _after_trip(ledger: Ledger, trip: Trip, moment: Moment) -> Step:
    call = ledger.turn.call
    if call is None or not isinstance(ledger.doing, CallModel):
        return unmoved(ledger)
    if isinstance(trip.outcome, Held):
        if ledger.aside:
            return without_summary(ledger, ledger.aside, (), moment)
        return _held(ledger, call, trip.outcome, moment)
    ledger = charged(ledger, call, trip)
    match trip.outcome:
        case Answered() as answered:
            return _answered(ledger, call, trip, answered, moment)
        case Refused(failure=failure):
            return _failed(ledger, call, trip, failure, moment)
        case _:
            assert_never(trip.outcome)


def _answered(ledger: Ledger, call: Call, trip: Trip, answered: Answered, moment: Moment) -> Step:
    records = trip_records(ledger, call, trip, None, moment)
    if ledger.aside:
        return after_summary(ledger, ledger.aside, answered, attempt_id(ledger, call), records, moment)
    ledger = ledger.having(context=ledger.context.after(trip))
    if not answered.tool_calls:
        return run_gates(ledger, records, moment)
    attempt = attempt_id(ledger, call)
    ledger, calls = with_children(ledger, answered.tool_calls, moment)
    decision = RunTools(turn=ledger.turn.number, attempt_id=attempt, calls=calls)
    return run_tools(ledger, decision, records, moment)


def _failed(ledger: Ledger, call: Call, trip: Trip, failure: Failure, moment: Moment) -> Step:
    if failure.kind is FailureKind.CANCELLED:
        return _cancelled(ledger, trip_records(ledger, call, trip, None, moment), moment)
    then, turn, benches = next_after(ledger, call, failure, moment, files=trip.files > 0)
    records = trip_records(ledger, call, trip, then, moment)
    after = ledger.having(turn=turn, benches=benches)
    if ledger.aside and is_without_summary(then):
        return without_summary(after, ledger.aside, records, moment)
    if ledger.aside is None and to_make_room(ledger, failure, then, moment):
        return make_room(ledger, call.target, records, moment, failure=failure)
    return follow(after, call, failure, then, records, moment)


def _held(ledger: Ledger, call: Call, held: Held, moment: Moment) -> Step:
    """Nothing was sent, so there is no attempt: a person may raise the limit, or a target without a price is left."""
    spend = moment.plan.policy.spend
    if held.bound_usd is None and spend.unknown_price == "refuse":
        turn = ledger.turn.model_copy(update={"excluded": (*ledger.turn.excluded, call.target)})
        left = ledger.having(turn=turn)
        to = moment.chain(left).first(turn)
        return begin_call(left, to, (), moment, reason="unpriced") if to else wait_or_ask(left, (), moment)
    limit = SpendLimit(
        spent_usd=ledger.totals.cost_usd,
        limit_usd=(spend.limit_usd or 0) + ledger.spend_raised_usd,
        target=call.target,
        bound_usd=held.bound_usd,
    )
    return ask(ledger, (limit, *ledger.queue), (), moment)


def _cancelled(ledger: Ledger, records: Records, moment: Moment) -> Step:
    """A cancelled trip is recorded, then obeyed."""
    stopping = ledger.stopping or Stopping(by="temporal", how="cancelled")
    stopped = ledger.having(stopping=stopping)
    return settle(stopped, unmoved(ledger).decision, records, moment)


def _after_wait(ledger: Ledger, waited: Waited, moment: Moment) -> Step:
    wait = ledger.doing
    if not isinstance(wait, Wait):
        return unmoved(ledger)
    slept_ms = int(waited.slept_s * 1000)
    record = WaitRecord(
        at=moment.at,
        reason=wait.reason,
        target=str(wait.target),
        asked_ms=int(wait.asked_s * 1000),
        slept_ms=slept_ms,
        interrupted=waited.interrupted,
    )
    call = ledger.turn.call
    if call:
        call = call.model_copy(update={"slept_ms": call.slept_ms + slept_ms})
        ledger = ledger.having(turn=ledger.turn.model_copy(update={"call": call}))
    if waited.interrupted and moment.now < wait.until:
        return settle(ledger, wait, (record,), moment)
    if call:
        return send(ledger, call, 0.0, (record,), moment)
    return begin_call(ledger, wait.target, (record,), moment)
