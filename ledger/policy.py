"""The operator's numbers, each with its unit and where the default comes from.

A policy is resolved once by `prepare` and is in history from then on. Numbers are strict: a text or a yes is none.
Nothing here decides anything.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, StrictBool, model_validator

from ledger.failures import Schedule
from ledger.model import Frozen

Limit = Annotated[int, Field(strict=True, ge=0, lt=2**31)]
"""Counts at the edges: 0 <= n < 2**31 (L19)."""
Seconds = Annotated[float, Field(strict=True, ge=0, le=366 * 86_400, allow_inf_nan=False)]

SCHEDULES: dict[Schedule, tuple[float, ...]] = {
    # seconds after attempt 1, 2, 3 ...; the last one repeats (RULES A29)
    Schedule.BLIP: (1, 2, 4),
    Schedule.REACHED: (5, 10, 20),
    Schedule.CAPACITY: (15, 30, 60),
}


class CallPolicy(Frozen):
    """How long a turn may try for an answer (DESIGN section 4, Calls)."""

    attempts: Annotated[int, Field(strict=True, ge=1, le=100)] = 4
    """Attempts on one target in one call, the first included; file renewals are not counted (A8, A28)."""
    max_wait_s: Seconds = 60
    """The longest wait that still is a retry of the same target; a longer one moves the turn to the next."""
    patience_s: Seconds = 900
    """Seconds that one turn may wait in all for a target to come back, or for a worker; then a person is asked."""
    bench_s: Seconds = 300
    """How long a target that was left after transient trouble rests before a turn comes back to it."""
    ride_s: Seconds = 5
    """Waits up to this ride inside the next attempt's activity; longer ones are timers."""
    deadline_s: Annotated[float, Field(strict=True, gt=0, le=7_200)] = 600
    """Total time of one trip, first byte to last."""
    pickup_s: Annotated[float, Field(strict=True, gt=0, le=86_400)] = 60
    """How long an attempt waits for a worker before it counts as not_sent, and a tool or a gate for its workspace's."""


class RepairPolicy(Frozen):
    """When an unchanged failure becomes a person's question (RULES L1, DESIGN section 4, Repairs)."""

    repeat: Limit = 3
    """Times that one failure of a gate is admitted, the first included; the next is NoProgress (L5)."""
    distinct: Limit = 16
    """Different failures one gate may show before LedgerFull (L7)."""
    budget: Limit = 3
    """Charges that a gate may take in the run, one for each round that repeats an earlier failure of it; the next
    one is BudgetSpent, so it says "charged 4, budget 3"."""
    escalate_after: Limit = 2
    """From this charge of a gate on its repair is handed to the next target, until the gate passes; 0: never."""
    drift: Limit = 8
    """New failures in a row that are one family, which is the same failing items with other values; the next is
    NoProgress. None of them is charged."""


class StepPolicy(Frozen):
    """When an unchanged step becomes a person's question."""

    repeat: Limit = 5
    """Times that a step is admitted: the same tool call with the same result; the next is NoProgress."""
    kept: Annotated[int, Field(strict=True, ge=1, le=4_096)] = 4_096
    """The last steps that are remembered."""


class SpendPolicy(Frozen):
    """What a run may cost. The call that could cross the limit is not made; a person may raise it."""

    limit_usd: Annotated[float, Field(strict=True, ge=0, lt=2**31, allow_inf_nan=False)] | None = None
    """What the run may cost, its sub-agents and judges included; none: no limit, and prices are only recorded."""
    unknown_price: Literal["ask", "allow", "refuse"] = "ask"
    """Under a limit, a target whose price nobody knows: ask a person, call it all the same, or leave it out."""


class AskPolicy(Frozen):
    """What happens when nobody answers."""

    deadline_s: Seconds | None = None
    """How long a question waits for a person; none: for ever, durably and for free."""
    then: Literal["stay", "stop", "failover"] = "stay"
    """What follows where nobody answered: it goes on waiting, it stops, or the next target is asked where the question
    takes that answer. A timeout is never recorded as a refusal."""


class ChildPolicy(Frozen):
    """How many runs a run may start, and how deep they may nest (DESIGN: 16 and 3)."""

    children: Limit = 16
    """Sub-agents that one run may start."""
    depth: Limit = 3
    """How deep sub-agents and judges may nest: a run that no run started has depth 0, one of this depth starts none."""


class ContextPolicy(Frozen):
    """What becomes of a conversation that fills its target's window (docs/decisions/0013)."""

    full: Literal["drop_tool_results", "summarise", "keep"] = "drop_tool_results"
    """Drop old tool results, have a model summarise all that is old, or keep everything: then a larger target or a
    person has to help. Dropping costs no call, and what was dropped can be read again."""
    at: Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)] = 0.8
    """Share of the window's tokens from which on it is full: the rest is for what nobody counted, and an answer."""
    verbatim: Annotated[float, Field(strict=True, ge=0, lt=1, allow_inf_nan=False)] = 0.3
    """Share of the window that the newest rounds keep word for word; the very newest one always stays."""

    @model_validator(mode="after")
    def _leaves_room(self) -> Self:
        if self.verbatim >= self.at:
            raise ValueError(f"verbatim is {self.verbatim:g}, at is {self.at:g}: at must be more, or no room is made")
        return self


class Policy(Frozen):
    """All numbers a decision depends on."""

    calls: CallPolicy = CallPolicy()
    repairs: RepairPolicy = RepairPolicy()
    steps: StepPolicy = StepPolicy()
    spend: SpendPolicy = SpendPolicy()
    ask: AskPolicy = AskPolicy()
    children: ChildPolicy = ChildPolicy()
    context: ContextPolicy | None = None
    """None: as its defaults say; in the plan of a run that was prepared before there was this policy: `keep`."""
    capture: StrictBool = False
    """Keep the exact body of every request in the store, for people; the operator may forbid it (A18). `endstop start
    --capture` does so for one run."""
