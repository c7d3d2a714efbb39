"""A spend limit stops before the call that could cross it, and the run survives it (DESIGN section 4; issue: money)."""

from typing import Any

import pytest

from ledger.decisions import CallModel
from ledger.failures import Failure, FailureKind
from ledger.outcomes import Answered, Held, Refused, Trip, Usage
from ledger.policy import Policy
from tests.ledger.runs import FIRST, SECOND, Run, plan_of


def limited(**spend: Any) -> Run:
    return Run(
        plan_of(FIRST, SECOND, gates=("g",), policy=Policy.model_validate({"spend": {"limit_usd": 1.0, **spend}}))
    )


def costs(run: Run, usd: float | None) -> None:
    usage = Usage(input_tokens=1, cost_usd=usd)
    run.tell(Trip(outcome=Answered(finish_reason="complete"), usage=usage))
    run.gates(str(len(run.records)))


def test_without_a_limit_a_call_has_no_allowance_and_any_price_will_do():
    run = Run(plan_of())
    assert (run.doing.allowance_usd, run.doing.unpriced) == (None, True)


def test_a_call_may_cost_what_is_left_of_the_limit():
    run = limited()
    costs(run, 0.25)
    assert run.doing.allowance_usd == 0.75
    costs(run, 2.0)
    assert run.doing.allowance_usd == 0.0


def test_a_call_that_could_cross_the_limit_is_not_made_and_a_person_may_raise_it():
    run = limited()
    costs(run, 0.5)
    held, before = run.doing, len(run.of("attempt"))
    run.tell(Trip(outcome=Held(bound_usd=0.75)))
    asked = run.doing.open.intervention
    assert (asked.label, asked.spent_usd, asked.limit_usd, asked.bound_usd) == ("SpendLimit", 0.5, 1.0, 0.75)
    run.say("raise", amount=0.5)
    assert isinstance(run.doing, CallModel)
    assert (run.doing.id, run.doing.allowance_usd) == (held.id, 1.0)
    assert len(run.of("attempt")) == before  # nothing was sent, so nothing was tried


@pytest.mark.parametrize(("policy", "may"), [("allow", True), ("ask", False), ("refuse", False)])
def test_an_unknown_price_is_a_policy(policy, may):
    assert limited(unknown_price=policy).doing.unpriced is may


def test_an_unknown_price_is_asked_about_and_let_through_on_a_persons_word():
    run = limited()
    run.tell(Trip(outcome=Held()))
    assert run.doing.open.intervention.bound_usd is None
    run.say("raise", amount=0.5)
    assert (run.doing.target, run.doing.unpriced, run.doing.allowance_usd) == (FIRST, True, 1.5)


def test_a_target_of_unknown_price_can_be_left_out():
    run = limited(unknown_price="refuse")
    run.tell(Trip(outcome=Held()))
    assert (run.doing.target, run.of("failover")[0].reason) == (SECOND, "unpriced")
    run.tell(Trip(outcome=Held()))
    assert run.asked == "ModelsExhausted"


def test_an_unknown_price_is_counted_as_unknown_never_as_nothing():
    run = limited()
    costs(run, None)
    assert (run.ledger.totals.cost_usd, run.ledger.totals.unpriced) == (0, 1)


def test_an_attempt_of_unknown_outcome_is_charged_its_upper_bound_and_marked():
    run = limited()
    failure = Failure.of(FailureKind.WORKER_LOST, outcome_unknown=True)
    run.tell(Trip(outcome=Refused(failure=failure), usage=Usage(input_tokens=9, cost_usd=0.4, estimated=True)))
    assert run.doing.allowance_usd == 0.6
    assert run.of("usage")[0].estimated
