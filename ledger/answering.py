"""What a person's word does: `resolve` takes an answer, `direct` a directive, `expire` a silence.

An answer that is stale, repeated or unfitting is refused with a reason and changes nothing. `retry` grants exactly one
more admission: no count falls and no ceiling moves (X8).
"""

from collections.abc import Iterable
from typing import Final, Literal, assert_never

from ledger.answers import (
    Accept,
    Answer,
    Approve,
    Directive,
    Edit,
    Failover,
    Guide,
    GuideRun,
    PauseRun,
    Raise,
    Reject,
    Reply,
    Resume,
    Retry,
    Stop,
    StopRun,
    UseModel,
)
from ledger.calling_tools import of_call
from ledger.decisions import Ask, CallModel, Decision
from ledger.granting import accepted, granted, learned, noted, raised, with_gate
from ledger.interventions import (
    BARE,
    BudgetSpent,
    Intervention,
    LedgerFull,
    NoProgress,
    Open,
    SpendLimit,
    TurnLimit,
)
from ledger.journal import AnswerRecord, DeadlineRecord, DirectiveRecord
from ledger.model import Frozen
from ledger.notes import GuideNote
from ledger.rounds import conclude, next_target
from ledger.state import Ledger, Moment, Step, Stopping
from ledger.target import Target
from ledger.totals import SubRun
from ledger.turning import Records, ask, begin_call, begin_turn, send, settle, start_call, unmoved

MAX_UNREAD: Final = 270_000
"""Characters of guidance that wait for the next call, four of the longest texts: a run carries them from execution to
execution, and Temporal takes no input of 2 MB."""

_UNREAD: Final = "there is as much guidance as a run holds that the model has not read: send this after its next call"
_NEEDS_TEXT = '{} needs "text", or "ref" of a text in the store'


class Refusal(Frozen):
    """Why an answer was not taken. Nothing changed."""

    reason: Literal["malformed", "stale", "unfitting", "unbound", "nothing_open", "no_target"]
    text: str
    """One clear line for whoever answered."""


def resolve(ledger: Ledger, answer: Answer, moment: Moment) -> Step | Refusal:
    """What an answer to the open intervention comes to, or why it is refused."""
    if ledger.open is None:
        return Refusal(reason="nothing_open", text="no intervention is open: there is nothing to answer")
    opened = ledger.open.open
    refusal = _unfit(opened, answer) or _no_target(ledger, answer, moment)
    if refusal:
        return refusal
    records = (_answer_record(opened, answer, moment),)
    return _apply(ledger, ledger.open, answer, records, moment)


def direct(ledger: Ledger, directive: Directive, moment: Moment) -> Step | Refusal:
    """What a directive comes to. The decision under way stands; a stop ends a wait for a person at once."""
    body = directive.body
    if isinstance(body, GuideRun) and not (body.text or body.ref):
        return Refusal(reason="malformed", text=_NEEDS_TEXT.format("guide"))
    if isinstance(body, UseModel) and body.target not in moment.stage(ledger).models:
        return Refusal(reason="no_target", text=f"{body.target} is not a model of stage {moment.stage(ledger).name}")
    record = DirectiveRecord(
        at=moment.at,
        directive=body.directive,
        by=directive.by,
        door=directive.door,
        target=str(body.target) if isinstance(body, UseModel) else "",
    )
    match body:
        case GuideRun():
            note = GuideNote(text=body.text, ref=body.ref, by=directive.by)
            if sum(len(unread.model_dump_json()) for unread in (*ledger.notes, note)) > MAX_UNREAD:
                return Refusal(reason="unfitting", text=_UNREAD)
            ledger, evidence = learned(ledger, directive.by, moment)
            return _standing(noted(ledger, note), (record, *evidence))
        case PauseRun():
            return _standing(ledger.having(paused_by=directive.by or "a person"), (record,))
        case UseModel():
            return _standing(ledger.having(preferred=body.target), (record,))
        case StopRun():
            stopped = ledger.having(stopping=Stopping(by=directive.by, why=body.reason))
            if stopped.open:
                return settle(stopped, stopped.open, (record,), moment)
            return _standing(stopped, (record,))
        case _:
            assert_never(body)


