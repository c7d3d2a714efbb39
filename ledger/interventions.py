"""Interventions: the typed values that a run reaches instead of another try, and what each lets a person answer.

A discriminated union; `ACCEPTS` is the table of which answers each one takes, `answers.py` holds the answers.
The digest of an open intervention binds an answer to what was shown.
"""

import hashlib
import json
from typing import Annotated, Literal

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from ledger.failures import FailureKind
from ledger.model import Frozen
from ledger.target import Target

MAX_TEXT = 2_048
"""Bytes of a question that every door can show (DESIGN section 6)."""


class NoProgress(Frozen):
    """The same failure came back more often than `repeat` allows (L5)."""

    label: Literal["NoProgress"] = "NoProgress"
    gate: str = ""
    """The gate, or "" for an unchanged step."""
    fingerprint: str
    repetitions: int

    def __str__(self) -> str:
        what = f"failure {_quoted(self.fingerprint)} of gate {self.gate}" if self.gate else _quoted(self.fingerprint)
        return f"no progress: {what} failed {self.repetitions} times unchanged, so no further repair is admitted"


class LedgerFull(Frozen):
    """More different failures than the ledger retains (L7)."""

    label: Literal["LedgerFull"] = "LedgerFull"
    gate: str = ""
    held: int

    def __str__(self) -> str:
        return f"ledger full: {self.held} distinct failures recorded, so none further is retained"


class BudgetSpent(Frozen):
    """A gate was charged more often than its budget allows (G6)."""

    label: Literal["BudgetSpent"] = "BudgetSpent"
    gate: str
    charged: int
    budget: int

    def __str__(self) -> str:
        return f"budget spent: gate {self.gate} was charged {self.charged} times of {self.budget}"


class Tried(Frozen):
    """One target that a turn left, why, and after how many attempts."""

    target: Target
    kind: FailureKind
    attempts: int


class ModelsExhausted(Frozen):
    """No target is left that could take the turn, and no wait fits."""

    label: Literal["ModelsExhausted"] = "ModelsExhausted"
    tried: tuple[Tried, ...]
    retry_at: float | None = None
    """Unix seconds when the earliest bench ends; None: no time is known."""

    def __str__(self) -> str:
        tried = ", ".join(f"{t.target} {t.kind} after {t.attempts}" for t in self.tried)
        return f"models exhausted: {tried or 'every target is benched'}"


class RequestRejected(Frozen):
    """The request itself was refused, so no other model could help."""

    label: Literal["RequestRejected"] = "RequestRejected"
    target: Target
    kind: FailureKind

    def __str__(self) -> str:
        return f"request rejected: {self.target} answered {self.kind}"


class TurnLimit(Frozen):
    """A stage has used its turns."""

    label: Literal["TurnLimit"] = "TurnLimit"
    stage: str
    turns: int

    def __str__(self) -> str:
        return f"turn limit: stage {self.stage} has used its {self.turns} turns"


class SpendLimit(Frozen):
    """The next call could cross the run's spend limit, or its price is unknown."""

    label: Literal["SpendLimit"] = "SpendLimit"
    spent_usd: float
    limit_usd: float
    target: Target
    bound_usd: float | None = None
    """The most that the next call could cost; None: its price is unknown."""

    def __str__(self) -> str:
        could = "at an unknown price" if self.bound_usd is None else f"for up to {self.bound_usd:.4f} USD"
        spent = f"{self.spent_usd:.4f} USD spent of {self.limit_usd:.4f}"
        return f"spend limit: {spent}, and the next call goes to {self.target} {could}"


class ApprovalNeeded(Frozen):
    """A tool may run only on a person's word."""

    label: Literal["ApprovalNeeded"] = "ApprovalNeeded"
    tool: str
    arguments: str
    """Digest of the arguments, which are in the transcript: every door shows them whole."""
    index: int = 0
    """Which call of the last answer it is, from 0."""

    def __str__(self) -> str:
        return f"approval needed: tool {self.tool}, arguments {self.arguments}"


class Question(Frozen):
    """The model asks a person."""

    label: Literal["Question"] = "Question"
    text: Annotated[str, Field(max_length=MAX_TEXT)]
    options: tuple[str, ...] = ()
    """Replies that the model suggests; any other is taken too."""
    index: int = 0
    """Which call of the last answer it is, from 0."""

    def __str__(self) -> str:
        return "question: the model asks a person"


