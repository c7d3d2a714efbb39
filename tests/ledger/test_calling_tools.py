"""When a tool call waits for a person, and what a person's word on it does (DESIGN section 4)."""

import pytest

from ledger.decisions import CallModel, Finish, RunTools
from ledger.interventions import ApprovalNeeded, Question
from ledger.outcomes import Answered, ToolOutcome, ToolRequest, ToolsRan, Trip
from ledger.totals import Totals
from tests.ledger.runs import Run, directive, plan_of


def call(index: int = 0, **needs: object) -> ToolRequest:
    return ToolRequest.model_validate({"index": index, "name": "refund", "arguments": f"digest-{index}", **needs})


def asking(*calls: ToolRequest) -> Run:
    """A run whose model just answered with these calls."""
    run = Run(plan_of())
    return again(run, *calls)


def again(run: Run, *calls: ToolRequest) -> Run:
    run.tell(Trip(outcome=Answered(finish_reason="tool_call", tool_calls=calls)))
    return run


def ran(run: Run, *status: str) -> Run:
    assert isinstance(run.doing, RunTools)
    results = (ToolOutcome.model_validate({"index": i, "name": "refund", "status": s}) for i, s in enumerate(status))
    run.tell(ToolsRan(attempt_id=run.doing.attempt_id, results=tuple(results)))
    return run


def said(run: Run) -> list[str]:
    """What stands beside each call that is carried out now."""
    assert isinstance(run.doing, RunTools), run.doing
    return [call.said.answer if call.said else "" for call in run.doing.calls]


def test_a_call_that_needs_nobody_is_carried_out_at_once():
    assert said(asking(call(), call(1))) == ["", ""]


def test_a_call_that_needs_approval_waits_for_it_and_names_what_was_shown():
    run = asking(call(), call(1, approval="always"))
    assert run.doing.open.intervention == ApprovalNeeded(tool="refund", arguments="digest-1", index=1)
    assert run.say("approve") is None
    assert said(run) == ["", "approve"]


def test_nothing_of_an_answer_runs_before_the_last_of_its_calls_is_spoken_about():
    run = asking(call(approval="always"), call(1), call(2, approval="always"))
    run.say("reject", text="not this one")
    assert run.doing.open.intervention.index == 2
    run.say("approve")
    assert said(run) == ["reject", "", "approve"]


def test_other_arguments_of_a_person_go_along_with_their_call():
    run = asking(call(approval="always"))
    run.say("edit", ref="r" * 24)
    assert run.doing.calls[0].said.ref == "r" * 24


def test_an_edit_without_arguments_is_refused():
    run = asking(call(approval="always"))
    assert run.say("edit").reason == "malformed"


def test_one_approval_is_enough_where_the_operator_says_so():
    run = ran(asking(call(approval="once"), call(1, approval="once")).say_each("approve"), "ok", "ok")
    assert said(again(run, call(approval="once"))) == [""]
    assert run.asked == ""


def test_a_rejection_approves_nothing():
    run = asking(call(approval="once"))
    run.say("reject")
    again(ran(run, "rejected"), call(approval="once"))
    assert run.asked == "ApprovalNeeded"


def test_each_call_is_asked_about_where_every_call_needs_approval():
    run = ran(asking(call(approval="always")).say_each("approve"), "ok")
    assert again(run, call(approval="always")).asked == "ApprovalNeeded"


def test_a_question_is_put_in_its_own_words_and_the_reply_is_the_calls_result():
    run = asking(call(question=Question(text="Which one?", options=("a", "b"))))
    assert run.doing.open.intervention == Question(text="Which one?", options=("a", "b"))
    assert run.say("reply").reason == "malformed"
    run.say("reply", text="a")
    assert run.doing.calls[0].said.text == "a"
    assert isinstance(ran(run, "ok").doing, CallModel)


@pytest.mark.parametrize("label", ["approve", "reply", "retry", "guide"])
def test_an_approval_takes_no_other_answer(label):
    run = asking(call(approval="always"))
    refusal = run.say(label) if label != "guide" else run.say(label, text="x")
    assert (refusal is None) == (label == "approve")


def test_an_approval_is_bound_to_the_arguments_that_were_shown():
    first, second = (asking(call(approval="always", arguments=shown)) for shown in ("one", "two"))
    assert first.doing.open.digest != second.doing.open.digest


def test_a_lost_call_is_asked_about_and_runs_again_only_on_a_persons_word():
    run = ran(asking(call(), call(1)), "ok", "lost")
    assert (run.asked, run.doing.open.intervention.index) == ("OutcomeUnknown", 1)
    run.say("retry")
    assert said(run) == ["", ""]


def test_what_a_person_says_of_a_lost_call_is_its_result():
    run = ran(asking(call(), call(1)), "ok", "lost")
    run.say("reply", text="it was refunded")
    assert said(run) == ["", "reply"]


def test_a_person_who_changed_the_arguments_of_a_call_that_was_lost_finds_them_kept():
    run = asking(call(approval="always"))
    run.say("edit", text="{}")
    ran(run, "lost")
    run.say("retry")
    assert said(run) == ["edit"]


def test_a_pause_and_a_stop_are_heard_while_a_call_is_asked_about():
    run = asking(call(approval="always"))
    run.hear(directive("pause"))
    run.say("approve")
    assert run.asked == "Paused"
    run.say("resume")
    assert said(run) == ["approve"]
    run = asking(call(approval="always"))
    run.say("stop")
    assert isinstance(run.doing, Finish)


def test_an_approval_of_one_call_is_none_for_a_tool_whose_first_call_a_person_wants_to_see():
    run = ran(asking(call(approval="always")).say_each("approve"), "ok")
    assert again(run, call(approval="once")).asked == "ApprovalNeeded"


def test_of_two_questions_each_gets_its_own_reply():
    run = asking(call(), call(1, question=Question(text="One?")), call(2, question=Question(text="Two?")))
    run.say("reply", text="1")
    run.say("reply", text="2")
    assert [call.said.text if call.said else "" for call in run.doing.calls] == ["", "1", "2"]


def test_what_a_sub_agent_used_beside_a_call_that_was_lost_is_in_the_journal_once():
    run = asking(call(), call(1))
    helped = ToolOutcome(index=0, name="help", status="ok", totals=Totals(attempts=3, cost_usd=0.5))
    lost = ToolOutcome(index=1, name="refund", status="lost")
    run.tell(ToolsRan(attempt_id=run.doing.attempt_id, results=(helped, lost)))
    run.say("reply", text="it was refunded")
    ran(run, "ok", "ok")
    assert [(sub.run, sub.cost_usd) for batch in run.of("tools") for sub in batch.runs] == [("1.0", 0.5)]
    assert [len(batch.calls) for batch in run.of("tools")] == [0, 2]
    assert run.ledger.totals.cost_usd == 0.5