def expire(ledger: Ledger, asked: str, moment: Moment) -> Step:
    """Nobody answered the intervention `asked` in time. A timeout is never recorded as a refusal."""
    if ledger.open is None or ledger.open.open.id != asked:
        return unmoved(ledger)
    opened = ledger.open.open
    then = moment.plan.policy.ask.then
    answer = Answer(body=Failover())
    if then == "failover" and ("failover" not in opened.answers or _no_target(ledger, answer, moment)):
        then = "stay"
    records = (DeadlineRecord(at=moment.at, intervention=opened.id, then=then),)
    match then:
        case "stay":
            return settle(ledger, ledger.open.model_copy(update={"late": True}), records, moment)
        case "stop":
            stopped = ledger.having(stopping=Stopping(by="deadline", why=opened.intervention.label))
            return settle(stopped, ledger.open, records, moment)
        case "failover":
            return _apply(ledger, ledger.open, answer, records, moment)
        case _:
            assert_never(then)


def halt(ledger: Ledger, moment: Moment, ran: Iterable[SubRun] = ()) -> Step:
    """End the run now, whatever it was doing: a person said stop, else Temporal cancelled it.

    What `ran`, sub-runs that ended with it, used is counted, for no fact will tell it any more.
    """
    ran, totals = tuple(ran), ledger.totals
    for one in ran:
        totals = totals.plus(one.totals)
    stopping = ledger.stopping or Stopping(by="temporal", how="cancelled")
    return settle(ledger.having(stopping=stopping, totals=totals), unmoved(ledger).decision, (), moment, ran)


def _unfit(opened: Open, answer: Answer) -> Refusal | None:
    label, asked = answer.body.answer, opened.intervention.label
    unfitting = Refusal(reason="unfitting", text=f"{asked} accepts {', '.join(opened.answers)}, not {label}")
    if answer.unbound and label not in opened.answers:  # binding it would not help
        return unfitting
    if answer.unbound and (asked not in BARE or not _bare(answer)):
        text = f'give "intervention": "{opened.id}" and "digest": "{opened.digest}": {asked} takes no bare "{label}"'
        return Refusal(reason="unbound", text=text)
    if not answer.unbound and (answer.intervention, answer.digest) != (opened.id, opened.digest):
        text = f"stale: open is {opened.id} ({asked}), digest {opened.digest}; look at it again before answering"
        return Refusal(reason="stale", text=text)
    if label not in opened.answers:
        return unfitting
    if isinstance(answer.body, Guide | Reply | Edit) and not (answer.body.text or answer.body.ref):
        return Refusal(reason="malformed", text=_NEEDS_TEXT.format(label))
    return None


def _bare(answer: Answer) -> bool:
    """Whether the answer is a label and nothing else."""
    return not answer.body.model_dump(exclude={"answer"}, exclude_defaults=True)


def _no_target(ledger: Ledger, answer: Answer, moment: Moment) -> Refusal | None:
    if not isinstance(answer.body, Failover) or _failover_to(ledger, answer.body.target, moment):
        return None
    stage, wished = moment.stage(ledger), answer.body.target
    why = "no other target to move to" if wished is None else f"{wished} is not a model of this stage"
    text = f"{why}: stage {stage.name} has {', '.join(map(str, stage.models))}"
    return Refusal(reason="no_target", text=text)


def _failover_to(ledger: Ledger, wished: Target | None, moment: Moment) -> Target | None:
    """The named target, else the next one of the chain; where all were tried, the first that is not the current one."""
    targets = moment.stage(ledger).models
    if wished is not None:
        return wished if wished in targets else None
    following = next_target(moment.chain(ledger), ledger.target)
    return following or next((t for t in targets if t != ledger.target), None)


