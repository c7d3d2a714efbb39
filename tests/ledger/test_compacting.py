"""When a conversation is compacted, for whom, and what follows: rules over counts, without a message."""

import pytest

from ledger.answers import Answer
from ledger.context import Context, is_full
from ledger.decisions import CallModel, Compact, RunTools
from ledger.failures import FailureKind
from ledger.outcomes import Answered, Compacted, Held, ToolOutcome, ToolRequest, ToolsRan, Trip, Usage
from ledger.policy import CallPolicy, ContextPolicy, Policy, SpendPolicy
from tests.ledger.runs import FIRST, SECOND, THIRD, Run, directive, plan_of

WINDOWS = {str(FIRST): 1_000, str(SECOND): 400, str(THIRD): 2_000}


def run_with(
    full: str = "drop_tool_results", *models: object, windows: dict[str, int] | None = None, **policy: object
) -> Run:
    context = ContextPolicy(full=full)  # type: ignore[arg-type]
    plan = plan_of(
        *(models or (FIRST,)),  # type: ignore[arg-type]
        policy=Policy(context=context, **policy),  # type: ignore[arg-type]
        context_tokens=WINDOWS if windows is None else windows,
    )
    return Run(plan)


def turn(run: Run, tokens: int, result: int = 0, *, paused: bool = False) -> object:
    """A turn that calls a tool: its answer was counted as so many tokens in all, its result has so many bytes."""
    usage = Usage(input_tokens=tokens - 10, output_tokens=10)
    run.tell(
        Trip(outcome=Answered(finish_reason="tool_call", tool_calls=(ToolRequest(index=0, name="t"),)), usage=usage)
    )
    doing = run.doing
    assert isinstance(doing, RunTools)
    if paused:
        run.hear(directive("pause"))
    outcome = ToolOutcome(index=0, name="t", status="ok", bytes=result)
    return run.tell(ToolsRan(attempt_id=doing.attempt_id, results=(outcome,)))


def compacted(run: Run, left: float = 0.5, **more: int) -> object:
    after = "3/b" if left < 1 else "9/a"
    return run.tell(Compacted(before="9/a", after=after, bytes_before=1_000, bytes_after=int(1_000 * left), **more))


def summarised(run: Run, place: str = "10/s") -> object:
    assert isinstance(run.doing, CallModel)
    assert run.doing.summarise
    usage = Usage(input_tokens=5, output_tokens=5)
    return run.tell(Trip(outcome=Answered(finish_reason="complete", summary=place), usage=usage))


@pytest.mark.parametrize(
    ("tokens", "result", "full"),
    [
        pytest.param(799, 0, False, id="one token below"),
        pytest.param(800, 0, True, id="at the threshold"),
        pytest.param(700, 399, False, id="a result that does not fill it"),
        pytest.param(700, 400, True, id="a result that fills it"),
    ],
)
def test_a_call_is_preceded_by_a_compaction_from_four_fifths_of_the_window_on(tokens, result, full):
    decision = turn(run_with(), tokens, result)
    assert isinstance(decision, Compact if full else CallModel)


def test_the_call_that_room_was_made_for_follows_and_is_not_held_up_again():
    run = run_with()
    turn(run, 950)
    following = compacted(run, left=0.95)
    assert isinstance(following, CallModel)
    assert (following.id, following.target, following.summarise) == ("2.1.1", FIRST, None)


def test_a_compaction_leaves_a_record_of_what_it_was_made_of_and_became():
    run = run_with()
    turn(run, 900)
    compacted(run, dropped=3)
    (record,) = run.of("compaction")
    assert record.model_dump(exclude={"at"}) == {
        "type": "compaction",
        "id": "compact-1",
        "reason": "full",
        "how": "drop_tool_results",
        "target": str(FIRST),
        "window": 1_000,
        "before": "9/a",
        "after": "3/b",
        "tokens_before": 900,
        "tokens_after": 450,
        "bytes_before": 1_000,
        "bytes_after": 500,
        "dropped": 3,
    }


def test_what_a_compaction_could_not_free_is_not_compacted_again_before_it_has_grown():
    run = run_with()
    turn(run, 850)
    compacted(run, left=1.0)
    assert isinstance(turn(run, 860), CallModel)
    assert isinstance(turn(run, 959), CallModel)
    assert isinstance(turn(run, 960), Compact)


def test_the_size_after_a_compaction_is_the_providers_own_as_soon_as_there_is_one():
    run = run_with()
    turn(run, 900)
    compacted(run, left=0.1)
    assert isinstance(turn(run, 850), CallModel)
    assert isinstance(turn(run, 949), CallModel)
    assert isinstance(turn(run, 950), Compact)


def test_a_window_that_is_not_known_is_never_full():
    assert isinstance(turn(run_with(windows={}), 10**9), CallModel)


