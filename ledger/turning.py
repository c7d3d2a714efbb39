"""How turns, calls and stages begin, and how a step is settled. Every path of `decide` and `resolve` ends here."""

from ledger.calls import Call, GiveUp, Turn, WaitFor, bench_wait, charged_wait
from ledger.context import fitting_share, is_full, verbatim_share
from ledger.decisions import Ask, CallModel, Compact, Decision, Finish, RunGates, Summarise, Wait
from ledger.failures import Failure
from ledger.gates import GateState
from ledger.interventions import Intervention, Open, Paused, TurnLimit
from ledger.journal import InterventionRecord, JournalRecord, RunRecord
from ledger.notes import StageNote
from ledger.policy import SpendPolicy
from ledger.state import Aside, Ledger, Moment, Step
from ledger.target import Target
from ledger.totals import SubRun
from ledger.trips import sub_run

Records = tuple[JournalRecord, ...]


def settle(ledger: Ledger, decision: Decision, records: Records, moment: Moment, ran: tuple[SubRun, ...] = ()) -> Step:
    """The last word on a step: a stop ends the run, with the sub-runs that `ran`, a pause holds it, else it stands."""
    if ledger.stopping and not isinstance(decision, Finish):
        decision = Finish(status=ledger.stopping.how, by=ledger.stopping.by, why=ledger.stopping.why)
    if isinstance(decision, Finish):
        runs = tuple(map(sub_run, ran))
        ended = RunRecord(at=moment.at, what=decision.status, by=decision.by, why=decision.why, runs=runs)
        return Step(ledger=ledger.having(doing=decision), decision=decision, records=(*records, ended))
    if ledger.paused_by is not None and not isinstance(decision, Ask):
        held = ledger.having(resume=decision, paused_by=None)
        return ask(held, (Paused(by=ledger.paused_by), *ledger.queue), records, moment)
    return Step(ledger=ledger.having(doing=decision), decision=decision, records=records)


def unmoved(ledger: Ledger) -> Step:
    """A fact that does not belong to the decision under way changes nothing."""
    if ledger.doing is None:
        raise ValueError("the ledger has not begun: its first fact is Began")
    return Step(ledger=ledger, decision=ledger.doing)


def ask(ledger: Ledger, interventions: tuple[Intervention, ...], records: Records, moment: Moment) -> Step:
    """Open the first intervention; at most one is open at a time, the others queue."""
    first, *others = interventions
    opened = Open(id=f"int-{ledger.asked + 1}", intervention=first, at=moment.now)
    record = InterventionRecord(
        at=moment.at,
        id=opened.id,
        digest=opened.digest,
        label=first.label,
        facts=first.model_dump(mode="json", exclude={"label"}),
    )
    after = ledger.having(asked=ledger.asked + 1, queue=tuple(others))
    return settle(after, Ask(open=opened), (*records, record), moment)


def begin_stage(ledger: Ledger, stage: int, records: Records, moment: Moment) -> Step:
    """Enter a stage with fresh turns; the gates, the steps and the benches are the run's and stay."""
    notes = ledger.notes if stage == 0 else (*ledger.notes, StageNote(stage=stage))
    after = ledger.having(stage=stage, turns=0, turns_raised=0, target=None, preferred=None, notes=notes)
    if stage:
        after = after.having(turn=after.turn.model_copy(update={"iteration": 0}))
        name = moment.plan.stages[stage].name
        records = (*records, RunRecord(at=moment.at, what="stage", stage=name))
    return begin_turn(after, records, moment)


def end_stage(ledger: Ledger, records: Records, moment: Moment) -> Step:
    """The stage's work passes: the next stage, or the end."""
    if ledger.stage + 1 < len(moment.plan.stages):
        return begin_stage(ledger, ledger.stage + 1, records, moment)
    return settle(ledger, Finish(status="completed"), records, moment)


def begin_turn(ledger: Ledger, records: Records, moment: Moment) -> Step:
    """One more turn, if the stage has one left."""
    stage = moment.stage(ledger)
    allowed = stage.turns + ledger.turns_raised
    if ledger.turns >= allowed:
        return ask(ledger, (TurnLimit(stage=stage.name, turns=ledger.turns),), records, moment)
    turn = Turn(number=ledger.turn.number + 1, iteration=ledger.turn.iteration + 1)
    return start_call(ledger.having(turns=ledger.turns + 1, turn=turn), records, moment)


def start_call(ledger: Ledger, records: Records, moment: Moment) -> Step:
    """A call to where this turn should start: a held repair's target, a person's choice, else the first free one."""
    target = _start(ledger, moment)
    if target is None:
        return wait_or_ask(ledger, records, moment)
    return begin_call(ledger, target, records, moment)


def wait_or_ask(ledger: Ledger, records: Records, moment: Moment) -> Step:
    """No target is free: wait for the first that comes back, else ask a person (rules 4 and 5)."""
    match bench_wait(ledger.turn, chain=moment.chain(ledger), policy=moment.plan.policy.calls):
        case WaitFor() as wait:
            return wait_for(ledger, wait, records, moment)
        case GiveUp(intervention=intervention):
            return ask(ledger, (intervention,), records, moment)


def wait_for(ledger: Ledger, wait: WaitFor, records: Records, moment: Moment) -> Step:
    """A durable wait for a benched target, charged to the turn's patience."""
    asked = wait.until - moment.now
    patience = ledger.turn.patience_s + charged_wait(asked, moment.plan.policy.calls)
    turn = ledger.turn.model_copy(update={"patience_s": patience, "call": None, "left": ()})
    decision = Wait(reason="patience", target=wait.target, asked_s=asked, until=wait.until)
    return settle(ledger.having(turn=turn), decision, records, moment)