def _answer_record(opened: Open, answer: Answer, moment: Moment) -> AnswerRecord:
    body = answer.body
    return AnswerRecord(
        at=moment.at,
        intervention=opened.id,
        label=opened.intervention.label,
        answer=body.answer,
        by=answer.by,
        door=answer.door,
        waited_ms=max(0, int((moment.now - opened.at) * 1000)),
        unbound=answer.unbound,
        target=str(body.target) if isinstance(body, Failover) and body.target else "",
        amount=body.amount if isinstance(body, Raise) else None,
    )


def _apply(ledger: Ledger, under_way: Ask, answer: Answer, records: Records, moment: Moment) -> Step:
    body, asked = answer.body, under_way.open.intervention
    match body:
        case Stop():
            stopped = ledger.having(stopping=Stopping(by=answer.by, why=body.reason))
            return settle(stopped, under_way, records, moment)
        case Approve() | Edit() | Reject() | Reply():
            return of_call(ledger, asked, body, records, moment)
        case Retry() | Resume():
            return _go_on(granted(ledger, asked), asked, records, moment)
        case Guide():
            ledger, evidence = learned(ledger, answer.by, moment)
            told = noted(ledger, GuideNote(text=body.text, ref=body.ref, by=answer.by))
            return _go_on(granted(told, asked), asked, (*records, *evidence), moment)
        case Raise():
            return _go_on(raised(ledger, asked, body.amount), asked, records, moment)
        case Accept():
            return _go_on(accepted(ledger, asked), asked, records, moment)
        case Failover():
            return _fail_over(ledger, asked, body, records, moment)
        case _:
            assert_never(body)


def _go_on(ledger: Ledger, asked: Intervention, records: Records, moment: Moment) -> Step:
    """Take up what the intervention held up, with whatever the model has to be told by now."""
    if ledger.resume is not None:
        told, resumed = _told(ledger.having(resume=None), ledger.resume)
        return settle(told, resumed, records, moment)
    match asked:
        case NoProgress(gate="") | TurnLimit():
            return ask(ledger, ledger.queue, records, moment) if ledger.queue else begin_turn(ledger, records, moment)
        case NoProgress() | LedgerFull() | BudgetSpent():
            return conclude(ledger, records, moment)
        case SpendLimit() if ledger.turn.call:
            return send(ledger, ledger.turn.call, 0.0, records, moment)
        case _:
            return start_call(ledger, records, moment)


def _told(ledger: Ledger, held: Decision) -> tuple[Ledger, Decision]:
    """What was held up, with all that the model has to be told; where it is no call to tell it with, that waits."""
    if not isinstance(held, CallModel) or held.summarise:
        return ledger, held
    notes = (*held.notes, *ledger.failing, *ledger.notes)
    return ledger.having(failing=(), notes=()), held.model_copy(update={"notes": notes})


def _fail_over(ledger: Ledger, asked: Intervention, body: Failover, records: Records, moment: Moment) -> Step:
    """Move on a person's word: a repair is held by the new target until its gate passes, a turn goes there at once."""
    to = _failover_to(ledger, body.target, moment)
    if to is None:
        raise ValueError("a failover without a target must be refused before it is applied")
    match asked:
        case NoProgress(gate=""):
            return _go_on(ledger.having(preferred=to, move="answered"), asked, records, moment)
        case NoProgress(gate=gate) | BudgetSpent(gate=gate):
            held = with_gate(ledger, gate, held_by=to, grants=ledger.gates[gate].grants + 1)
            free = {name: bench for name, bench in held.benches.items() if name != str(to)}
            return _go_on(held.having(move="answered", benches=free), asked, records, moment)
        case _:
            return begin_call(ledger, to, records, moment, reason="answered")


def _standing(ledger: Ledger, records: Records) -> Step:
    """The decision under way stands."""
    return unmoved(ledger).model_copy(update={"records": records})
