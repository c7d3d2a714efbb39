"""What the journals of many runs add up to: the values that `endstop stats` shows. How they come about: `adding_up.py`.

Times are in milliseconds, moments in unix seconds, amounts in US dollars.
"""

from commands.tallies import Cost
from ledger.model import Frozen


class RunsTotal(Frozen):
    """The runs that did anything in this time, and how many of them ended in it, by how they say they ended."""

    seen: int
    began: int
    completed: int
    stopped: int
    cancelled: int


class TargetTotal(Frozen):
    """How one target did."""

    target: str
    attempts: int
    """Trips, those that found a stored answer and those that never left included."""
    failed: dict[str, int]
    """Failed attempts by kind; "unclassified" where the record names none."""
    recovered: int
    """Attempts that found the stored answer of an earlier one: nothing was sent."""
    rate: float | None
    """Share of failures among the attempts that the target had to answer: without those that a person or a worker
    ended, that never left, or that found a stored answer. None where there are no others."""
    waits_ms: int
    """Lost to backoffs before its attempts, and to waits for it."""
    models_ms: int
    """Its attempts took this long, waits excluded."""
    input_tokens: int
    output_tokens: int
    cost: Cost


class WaitsTotal(Frozen):
    """Time lost to waits."""

    retry_ms: int
    """Before another attempt at the same target."""
    patience_ms: int
    """Until a target was expected to be usable again."""
    not_sent_ms: int
    """Because no worker took the call."""


class FailoverTotal(Frozen):
    """Moves from one target to another for one reason."""

    reason: str
    source: str
    goal: str
    count: int


class InterventionTotal(Frozen):
    """Questions of one label, and how people answered them; one may be raised before this time and answered in it."""

    label: str
    raised: int
    answered: int
    timed_out: int
    """Deadlines that passed without an answer."""
    answers: dict[str, int]
    median_ms: int | None
    """From question to answer; None where nobody answered."""
    max_ms: int | None


class GateTotal(Frozen):
    """One gate's rounds."""

    gate: str
    rounds: int
    failing: int
    charges: int


class CompactionsTotal(Frozen):
    """How often a conversation was made shorter, by how."""

    drop_tool_results: int
    summarise: int


class Stats(Frozen):
    """The whole answer."""

    since: int | None
    """None: from the beginning."""
    agent: str | None
    """None: all agents."""
    runs: RunsTotal
    targets: tuple[TargetTotal, ...]
    """Those with most attempts first."""
    waits: WaitsTotal
    failovers: tuple[FailoverTotal, ...]
    interventions: tuple[InterventionTotal, ...]
    gates: tuple[GateTotal, ...]
    compactions: CompactionsTotal
    cost: Cost
    unread: int
    """Records that this release cannot read: they count nowhere."""
