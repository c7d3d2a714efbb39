"""What follows a round of work: tool calls carried out, gates asked. Interventions queue; repairs are told together."""

from collections.abc import Iterable, Iterator
from typing import assert_never

from ledger.calls import Chain
from ledger.decisions import RunGates, RunTools
from ledger.gates import GateState, Judged, judge, passed
from ledger.interventions import Intervention, OutcomeUnknown, WorkspaceLost
from ledger.journal import GateRecord, JournalRecord, ToolBatchRecord, ToolCallRecord
from ledger.notes import RepairNote
from ledger.outcomes import Broken, Failing, GateReport, GatesRan, Passed, ToolOutcome, ToolsRan
from ledger.state import Ledger, Moment, Step
from ledger.target import Target
from ledger.totals import SubRun, of_call, of_gate
from ledger.trips import sub_run
from ledger.turning import Records, allowance, ask, begin_turn, end_stage, gate_of, unmoved


def after_tools(ledger: Ledger, ran: ToolsRan, moment: Moment) -> Step:
    """Count unchanged steps, then go on with the next turn, unless a person has to look."""
    doing = ledger.doing
    if not isinstance(doing, RunTools) or doing.attempt_id != ran.attempt_id:
        return unmoved(ledger)
    stuck = next((s for s in (_stuck(result, moment) for result in ran.results) if s), None)
    ledger = _paid(ledger, ran.results)
    runs = tuple(map(sub_run, _subagents(ledger, ran.results)))
    if stuck:  # the round is carried out again and counted then; sub-agents that ended are not run again
        spent = (ToolBatchRecord(at=moment.at, attempt_id=ran.attempt_id, calls=(), runs=runs),) if runs else ()
        return ask(ledger.having(resume=doing), (stuck, *ledger.queue), spent, moment)
    calls: list[ToolCallRecord] = []
    stalled: dict[str, Intervention] = {}
    for result in ran.results:
        ledger, call, found = _count_step(ledger, result, moment)
        calls.append(call)
        if found:
            stalled[result.step] = found
    ledger = ledger.having(context=ledger.context.grown(sum(result.bytes for result in ran.results)))
    record = ToolBatchRecord(at=moment.at, attempt_id=ran.attempt_id, calls=tuple(calls), runs=runs)
    if stalled:
        return ask(ledger, tuple(stalled.values()), (record,), moment)
    return begin_turn(ledger, (record,), moment)


def after_gates(ledger: Ledger, ran: GatesRan, moment: Moment) -> Step:
    """Judge each report that is new (X6), then ask, repair or end the stage."""
    if not isinstance(ledger.doing, RunGates):
        return unmoved(ledger)
    ledger = _paid(ledger, ran.reports)
    records: list[JournalRecord] = []
    broken: list[str] = []
    for report in ran.reports:
        state = gate_of(ledger, report.gate, moment)
        if report.seq <= state.seq:
            continue
        ledger, record = _judge(ledger, state, report, moment)
        records.append(record)
        if isinstance(report.verdict, Broken):
            broken.append(report.gate)
    if broken:
        return _ask_about_workspace(ledger, tuple(broken), tuple(records), moment)
    return conclude(ledger, tuple(records), moment)


def conclude(ledger: Ledger, records: Records, moment: Moment) -> Step:
    """After the gates, and after each answer about them: the next question, else a repair, else the stage is done."""
    if ledger.queue:
        return ask(ledger, ledger.queue, records, moment)
    if ledger.failing:
        return begin_turn(ledger, records, moment)
    return end_stage(ledger, records, moment)


def next_target(chain: Chain, after: Target | None) -> Target | None:
    """The first target behind this one in the chain that is not benched."""
    start = chain.targets.index(after) + 1 if after in chain.targets else 0
    return next((t for t in chain.targets[start:] if not chain.benched(t)), None)


def _paid(ledger: Ledger, worked: Iterable[ToolOutcome | GateReport]) -> Ledger:
    """The run's totals with those of its sub-agents and judges."""
    totals = ledger.totals
    for one in worked:
        totals = totals.plus(one.totals) if one.totals else totals
    return ledger.having(totals=totals)


def _subagents(ledger: Ledger, results: Iterable[ToolOutcome]) -> Iterator[SubRun]:
    for one in results:
        if one.totals:
            yield SubRun(run=of_call(ledger.turn.number, one.index), name=one.name, totals=one.totals)


def _judge_run(report: GateReport) -> Iterator[SubRun]:
    if report.totals:
        yield SubRun(run=of_gate(report.seq), name=report.gate, totals=report.totals)


