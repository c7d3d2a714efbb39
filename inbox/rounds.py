"""The rounds of a run's gates, newest last: what each showed, what it cost, what was decided; what a gate printed.

For every door (the command line, the inbox). Not here: how it looks on a page or a terminal.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from inbox.shell import endstop
from ledger.journal import Entry, GateRecord
from ledger.model import Frozen
from workflows.messages import Asked

MAX_SHOWN: Final = 20
"""Rounds that are shown; the journal has all of them."""
TAIL_BYTES: Final = 4_096
"""Bytes of a gate's output that a page shows, the last ones: that is where tools sum up."""
HEADER: Final = ("GATE", "ROUND", "VERDICT", "ITEMS", "FAILURE", "SEEN", "DRIFT", "COST", "DECIDED")


class KeptOutputs(Protocol):
    """What is read of the store."""

    async def get(self, ref: str) -> bytes: ...


class FailedGate(Frozen):
    """The gate that a person is asked about."""

    gate: str
    rounds: tuple[GateRecord, ...]
    tail: str = ""
    """The end of what it printed when it failed last."""
    more: int = 0
    """Bytes of its output before that."""
    trouble: str = ""
    """Why the output is not there; "" where it is."""


def rounds_of(entries: Sequence[Entry]) -> list[GateRecord]:
    """The records of all gates, in order."""
    return [entry.record for entry in entries if isinstance(entry.record, GateRecord)]


def rows(rounds: Sequence[GateRecord]) -> list[tuple[object, ...]]:
    """One row a round, under `HEADER`; the newest."""
    return [_row(record) for record in rounds[-MAX_SHOWN:]]


def earlier(run: str, rounds: Sequence[GateRecord]) -> str:
    """Where the rounds are that are not among the rows; "" where all are."""
    left = len(rounds) - MAX_SHOWN
    return f"({left} earlier rounds: `{endstop('journal', run)}`)" if left > 0 else ""


def whole_output(run: str, asked: Asked) -> str:
    """How to see what the gate met of which a person is asked; "" where no gate is asked about."""
    gate = asked.facts.get("gate")
    if not gate:
        return ""
    if asked.label == "WorkspaceLost":
        return f"why: `{endstop('journal', run, flags='--details')}` quotes what the gate met"
    return f"what failed: `{endstop('output', run, str(gate))}` has it whole"


async def failed_gate(store: KeptOutputs, asked: Asked, entries: Sequence[Entry]) -> FailedGate | None:
    """The gate that is asked about, as far as the records tell of it; None: of no gate, or they tell nothing."""
    from store import ContentMissing, StoreTroubled  # noqa: PLC0415 - a command that shows no output loads no SQL

    rounds = tuple(record for record in rounds_of(entries) if record.gate == asked.facts.get("gate"))
    if not rounds:
        return None
    found = FailedGate(gate=rounds[-1].gate, rounds=rounds)
    ref = next((record.output for record in reversed(rounds) if record.output), "")
    if not ref:
        return found
    try:
        output = await store.get(ref)
    except ContentMissing:
        trouble = "it is not in the store: it was removed, or this is not the store that the worker uses"
        return found.model_copy(update={"trouble": trouble})
    except StoreTroubled as error:  # the question can be answered all the same
        return found.model_copy(update={"trouble": str(error)})
    tail = output[-TAIL_BYTES:]
    return found.model_copy(update={"tail": tail.decode(errors="replace"), "more": len(output) - len(tail)})


def _row(record: GateRecord) -> tuple[object, ...]:
    """A round that did not fail has no failure to tell of."""
    if record.verdict != "failing":
        number = "-" if record.verdict == "broken" else record.round  # one that could not run counts as none
        return record.gate, number, record.verdict, "-", "-", "-", "-", "-", record.decided
    cost = f"charged ({record.charges})" if record.charged else "free"
    decided = record.decided + (", next model" if record.escalated else "")
    failure = (record.items, record.exact[:8], record.repetitions, record.drift)
    return record.gate, record.round, record.verdict, *failure, cost, decided