def test_an_answer_that_nobody_counted_fills_nothing():
    run = run_with()
    bound = Usage(input_tokens=10**6, output_tokens=9, estimated=True)
    run.tell(
        Trip(outcome=Answered(finish_reason="tool_call", tool_calls=(ToolRequest(index=0, name="t"),)), usage=bound)
    )
    outcome = ToolOutcome(index=0, name="t", status="ok", bytes=40)
    assert isinstance(run.tell(ToolsRan(attempt_id=run.doing.attempt_id, results=(outcome,))), CallModel)


def test_a_policy_of_keep_compacts_nothing_and_asks_as_before():
    run = run_with("keep")
    assert isinstance(turn(run, 10**6), CallModel)
    run.fail(FailureKind.TOO_LARGE)
    assert run.asked == "ModelsExhausted"


def test_a_plan_of_before_there_was_a_policy_keeps_everything():
    run = Run(plan_of(FIRST, context_tokens=WINDOWS))
    assert isinstance(turn(run, 10**6), CallModel)
    run.fail(FailureKind.TOO_LARGE)
    assert run.asked == "ModelsExhausted"


# ---- another target


def test_a_failover_to_a_smaller_window_makes_room_for_it_once():
    run = run_with("drop_tool_results", FIRST, SECOND)
    turn(run, 500)
    decision = run.fail(FailureKind.AUTH)
    assert isinstance(decision, Compact)
    assert (decision.target, decision.window) == (SECOND, 400)
    following = compacted(run, left=0.7)
    assert isinstance(following, CallModel)
    assert (following.target, following.id) == (SECOND, "2.2.1")
    assert [(move.to_model, move.reason) for move in run.of("failover")] == [("second", "auth_failed")]


def test_two_targets_that_fail_in_turn_are_not_compacted_for_in_a_ring():
    run = run_with("drop_tool_results", FIRST, SECOND, calls=CallPolicy(attempts=1, patience_s=10**6))
    turn(run, 900)
    seen = 0
    for _ in range(40):
        if isinstance(run.doing, Compact):
            seen += 1
            compacted(run, left=0.99)
        elif isinstance(run.doing, CallModel):
            run.fail(FailureKind.OVERLOADED)
        else:
            run.sleep()
    assert seen == 2


# ---- a refusal for its size


def test_a_request_refused_for_its_size_is_compacted_before_a_larger_model_is_asked():
    run = run_with("drop_tool_results", FIRST, THIRD)
    turn(run, 600)
    decision = run.fail(FailureKind.TOO_LARGE)
    assert isinstance(decision, Compact)
    assert (decision.reason, decision.target) == ("too_large", FIRST)
    following = compacted(run)
    assert isinstance(following, CallModel)
    assert (following.target, following.id) == (FIRST, "2.2.1")
    assert run.of("failover") == []


def test_what_can_not_be_compacted_goes_to_the_larger_model_as_before():
    run = run_with("drop_tool_results", FIRST, THIRD)
    turn(run, 600)
    run.fail(FailureKind.TOO_LARGE)
    following = compacted(run, left=1.0)
    assert isinstance(following, CallModel)
    assert (following.target, following.id) == (THIRD, "2.2.1")
    assert [move.reason for move in run.of("failover")] == ["too_large"]


def test_a_second_refusal_in_the_same_turn_is_not_compacted_again():
    run = run_with()
    turn(run, 600)
    run.fail(FailureKind.TOO_LARGE)
    compacted(run, left=0.9)
    run.fail(FailureKind.TOO_LARGE)
    assert run.asked == "ModelsExhausted"
    assert [tried.attempts for tried in run.doing.open.intervention.tried] == [1, 1]


def test_a_task_that_is_too_large_by_itself_is_not_compacted():
    run = run_with()
    run.fail(FailureKind.TOO_LARGE)
    assert run.asked == "ModelsExhausted"


def test_a_refusal_cuts_deeper_than_a_count():
    by_count, by_refusal = run_with(), run_with()
    full = turn(by_count, 900)
    turn(by_refusal, 700)
    refused = by_refusal.fail(FailureKind.TOO_LARGE)
    assert isinstance(full, Compact)
    assert isinstance(refused, Compact)
    assert refused.verbatim < full.verbatim


# ---- a summary


def test_a_summary_is_asked_of_the_same_target_and_the_conversation_made_of_it():
    run = run_with("summarise")
    asked = turn(run, 900)
    assert isinstance(asked, CallModel)
    assert (asked.id, asked.target) == ("2.1.1", FIRST)
    order = summarised(run)
    assert isinstance(order, Compact)
    assert (order.how, order.summary, order.attempt_id) == ("summarise", "10/s", "2.1.1")
    following = compacted(run, replaced=7)
    assert isinstance(following, CallModel)
    assert (following.id, following.summarise) == ("2.2.1", None)
    assert [record.purpose for record in run.of("attempt")] == ["", "summary"]


