"""Adds up the journals of many runs, record by record. Pure: records in, `Stats` out.

Records come run by run, and of a run in the order in which they were written. Held in memory are the sums and, of the
one run that is being read, what its later records refer to; besides, eight bytes for each answer of a person, because
a median needs them all.
"""

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import Final

from commands.tallies import Cost
from commands.totals import (
    CompactionsTotal,
    FailoverTotal,
    GateTotal,
    InterventionTotal,
    RunsTotal,
    Stats,
    TargetTotal,
    WaitsTotal,
)
from ledger.calls import MAX_BOUNDS
from ledger.failures import FailureKind
from ledger.journal import (
    AnswerRecord,
    CompactionRecord,
    DeadlineRecord,
    GateRecord,
    InterventionRecord,
    JournalRecord,
    RunRecord,
    WaitRecord,
)
from ledger.records import AttemptRecord, FailoverRecord, UsageRecord

NOT_THE_TARGETS: Final = frozenset({FailureKind.NOT_SENT, FailureKind.CANCELLED, FailureKind.WORKER_LOST})
"""Failures that say nothing about the target: no worker took the call, somebody stopped it, or its worker died."""


@dataclass
class _Cost:
    usd: float = 0
    priced: int = 0
    estimated_usd: float = 0
    estimated: int = 0
    unpriced: int = 0

    def count(self, used: UsageRecord, times: int = 1) -> None:
        """Add what an attempt used; `times` is -1 to take a bound back."""
        if used.cost_usd is None:
            self.unpriced += times
            return
        self.usd += times * used.cost_usd
        self.priced += times
        if used.estimated:
            self.estimated_usd += times * used.cost_usd
            self.estimated += times

    def total(self) -> Cost:
        return Cost(
            usd=self.usd if self.priced else None,
            estimated_usd=self.estimated_usd if self.estimated else 0,
            estimated=self.estimated,
            unpriced=self.unpriced,
        )


@dataclass
class _Target:
    attempts: int = 0
    recovered: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    waits_ms: int = 0
    models_ms: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: _Cost = field(default_factory=_Cost)

    def count(self, used: UsageRecord, times: int = 1) -> None:
        self.input_tokens += times * used.input_tokens
        self.output_tokens += times * used.output_tokens
        self.cost.count(used, times)

    def rate(self) -> float | None:
        others = sum(self.failed[kind] for kind in NOT_THE_TARGETS)
        answerable = self.attempts - self.recovered - others
        return (self.failed.total() - others) / answerable if answerable else None

    def total(self, target: str) -> TargetTotal:
        return TargetTotal(
            target=target,
            attempts=self.attempts,
            failed=dict(self.failed.most_common()),
            recovered=self.recovered,
            rate=self.rate(),
            waits_ms=self.waits_ms,
            models_ms=self.models_ms,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cost=self.cost.total(),
        )


@dataclass
class _Label:
    raised: int = 0
    timed_out: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    waited_ms: "array[int]" = field(default_factory=lambda: array("Q"))

    def total(self, label: str) -> InterventionTotal:
        return InterventionTotal(
            label=label,
            raised=self.raised,
            answered=len(self.waited_ms),
            timed_out=self.timed_out,
            answers=dict(self.answers.most_common()),
            median_ms=round(median(self.waited_ms)) if self.waited_ms else None,
            max_ms=max(self.waited_ms, default=None),
        )


@dataclass
class _Gate:
    rounds: int = 0
    failing: int = 0
    charges: int = 0


@dataclass
class _Run:
    """What later records of the run that is being read refer to."""

    counted: bool = False
    attempt: AttemptRecord | None = None
    """The newest one; its usage follows it."""
    bounds: dict[str, tuple[str, UsageRecord]] = field(default_factory=dict)
    """The newest upper bounds by attempt, each with its target: an answer that turns up later takes their place."""
    asked: dict[str, str] = field(default_factory=dict)
    """Labels of the questions that nobody has answered yet."""


