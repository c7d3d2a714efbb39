"""The repair ledger (RULES L1-L22): the N-th identical failure becomes a finite, typed intervention.

A pure value: every operation returns the next ledger and what came of it. It knows fingerprints and counts, nothing
of gates, models or people; `gates.py` holds one of these a gate. Evidence is recorded and buys no attempt back (L12).
"""

from typing import Annotated, Literal, Self

from blake3 import blake3
from pydantic import Field

from ledger.interventions import LedgerFull, NoProgress
from ledger.model import Frozen
from ledger.policy import Limit


class Limits(Frozen):
    """What a ledger tolerates. Construction never fails for 0 <= n < 2**31; limits act on recording only (L2, L19)."""

    repeat: Limit = 3
    """Identical failures that are admitted; the next one is NoProgress (L5)."""
    distinct: Limit = 16
    """Different failures that are tracked; the next unknown one is LedgerFull (L7)."""


Source = Literal["model", "tool-output", "document"]


class Provenance(Frozen):
    """Where a payload came from (L22)."""

    source: Source
    tenant: str
    digest: str
    """blake3 of the bytes as received, hex."""
    bytes: Annotated[int, Field(ge=0)]


def provenance_of(source: Source, tenant: str, content: bytes) -> Provenance:
    """The provenance of some bytes as they were received."""
    return Provenance(source=source, tenant=tenant, digest=blake3(content).hexdigest(), bytes=len(content))


class Partial(Frozen):
    """Coverage of a plan: so many of the asked items are covered."""

    covered: int
    asked: int


class RepairPlan(Frozen):
    """What an admitted repair is to do (L21)."""

    operations: tuple[str, ...] = ()
    notes: tuple[str, ...]
    coverage: Partial
    provenance: Provenance

    @classmethod
    def for_repair(cls, fingerprint: str, provenance: Provenance) -> Self:
        """No operations, one note, nothing of the one thing asked covered yet, the ledger's provenance."""
        coverage = Partial(covered=0, asked=1)
        return cls(notes=(f"retry: {fingerprint}",), coverage=coverage, provenance=provenance)


class Admitted(Frozen):
    """One more repair may be tried."""

    label: Literal["Admitted"] = "Admitted"
    plan: RepairPlan
    provenance: Provenance


class Refused(Frozen):
    """A refusal that is no intervention; `record_failure` never returns it (L20)."""

    label: Literal["Refused"] = "Refused"
    refusal: str
    provenance: Provenance


RepairOutcome = Annotated[Admitted | Refused | NoProgress | LedgerFull, Field(discriminator="label")]


class Tracked(Frozen):
    """One failure that the ledger holds."""

    repetitions: int = 1
    """How often it was recorded, the first time included (C8)."""
    progress: bool = False
    """Evidence came ever since it was first recorded; never cleared (L12, C3)."""
    provenance: Provenance


class RepairLedger(Frozen):
    """Failures by fingerprint. Limits and provenance are required: there is no default ledger (L1)."""

    limits: Limits
    provenance: Provenance
    """The run's, used where a failure brings none of its own (C9)."""
    tracked: dict[str, Tracked] = Field(default_factory=dict)
    """Sorted by fingerprint, so that equal sets of failures dump equally (L16). Never mutated."""
    spent: int = 0
    """Failures recorded, of any outcome (L3)."""
    evidence: int = 0

    def record_failure(
        self, fingerprint: str, provenance: Provenance | None = None
    ) -> tuple[Self, Admitted | NoProgress | LedgerFull]:
        """Count a failure, then say whether one more repair is admitted (L3-L8). Each call counts (C1)."""
        known = self.tracked.get(fingerprint)
        if known is None and len(self.tracked) >= self.limits.distinct:
            return self._with(spent=self.spent + 1), LedgerFull(held=len(self.tracked))
        repetitions = known.repetitions + 1 if known else 1
        held = Tracked(
            repetitions=repetitions,
            progress=known.progress if known else False,
            provenance=known.provenance if known else provenance or self.provenance,
        )
        after = self._with(tracked=self._holding(fingerprint, held), spent=self.spent + 1)
        if known is not None and repetitions > self.limits.repeat:
            return after, NoProgress(fingerprint=fingerprint, repetitions=repetitions)
        plan = RepairPlan.for_repair(fingerprint, self.provenance)
        return after, Admitted(plan=plan, provenance=self.provenance)

    def record_evidence(self, fingerprint: str) -> tuple[Self, bool]:
        """Note that something new was learned about a known failure; no count changes (L10-L12)."""
        known = self.tracked.get(fingerprint)
        if known is None:
            return self, False
        held = Tracked(repetitions=known.repetitions, progress=True, provenance=known.provenance)
        return self._with(tracked=self._holding(fingerprint, held), evidence=self.evidence + 1), True

    def may_repair(self, fingerprint: str) -> bool:
        """Whether what is recorded allows another repair; says nothing of the next failure (L13, L14)."""
        within = self.repetitions(fingerprint) <= self.limits.repeat
        return within and (fingerprint in self.tracked or len(self.tracked) < self.limits.distinct)

    def would_admit(self, fingerprint: str) -> bool:
        """Whether the next `record_failure` of this fingerprint will be Admitted (C7)."""
        known = self.tracked.get(fingerprint)
        if known is None:
            return len(self.tracked) < self.limits.distinct
        return known.repetitions < self.limits.repeat

    def repetitions(self, fingerprint: str) -> int:
        """How often it was recorded; 0 where it is unknown (L15)."""
        known = self.tracked.get(fingerprint)
        return known.repetitions if known else 0

    def has_progress(self, fingerprint: str) -> bool:
        """Whether evidence ever came for it; False where it is unknown (L15)."""
        known = self.tracked.get(fingerprint)
        return known.progress if known else False

    def provenance_of(self, fingerprint: str) -> Provenance | None:
        """Where the payload that first showed it came from; None where it is unknown (L15)."""
        known = self.tracked.get(fingerprint)
        return known.provenance if known else None

    def _holding(self, fingerprint: str, held: Tracked) -> dict[str, Tracked]:
        return dict(sorted({**self.tracked, fingerprint: held}.items()))

    def _with(self, **changes: object) -> Self:
        return self.model_copy(update=changes)
