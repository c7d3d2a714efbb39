"""One turn's calls: order of the rules, schedules, benches, patience (DESIGN section 4 Calls; RULES A2-A8, A27)."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.decisions import Ask, CallModel, Wait
from ledger.failures import REMEDY, Bench, FailureKind
from ledger.interventions import ModelsExhausted, RequestRejected, Tried
from ledger.outcomes import Waited
from ledger.policy import CallPolicy, Policy
from ledger.target import Target
from tests.ledger.runs import FIRST, SECOND, THIRD, Run, plan_of

K = FailureKind


def test_every_kind_has_a_row_in_the_remedy_table():
    assert set(FailureKind) == set(REMEDY)


def waits(run: Run, kind: FailureKind, count: int, **flags: object) -> list[float]:
    """The waits before the next attempts on the same target, in seconds."""
    found = []
    for _ in range(count):
        decision = run.fail(kind, **flags)
        found.append(round(decision.asked_s if isinstance(decision, Wait) else decision.wait_s, 3))
        if isinstance(decision, Wait):
            run.sleep()
    return found


@pytest.mark.parametrize(
    ("kind", "schedule"),
    [(K.NETWORK, [1, 2, 4]), (K.SERVER_ERROR, [5, 10, 20]), (K.TIMEOUT, [5, 10, 20]), (K.RATE_LIMITED, [15, 30, 60])],
)
def test_a_transient_failure_is_retried_on_its_schedule(kind, schedule):  # A29
    assert waits(Run(plan_of(FIRST)), kind, 3) == schedule


def test_a_scheduled_wait_is_shortened_by_jitter_of_at_most_a_fifth():
    run = Run(plan_of(FIRST))
    run.jitter = 0.999
    assert 12 <= waits(run, K.RATE_LIMITED, 1)[0] < 15


def test_a_stated_wait_replaces_the_schedule_and_is_never_shortened():
    run = Run(plan_of(FIRST))
    run.jitter = 0.999
    assert 40 < waits(run, K.RATE_LIMITED, 1, wait_s=40.0)[0] <= 44


def test_a_stated_wait_is_compared_with_its_limit_before_jitter():
    run = Run(plan_of(FIRST, SECOND))
    run.jitter = 0.999
    assert waits(run, K.RATE_LIMITED, 1, wait_s=60.0)[0] > 60


def test_a_short_wait_rides_inside_the_attempt_and_a_long_one_is_a_timer():
    assert isinstance(Run(plan_of(FIRST)).fail(K.NETWORK), CallModel)
    assert isinstance(Run(plan_of(FIRST)).fail(K.RATE_LIMITED), Wait)


def test_the_wait_really_slept_is_recorded_with_the_attempt():  # A4
    run = Run(plan_of(FIRST))
    run.fail(K.RATE_LIMITED)
    run.sleep()
    run.answer()
    first, second = run.of("attempt")
    assert (first.backoff_ms, second.backoff_ms) == (0, 15_000)


def test_attempts_are_numbered_without_gaps_and_restart_with_the_next_call():  # A2
    run = Run(plan_of(FIRST, SECOND))
    waits(run, K.NETWORK, 3)
    run.fail(K.NETWORK)
    run.answer()
    assert [(r.model, r.call, r.attempt) for r in run.of("attempt")] == [
        ("first", 1, 1),
        ("first", 1, 2),
        ("first", 1, 3),
        ("first", 1, 4),
        ("second", 2, 1),
    ]


def test_an_attempt_tells_what_followed_it_in_its_call():  # A5, A6
    run = Run(plan_of(FIRST, SECOND))
    waits(run, K.NETWORK, 3)
    run.fail(K.NETWORK)
    run.answer()
    said = [r.failed.next.value if r.failed else r.outcome for r in run.of("attempt")]
    assert said == ["same_model", "same_model", "same_model", "reported", "succeeded"]


def test_attempt_ids_are_unique_over_the_run():  # A3
    run = Run(plan_of(FIRST, SECOND, gates=("g",))).rounds("AB")
    run.fail(K.AUTH)
    ids = [r.id for r in run.of("attempt")]
    assert len(ids) == len(set(ids))
    assert all(ids)


def test_renewing_files_spends_no_attempt_and_no_backoff():  # A8: its own vector
    run = Run(plan_of(FIRST))
    gone = run.fail(K.FILE_MISSING, files=1, renew_files=True)
    assert (gone.renew_files, gone.wait_s, gone.attempt) == (True, 0, 2)
    slept = waits(run, K.NETWORK, 3)
    run.fail(K.NETWORK)
    attempts = run.of("attempt")
    assert [r.attempt for r in attempts] == [1, 2, 3, 4, 5]
    assert [r.failed.next for r in attempts] == ["renewed_files", "same_model", "same_model", "same_model", "reported"]
    assert slept == [1, 2, 4]


def test_files_are_renewed_once_a_call_and_only_where_the_request_named_some():  # A8
    run = Run(plan_of(FIRST))
    run.fail(K.FILE_MISSING, files=1, renew_files=True)
    run.fail(K.FILE_MISSING, files=1, renew_files=True)
    assert run.asked == "RequestRejected"
    without = Run(plan_of(FIRST))
    without.fail(K.FILE_MISSING, files=0, renew_files=True)
    assert without.asked == "RequestRejected"


def test_one_provider_refusing_four_times_differs_from_four_providers_refusing_once():  # A27
    four = [Target.parse(f"p{i}:m") for i in range(4)]
    one = Run(plan_of(FIRST))
    waits(one, K.NETWORK, 3)
    one.fail(K.NETWORK)
    each = Run(plan_of(*four))
    for _ in four:
        each.fail(K.AUTH)
    assert (len(one.of("attempt")), len(one.of("failover"))) == (4, 0)
    assert (len(each.of("attempt")), len(each.of("failover"))) == (4, 3)


def test_a_failover_record_follows_its_attempt_and_has_its_kind():  # A23
    run = Run(plan_of(FIRST, SECOND))
    run.fail(K.BILLING)
    attempt, move = run.records[-2:]
    assert (attempt.type, move.type, move.kind, move.reason) == ("attempt", "failover", "billing", "credits_exhausted")
    assert attempt.failed.kind == move.kind
    assert attempt.iteration == move.iteration


@pytest.mark.parametrize(
    ("kind", "reason"), [(K.OVERLOADED, "at_capacity"), (K.AUTH, "auth_failed"), (K.TOO_LARGE, "too_large")]
)
def test_a_move_names_its_reason(kind, reason):  # C17, C23
    run = Run(plan_of(FIRST, SECOND, context_tokens={str(FIRST): 1_000, str(SECOND): 2_000}))
    run.fail(kind, transient=False)
    assert run.of("failover")[0].reason == reason


@pytest.mark.parametrize("kind", [k for k in FailureKind if not REMEDY[k].transient])
def test_no_permanent_failure_is_sent_again_to_the_same_target(kind):
    run = Run(plan_of(FIRST, SECOND))
    run.fail(kind)
    assert not (isinstance(run.doing, CallModel) and run.doing.target == FIRST)


def test_a_request_that_no_model_would_take_asks_a_person():
    run = Run(plan_of(FIRST, SECOND))
    run.fail(K.INVALID_REQUEST)
    assert run.doing.open.intervention == RequestRejected(target=FIRST, kind=K.INVALID_REQUEST)


def test_when_every_target_refused_a_person_is_told_all_that_was_tried():
    run = Run(plan_of(FIRST, SECOND))
    run.fail(K.AUTH)
    run.fail(K.BILLING)
    tried = (Tried(target=FIRST, kind=K.AUTH, attempts=1), Tried(target=SECOND, kind=K.BILLING, attempts=1))
    assert run.doing.open.intervention == ModelsExhausted(tried=tried, retry_at=None)


@pytest.mark.parametrize("kind", [k for k in FailureKind if REMEDY[k].bench is Bench.RUN])
def test_a_target_that_refused_us_is_not_asked_again_in_this_run(kind):
    run = Run(plan_of(FIRST, SECOND, gates=("g",)))
    run.fail(kind)
    run.now += 86_400
    run.rounds("AB")
    assert run.doing.target == SECOND


def test_a_target_with_transient_trouble_comes_back_after_five_minutes():
    run = Run(plan_of(FIRST, SECOND, gates=("g",)))
    waits(run, K.NETWORK, 3)
    run.fail(K.NETWORK)
    run.now += 299
    run.round("A")
    assert run.doing.target == SECOND
    run.now += 1
    run.round("B")
    assert run.doing.target == FIRST
    assert run.of("failover")[-1].reason == "failback"


def test_a_target_whose_request_did_not_fit_is_asked_again_next_turn():
    run = Run(plan_of(FIRST, SECOND, gates=("g",)))
    run.fail(K.CONTENT_REFUSED)
    assert run.doing.target == SECOND
    run.round("A")
    assert run.doing.target == FIRST


def test_too_large_moves_only_to_a_target_known_to_be_larger():
    sizes = {str(FIRST): 100, str(SECOND): 50, str(THIRD): 200}
    run = Run(plan_of(FIRST, SECOND, THIRD, context_tokens=sizes))
    run.fail(K.TOO_LARGE)
    assert run.doing.target == THIRD
    unknown = Run(plan_of(FIRST, SECOND))
    unknown.fail(K.TOO_LARGE)
    assert unknown.asked == "ModelsExhausted"


def test_a_wait_beyond_the_limit_moves_on_and_is_waited_out_only_where_nobody_else_is_left():
    moves = Run(plan_of(FIRST, SECOND))
    moves.fail(K.RATE_LIMITED, wait_s=120.0)
    assert moves.doing.target == SECOND
    alone = Run(plan_of(FIRST))
    wait = alone.fail(K.RATE_LIMITED, wait_s=120.0)
    assert (wait.reason, wait.asked_s) == ("patience", 120.0)
    again = alone.sleep()
    assert (again.target, again.attempt) == (FIRST, 1)  # a new call


def test_a_quota_is_waited_for_until_its_stated_reset_if_patience_allows():
    run = Run(plan_of(FIRST))
    assert run.fail(K.QUOTA_EXHAUSTED, wait_s=600.0).asked_s == 600.0
    late = Run(plan_of(FIRST))
    late.fail(K.QUOTA_EXHAUSTED, wait_s=901.0)
    assert late.doing.open.intervention.retry_at == late.now + 901.0


def test_patience_is_the_sum_of_the_waits_of_one_turn():
    run = Run(plan_of(FIRST))
    run.fail(K.QUOTA_EXHAUSTED, wait_s=600.0)
    run.sleep()
    run.fail(K.QUOTA_EXHAUSTED, wait_s=301.0)
    assert run.asked == "ModelsExhausted"


def test_a_provider_that_states_no_time_at_all_cannot_keep_a_turn_going():
    run = Run(plan_of(FIRST))
    for _ in range(1_000):
        if isinstance(run.doing, Ask):
            break
        run.fail(K.QUOTA_EXHAUSTED, wait_s=0.0)
        if isinstance(run.doing, Wait):
            run.sleep()
    assert run.asked == "ModelsExhausted"
    assert len(run.of("attempt")) <= 16


def test_a_trip_that_no_worker_took_spends_no_attempt_and_is_bounded_by_patience():
    run = Run(plan_of(FIRST, SECOND))
    for _ in range(100):
        if isinstance(run.doing, Ask):
            break
        run.fail(K.NOT_SENT)
    assert run.asked == "ModelsExhausted"
    assert len(run.of("attempt")) == 16  # 15 minutes of patience, a minute each
    assert not run.of("failover")


def test_a_lost_worker_is_recorded_as_unknown_and_retried():  # FAULTS 1
    run = Run(plan_of(FIRST))
    run.fail(K.WORKER_LOST, outcome_unknown=True)
    run.answer()
    assert [(r.outcome_unknown, r.attempt) for r in run.of("attempt")] == [(True, 1), (False, 2)]


def test_a_cancelled_attempt_is_recorded_then_obeyed():
    run = Run(plan_of(FIRST))
    run.fail(K.CANCELLED)
    assert run.doing.status == "cancelled"
    assert run.of("attempt")[0].failed.kind == "cancelled"


def test_an_interrupted_wait_goes_on_to_the_same_moment():
    run = Run(plan_of(FIRST))
    until = run.fail(K.RATE_LIMITED).until
    run.now += 3
    assert run.tell(Waited(slept_s=3.0, interrupted=True)).until == until


SHORT = CallPolicy(attempts=2, patience_s=120)
OUTCOMES = st.lists(st.sampled_from([*(k for k in FailureKind if k is not K.CANCELLED), None]), max_size=30)


@given(OUTCOMES, st.floats(0, 0.999))
def test_whatever_fails_the_run_acts_or_asks_and_every_trip_has_its_record(kinds, jitter):
    run = Run(plan_of(FIRST, SECOND, gates=("g",), policy=Policy(calls=SHORT)))
    run.jitter = jitter
    trips = 0
    for kind in kinds:
        while isinstance(run.doing, Wait):
            run.sleep()
        if not isinstance(run.doing, CallModel):
            break
        trips += 1
        if kind is None:
            run.answer()
            run.gates(str(trips))
        else:
            run.fail(kind)
    attempts = run.of("attempt")
    assert len(attempts) == trips
    for before, after in pairwise(attempts):
        if (before.turn, before.call) == (after.turn, after.call):
            assert after.attempt == before.attempt + 1
            assert before.failed
            assert before.failed.next != "reported"
        else:
            assert after.attempt == 1
            assert after.backoff_ms == 0
        if before.model != after.model:
            assert any(r.type == "failover" for r in between(run, before, after))  # I6


def between(run: Run, one: object, other: object) -> list[object]:
    return run.records[run.records.index(one) + 1 : run.records.index(other)]  # type: ignore[arg-type]


def test_two_targets_without_a_bench_cannot_pass_a_turn_back_and_forth_for_ever():
    run = Run(plan_of(FIRST, SECOND, policy=Policy(calls=CallPolicy(attempts=1, bench_s=0))))
    for _ in range(1_000):
        if isinstance(run.doing, Ask):
            break
        run.sleep() if isinstance(run.doing, Wait) else run.fail(K.SERVER_ERROR)
    assert run.asked == "ModelsExhausted"


def test_trips_that_no_worker_took_leave_the_retry_budget_whole():
    run = Run(plan_of(FIRST))
    for _ in range(3):
        run.fail(K.NOT_SENT)
    assert waits(run, K.NETWORK, 3) == [1, 2, 4]
