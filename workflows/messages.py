"""What callers of `AgentWorkflow` send and receive: its input, its result, and the shapes its queries answer.

A JSON starter in any language needs only `{"agent": {...}, "task": "..."}`. Everything that arrives is validated
inside the workflow, so no model here is used as a handler's parameter type.
"""

from typing import Any, Literal

from pydantic import ConfigDict, JsonValue

from ledger.conversation import Conversation
from ledger.model import Frozen
from ledger.totals import Totals

SIGNAL_INTERVENE = "intervene"
SIGNAL_CHILD = "child"
"""A sub-agent tells its parent that it waits for a person, or waits no longer; cancelled, also what it used."""
UPDATE_ANSWER = "answer"
QUERY_STATUS = "status"
QUERY_INTERVENTION = "intervention"
QUERY_LEDGER = "ledger"
QUERY_JOURNAL = "journal"

RunStatus = Literal["running", "waiting", "needs_human", "completed", "stopped", "cancelled"]
"""running; waiting for a timer; needs_human: an intervention is open; or how it ended."""


class RunResult(Frozen):
    """How a run ended."""

    status: Literal["completed", "stopped"]
    answer: str | None = None
    """Inline where the task came inline (at most 16 kB); else `endstop transcript` has it."""
    answer_cut: bool = False
    """It is longer: `answer` is its beginning, and the store has the whole."""
    conversation: Conversation
    by: str = ""
    """Who stopped it, as claimed."""
    why: str = ""
    turns: int = 0
    totals: Totals = Totals()


class _Told(Frozen):
    """What a run tells whoever asks, who may be of an older release: what that does not know yet is passed over."""

    model_config = ConfigDict(extra="ignore")


class ChildStatus(_Told):
    """A sub-agent that is under way."""

    id: str
    """Its workflow id, under which it is shown and answered."""
    intervention: str = ""
    """Label of the intervention that it has open."""


class ChildWord(ChildStatus):
    """What a sub-agent tells its parent."""

    totals: Totals | None = None
    """What it came to, of one that was cancelled: its parent gets no result of it."""


class Status(_Told):
    """Query `status`: where the run stands, in numbers and names."""

    status: RunStatus
    agent: str
    stage: str
    turn: int
    """Turn of the run, from 1; 0 before the first."""
    target: str = ""
    doing: str = ""
    """What it does now, such as "calling openai:gpt-5, attempt 2" or "gate tests"."""
    since: float = 0
    """Unix seconds when that began."""
    until: float | None = None
    """Unix seconds when a wait ends, where one is on."""
    intervention: str = ""
    """Label of the open intervention."""
    attempts: int = 0
    failovers: int = 0
    charges: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0
    """Sum of the known prices; None: attempts used something, and no price is known."""
    unpriced: int = 0
    """Attempts with usage whose price is unknown."""
    children: tuple[ChildStatus, ...] = ()
    conversation: Conversation
    journal: int = 0
    """Sequence number of the newest record."""


class Asked(_Told):
    """Query `intervention`: the open intervention, or null."""

    id: str
    digest: str
    label: str
    text: str
    facts: dict[str, JsonValue]
    answers: tuple[str, ...]
    at: float
    tools_ref: str = ""
    """Reference in the store of the arguments that tools take, by which an edit is checked before it is sent."""


class JournalPage(_Told):
    """Query `journal`: the records after a sequence number, oldest first; the whole journal is in the store."""

    records: tuple[dict[str, Any], ...]
    """Each with its `seq`."""
    next: int
    """Pass as `after` to go on."""
    first: int
    """The oldest sequence number still held in the workflow."""