def _count_step(
    ledger: Ledger, result: ToolOutcome, moment: Moment
) -> tuple[Ledger, ToolCallRecord, Intervention | None]:
    repetitions, found = 0, None
    if result.step:
        steps, repetitions, found = ledger.steps.record(result.step, moment.plan.policy.steps)
        ledger = ledger.having(steps=steps)
    record = ToolCallRecord(
        name=result.name,
        status=result.status,
        step=result.step,
        repetitions=repetitions,
        duration_ms=result.duration_ms,
    )
    return ledger, record, found


def _stuck(result: ToolOutcome, moment: Moment) -> Intervention | None:
    """A tool that could not be carried out for want of its workspace or its worker."""
    match result.status:
        case "ok" | "error" | "rejected":
            return None
        case "lost":
            return OutcomeUnknown(tool=result.name, arguments=result.arguments, index=result.index)
        case "no_workspace":
            return WorkspaceLost(workspace=moment.plan.workspace, worker=moment.plan.worker)
        case _:
            assert_never(result.status)


def _ask_about_workspace(ledger: Ledger, broken: tuple[str, ...], records: Records, moment: Moment) -> Step:
    """Gates that could not run: once a person has mended it, only those are asked again.

    The workspace is named where one of them works in it; what the others need is their own.
    """
    again = tuple((gate, ledger.reports + i) for i, gate in enumerate(broken, 1))
    resume = RunGates(gates=again, allowance_usd=allowance(ledger, moment.plan.policy.spend))
    held = ledger.having(resume=resume, reports=ledger.reports + len(again))
    plan = moment.plan
    inside = not set(broken) <= set(plan.gates_outside)
    lost = WorkspaceLost(
        workspace=plan.workspace if inside else "", worker=plan.worker if inside else "", gate=", ".join(broken)
    )
    return ask(held, (lost, *ledger.queue), records, moment)


def _judge(ledger: Ledger, state: GateState, report: GateReport, moment: Moment) -> tuple[Ledger, GateRecord]:
    state = state.model_copy(update={"seq": report.seq})
    match report.verdict:
        case Passed():
            after = passed(state)
            return _keep(ledger, report.gate, after), _record(report, after, "passed", moment)
        case Broken():
            return _keep(ledger, report.gate, state), _record(report, state, "broken", moment)
        case Failing() as failing:
            return _failing(ledger, state, report, failing, moment)
        case _:
            assert_never(report.verdict)


def _failing(
    ledger: Ledger, state: GateState, report: GateReport, failing: Failing, moment: Moment
) -> tuple[Ledger, GateRecord]:
    gate = report.gate
    state, judged = judge(state, gate, failing, moment.plan.policy.repairs)
    state, escalated = _escalate(ledger, state, judged, moment)
    note = RepairNote(gate=gate, round=state.rounds, seen=judged.seen, output=failing.output)
    totals = ledger.totals.model_copy(update={"charges": ledger.totals.charges + judged.charged})
    ledger = _keep(ledger, gate, state).having(failing=(*ledger.failing, note), totals=totals)
    if judged.intervention:
        ledger = ledger.having(queue=(*ledger.queue, judged.intervention))
    decided = judged.intervention.label if judged.intervention else "admitted"
    record = _record(report, state, decided, moment).model_copy(
        update={
            "exact": failing.exact,
            "family": failing.family,
            "items": failing.items,
            "output": failing.output,
            "repetitions": judged.repetitions,
            "charged": judged.charged,
            "drift": judged.drift,
            "escalated": escalated,
        }
    )
    return ledger, record


def _escalate(ledger: Ledger, state: GateState, judged: Judged, moment: Moment) -> tuple[GateState, bool]:
    """Hand the repair to the next target, kept until the gate passes; off where none is left."""
    to = next_target(moment.chain(ledger), ledger.target) if judged.escalate else None
    if to is None:
        return state, False
    return state.model_copy(update={"held_by": to}), True


def _record(report: GateReport, state: GateState, decided: str, moment: Moment) -> GateRecord:
    return GateRecord.model_validate(
        {
            "at": moment.at,
            "gate": report.gate,
            "report": report.seq,
            "round": state.rounds,
            "verdict": report.verdict.verdict,
            "charges": state.charges,
            "decided": decided,
            "duration_ms": report.duration_ms,
            "runs": tuple(map(sub_run, _judge_run(report))),
        }
    )


def _keep(ledger: Ledger, gate: str, state: GateState) -> Ledger:
    return ledger.having(gates=dict(sorted({**ledger.gates, gate: state}.items())))
