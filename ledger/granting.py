"""What a person's word gives: one more admission, a raised limit, a waived gate, evidence. No count ever falls (X8)."""

from ledger.calls import Turn
from ledger.interventions import (
    BudgetSpent,
    Intervention,
    LedgerFull,
    ModelsExhausted,
    NoProgress,
    RequestRejected,
    SpendLimit,
    TurnLimit,
)
from ledger.journal import EvidenceRecord
from ledger.notes import GuideNote
from ledger.state import Ledger, Moment


def granted(ledger: Ledger, asked: Intervention) -> Ledger:
    """One more admission, recorded beside the spend (X8): no count falls."""
    match asked:
        case NoProgress(gate=gate) | LedgerFull(gate=gate) | BudgetSpent(gate=gate) if gate:
            return with_gate(ledger, gate, grants=ledger.gates[gate].grants + 1)
        case ModelsExhausted():
            return ledger.having(benches={}, turn=afresh(ledger))
        case RequestRejected():
            return ledger.having(turn=afresh(ledger))
        case TurnLimit():
            return ledger.having(turns_raised=ledger.turns_raised + 1)
        case _:
            return ledger


def afresh(ledger: Ledger) -> Turn:
    """The turn may ask every target again; its patience stays spent."""
    return ledger.turn.model_copy(update={"excluded": (), "left": ()})


def raised(ledger: Ledger, asked: Intervention, amount: float) -> Ledger:
    """Lift the limit by the stated amount; for a target of unknown price it is also the word to call it."""
    if not isinstance(asked, SpendLimit):
        return ledger.having(turns_raised=ledger.turns_raised + int(amount))
    known = ledger.priceless if asked.bound_usd is not None else (*ledger.priceless, asked.target)
    return ledger.having(spend_raised_usd=ledger.spend_raised_usd + amount, priceless=known)


def accepted(ledger: Ledger, asked: Intervention) -> Ledger:
    """The gate, or the unchanged step, is waived on the person's word."""
    match asked:
        case NoProgress(gate=""):
            return ledger.having(steps=ledger.steps.accept(asked.fingerprint))
        case NoProgress(gate=gate) | LedgerFull(gate=gate) | BudgetSpent(gate=gate):
            failing = tuple(note for note in ledger.failing if note.gate != gate)
            return with_gate(ledger.having(failing=failing), gate, waived=True, held_by=None)
        case _:
            return ledger


def learned(ledger: Ledger, by: str, moment: Moment) -> tuple[Ledger, tuple[EvidenceRecord, ...]]:
    """A person's guidance is evidence about what fails now; it lowers nothing (L10-L12)."""
    records: list[EvidenceRecord] = []
    for gate, state in ledger.gates.items():
        repairs, known = state.repairs.record_evidence(state.last)
        if known:
            records.append(EvidenceRecord(at=moment.at, gate=gate, fingerprint=state.last, by=by))
            ledger = with_gate(ledger, gate, repairs=repairs)
    return ledger, tuple(records)


def noted(ledger: Ledger, note: GuideNote) -> Ledger:
    """The model is told with the next call."""
    return ledger.having(notes=(*ledger.notes, note))


def with_gate(ledger: Ledger, gate: str, **changes: object) -> Ledger:
    """The ledger with some fields of a gate changed."""
    state = ledger.gates[gate].model_copy(update=changes)
    return ledger.having(gates={**ledger.gates, gate: state})