class Adding:
    """The sums so far. Records of before `since` (unix seconds) are not counted."""

    def __init__(self, since: int = 0) -> None:
        self._since = since
        self._conversation = ""
        self._run = _Run()
        self._seen = 0
        self._what: Counter[str] = Counter()
        self._targets: dict[str, _Target] = {}
        self._waits: Counter[str] = Counter()
        self._failovers: Counter[tuple[str, str, str]] = Counter()
        self._labels: dict[str, _Label] = {}
        self._gates: dict[str, _Gate] = {}
        self._compactions: Counter[str] = Counter()
        self._cost = _Cost()

    def take(self, conversation: str, record: JournalRecord) -> None:
        """Count one record of a run."""
        if conversation != self._conversation:
            self._conversation, self._run = conversation, _Run()
        self._remember(record)
        if isinstance(record, UsageRecord):
            self._usage(record)
        elif record.at >= self._since:
            self._seen += not self._run.counted
            self._run.counted = True
            self._count(record)

    def result(self, *, agent: str | None = None, unread: int = 0) -> Stats:
        """Everything that was taken so far."""
        targets = sorted(self._targets.items(), key=lambda item: (-item[1].attempts, item[0]))
        labels = sorted(self._labels.items(), key=lambda item: (-item[1].raised, item[0]))
        return Stats(
            since=self._since or None,
            agent=agent,
            runs=RunsTotal(seen=self._seen, **{what: self._what[what] for what in _ENDS}),
            targets=tuple(target.total(name) for name, target in targets),
            waits=WaitsTotal(**{f"{reason}_ms": self._waits[reason] for reason in ("retry", "patience", "not_sent")}),
            failovers=tuple(_failovers(self._failovers.most_common())),
            interventions=tuple(label.total(name) for name, label in labels),
            gates=tuple(
                GateTotal(gate=name, rounds=gate.rounds, failing=gate.failing, charges=gate.charges)
                for name, gate in sorted(self._gates.items())
            ),
            compactions=CompactionsTotal(**{how: self._compactions[how] for how in CompactionsTotal.model_fields}),
            cost=self._cost.total(),
            unread=unread,
        )

    def _remember(self, record: JournalRecord) -> None:
        """Keep what later records refer to, also where the record itself is of before the time asked for."""
        if isinstance(record, AttemptRecord):
            self._run.attempt = record
        elif isinstance(record, InterventionRecord):
            self._run.asked[record.id] = record.label
        elif isinstance(record, AnswerRecord):
            self._run.asked.pop(record.intervention, None)

    def _count(self, record: JournalRecord) -> None:
        match record:
            case AttemptRecord():
                self._attempt(record)
            case WaitRecord() if record.reason != "retry":  # those stand in the next attempt's backoff_ms already
                self._waited(record.reason, record.target, record.slept_ms)
            case FailoverRecord():
                source, goal = f"{record.from_provider}:{record.from_model}", f"{record.to_provider}:{record.to_model}"
                self._failovers[record.reason, source, goal] += 1
            case GateRecord():
                self._round(record)
            case InterventionRecord():
                self._label(record.label).raised += 1
            case AnswerRecord():
                label = self._label(record.label)
                label.waited_ms.append(record.waited_ms)
                label.answers[record.answer] += 1
            case DeadlineRecord():
                self._label(self._run.asked.get(record.intervention, "")).timed_out += 1
            case CompactionRecord():
                self._compactions[record.how] += record.after != record.before
            case RunRecord():
                self._what[record.what] += 1
            case _:
                pass  # nothing that anybody counts

    def _attempt(self, record: AttemptRecord) -> None:
        name = f"{record.provider}:{record.model}"
        target = self._target(name)
        target.attempts += 1
        target.recovered += record.found
        target.models_ms += record.duration_ms
        if record.failed:
            target.failed[record.failed.kind or "unclassified"] += 1
        self._waited("retry", name, record.backoff_ms)

    def _waited(self, reason: str, target: str, for_ms: int) -> None:
        self._waits[reason] += for_ms
        if for_ms:
            self._target(target).waits_ms += for_ms

    def _usage(self, used: UsageRecord) -> None:
        """Count what the attempt before it used. Usage has no time of its own: it is as old as its attempt."""
        attempt = self._run.attempt
        if attempt is None or attempt.id != used.attempt_id:
            self._cost.count(used)  # an attempt that cannot be read: its target is unknown, what it cost is not
            return
        if attempt.at < self._since:
            return
        name = f"{attempt.provider}:{attempt.model}"
        self._book(name, used)
        if attempt.found and (found := self._run.bounds.pop(attempt.recovered, None)):
            self._book(*found, times=-1)  # paid once: the answer that turned up is counted here
        if used.estimated:
            kept = [*self._run.bounds.items(), (used.attempt_id, (name, used))]
            self._run.bounds = dict(kept[-MAX_BOUNDS:])

    def _book(self, name: str, used: UsageRecord, times: int = 1) -> None:
        self._target(name).count(used, times)
        self._cost.count(used, times)

    def _round(self, record: GateRecord) -> None:
        gate = self._gates.setdefault(record.gate, _Gate())
        gate.rounds += 1
        gate.failing += record.verdict == "failing"
        gate.charges += record.charged

    def _target(self, name: str) -> _Target:
        return self._targets.setdefault(name, _Target())

    def _label(self, label: str) -> _Label:
        return self._labels.setdefault(label or "unknown", _Label())


_ENDS: Final = ("began", "completed", "stopped", "cancelled")


def _failovers(counted: Iterable[tuple[tuple[str, str, str], int]]) -> Iterable[FailoverTotal]:
    return (FailoverTotal(reason=why, source=source, goal=goal, count=count) for (why, source, goal), count in counted)
