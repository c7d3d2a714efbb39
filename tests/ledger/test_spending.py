"""A spend limit stops before the call that could cross it, and the run survives it (DESIGN section 4; issue: money)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.calls import MAX_BOUNDS
from ledger.decisions import CallModel
from ledger.failures import Failure, FailureKind
from ledger.outcomes import Answered, Held, Refused, Sent, Trip, Usage
from ledger.policy import Policy
from ledger.records import RequestDigest
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


SHAPE = RequestDigest(system_hash=0, messages=1, tools=0, max_tokens=9, temperature=None)
BOUND = Usage(input_tokens=900, output_tokens=100, cost_usd=0.4, estimated=True)


def lost(run: Run, usage: Usage | None = BOUND) -> str:
    """The attempt under way is lost; its id."""
    attempt = run.doing.id
    failure = Failure.of(FailureKind.WORKER_LOST, outcome_unknown=True, wait_s=0)
    run.tell(Trip(outcome=Refused(failure=failure), usage=usage))
    return attempt


def found(run: Run, attempt: str, usage: Usage | None, sent: Sent | None = None) -> None:
    """The attempt under way finds the answer that an earlier one wrote."""
    run.tell(Trip(outcome=Answered(finish_reason="complete", recovered=attempt), usage=usage, sent=sent))


def test_an_answer_that_turns_up_replaces_the_bound_of_the_attempt_that_wrote_it():
    run = limited()
    attempt = lost(run)
    found(run, attempt, Usage(input_tokens=10, output_tokens=2, cost_usd=0.05))
    totals = run.ledger.totals
    assert (totals.attempts, totals.input_tokens, totals.output_tokens) == (2, 10, 2)
    assert totals.cost_usd == pytest.approx(0.05)
    assert [usage.attempt_id for usage in run.of("usage")] == [attempt, "1.1.2"]  # records are never amended (A23)


def test_an_attempt_that_was_answered_after_one_given_up_for_lost_is_paid_beside_it():
    run = limited()
    attempt = lost(run)
    found(run, attempt, Usage(input_tokens=10, cost_usd=0.05), Sent(digest=SHAPE))
    assert run.ledger.totals.cost_usd == pytest.approx(0.45)


def test_the_bound_of_another_attempt_stays():
    run = limited()
    first = lost(run)
    lost(run)
    found(run, first, Usage(input_tokens=10, cost_usd=0.05))
    assert run.ledger.totals.cost_usd == pytest.approx(0.45)


def test_an_answer_of_unknown_usage_leaves_the_bound_as_it_is():
    run = limited()
    found(run, lost(run), None)
    assert run.ledger.totals.cost_usd == pytest.approx(0.4)


def test_a_bound_without_a_price_is_taken_back_as_one():
    run = limited(unknown_price="allow")
    attempt = lost(run, Usage(input_tokens=900, estimated=True))
    assert run.ledger.totals.unpriced == 1
    found(run, attempt, Usage(input_tokens=10, cost_usd=0.05))
    assert (run.ledger.totals.unpriced, run.ledger.totals.input_tokens) == (0, 10)


PRICES = st.none() | st.integers(0, 100).map(lambda cents: cents / 100)
USED = st.builds(Usage, input_tokens=st.integers(0, 50), output_tokens=st.integers(0, 50), cost_usd=PRICES)
MOST = st.builds(lambda used: used.model_copy(update={"estimated": True}), USED)


@given(
    turns=st.lists(
        st.tuples(st.lists(st.none() | MOST, max_size=3), st.none() | USED, st.integers(-1, 2)), min_size=1, max_size=6
    )
)
def test_what_is_known_to_be_used_is_always_charged(turns: list[tuple[list[Usage | None], Usage | None, int]]) -> None:
    """Whatever is lost and found again, and whichever attempt wrote it: totals never fall below the known usage."""
    run = Run(plan_of(FIRST, SECOND, gates=("g",)))
    known: list[Usage] = []
    for bounds, used, writer in turns:
        ids = [lost(run, bound) for bound in bounds]
        found(run, ids[writer] if 0 <= writer < len(ids) else "", used)
        known += [used] if used else []
        totals = run.ledger.totals
        assert totals.input_tokens >= sum(usage.input_tokens for usage in known)
        assert totals.output_tokens >= sum(usage.output_tokens for usage in known)
        assert totals.cost_usd >= sum(usage.cost_usd or 0 for usage in known) - 1e-9
        assert totals.unpriced >= sum(usage.cost_usd is None for usage in known)
        assert len(run.ledger.turn.bounds) <= MAX_BOUNDS
        run.gates(str(len(run.records)))
