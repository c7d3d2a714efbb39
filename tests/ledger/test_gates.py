"""Gate budgets with cycle detection (RULES G1-G9, X1-X2, X6) and the sequences of DESIGN section 4."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.gates import GateState, judge, passed
from ledger.interventions import BudgetSpent, LedgerFull, NoProgress
from ledger.ledger import Ledger
from ledger.outcomes import Failing, GateReport, GatesRan
from ledger.policy import Policy, RepairPolicy
from tests.ledger.runs import FIRST, SECOND, Run, plan_of

ENDLESS = RepairPolicy(repeat=10**6, distinct=10**6, budget=10**6, drift=10**6, escalate_after=0)


def failing(exact: str, items: int = 1, family: str = "") -> Failing:
    return Failing(version=1, exact=exact, family=family or exact, items=items)


def charged(rounds: str, policy: RepairPolicy = ENDLESS) -> str:
    """C for a charged round, - for a free one; a dot is a pass and says nothing."""
    state, said = GateState.new("g", policy), ""
    for exact in rounds:
        if exact == ".":
            state = passed(state)
            continue
        state, judged = judge(state, "g", failing(exact), policy)
        said += "C" if judged.charged else "-"
    return said


VECTORS = {
    "A": "-",
    "AA": "-C",
    "AAAA": "-CCC",
    "ABA": "--C",
    "ABABABAB": "--CCCCCC",
    "ABCABCABC": "---CCCCCC",
    "AABBAB": "-C-CCC",
}


@pytest.mark.parametrize(("rounds", "said"), VECTORS.items(), ids=VECTORS)
def test_a_repeat_is_charged_and_a_new_failure_is_free(rounds, said):  # G2, G3
    assert charged(rounds) == said


@pytest.mark.parametrize(("rounds", "single_slot"), [("ABA", "---"), ("AABBAB", "-C-C--")])
def test_a_memory_of_one_slot_would_miss_the_cycle(rounds, single_slot):  # G3: regression
    assert charged(rounds) != single_slot


def test_a_pass_does_not_clear_the_memory():  # C21
    assert charged("A.A") == "-C"


def test_the_number_of_failing_items_decides_nothing():  # G4
    state = GateState.new("g", ENDLESS)
    said = []
    for exact, items in (("one", 1), ("five", 5), ("five", 5), ("three", 3), ("two", 2), ("one more", 1)):
        state, judged = judge(state, "g", failing(exact, items), ENDLESS)
        said.append(judged.charged)
    assert said == [False, False, True, False, False, False]


def test_gates_do_not_share_their_memory():  # G5
    run = Run(plan_of(gates=("x", "y")))
    run.answer()
    run.gates("A", None)
    run.answer()
    run.gates(None, "A")
    assert [(r.gate, r.charged) for r in run.of("gate") if r.verdict == "failing"] == [("x", False), ("y", False)]


def test_a_gate_that_was_never_asked_has_seen_nothing():  # G1
    assert Ledger().gates == {}
    assert GateState.new("g", RepairPolicy()).repairs.repetitions("A") == 0


TABLE = [
    # failures, charged rounds, (round, decision), round after which the second target has the repair
    ("AAAA", [2, 3, 4], (4, "NoProgress"), 3),
    ("ABABAB", [3, 4, 5, 6], (6, "BudgetSpent"), 4),
    ("ABCABCA", [4, 5, 6, 7], (7, "BudgetSpent"), 5),
    ("AABBAA", [2, 4, 5, 6], (6, "NoProgress"), 4),
    ("AABBCC", [2, 4, 6], (6, "admitted"), 4),
    ("ABCDEFGHIJKLMNOPQ", [], (17, "LedgerFull"), None),
]


@pytest.mark.parametrize(("failures", "charges", "decision", "moved"), TABLE, ids=[row[0] for row in TABLE])
def test_the_sequences_of_the_design(failures, charges, decision, moved):
    run = Run(plan_of(FIRST, SECOND, gates=("g",))).rounds(failures)
    gates = run.of("gate")
    assert [r.round for r in gates if r.charged] == charges
    assert (gates[-1].round, gates[-1].decided) == decision
    assert all(r.decided == "admitted" for r in gates[:-1])
    assert [r.round for r in gates if r.escalated][:1] == ([moved] if moved else [])
    moves = run.of("failover")
    assert [(m.from_model, m.to_model, m.reason) for m in moves] == (
        [("first", "second", "escalated")] if moved else []
    )


@pytest.mark.parametrize(
    ("failures", "asked"),
    [
        ("AAAA", NoProgress(gate="g", fingerprint="A", repetitions=4)),
        ("ABABAB", BudgetSpent(gate="g", charged=4, budget=3)),
        ("ABCDEFGHIJKLMNOPQ", LedgerFull(gate="g", held=16)),
    ],
    ids=["AAAA", "ABABAB", "17 different"],
)
def test_a_stuck_repair_becomes_a_typed_intervention(failures, asked):
    run = Run(plan_of(gates=("g",))).rounds(failures)
    assert run.doing.open.intervention == asked


def test_the_budget_is_checked_on_charged_rounds_only():  # G6
    run = Run(plan_of(gates=("g",))).rounds("ABABAB")
    run.say("retry")
    run.round("C")
    assert run.of("gate")[-1].decided == "admitted"
    run.round("C")
    assert run.of("gate")[-1].decided == "BudgetSpent"


def test_the_ninth_new_failure_in_a_row_of_one_family_is_no_progress_naming_the_family():
    run = Run(plan_of(gates=("g",))).rounds([f"{i}/timeout" for i in range(9)])
    assert run.doing.open.intervention == NoProgress(gate="g", fingerprint="timeout", repetitions=9)
    assert not any(r.charged for r in run.of("gate"))


def test_another_family_or_a_repeat_breaks_the_row():
    other = Run(plan_of(gates=("g",))).rounds([*(f"{i}/timeout" for i in range(8)), "x/other", "8/timeout"])
    repeat = Run(plan_of(gates=("g",))).rounds([*(f"{i}/timeout" for i in range(8)), "0/timeout", "8/timeout"])
    assert (other.asked, repeat.asked) == ("", "")


def test_an_escalated_repair_stays_with_its_target_until_the_gate_passes():
    run = Run(plan_of(FIRST, SECOND, gates=("g", "h")))
    for _ in range(3):
        run.answer()
        run.gates("A", "H")
        if run.asked:
            break
    assert run.doing.target == SECOND
    run.answer()
    run.gates(None, "I")
    assert run.doing.target == SECOND  # h was charged too, and holds on
    run.answer()
    run.gates("Z", None)
    assert (run.doing.target, run.of("failover")[-1].reason) == (FIRST, "failback")


def test_one_target_is_never_escalated():
    run = Run(plan_of(FIRST, gates=("g",))).rounds("AAB")
    assert (run.of("failover"), run.asked) == ([], "")


def test_a_repair_is_told_in_which_rounds_it_was_seen_before():
    run = Run(plan_of(gates=("g",))).rounds("ABA")
    (note,) = run.doing.notes
    assert (note.gate, note.round, note.seen) == ("g", 3, (1,))


def test_a_report_is_taken_once():  # X6
    run = Run(plan_of(gates=("g",)))
    run.answer()
    ((_, seq),) = run.doing.gates
    report = GatesRan(reports=(GateReport(gate="g", seq=seq, verdict=failing("A")),) * 2)
    run.tell(report)
    run.tell(report)
    assert (len(run.of("gate")), run.ledger.gates["g"].repairs.spent) == (1, 1)


def test_a_gate_that_cannot_run_is_no_failure_of_the_work():
    from ledger.outcomes import Broken

    run = Run(plan_of(gates=("g",)))
    run.answer()
    ((_, seq),) = run.doing.gates
    run.tell(GatesRan(reports=(GateReport(gate="g", seq=seq, verdict=Broken()),)))
    assert (run.asked, run.ledger.gates["g"].repairs.spent) == ("WorkspaceLost", 0)
    run.say("retry")
    run.gates(None)
    assert run.doing.status == "completed"


@given(st.text(alphabet="AB", max_size=20) | st.text(alphabet="ABCDE.", max_size=20))
def test_charges_are_rounds_less_distinct_failures(rounds):  # G7
    failures = rounds.replace(".", "")
    assert charged(rounds).count("C") == len(failures) - len(set(failures))


@given(st.text(alphabet="AB", max_size=20))
def test_a_charge_is_a_repetition_and_nothing_else(rounds):  # X1, G9
    state = GateState.new("g", ENDLESS)
    for exact in rounds:
        before = state
        state, judged = judge(state, "g", failing(exact), ENDLESS)
        assert judged.charged == (state.repairs.repetitions(exact) >= 2)
        assert judge(before, "g", failing(exact), ENDLESS) == (state, judged)


@given(st.text(alphabet="AB", max_size=20) | st.text(alphabet="ABCDEFGHIJKLMNOPQRS", max_size=20))
def test_every_run_of_failures_is_admitted_or_asks_a_person(failures):
    run = Run(plan_of(gates=("g",), policy=Policy()))
    for exact in failures:
        if run.asked:
            break
        run.round(exact)
    last = run.of("gate")[-1].decided if failures else "admitted"
    assert (run.asked or "admitted") == last


@given(st.text(alphabet="AB", max_size=20))
def test_the_ledger_survives_its_wire_form(failures):  # X7
    run = Run(plan_of(gates=("g",)))
    for exact in failures:
        if run.asked:
            break
        run.round(exact)
    assert Ledger.model_validate_json(run.ledger.model_dump_json()) == run.ledger
