"""Gates that could not run, and what judges may spend: what the ledger asks and decides."""

import pytest

from ledger.decisions import CallModel, RunGates
from ledger.interventions import WorkspaceLost
from ledger.notes import RepairNote
from ledger.outcomes import Answered, Broken, Failing, GateReport, GatesRan, Passed, Trip, Usage, Verdict
from ledger.policy import Policy, SpendPolicy
from ledger.totals import Totals
from tests.ledger.runs import Run, plan_of

LIMITED = Policy(spend=SpendPolicy(limit_usd=10))


def begun(*gates: str, outside: tuple[str, ...] = (), policy: Policy | None = None) -> Run:
    plan = plan_of(gates=gates, policy=policy)
    return Run(plan.model_copy(update={"workspace": "app", "worker": "queue-1", "gates_outside": outside}))


def report(run: Run, *verdicts: Verdict, totals: Totals | None = None) -> None:
    assert isinstance(run.doing, RunGates)
    reports = (
        GateReport(gate=gate, seq=seq, verdict=verdict, totals=totals)
        for (gate, seq), verdict in zip(run.doing.gates, verdicts, strict=True)
    )
    run.tell(GatesRan(reports=tuple(reports)))


def lost(run: Run) -> WorkspaceLost:
    assert run.ledger.open
    intervention = run.ledger.open.open.intervention
    assert isinstance(intervention, WorkspaceLost)
    return intervention


def test_a_gate_outside_the_workspace_that_could_not_run_is_named_alone():
    run = begun("review", outside=("review",))
    run.answer()
    report(run, Broken())
    asked = lost(run)
    assert (asked.workspace, asked.worker, asked.gate) == ("", "", "review")
    assert str(asked) == "gate review could not run"


def test_a_gate_in_the_workspace_that_could_not_run_names_both():
    run = begun("tests")
    run.answer()
    report(run, Broken())
    assert str(lost(run)) == "workspace lost: gate tests could not run in app on queue-1"


def test_several_gates_are_asked_about_once_and_only_those_are_asked_again():
    run = begun("tests", "review", "form", outside=("review", "form"))
    run.answer()
    report(run, Broken(), Broken(), Passed())
    assert (lost(run).workspace, lost(run).gate) == ("app", "tests, review")
    run.say("retry")
    assert isinstance(run.doing, RunGates)
    assert [gate for gate, _ in run.doing.gates] == ["tests", "review"]


@pytest.mark.parametrize(
    ("label", "said"), [("retry", {}), ("guide", {"text": "Look at rounding"})], ids=["retry", "guide"]
)
def test_what_another_gate_found_stands_while_the_broken_one_is_asked_again_and_is_repaired(label, said):
    run = begun("tests", "review", outside=("review",))
    run.answer()
    report(run, Failing(version=1, exact="a", family="a", items=1), Broken())
    run.say(label, **said)
    report(run, Passed())
    assert isinstance(run.doing, CallModel)
    failing, *guidance = run.doing.notes
    assert isinstance(failing, RepairNote)
    assert failing.gate == "tests"
    assert [note.text for note in guidance] == list(said.values())
    run.answer()
    assert isinstance(run.doing, RunGates)
    assert [gate for gate, _ in run.doing.gates] == ["tests", "review"]


def test_a_tool_that_found_no_workspace_names_no_gate():
    assert str(WorkspaceLost(workspace="app", worker="q")) == "workspace lost: app on q is out of reach"


def test_judges_may_spend_what_is_left_to_the_run_also_when_they_are_asked_again():
    run = begun("review", outside=("review",), policy=LIMITED)
    run.tell(Trip(outcome=Answered(finish_reason="complete"), usage=Usage(cost_usd=4)))
    assert isinstance(run.doing, RunGates)
    assert run.doing.allowance_usd == 6
    report(run, Broken(), totals=Totals(attempts=2, cost_usd=5))
    assert (run.ledger.totals.cost_usd, run.ledger.totals.attempts) == (9, 3)
    run.say("retry")
    assert isinstance(run.doing, RunGates)
    assert run.doing.allowance_usd == 1


def test_without_a_limit_judges_have_none():
    run = begun("review", outside=("review",))
    run.answer()
    assert isinstance(run.doing, RunGates)
    assert run.doing.allowance_usd is None
