"""The rounds of a run's gates as a table, newest last: what each showed, what it cost, what was decided. Pure."""

from collections.abc import Sequence
from typing import Final

from commands.tables import table
from inbox.shell import endstop
from ledger.journal import Entry, GateRecord

MAX_SHOWN: Final = 20
"""Rounds on the page; the journal has all of them."""
_HEADER: Final = ("GATE", "ROUND", "VERDICT", "ITEMS", "FAILURE", "SEEN", "DRIFT", "COST", "DECIDED")


def rounds_of(entries: Sequence[Entry]) -> list[GateRecord]:
    """The records of all gates, in order."""
    return [entry.record for entry in entries if isinstance(entry.record, GateRecord)]


def rounds_table(run: str, entries: Sequence[Entry]) -> str:
    """One line a round; "" before any gate was asked."""
    rounds = rounds_of(entries)
    if not rounds:
        return ""
    shown = table(_HEADER, [_row(record) for record in rounds[-MAX_SHOWN:]])
    earlier = len(rounds) - MAX_SHOWN
    return f"{shown}\n({earlier} earlier rounds: `{endstop('journal', run)}`)" if earlier > 0 else shown


def _row(record: GateRecord) -> tuple[object, ...]:
    """A round that did not fail has no failure to tell of."""
    if record.verdict != "failing":
        number = "-" if record.verdict == "broken" else record.round  # one that could not run counts as none
        return record.gate, number, record.verdict, "-", "-", "-", "-", "-", record.decided
    cost = f"charged ({record.charges})" if record.charged else "free"
    decided = record.decided + (", next model" if record.escalated else "")
    failure = (record.items, record.exact[:8], record.repetitions, record.drift)
    return record.gate, record.round, record.verdict, *failure, cost, decided
