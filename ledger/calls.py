"""One turn's calls: after a failed attempt, retry, renew files, fail over, wait, or give up (DESIGN section 4, Calls).

Pure rules over `Turn` and the benches. The order of the rules is the order in `after_failure`. Provider attempts never
enter the repair ledger: these rules alone bound them.
"""

from typing import Literal

from pydantic import Field

from ledger.failures import REMEDY, Bench, Failure, FailureKind
from ledger.interventions import Intervention, ModelsExhausted, RequestRejected, Tried
from ledger.model import Frozen
from ledger.outcomes import Usage
from ledger.policy import SCHEDULES, CallPolicy
from ledger.target import Target

JITTER_SCHEDULE = 0.2
"""A scheduled wait is shortened by up to this share, so that many runs do not come back at once."""
JITTER_STATED = 0.1
"""A stated wait is never shortened; it is lengthened by up to this share."""


MAX_BOUNDS = 16
"""An answer that turns up in the store was written by one of the last attempts; four is all that a call has."""


class Benched(Frozen):
    """A target that was left."""

    kind: FailureKind
    until: float | None
    """Unix seconds; None: the rest of the run, until a person's `retry`."""
    ready: float | None = None
    """Unix seconds that the provider itself stated, where a turn may wait for it (rule 4)."""


class Call(Frozen):
    """What a turn asks of one target."""

    number: int
    """From 1 in its turn."""
    target: Target
    attempt: int = 1
    """The attempt under way, from 1; file renewals and trips never sent have a number too (A2)."""
    spent: int = 0
    """Attempts that count against the retry budget."""
    renewed: bool = False
    slept_ms: int = 0
    """The wait slept by timer before the attempt under way."""


class Turn(Frozen):
    """One thing asked of a model."""

    number: int = 0
    """From 1 over the run."""
    iteration: int = 0
    """From 1 in its stage."""
    call: Call | None = None
    calls: int = 0
    patience_s: float = 0
    """Durable waits of this turn so far."""
    tried: tuple[Tried, ...] = ()
    excluded: tuple[Target, ...] = ()
    """Targets that this turn's request does not fit."""
    left: tuple[Target, ...] = ()
    """Targets left since the turn's last durable wait: a failover never comes back to one, so no ring can form."""
    refused_size: bool = False
    """The conversation was compacted because a provider refused its size: once a turn."""
    bounds: dict[str, Usage] = Field(default_factory=dict)
    """What was charged for the turn's attempts of unknown outcome, by their ids, the newest `MAX_BOUNDS`."""


class RetrySame(Frozen):
    """Rule 2: the same target after a wait. `counts` is False for a trip that no worker took."""

    then: Literal["retry"] = "retry"
    wait_s: float
    counts: bool = True


class RenewFiles(Frozen):
    """Rule 1: upload afresh and send again at once."""

    then: Literal["renew"] = "renew"


class Move(Frozen):
    """Rule 3: the next target."""

    then: Literal["move"] = "move"
    to: Target


class WaitFor(Frozen):
    """Rule 4: a durable wait, then a new call to the target that comes back first."""

    then: Literal["wait"] = "wait"
    target: Target
    until: float


class GiveUp(Frozen):
    """Rule 5: a person decides."""

    then: Literal["give_up"] = "give_up"
    intervention: Intervention


Next = RetrySame | RenewFiles | Move | WaitFor | GiveUp
Benches = dict[str, Benched]


class Chain(Frozen):
    """The ordered targets of a stage, and what is known of them at one moment."""

    targets: tuple[Target, ...]
    benches: Benches
    context_tokens: dict[str, int] = Field(default_factory=dict)
    now: float

    def benched(self, target: Target) -> bool:
        """Whether the target rests now."""
        bench = self.benches.get(str(target))
        return bench is not None and (bench.until is None or bench.until > self.now)

    def first(self, turn: Turn) -> Target | None:
        """The first target that is not benched, was not just left, and that this turn's request may fit."""
        out = (*turn.excluded, *turn.left)
        return next((t for t in self.targets if t not in out and not self.benched(t)), None)

    def back(self, turn: Turn) -> tuple[Target, float] | None:
        """The target that comes back first, and when: its stated time, else the end of its bench."""
        times = [(self._back_at(t), i, t) for i, t in enumerate(self.targets) if t not in turn.excluded]
        known = [(at, i, t) for at, i, t in times if at is not None]
        return (min(known)[2], min(known)[0]) if known else None

    def larger_than(self, target: Target) -> frozenset[Target]:
        """Targets whose known context window is larger; one of unknown size is never called larger."""
        size = self.context_tokens.get(str(target))
        known = ((t, self.context_tokens.get(str(t))) for t in self.targets)
        return frozenset(t for t, other in known if size is not None and other is not None and other > size)

    def _back_at(self, target: Target) -> float | None:
        bench = self.benches.get(str(target))
        if bench is None:
            return None
        return bench.until if bench.ready is None else bench.ready


