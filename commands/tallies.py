"""What a journal adds up to: attempts a target, rounds a gate, and where the time went. Pure: entries in, values out.

The ledger decides by its own counts; these are for people who read a run, and are computed from its records alone.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from ledger.journal import (
    AnswerRecord,
    DeadlineRecord,
    Entry,
    GateRecord,
    InterventionRecord,
    RunRecord,
    ToolBatchRecord,
    WaitRecord,
)
from ledger.model import Frozen
from ledger.records import AttemptRecord, SubRunRecord, UsageRecord


class TargetTally(Frozen):
    """One target's attempts over the run."""

    target: str
    attempts: int
    failed: dict[str, int]
    """Failures by kind; "unclassified" where the record names none."""
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    """Sum of the known prices, upper bounds included; None where no price is known."""
    estimated: int
    """Attempts that count with an upper bound."""
    unpriced: int
    """Attempts with usage whose price is unknown."""


class Cost(Frozen):
    """What a run cost, its sub-runs included, as far as it is known."""

    usd: float | None
    """Sum of the known prices, upper bounds included; None where no price is known."""
    estimated_usd: float
    """The part of it that is upper bounds: of attempts whose end, or whose tokens, nobody told."""
    estimated: int
    """Attempts of known price that count with an upper bound."""
    unpriced: int
    """Attempts with usage whose price is unknown."""


class GateTally(Frozen):
    """One gate's rounds over the run."""

    gate: str
    rounds: int
    charges: int
    different: int
    """Different failures seen (exact fingerprints)."""
    last: str
    """What the newest round said, and what was decided."""
    waived_by: str = ""
    """Who accepted the work without it; "" where nobody did."""


class TimeSpent(Frozen):
    """Where a run's time went, in milliseconds. `total_ms` comes from records of whole seconds."""

    total_ms: int
    models_ms: int
    waits_ms: int
    """Backoffs before attempts, and the durable waits between calls."""
    tools_ms: int
    """The slowest tool of each batch: a batch's calls run side by side."""
    people_ms: int
    attempts: int
    failed: int

    @property
    def rest_ms(self) -> int:
        """Gates, the store and Temporal itself."""
        known = self.models_ms + self.waits_ms + self.tools_ms + self.people_ms
        return max(0, self.total_ms - known)


def targets(entries: Sequence[Entry]) -> tuple[TargetTally, ...]:
    """Tally the attempts by target, in the order in which the targets were first tried."""
    attempts: dict[str, list[AttemptRecord]] = {}
    for record in _attempts(entries):
        attempts.setdefault(f"{record.provider}:{record.model}", []).append(record)
    usage = _used(entries)
    return tuple(_target(target, records, usage) for target, records in attempts.items())


def cost(entries: Sequence[Entry]) -> Cost | None:
    """Add up what the attempts cost, those of sub-runs included; None where none used anything."""
    used, runs = _used(entries), sub_runs(entries)
    known = [record for record in used if record.cost_usd is not None]
    bounds = [record for record in known if record.estimated]
    prices = [one.cost_usd for one in runs if one.cost_usd is not None]
    total = Cost(
        usd=_sum(known) + sum(prices) if known or prices else None,
        estimated_usd=_sum(bounds) + sum(one.estimated_usd for one in runs),
        estimated=len(bounds) + sum(one.estimated for one in runs),
        unpriced=len(used) - len(known) + sum(one.unpriced for one in runs),
    )
    return total if used or runs else None


def sub_runs(entries: Iterable[Entry]) -> tuple[SubRunRecord, ...]:
    """The runs of sub-agents and judges, in the order in which what they led to was recorded."""
    records = (entry.record for entry in entries)
    return tuple(
        one for record in records if isinstance(record, ToolBatchRecord | GateRecord | RunRecord) for one in record.runs
    )


def gates(entries: Sequence[Entry]) -> tuple[GateTally, ...]:
    """Tally the rounds by gate, in the order in which the gates first ran."""
    rounds: dict[str, list[GateRecord]] = {}
    for entry in entries:
        if isinstance(entry.record, GateRecord):
            rounds.setdefault(entry.record.gate, []).append(entry.record)
    waived = _waived(entries)
    return tuple(_gate(gate, records, waived.get(gate, "")) for gate, records in rounds.items())


def ending(entries: Iterable[Entry]) -> RunRecord | None:
    """How the run ended, by its own last record of that; None where it has none yet."""
    runs = [entry.record for entry in entries if isinstance(entry.record, RunRecord)]
    return next((run for run in reversed(runs) if run.what in {"completed", "stopped", "cancelled"}), None)