class OutcomeUnknown(Frozen):
    """A worker died in a tool that must not run twice."""

    label: Literal["OutcomeUnknown"] = "OutcomeUnknown"
    tool: str
    arguments: str
    """Digest of the arguments, which are in the transcript."""
    index: int = 0
    """Which call of the last answer it is, from 0."""

    def __str__(self) -> str:
        return f"outcome unknown: a worker died in tool {self.tool}, arguments {self.arguments}"


class WorkspaceLost(Frozen):
    """The worker that holds the run's workspace does not answer, or a gate could not run."""

    label: Literal["WorkspaceLost"] = "WorkspaceLost"
    workspace: str
    worker: str
    """Both are "" where what is out of reach is the gate alone."""
    gate: str = ""
    """What could not run, several separated by commas; "" for a tool."""

    def __str__(self) -> str:
        if self.gate and not self.workspace:
            return f"gate {self.gate} could not run"
        if self.gate:
            return f"workspace lost: gate {self.gate} could not run in {self.workspace} on {self.worker}"
        return f"workspace lost: {self.workspace} on {self.worker} is out of reach"


class Paused(Frozen):
    """A person asked the run to hold."""

    label: Literal["Paused"] = "Paused"
    by: str

    def __str__(self) -> str:
        return f"paused by {self.by}"


class NeedsHuman(Frozen):
    """An intervention of a later release, read by this one: it needs a human, it never means go on (L18)."""

    label: Literal["NeedsHuman"] = "NeedsHuman"
    was: str
    """The label as it was written, cut at 64 characters."""

    def __str__(self) -> str:
        return f"needs a human: {_quoted(self.was)} is not known to this release"


def _or_needs_human(value: object, read: ValidatorFunctionWrapHandler) -> object:
    """Whatever this release does not know needs a human (L18). Never raises."""
    try:
        return read(value)
    except ValidationError:
        label = value.get("label", "") if isinstance(value, dict) else ""
        return NeedsHuman(was=str(label)[:64])


Intervention = Annotated[
    NoProgress
    | LedgerFull
    | BudgetSpent
    | ModelsExhausted
    | RequestRejected
    | TurnLimit
    | SpendLimit
    | ApprovalNeeded
    | Question
    | OutcomeUnknown
    | WorkspaceLost
    | Paused
    | NeedsHuman,
    Field(discriminator="label"),
    WrapValidator(_or_needs_human),
]

ACCEPTS: dict[str, tuple[str, ...]] = {
    # intervention: answers besides stop (DESIGN section 4)
    "NoProgress": ("retry", "guide", "failover", "accept"),
    "LedgerFull": ("guide", "accept"),
    "BudgetSpent": ("retry", "guide", "failover", "accept"),
    "ModelsExhausted": ("retry", "failover"),
    "RequestRejected": ("retry", "failover", "guide"),
    "TurnLimit": ("raise", "guide"),
    "SpendLimit": ("raise",),
    "ApprovalNeeded": ("approve", "edit", "reject"),
    "Question": ("reply",),
    "OutcomeUnknown": ("retry", "reply"),
    "WorkspaceLost": ("retry", "guide"),
    "Paused": ("resume", "guide"),
    "NeedsHuman": (),
}
BARE = frozenset({"NoProgress", "BudgetSpent", "ModelsExhausted", "Paused"})
"""Interventions that a bare label, bound to nothing that was shown, may answer."""


class Open(Frozen):
    """An intervention that waits for a person."""

    id: str
    """Unique over the run: "int-1", "int-2" ..."""
    intervention: Intervention
    at: float
    """Unix seconds when it was raised."""

    @property
    def digest(self) -> str:
        """Binds an answer to what was shown: 16 hex characters over id and facts."""
        shown = json.dumps([self.id, self.intervention.model_dump(mode="json")], sort_keys=True)
        return hashlib.blake2b(shown.encode(), digest_size=8).hexdigest()

    @property
    def answers(self) -> tuple[str, ...]:
        """The labels that this intervention accepts, `stop` last."""
        return (*ACCEPTS[self.intervention.label], "stop")


def _quoted(text: str) -> str:
    """Escape as Rust's {:?} does, so that a newline in a fingerprint cannot forge a log line (L17)."""
    return json.dumps(text, ensure_ascii=False)