def test_what_the_summary_used_is_no_count_of_the_conversation():
    run = run_with("summarise")
    turn(run, 900)
    summarised(run)
    compacted(run, left=0.5)
    assert run.ledger.context.tokens == 450


def test_what_the_model_has_to_be_told_waits_until_the_summary_is_made():
    run = run_with("summarise")
    assert run.hear(directive("guide", text="mind the units")) is None
    asked = turn(run, 900)
    assert asked.notes == ()
    summarised(run)
    following = compacted(run)
    assert [note.text for note in following.notes] == ["mind the units"]


def test_a_summary_is_retried_and_failed_over_like_any_call():
    run = run_with("summarise", FIRST, THIRD)
    turn(run, 900)
    again = run.fail(FailureKind.SERVER_ERROR)
    for _ in range(3):
        if not isinstance(run.doing, CallModel):
            again = run.sleep()
        assert again.summarise
        again = run.fail(FailureKind.SERVER_ERROR)
    assert (again.target, bool(again.summarise), again.id) == (THIRD, True, "2.2.1")
    summarised(run)
    following = compacted(run)
    assert following.target == THIRD  # the first one rests


@pytest.mark.parametrize("kind", [FailureKind.CONTENT_REFUSED, FailureKind.INVALID_REQUEST, FailureKind.TOO_LARGE])
def test_a_summary_that_is_refused_keeps_no_target_from_going_on(kind):
    run = run_with("summarise", FIRST)
    turn(run, 900)
    order = run.fail(kind)
    assert isinstance(order, Compact)
    assert (order.how, order.fallback) == ("drop_tool_results", True)
    following = compacted(run)
    assert isinstance(following, CallModel)
    assert (following.target, following.id) == (FIRST, "2.2.1")
    assert run.of("compaction")[0].fallback


def test_a_summary_that_may_cost_too_much_is_done_without():
    run = run_with("summarise", FIRST, spend=SpendPolicy(limit_usd=1))
    turn(run, 900)
    order = run.tell(Trip(outcome=Held(bound_usd=3)))
    assert isinstance(order, Compact)
    assert order.fallback
    assert run.asked == ""


def test_a_refusal_that_no_summary_and_no_compaction_helps_against_reaches_a_person():
    run = run_with("summarise")
    turn(run, 600)
    run.fail(FailureKind.TOO_LARGE)
    run.fail(FailureKind.TOO_LARGE)
    compacted(run, left=1.0)
    assert run.asked == "ModelsExhausted"


# ---- people in between


@pytest.mark.parametrize("full", ["drop_tool_results", "summarise"])
def test_a_pause_holds_a_compaction_up_and_it_goes_on_where_it_was(full):
    run = run_with(full)
    turn(run, 900, paused=True)
    assert run.asked == "Paused"
    run.say("resume")
    if full == "summarise":
        summarised(run)
    assert isinstance(run.doing, Compact)
    following = compacted(run)
    assert isinstance(following, CallModel)
    assert following.summarise is None


def test_guidance_given_while_a_compaction_is_held_up_is_told_with_the_call_after_it():
    run = run_with()
    turn(run, 900, paused=True)
    run.say("guide", text="mind the units")
    assert isinstance(run.doing, Compact)
    following = compacted(run)
    assert [note.text for note in following.notes] == ["mind the units"]


def test_guidance_given_while_tool_calls_are_held_up_is_told_with_the_next_call():
    run = run_with()
    run.hear(directive("pause"))
    run.tell(Trip(outcome=Answered(finish_reason="tool_call", tool_calls=(ToolRequest(index=0, name="t"),))))
    opened = run.doing.open
    body = {"answer": "guide", "text": "mind the units"}
    word = {"intervention": opened.id, "digest": opened.digest, "body": body}
    assert run.hear(Answer.model_validate(word)) is None
    doing = run.doing
    assert isinstance(doing, RunTools)
    outcome = ToolOutcome(index=0, name="t", status="ok")
    following = run.tell(ToolsRan(attempt_id=doing.attempt_id, results=(outcome,)))
    assert [note.text for note in following.notes] == ["mind the units"]


def test_a_stop_in_a_compaction_ends_the_run():
    run = run_with()
    turn(run, 900)
    run.hear(directive("stop"))
    compacted(run)
    assert run.doing.do == "finish"


def test_the_whole_state_of_a_summary_goes_through_json():
    run = run_with("summarise")
    turn(run, 900)
    again = type(run.ledger).model_validate_json(run.ledger.model_dump_json())
    assert again == run.ledger
    summarised(run)
    assert type(run.ledger).model_validate_json(run.ledger.model_dump_json()) == run.ledger


def test_a_larger_window_than_the_last_ones_is_no_reason_to_compact_again():
    context = Context(tokens=900, window=1_000, settled=900)
    policy = ContextPolicy()
    assert not is_full(context, 1_100, policy)
    assert is_full(context, 900, policy)
