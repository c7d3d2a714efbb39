"""Gate budgets with cycle detection (RULES G1-G10, DESIGN section 4 Repairs).

Every fingerprint that a gate has seen is remembered for the whole run; a repeat is charged, a new one is free. One
table serves the seen set and the repair ledger: charged means that repetitions after recording are at least 2 (X1).
A pass clears nothing, so a flaky gate is charged (C21).
"""

from typing import Self

from pydantic import Field

from ledger.interventions import BudgetSpent, LedgerFull, NoProgress
from ledger.model import Frozen
from ledger.outcomes import Failing
from ledger.policy import RepairPolicy
from ledger.repair import Admitted, Limits, RepairLedger, provenance_of
from ledger.target import Target

ROUNDS_KEPT = 8
"""Rounds that are remembered of one failure, to be named in the repair plan."""


class GateState(Frozen):
    """One gate over one run."""

    repairs: RepairLedger
    seq: int = 0
    """Sequence number of the last report taken; one at or below it is ignored (X6)."""
    rounds: int = 0
    """Reports taken, passes included."""
    seen: dict[str, tuple[int, ...]] = Field(default_factory=dict)
    """Failure to the rounds that showed it, newest last. Never mutated."""
    charges: int = 0
    last: str = ""
    """The exact fingerprint of the last round; "" where it passed."""
    family: str = ""
    drift: int = 0
    """New exact failures in a row within `family`."""
    grants: int = 0
    """Admissions that people granted (X8); recorded beside the spend, they lower nothing."""
    waived: bool = False
    """A person accepted the work without this gate."""
    held_by: Target | None = None
    """The target that an escalation handed the repair to, until the gate passes."""

    @classmethod
    def new(cls, gate: str, policy: RepairPolicy) -> Self:
        """A gate that has seen nothing (G1)."""
        limits = Limits(repeat=policy.repeat, distinct=policy.distinct)
        return cls(repairs=RepairLedger(limits=limits, provenance=provenance_of("tool-output", gate, b"")))


class Judged(Frozen):
    """What one failing round came to."""

    repetitions: int
    charged: bool
    drift: int
    seen: tuple[int, ...]
    """Earlier rounds of the same failure."""
    escalate: bool = False
    """Hand the repair to the next target, if there is one."""
    intervention: NoProgress | LedgerFull | BudgetSpent | None = None


def judge(state: GateState, gate: str, failing: Failing, policy: RepairPolicy) -> tuple[GateState, Judged]:
    """Record a failing round, then decide in this order: full, no progress, drift, budget, escalation, admit."""
    seen = state.seen.get(failing.exact, ())
    repairs, outcome = state.repairs.record_failure(failing.exact)
    repetitions = repairs.repetitions(failing.exact)
    charged = repetitions > 1  # tested against what was there before adding (G2, X1)
    drift = _drift(state, failing, new=repetitions == 1)
    after = state.model_copy(
        update={
            "repairs": repairs,
            "rounds": state.rounds + 1,
            "seen": _remembered(state, failing.exact, held=repetitions > 0),
            "charges": state.charges + charged,
            "last": failing.exact,
            "family": failing.family,
            "drift": drift,
        }
    )
    intervention = _intervention(after, gate, outcome, policy, charged=charged)
    escalate = charged and 0 < policy.escalate_after <= after.charges and intervention is None
    judged = Judged(
        repetitions=repetitions,
        charged=charged,
        drift=drift,
        seen=seen,
        escalate=escalate,
        intervention=intervention,
    )
    return after, judged


def passed(state: GateState) -> GateState:
    """A pass takes a round and gives an escalated repair back; the seen set stays (C21)."""
    return state.model_copy(update={"rounds": state.rounds + 1, "held_by": None, "last": ""})


def _intervention(
    state: GateState,
    gate: str,
    outcome: Admitted | NoProgress | LedgerFull,
    policy: RepairPolicy,
    *,
    charged: bool,
) -> NoProgress | LedgerFull | BudgetSpent | None:
    if isinstance(outcome, NoProgress | LedgerFull):
        return outcome.model_copy(update={"gate": gate})
    if state.drift > policy.drift:
        return NoProgress(gate=gate, fingerprint=state.family, repetitions=state.drift)
    if charged and state.charges > policy.budget:
        return BudgetSpent(gate=gate, charged=state.charges, budget=policy.budget)
    return None


def _drift(state: GateState, failing: Failing, *, new: bool) -> int:
    """New exact failures in a row within one family, this one included; a repeat breaks the row."""
    if not new:
        return 0
    return state.drift + 1 if failing.family == state.family else 1


def _remembered(state: GateState, exact: str, *, held: bool) -> dict[str, tuple[int, ...]]:
    """The rounds of every failure that the repair ledger holds; a refused one is not tracked (L8)."""
    if not held:
        return state.seen
    return {**state.seen, exact: (*state.seen.get(exact, ()), state.rounds + 1)[-ROUNDS_KEPT:]}
