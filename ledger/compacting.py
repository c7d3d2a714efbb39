"""What follows while room is made in a conversation: its summary, or why there is none, and the compaction itself.

Here: only what comes after. Not here: when room is made (`turning.begin_call`, `context`), or what is dropped, which
the activity finds in the messages. A run never ends for want of a summary, and where no room can be made it goes on as
if there were no compaction.
"""

from ledger.calls import GiveUp, Next, RenewFiles, RetrySame, Turn, WaitFor
from ledger.decisions import Compact
from ledger.failures import Failure, FailureKind
from ledger.following import follow, next_after
from ledger.interventions import Tried
from ledger.journal import CompactionRecord
from ledger.outcomes import Answered, Compacted
from ledger.state import Aside, Ledger, Moment, Step
from ledger.turning import Records, begin_call, settle, start_call, unmoved


def to_make_room(ledger: Ledger, failure: Failure, then: Next, moment: Moment) -> bool:
    """Whether a refusal is met by compacting, once a turn, before a larger target or a person is needed."""
    gone = failure.kind is FailureKind.TOO_LARGE and not isinstance(then, RenewFiles | RetrySame)
    old = ledger.context.tokens > 0 and not ledger.turn.refused_size
    return gone and old and moment.context.full != "keep"


def after_summary(ledger: Ledger, aside: Aside, answered: Answered, by: str, records: Records, moment: Moment) -> Step:
    """The summary is in the store: the conversation is made of it. `by` is the attempt that brought it."""
    order = aside.order.model_copy(update={"summary": answered.summary, "attempt_id": by})
    return settle(ledger.having(turn=_back(ledger, aside), aside=None), order, records, moment)


def without_summary(ledger: Ledger, aside: Aside, records: Records, moment: Moment) -> Step:
    """No target gives a summary now: old tool results are dropped instead, and the record says so."""
    order = aside.order.model_copy(update={"how": "drop_tool_results", "fallback": True})
    return settle(ledger.having(turn=_back(ledger, aside), aside=None), order, records, moment)


def is_without_summary(then: Next) -> bool:
    """Whether a failed summary is given up: nobody waits long, or is asked, for one."""
    return isinstance(then, WaitFor | GiveUp)


def after_compaction(ledger: Ledger, done: Compacted, moment: Moment) -> Step:
    """Record it, and go on with the call that the room was made for."""
    order = ledger.doing
    if not isinstance(order, Compact):
        return unmoved(ledger)
    left = done.bytes_after / done.bytes_before if done.bytes_before else 1.0
    after = ledger.having(context=ledger.context.shrunk(left, order.window))
    records = (_record(ledger, after, order, done, moment),)
    if order.failure is None:
        return _go_on(after, order, records, moment)
    if done.after == done.before:
        return _as_before(after, order.failure, records, moment)
    return _go_on(after.having(turn=_tried(after.turn, order.failure)), order, records, moment)


def _as_before(ledger: Ledger, failure: Failure, records: Records, moment: Moment) -> Step:
    """Nothing could be dropped: a larger target, or a person, as without compaction."""
    call = ledger.turn.call
    if call is None:
        raise ValueError("a refusal belongs to a call")
    then, turn, benches = next_after(ledger, call, failure, moment, files=False)
    return follow(ledger.having(turn=turn, benches=benches), call, failure, then, records, moment)


def _go_on(ledger: Ledger, order: Compact, records: Records, moment: Moment) -> Step:
    """To the target that room was made for, unless it rests since it was asked for a summary."""
    out = (*ledger.turn.excluded, *ledger.turn.left)
    if order.target in out or moment.chain(ledger).benched(order.target):
        return start_call(ledger, records, moment)
    return begin_call(ledger, order.target, records, moment)


def _back(ledger: Ledger, aside: Aside) -> Turn:
    """The turn that waited, with what the summary used up: numbers of calls, patience, bounds."""
    spent = {"calls": ledger.turn.calls, "patience_s": ledger.turn.patience_s, "bounds": ledger.turn.bounds}
    return aside.turn.model_copy(update=spent)


def _tried(turn: Turn, failure: Failure) -> Turn:
    """The refused call stays among what was tried; its target is not left."""
    if turn.call is None:
        return turn
    tried = Tried(target=turn.call.target, kind=failure.kind, attempts=turn.call.attempt)
    return turn.model_copy(update={"tried": (*turn.tried, tried)})


def _record(before: Ledger, after: Ledger, order: Compact, done: Compacted, moment: Moment) -> CompactionRecord:
    return CompactionRecord(
        at=moment.at,
        id=order.id,
        reason=order.reason,
        how=order.how,
        target=str(order.target),
        window=order.window,
        before=done.before,
        after=done.after,
        tokens_before=before.context.size,
        tokens_after=after.context.size,
        bytes_before=done.bytes_before,
        bytes_after=done.bytes_after,
        dropped=done.dropped,
        replaced=done.replaced,
        attempt_id=order.attempt_id,
        fallback=order.fallback,
    )
