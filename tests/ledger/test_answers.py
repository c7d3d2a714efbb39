"""What a person may say and what it does (DESIGN section 4, Interventions and answers; RULES X8, L17-L18)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.answers import Answer, AnswerBody
from ledger.conversation import digest
from ledger.decisions import Ask, CallModel, Finish, Wait
from ledger.failures import FailureKind
from ledger.interventions import ACCEPTS, BARE, Intervention, Open
from ledger.outcomes import Answered, Expired, ToolOutcome, ToolRequest, ToolsRan, Trip
from ledger.policy import AskPolicy, Policy
from tests.ledger.runs import FIRST, SECOND, Run, directive, plan_of

LABELS = {arm.model_fields["label"].default for arm in Intervention.__origin__.__args__}
ANSWERS = {arm.model_fields["answer"].default for arm in AnswerBody.__origin__.__args__}


def spent() -> Run:
    return Run(plan_of(gates=("g",))).rounds("ABABAB")


def exhausted() -> Run:
    run = Run(plan_of())
    run.fail(FailureKind.AUTH)
    run.fail(FailureKind.AUTH)
    return run


def test_every_intervention_has_a_row_of_answers_and_every_answer_is_known():
    assert set(ACCEPTS) == LABELS
    assert {label for labels in ACCEPTS.values() for label in labels} | {"stop"} == ANSWERS
    assert BARE <= LABELS


@pytest.mark.parametrize("label", sorted(ANSWERS - {"guide", "raise", "edit", "reply", "reject"}))
def test_an_answer_that_does_not_fit_is_refused_and_changes_nothing(label):
    run = spent()
    before = run.ledger
    refusal = run.say(label)
    accepted = label in (*ACCEPTS["BudgetSpent"], "stop")
    assert (refusal is None) == accepted
    if refusal:
        assert (refusal.reason, run.ledger) == ("unfitting", before)
        assert "accepts retry, guide, failover, accept, stop" in refusal.text


@pytest.mark.parametrize("wrong", [{"digest": "0" * 16}, {"intervention": "int-9"}, {"digest": ""}])
def test_an_answer_to_something_else_is_stale(wrong):
    run = spent()
    opened, before = run.doing.open, run.ledger
    word = {"intervention": opened.id, "digest": opened.digest, "body": {"answer": "retry"}, **wrong}
    refusal = run.hear(Answer.model_validate(word))
    assert (refusal.reason, run.ledger) == ("stale", before)


def test_an_answer_is_taken_once():
    run = spent()
    opened = run.doing.open
    word = Answer.model_validate({"intervention": opened.id, "digest": opened.digest, "body": {"answer": "retry"}})
    assert run.hear(word) is None
    assert run.hear(word).reason == "nothing_open"


def test_an_answer_that_would_not_fit_is_refused_as_such_although_it_is_not_bound():
    run = spent()
    assert run.hear(Answer.model_validate({"body": {"answer": "raise", "amount": 5}})).reason == "unfitting"


def test_a_bare_label_fits_only_what_it_cannot_mistake_and_is_marked_unbound():
    run = spent()
    assert run.hear(Answer.model_validate({"body": {"answer": "retry"}})) is None
    assert run.of("answer")[0].unbound
    limit = Run(plan_of(gates=("g",), turns=1)).rounds("A")
    assert limit.hear(Answer.model_validate({"body": {"answer": "raise", "amount": 5}})).reason == "unbound"


def test_guidance_that_is_bound_to_nothing_is_refused():
    run = spent()
    assert run.hear(Answer.model_validate({"body": {"answer": "guide", "text": "x"}})).reason == "unbound"


def test_the_digest_changes_with_what_is_shown():
    one, other = spent().doing.open, exhausted().doing.open
    assert one.digest != other.digest
    assert one.digest != one.model_copy(update={"id": "int-2"}).digest
    assert Open.model_validate_json(one.model_dump_json()).digest == one.digest


def test_retry_grants_exactly_one_more_admission_and_lowers_no_count():  # X8
    run = spent()
    before = run.ledger.gates["g"]
    run.say("retry")
    after = run.ledger.gates["g"]
    assert isinstance(run.doing, CallModel)
    assert (after.charges, after.repairs, after.grants) == (before.charges, before.repairs, before.grants + 1)
    run.rounds("CC")
    assert run.asked == "BudgetSpent"
    assert run.doing.open.intervention.charged == 5


def test_retry_after_no_progress_ends_in_no_progress_with_a_growing_count():  # L6, X8
    run = Run(plan_of(gates=("g",))).rounds("AAAA")
    run.say("retry")
    run.round("A")
    assert (run.asked, run.doing.open.intervention.repetitions) == ("NoProgress", 5)


def test_guidance_is_told_to_the_model_and_is_evidence_that_lowers_nothing():
    run = Run(plan_of(gates=("g",))).rounds("AAAA")
    run.say("guide", ref="abc")
    assert [note.note for note in run.doing.notes] == ["repair", "guide"]
    gate = run.ledger.gates["g"]
    assert (gate.repairs.has_progress("A"), gate.repairs.repetitions("A")) == (True, 4)
    assert [e.fingerprint for e in run.of("evidence")] == ["A"]
    run.round("A")
    assert run.doing.open.intervention.repetitions == 5


def test_accept_waives_the_gate_and_the_stage_is_done():
    run = spent()
    run.say("accept")
    assert isinstance(run.doing, Finish)
    assert run.doing.status == "completed"


def test_accept_waives_one_gate_and_leaves_the_other_failing():
    run = Run(plan_of(gates=("g", "h")))
    for _ in range(4):
        run.answer()
        run.gates("A", str(run.ledger.turns))
    run.say("accept")
    assert [note.gate for note in run.doing.notes] == ["h"]
    run.answer()
    assert [gate for gate, _ in run.doing.gates] == ["h"]


def test_failover_hands_the_repair_to_the_next_target_on_the_persons_word():
    run = Run(plan_of(FIRST, SECOND, gates=("g",), policy=Policy.model_validate({"repairs": {"escalate_after": 0}})))
    run.rounds("ABABAB")
    run.say("failover")
    assert run.doing.target == SECOND
    assert run.of("failover")[-1].reason == "answered"


def test_failover_to_an_unknown_target_or_to_nowhere_is_refused():
    run = spent()
    assert run.say("failover", target="nobody:nothing").reason == "no_target"
    alone = Run(plan_of(FIRST, gates=("g",))).rounds("ABABAB")
    assert alone.say("failover").reason == "no_target"


def test_retry_after_exhaustion_gives_every_target_of_the_stage_another_chance():
    run = exhausted()
    run.say("retry")
    assert (run.doing.target, run.doing.attempt) == (FIRST, 1)
    run.fail(FailureKind.AUTH)
    assert run.doing.target == SECOND


def test_failover_after_exhaustion_goes_to_the_named_target():
    run = exhausted()
    run.say("failover", target=str(FIRST))
    assert (run.doing.target, run.of("failover")[-1].reason) == (FIRST, "answered")


def test_a_stage_that_used_its_turns_asks_and_goes_on_by_the_stated_amount():
    run = Run(plan_of(gates=("g",), turns=2)).rounds("AB")
    assert (run.asked, run.doing.open.intervention.turns) == ("TurnLimit", 2)
    run.say("raise", amount=2)
    run.rounds("CD")
    assert (run.asked, run.doing.open.intervention.turns) == ("TurnLimit", 4)
    run.say("guide", text="once more")
    run.round("E")
    assert run.asked == "TurnLimit"


def test_stop_fits_every_intervention_and_names_who_and_why():
    for run in (spent(), exhausted()):
        opened = run.doing.open
        run.hear(
            Answer.model_validate(
                {
                    "intervention": opened.id,
                    "digest": opened.digest,
                    "by": "ann",
                    "body": {"answer": "stop", "reason": "late"},
                }
            )
        )
        assert (run.doing.status, run.doing.by, run.doing.why) == ("stopped", "ann", "late")


def test_two_gates_in_trouble_are_asked_about_one_after_the_other():
    run = Run(plan_of(gates=("g", "h")))
    for _ in range(4):
        run.answer()
        run.gates("A", "H")
    first = run.doing.open
    assert (first.id, first.intervention.gate) == ("int-1", "g")
    run.say("retry")
    second = run.doing.open
    assert (second.id, second.intervention.gate) == ("int-2", "h")
    run.say("retry")
    assert [note.gate for note in run.doing.notes] == ["g", "h"]


def test_a_pause_lets_the_call_end_then_holds_what_comes_next():
    run = Run(plan_of(gates=("g",)))
    run.hear(directive("pause"))
    assert isinstance(run.doing, CallModel)
    run.answer()
    assert (run.asked, run.doing.open.intervention.by) == ("Paused", "ann")
    run.hear(Answer.model_validate({"body": {"answer": "resume"}}))
    run.gates(None)
    assert run.doing.status == "completed"


def test_guidance_in_a_pause_reaches_the_held_call():
    run = Run(plan_of(gates=("g",)))
    run.answer()
    run.hear(directive("pause"))
    run.gates("A")
    run.say("guide", text="look again")
    assert [note.note for note in run.doing.notes] == ["repair", "guide"]


def test_a_pause_holds_a_wait_to_its_own_moment():
    run = Run(plan_of(FIRST))
    until = run.fail(FailureKind.RATE_LIMITED).until
    run.hear(directive("pause"))
    from ledger.outcomes import Waited

    run.tell(Waited(slept_s=0.0, interrupted=True))
    run.say("resume")
    assert isinstance(run.doing, Wait)
    assert run.doing.until == until


def test_a_stop_ends_a_wait_for_a_person_at_once_and_a_call_after_its_outcome():
    waiting = spent()
    waiting.hear(directive("stop", reason="enough"))
    assert (waiting.doing.status, waiting.doing.by, waiting.doing.why) == ("stopped", "ann", "enough")
    calling = Run(plan_of())
    calling.hear(directive("stop"))
    calling.fail(FailureKind.CANCELLED)
    assert calling.doing.status == "stopped"
    assert len(calling.of("attempt")) == 1


def test_guidance_unasked_is_told_with_the_next_turn():
    run = Run(plan_of(gates=("g",)))
    run.hear(directive("guide", text="mind the gap"))
    assert run.doing.notes == ()
    run.round("A")
    assert [note.note for note in run.doing.notes] == ["repair", "guide"]


def test_a_person_chooses_where_the_next_turns_start():
    run = Run(plan_of(FIRST, SECOND, gates=("g",)))
    assert run.hear(directive("model", target="nobody:nothing")).reason == "no_target"
    run.hear(directive("model", target=str(SECOND)))
    run.round("A")
    assert (run.doing.target, run.of("failover")[-1].reason) == (SECOND, "directed")


@pytest.mark.parametrize(("then", "expected"), [("stay", Ask), ("stop", Finish), ("failover", CallModel)])
def test_a_deadline_that_nobody_met_is_no_refusal(then, expected):
    policy = Policy(ask=AskPolicy(deadline_s=60, then=then))
    run = Run(plan_of(gates=("g",), policy=policy)).rounds("ABABAB")
    run.tell(Expired(intervention=run.doing.open.id))
    assert isinstance(run.doing, expected)
    assert [r.then for r in run.of("deadline")] == [then]
    assert run.of("answer") == []


def test_guidance_without_a_word_is_refused():
    run = Run(plan_of(gates=("g",)))
    assert run.hear(directive("guide")).reason == "malformed"
    assert run.hear(directive("guide", text="look")) is None


def test_guidance_that_the_model_has_not_read_is_held_up_to_four_of_the_longest_texts_and_again_after_its_call():
    run = Run(plan_of(gates=("g",)))
    longest = directive("guide", text="x" * 65_536)
    assert [run.hear(longest) for _ in range(4)] == [None] * 4
    refusal = run.hear(longest)
    assert (refusal.reason, "has not read" in refusal.text) == ("unfitting", True)
    assert run.hear(directive("guide", ref="some-text")) is None
    run.round("A")
    assert [note.note for note in run.doing.notes].count("guide") == 5
    assert run.hear(longest) is None


def test_a_deadline_of_a_question_that_was_answered_meanwhile_ends_nothing():
    policy = Policy(ask=AskPolicy(deadline_s=60, then="stop"))
    run = Run(plan_of(gates=("g",), policy=policy)).rounds("ABABAB")
    answered = run.doing.open.id
    run.say("retry")
    run.rounds("A")
    assert run.doing.open.id != answered
    run.tell(Expired(intervention=answered))
    assert (run.asked, run.of("deadline")) == ("NoProgress", [])


def step(run: Run, fingerprint: str) -> None:
    call = ToolRequest(index=0, name="read_file")
    run.tell(Trip(outcome=Answered(finish_reason="tool_call", tool_calls=(call,))))
    result = ToolOutcome(index=0, name="read_file", status="ok", step=fingerprint)
    run.tell(ToolsRan(attempt_id=run.doing.attempt_id, results=(result,)))


@pytest.mark.parametrize("cycle", [["a" * 32], ["a" * 32, "b" * 32, "c" * 32]], ids=["one step", "a cycle of three"])
def test_an_unchanged_step_is_no_progress_past_the_fifth_time(cycle):
    run = Run(plan_of())
    for _ in range(5):
        for fingerprint in cycle:
            assert run.asked == ""
            step(run, fingerprint)
    assert run.asked == ""
    step(run, cycle[0])
    assert (run.asked, run.doing.open.intervention.repetitions) == ("NoProgress", 6)
    run.say("accept")
    step(run, cycle[0])
    assert run.asked == ""


def test_steps_that_change_are_never_stopped():
    run = Run(plan_of(turns=10_000))
    for i in range(200):
        step(run, digest(str(i).encode()))
    assert run.asked == ""


def test_only_the_last_steps_are_remembered():
    policy = Policy.model_validate({"steps": {"repeat": 2, "kept": 4}})
    run = Run(plan_of(policy=policy, turns=1_000))
    for i in range(100):
        step(run, ("a" if i % 3 == 0 else str(i)).ljust(32, "0"))
    assert run.asked == ""
    assert len(run.ledger.steps.seen) == 4 * 13


@given(st.lists(st.sampled_from(["retry", "guide", "failover", "accept", "round A", "round B", "round"]), max_size=20))
def test_no_answer_ever_lowers_a_count(moves):
    run = Run(plan_of(gates=("g",)))
    counts = (0, 0, 0)
    for move in moves:
        if isinstance(run.doing, Ask) and not move.startswith("round"):
            run.say(move, **({"text": "x"} if move == "guide" else {}))
        elif isinstance(run.doing, CallModel) and move.startswith("round"):
            run.round(move.removeprefix("round").strip() or str(len(run.records)))
        gate = run.ledger.gates.get("g")
        if gate:
            now = (gate.charges, gate.repairs.spent, len(gate.repairs.tracked))
            assert all(a >= b for a, b in zip(now, counts, strict=True))
            counts = now