def begin_call(
    ledger: Ledger, target: Target, records: Records, moment: Moment, *, kind: str = "", reason: str = ""
) -> Step:
    """A new call: attempt 1, no backoff, a fresh retry budget (A2). A change of target is a FailoverRecord.

    Where the conversation fills the target's window, room is made first, between tool rounds; `is_full` is then over.
    """
    if ledger.target is not None and ledger.target != target:
        reason = reason or ledger.move or _direction(ledger, target, moment)
        records = (*records, moment.moved(ledger, target, kind=kind, reason=reason))
        totals = ledger.totals.model_copy(update={"failovers": ledger.totals.failovers + 1})
        ledger = ledger.having(totals=totals)
    ledger = ledger.having(target=target, move="")
    if ledger.aside is None and is_full(ledger.context, moment.window(target), moment.context):
        return make_room(ledger, target, records, moment)
    calls = ledger.turn.calls + 1
    call = Call(number=calls, target=target)
    turn = ledger.turn.model_copy(update={"call": call, "calls": calls})
    benches = {name: bench for name, bench in ledger.benches.items() if name != str(target)}
    return send(ledger.having(turn=turn, benches=benches), call, 0.0, records, moment)


def make_room(
    ledger: Ledger, target: Target, records: Records, moment: Moment, *, failure: Failure | None = None
) -> Step:
    """Compact the conversation for a call to this target, by its count or because it refused a request for its size.

    A summary is asked of the same target first; the turn waits aside meanwhile.
    """
    context, window, policy = ledger.context, moment.window(target), moment.context
    summarise, refused = policy.full == "summarise", failure is not None
    order = Compact(
        id=f"compact-{ledger.compactions + 1}",
        how="summarise" if summarise else "drop_tool_results",
        reason="too_large" if refused else "full",
        target=target,
        window=window,
        verbatim=verbatim_share(context, window, policy, refused=refused),
        failure=failure,
    )
    turn = ledger.turn.model_copy(update={"refused_size": ledger.turn.refused_size or refused})
    ledger = ledger.having(turn=turn, compactions=ledger.compactions + 1)
    if not summarise:
        return settle(ledger, order, records, moment)
    fit = fitting_share(context, window, policy, refused=refused)
    return begin_call(ledger.having(aside=Aside(turn=turn, order=order, fit=fit)), target, records, moment)


def send(
    ledger: Ledger, call: Call, wait_s: float, records: Records, moment: Moment, *, renew_files: bool = False
) -> Step:
    """The decision to make one trip, with all that the model has to be told before."""
    spend, aside = moment.plan.policy.spend, ledger.aside
    decision = CallModel(
        id=f"{ledger.turn.number}.{call.number}.{call.attempt}",
        target=call.target,
        attempt=call.attempt,
        wait_s=wait_s,
        renew_files=renew_files,
        notes=() if aside else (*ledger.failing, *ledger.notes),
        allowance_usd=allowance(ledger, spend),
        unpriced=spend.limit_usd is None or spend.unknown_price == "allow" or call.target in ledger.priceless,
        summarise=Summarise(verbatim=aside.order.verbatim, fit=aside.fit) if aside else None,
    )
    ledger = ledger.having(turn=ledger.turn.model_copy(update={"call": call}))
    told = ledger if aside else ledger.having(failing=(), notes=())
    return settle(told, decision, records, moment)


def allowance(ledger: Ledger, spend: SpendPolicy) -> float | None:
    """What the run may still spend; None where it has no limit."""
    if spend.limit_usd is None:
        return None
    return max(0.0, spend.limit_usd + ledger.spend_raised_usd - ledger.totals.cost_usd)


def run_gates(ledger: Ledger, records: Records, moment: Moment) -> Step:
    """Ask every gate of the stage that is not waived; a stage without one passes."""
    gates = tuple(g for g in moment.stage(ledger).gates if not gate_of(ledger, g, moment).waived)
    if not gates:
        return end_stage(ledger, records, moment)
    numbered = tuple((gate, ledger.reports + i) for i, gate in enumerate(gates, 1))
    decision = RunGates(gates=numbered, allowance_usd=allowance(ledger, moment.plan.policy.spend))
    return settle(ledger.having(reports=ledger.reports + len(gates)), decision, records, moment)


def gate_of(ledger: Ledger, gate: str, moment: Moment) -> GateState:
    """A gate's state; one that was never asked has seen nothing (G1)."""
    return ledger.gates.get(gate) or GateState.new(gate, moment.plan.policy.repairs)


def _start(ledger: Ledger, moment: Moment) -> Target | None:
    chain = moment.chain(ledger)
    held = (state.held_by for _, state in sorted(ledger.gates.items()))
    for wish in (*held, ledger.preferred):
        if wish in chain.targets and not chain.benched(wish) and wish not in ledger.turn.excluded:
            return wish
    return chain.first(ledger.turn)


def _direction(ledger: Ledger, to: Target, moment: Moment) -> str:
    """Why a turn starts elsewhere: an escalation, a person, back towards the front, or away from a bench."""
    targets = moment.stage(ledger).models
    back = ledger.target in targets and targets.index(to) < targets.index(ledger.target)
    if any(state.held_by == to for state in ledger.gates.values()):
        return "escalated"
    if to == ledger.preferred:
        return "directed"
    return "failback" if back else "benched"
