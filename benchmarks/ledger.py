"""What a decision costs at an empty and at a full ledger: `python -m benchmarks.ledger`.

Full: one gate holds 16 failures in all the rounds that it remembers, and the last 4,096 steps are kept. In µs of
processor time, and as a ratio to a JSON round trip of the same ledger (pydantic's, to text and back), sample by sample.
"""

import hashlib
import statistics
import time
from collections.abc import Callable

from benchmarks.rig import table
from ledger.agent import Plan, StagePlan
from ledger.failures import Failure, FailureKind
from ledger.ledger import Ledger, Moment, decide
from ledger.outcomes import (
    Answered,
    Began,
    Fact,
    Failing,
    GateReport,
    GatesRan,
    Refused,
    ToolOutcome,
    ToolRequest,
    ToolsRan,
    Trip,
)
from ledger.policy import Policy, RepairPolicy, StepPolicy
from ledger.target import Target

MANY = 10**9
POLICY = Policy(
    repairs=RepairPolicy(repeat=MANY, budget=MANY, escalate_after=0, drift=MANY), steps=StepPolicy(repeat=MANY)
)
MODELS = (Target.parse("openai:first"), Target.parse("anthropic:second"))
PLAN = Plan(stages=(StagePlan(name="main", models=MODELS, gates=("tests",), turns=MANY),), policy=POLICY)
MOMENT = Moment(plan=PLAN, now=1_800_000_000.0)

CALLS_TOOL = Trip(outcome=Answered(finish_reason="tool_call", tool_calls=(ToolRequest(index=0, name="read_file"),)))
ANSWERS = Trip(outcome=Answered(finish_reason="complete"))
THROTTLED = Trip(outcome=Refused(failure=Failure.of(FailureKind.RATE_LIMITED)))

SAMPLES, LOOPS = 21, 200


def after(ledger: Ledger, *facts: Fact) -> Ledger:
    for fact in facts:
        ledger = decide(ledger, fact, MOMENT).ledger
    return ledger


def ran(ledger: Ledger, step: int) -> ToolsRan:
    """The tool call under way came back with the step of this number; no two have one digest."""
    digest = hashlib.sha256(str(step).encode()).hexdigest()
    outcome = ToolOutcome(index=0, name="read_file", status="ok", step=digest)
    return ToolsRan(attempt_id=ledger.doing.attempt_id, results=(outcome,))  # type: ignore[union-attr]


def failing(ledger: Ledger, failure: int) -> GatesRan:
    """The gates under way report this failure."""
    verdict = Failing(version=1, exact=f"{failure:064x}", family="f" * 64, items=3)
    gates = ledger.doing.gates  # type: ignore[union-attr]
    return GatesRan(reports=tuple(GateReport(gate=gate, seq=seq, verdict=verdict) for gate, seq in gates))


def full() -> Ledger:
    """Filled by the ledger's own decisions, and about to call a model."""
    ledger = after(Ledger(), Began())
    for round_ in range(16 * 8):
        ledger = after(ledger, ANSWERS)
        ledger = after(ledger, failing(ledger, round_ % 16))
    for step in range(4_096):
        ledger = after(ledger, CALLS_TOOL)
        ledger = after(ledger, ran(ledger, step))
    return ledger


def micros(action: Callable[[], object]) -> float:
    """Processor time of one call, the mean over the loops: what others do on the machine is not in it."""
    began = time.thread_time()
    for _ in range(LOOPS):
        action()
    return (time.thread_time() - began) / LOOPS * 1e6


def compared(decision: Callable[[], object], trip: Callable[[], object]) -> tuple[float, float, float]:
    """Medians of the samples, taken alternately: the decision, the round trip, and their ratio within a sample."""
    samples = [(micros(decision), micros(trip)) for _ in range(SAMPLES)]
    decided, tripped = zip(*samples, strict=True)
    return (
        statistics.median(decided),
        statistics.median(tripped),
        statistics.median(own / other for own, other in samples),
    )


def decisions(calling: Ledger) -> list[tuple[str, Ledger, Fact]]:
    """Each kind of decision: the ledger before it, and the fact."""
    tool, gate = after(calling, CALLS_TOOL), after(calling, ANSWERS)
    return [
        ("an answer with a tool call", calling, CALLS_TOOL),
        ("a tool ran", tool, ran(tool, MANY)),
        ("a rate limit: retry", calling, THROTTLED),
        ("a gate fails: repair", gate, failing(gate, 0)),
    ]


def rows(name: str, calling: Ledger) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for what, ledger, fact in decisions(calling):
        cost, trip, ratio = compared(
            lambda ledger=ledger, fact=fact: decide(ledger, fact, MOMENT),  # type: ignore[misc]
            lambda ledger=ledger: Ledger.model_validate_json(ledger.model_dump_json()),  # type: ignore[misc]
        )
        size = len(ledger.model_dump_json())
        found.append((name, what, f"{cost:.0f}", f"{trip:.0f}", f"{ratio:.2f}", f"{size:,}"))
    return found


def main() -> None:
    """Measure and print."""
    header = ("ledger", "after", "decision µs", "JSON round trip µs", "ratio", "ledger bytes")
    table(header, [*rows("empty", after(Ledger(), Began())), *rows("full", full())])


if __name__ == "__main__":
    main()