def revision(entries: Iterable[Entry]) -> str:
    """What the run's workspace was made of: `git:COMMIT`, `sha256:DIGEST`; "" for a folder, or none."""
    runs = (entry.record for entry in entries if isinstance(entry.record, RunRecord))
    return next((run.revision for run in runs if run.what == "began"), "")


def _waived(entries: Iterable[Entry]) -> dict[str, str]:
    """Who waived which gate: an answer names its intervention, and that one its gate."""
    gate_of: dict[str, str] = {}
    waived: dict[str, str] = {}
    for record in (entry.record for entry in entries):
        if isinstance(record, InterventionRecord):
            gate_of[record.id] = str(record.facts.get("gate", ""))
        elif isinstance(record, AnswerRecord) and record.answer == "accept" and gate_of.get(record.intervention):
            waived[gate_of[record.intervention]] = record.by or "somebody"
    return waived


def time_spent(entries: Sequence[Entry]) -> TimeSpent:
    """Add up where the time went, from the first record to the last."""
    records = [entry.record for entry in entries]
    moments = [record.at for record in records if not isinstance(record, UsageRecord)]
    attempts = list(_attempts(entries))
    # A retry's durable wait is in the next attempt's backoff_ms already; the other waits stand alone (A4).
    durable = [record.slept_ms for record in records if isinstance(record, WaitRecord) and record.reason != "retry"]
    batches = [record.calls for record in records if isinstance(record, ToolBatchRecord)]
    parts = {
        "models_ms": sum(record.duration_ms for record in attempts),
        "waits_ms": sum(record.backoff_ms for record in attempts) + sum(durable),
        "tools_ms": sum(max((call.duration_ms for call in calls), default=0) for calls in batches),
        "people_ms": _with_people(entries, max(moments, default=0)),
    }
    whole = (max(moments) - min(moments)) * 1_000 if moments else 0
    return TimeSpent(
        total_ms=max(whole, sum(parts.values())),  # whole seconds: a run of less than one has taken some time too
        **parts,
        attempts=len(attempts),
        failed=sum(record.failed is not None for record in attempts),
    )


def _with_people(entries: Iterable[Entry], last: int) -> int:
    """Milliseconds in which a person was asked: to the answer, the deadline, else to the `last` moment that is known.

    A question that a stop ended, and one that is open still, has no answer.
    """
    asked: dict[str, int] = {}
    waited: dict[str, int] = {}
    for record in (entry.record for entry in entries):
        match record:
            case InterventionRecord():
                asked[record.id] = record.at
                waited[record.id] = (last - record.at) * 1_000
            case AnswerRecord():
                waited[record.intervention] = record.waited_ms
            case DeadlineRecord() if record.then != "stay" and record.intervention in asked:
                waited[record.intervention] = (record.at - asked[record.intervention]) * 1_000
            case _:
                pass
    return sum(waited.values())


def _used(entries: Sequence[Entry]) -> list[UsageRecord]:
    """What counts: not the bound of an attempt whose answer turned up in the store, and was counted there."""
    usage = [entry.record for entry in entries if isinstance(entry.record, UsageRecord)]
    counted = {record.attempt_id for record in usage}
    found = {record.recovered for record in _attempts(entries) if record.found and record.id in counted}
    return [record for record in usage if not (record.estimated and record.attempt_id in found)]


def _sum(used: Iterable[UsageRecord]) -> float:
    return sum(record.cost_usd or 0 for record in used)


def _attempts(entries: Iterable[Entry]) -> Iterable[AttemptRecord]:
    return (entry.record for entry in entries if isinstance(entry.record, AttemptRecord))


def _target(target: str, records: Sequence[AttemptRecord], usage: Iterable[UsageRecord]) -> TargetTally:
    ids = {record.id for record in records} - {""}  # "" only in old journals, never a key (A3)
    used = [record for record in usage if record.attempt_id in ids]
    prices = [record.cost_usd for record in used if record.cost_usd is not None]
    failures = Counter(record.failed.kind or "unclassified" for record in records if record.failed is not None)
    return TargetTally(
        target=target,
        attempts=len(records),
        failed=dict(failures),
        input_tokens=sum(record.input_tokens for record in used),
        output_tokens=sum(record.output_tokens for record in used),
        cost_usd=sum(prices) if prices else None,
        estimated=sum(record.estimated for record in used),
        unpriced=len(used) - len(prices),
    )


def _gate(gate: str, records: Sequence[GateRecord], waived_by: str) -> GateTally:
    newest = records[-1]
    decided = "" if newest.decided == newest.verdict else f", {newest.decided}"
    return GateTally(
        gate=gate,
        rounds=max(record.round for record in records),
        charges=max(record.charges for record in records),
        different=len({record.exact for record in records} - {""}),
        last=newest.verdict + decided,
        waived_by=waived_by,
    )
