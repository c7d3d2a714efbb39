"""The ledger's value: everything that affects a decision, and the step that a decision is part of.

Carried whole through continue-as-new (X7). No rule is here; `ledger.py` decides, `answering.py` resolves.
"""

from typing import Literal, Self

from pydantic import Field

from ledger.agent import Plan, StagePlan
from ledger.calls import Benches, Chain, Turn
from ledger.context import Context
from ledger.decisions import Ask, Compact, Decision
from ledger.gates import GateState
from ledger.interventions import Intervention
from ledger.journal import JournalRecord
from ledger.model import Frozen
from ledger.notes import Note, RepairNote
from ledger.policy import ContextPolicy
from ledger.records import FailoverRecord
from ledger.steps import StepLedger
from ledger.target import Target
from ledger.totals import Totals


class Stopping(Frozen):
    """A person told the run to stop, or Temporal cancelled it."""

    by: str
    why: str = ""
    how: Literal["stopped", "cancelled"] = "stopped"


class Aside(Frozen):
    """A turn that waits for a summary.

    Summarising is calls of its own, numbered on in the same turn: where they fail no target is out of the turn for it.
    """

    turn: Turn
    """As it was."""
    order: Compact
    """What follows the summary."""
    fit: float
    """Share of the conversation's bytes that the request for it may have."""


class Ledger(Frozen):
    """Where a run stands and all that its next decision depends on, beside the plan."""

    doing: Decision | None = None
    """The decision under way; None before the run began."""
    stage: int = 0
    """Index in the plan."""
    turns: int = 0
    """Turns of the stage so far."""
    turns_raised: int = 0
    """Turns that people granted to the stage."""
    turn: Turn = Turn()
    target: Target | None = None
    """The target that was asked last in this stage."""
    preferred: Target | None = None
    """Where a person wants the next turns to start."""
    move: str = ""
    """Why the next change of target happens, where a person ordered it."""
    benches: Benches = Field(default_factory=dict)
    gates: dict[str, GateState] = Field(default_factory=dict)
    steps: StepLedger = StepLedger()
    failing: tuple[RepairNote, ...] = ()
    """Gates that the work does not pass yet, as the next turn will be told."""
    notes: tuple[Note, ...] = ()
    """What people and stages want the model to be told next."""
    queue: tuple[Intervention, ...] = ()
    """Interventions behind the open one."""
    resume: Decision | None = None
    """What a pause, or a lost workspace, holds up."""
    paused_by: str | None = None
    stopping: Stopping | None = None
    context: Context = Context()
    compactions: int = 0
    """Compactions so far; names the next one."""
    aside: Aside | None = None
    """What waits while the conversation is summarised."""
    asked: int = 0
    """Interventions so far; names the next one."""
    reports: int = 0
    """Gate reports asked for so far (X6)."""
    totals: Totals = Totals()
    spend_raised_usd: float = 0
    """What people added to the spend limit."""
    priceless: tuple[Target, ...] = ()
    """Targets of unknown price that a person let through."""
    children: int = 0
    """Sub-agents that were started so far."""
    approved: tuple[str, ...] = ()
    """Tools that a person approved, where one approval is enough."""

    @property
    def open(self) -> Ask | None:
        """The intervention that waits for a person."""
        return self.doing if isinstance(self.doing, Ask) else None

    def having(self, **changes: object) -> Self:
        """The ledger with some fields changed."""
        return self.model_copy(update=changes)


class Step(Frozen):
    """What one fact or answer came to: the next ledger, what to do, and the records to keep."""

    ledger: Ledger
    decision: Decision
    records: tuple[JournalRecord, ...] = ()


class Moment(Frozen):
    """What surrounds a decision: the plan, the time and a random number, all passed in."""

    plan: Plan
    now: float
    """Unix seconds of the workflow's clock."""
    jitter: float = 0.0
    """0 <= x < 1."""

    @property
    def at(self) -> int:
        """`now` in whole seconds, as records have it."""
        return int(self.now)

    def stage(self, ledger: Ledger) -> StagePlan:
        """The stage that the ledger is in."""
        return self.plan.stages[ledger.stage]

    def chain(self, ledger: Ledger) -> Chain:
        """The stage's targets and their benches, now."""
        targets = self.stage(ledger).models
        return Chain(targets=targets, benches=ledger.benches, context_tokens=self.plan.context_tokens, now=self.now)

    def window(self, target: Target) -> int:
        """Tokens of the target's context window; 0: not known."""
        return self.plan.context_tokens.get(str(target), 0)

    @property
    def context(self) -> ContextPolicy:
        """What becomes of a full conversation; a plan of before there was this policy keeps everything."""
        return self.plan.policy.context or ContextPolicy(full="keep")

    def moved(self, ledger: Ledger, to: Target, *, kind: str = "", reason: str) -> FailoverRecord:
        """The record of a move from the target asked last (A23)."""
        origin = ledger.target or to
        return FailoverRecord(
            stage=self.stage(ledger).name,
            iteration=ledger.turn.iteration,
            at=self.at,
            from_provider=origin.provider,
            from_model=origin.model,
            to_provider=to.provider,
            to_model=to.model,
            kind=kind,
            reason=reason,
        )
