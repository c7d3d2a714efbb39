"""What a failed attempt leads to: each of the rules of `calls.after_failure`, turned into a step.

Here: the step. Not here: the rule, or what an attempt leaves behind (`trips`).
"""

from typing import assert_never

from ledger.calls import Benches, Call, GiveUp, Move, Next, RenewFiles, RetrySame, Turn, WaitFor, after_failure
from ledger.decisions import Wait
from ledger.failures import Failure
from ledger.state import Ledger, Moment, Step
from ledger.trips import reason_of
from ledger.turning import Records, ask, begin_call, send, settle, wait_for


def next_after(
    ledger: Ledger, call: Call, failure: Failure, moment: Moment, *, files: bool
) -> tuple[Next, Turn, Benches]:
    """What follows a failure of the call, the turn, and the benches after it. `files`: the request named some."""
    return after_failure(
        ledger.turn,
        call,
        failure,
        chain=moment.chain(ledger),
        policy=moment.plan.policy.calls,
        files=files,
        jitter=moment.jitter,
    )


def follow(ledger: Ledger, call: Call, failure: Failure, then: Next, records: Records, moment: Moment) -> Step:
    """Go on as the rule says. The ledger has the turn and the benches after the failure."""
    match then:
        case RenewFiles():
            again = call.model_copy(update={"attempt": call.attempt + 1, "renewed": True, "slept_ms": 0})
            return send(ledger, again, 0.0, records, moment, renew_files=True)
        case RetrySame():
            return _retry(ledger, call, then, records, moment)
        case Move(to=to):
            return begin_call(ledger, to, records, moment, kind=failure.kind, reason=reason_of(failure))
        case WaitFor():
            return wait_for(ledger, then, records, moment)
        case GiveUp(intervention=intervention):
            return ask(ledger, (intervention,), records, moment)
        case _:
            assert_never(then)


def _retry(ledger: Ledger, call: Call, retry: RetrySame, records: Records, moment: Moment) -> Step:
    """The next attempt: a short wait rides inside it, a longer one is a timer before it."""
    policy = moment.plan.policy.calls
    again = call.model_copy(update={"attempt": call.attempt + 1, "spent": call.spent + retry.counts, "slept_ms": 0})
    if not retry.counts:
        patience = ledger.turn.patience_s + policy.pickup_s
        ledger = ledger.having(turn=ledger.turn.model_copy(update={"patience_s": patience}))
    if retry.wait_s <= policy.ride_s:
        return send(ledger, again, retry.wait_s, records, moment)
    wait = Wait(reason="retry", target=call.target, asked_s=retry.wait_s, until=moment.now + retry.wait_s)
    return settle(ledger.having(turn=ledger.turn.model_copy(update={"call": again})), wait, records, moment)