def after_failure(
    turn: Turn, call: Call, failure: Failure, *, chain: Chain, policy: CallPolicy, files: bool, jitter: float
) -> tuple[Next, Turn, Benches]:
    """The rules 1 to 5 in order. Returns what follows, the turn, and the benches after it.

    `files`: the request named files. `jitter`: 0 <= x < 1.
    """
    if failure.renew_files and files and not call.renewed:
        return RenewFiles(), turn, chain.benches
    retry = _retry(turn, call, failure, policy, jitter)
    if retry is not None:
        return retry, turn, chain.benches
    turn = _tried(turn, call, failure)
    benches = _with_bench(chain, call.target, failure, policy)
    rest = chain.model_copy(update={"benches": benches})
    turn = _exclude(turn, call.target, failure, chain)
    if failure.failover and (to := rest.first(turn)):
        return Move(to=to), turn, benches
    return _last_resort(turn, call.target, failure, chain=rest, policy=policy), turn, benches


def wait_before(call: Call, failure: Failure, jitter: float) -> tuple[float, float]:
    """The wait before the next attempt in seconds: (before jitter, after). A stated wait replaces the schedule."""
    if failure.wait_s is not None:
        return failure.wait_s, failure.wait_s * (1 + JITTER_STATED * jitter)
    schedule = SCHEDULES[failure.schedule]
    wait = schedule[min(call.spent, len(schedule) - 1)]
    return wait, wait * (1 - JITTER_SCHEDULE * jitter)


def bench_wait(turn: Turn, *, chain: Chain, policy: CallPolicy) -> WaitFor | GiveUp:
    """Rules 4 and 5 where no target is free: wait for the first that comes back, else ask a person."""
    back = chain.back(turn)
    if back and turn.patience_s + charged_wait(back[1] - chain.now, policy) <= policy.patience_s:
        return WaitFor(target=back[0], until=max(back[1], chain.now))
    return GiveUp(intervention=ModelsExhausted(tried=turn.tried, retry_at=back[1] if back else None))


def charged_wait(seconds: float, policy: CallPolicy) -> float:
    """What a durable wait costs of the patience.

    At least `max_wait_s`, so that a provider that states a wait of no time cannot keep a turn going for ever.
    """
    return max(seconds, policy.max_wait_s)


def _retry(turn: Turn, call: Call, failure: Failure, policy: CallPolicy, jitter: float) -> RetrySame | None:
    asked, wait = wait_before(call, failure, jitter)
    if failure.kind is FailureKind.NOT_SENT:  # spends no attempt, bounded by patience
        fits = turn.patience_s + policy.pickup_s <= policy.patience_s
        return RetrySame(wait_s=wait, counts=False) if fits else None
    bearable = asked <= policy.max_wait_s
    if failure.transient and call.spent + 1 < policy.attempts and bearable:
        return RetrySame(wait_s=wait)
    return None


def _last_resort(turn: Turn, target: Target, failure: Failure, *, chain: Chain, policy: CallPolicy) -> Next:
    if failure.failover or failure.transient:
        return bench_wait(turn, chain=chain, policy=policy)
    return GiveUp(intervention=RequestRejected(target=target, kind=failure.kind))


def _tried(turn: Turn, call: Call, failure: Failure) -> Turn:
    tried = Tried(target=call.target, kind=failure.kind, attempts=call.attempt)
    return turn.model_copy(update={"tried": (*turn.tried, tried), "left": (*turn.left, call.target)})


def _exclude(turn: Turn, target: Target, failure: Failure, chain: Chain) -> Turn:
    """Where only this request did not fit, the target sits out this turn; too large also rules out the smaller ones."""
    if REMEDY[failure.kind].bench is not Bench.TURN or failure.transient:
        return turn
    larger = chain.larger_than(target)
    unfit = (t for t in chain.targets if failure.kind is FailureKind.TOO_LARGE and t not in larger)
    return turn.model_copy(update={"excluded": tuple(dict.fromkeys((*turn.excluded, target, *unfit)))})


def _with_bench(chain: Chain, target: Target, failure: Failure, policy: CallPolicy) -> Benches:
    bench = _bench(failure, chain.now, policy)
    return {**chain.benches, str(target): bench} if bench else chain.benches


def _bench(failure: Failure, now: float, policy: CallPolicy) -> Benched | None:
    rule = REMEDY[failure.kind].bench
    stated = None if failure.wait_s is None else now + failure.wait_s
    if failure.kind is FailureKind.NOT_SENT:
        return None
    if rule is Bench.RUN:
        return Benched(kind=failure.kind, until=None)
    if rule is Bench.RESET:
        return Benched(kind=failure.kind, until=stated, ready=stated)
    if rule is Bench.COOL_DOWN or failure.transient:
        unbearable = failure.wait_s is not None and failure.wait_s > policy.max_wait_s
        until = max(now + policy.bench_s, stated or 0)
        return Benched(kind=failure.kind, until=until, ready=stated if unbearable else None)
    return None
