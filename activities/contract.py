"""What workflows and activities agree on: names, and the inputs and results that cross between them.

Light on purpose: importing this module loads no provider SDK, no SQL and no HTTP. Content never crosses; it stays
in the store and is named by reference. Every result is validated again in the workflow, where it arrives as a dict.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, JsonValue

from ledger.agent import Plan
from ledger.conversation import Conversation
from ledger.decisions import Summarise
from ledger.model import Frozen
from ledger.notes import Note
from ledger.outcomes import ToolOutcome, ToolRequest, Trip, Verdict
from ledger.target import Target

STORE_S = 60
"""Seconds that an activity waits for a store in trouble before it tells so."""

TASK_QUEUE = "endstop"
WORKFLOW = "AgentWorkflow"
EXPIRY_WORKFLOW = "ExpiryWorkflow"

PREPARE = "prepare"
CALL_MODEL = "call_model"
RUN_TOOL = "run_tool"
READ_ARGUMENTS = "read_arguments"
KEEP_RESULT = "keep_result"
READ_TASK = "read_task"
KEEP_ANSWER = "keep_answer"
RUN_GATE = "run_gate"
KEEP_VERDICT = "keep_verdict"
JUDGE_TASK = "judge_task"
APPEND = "append"
WRITE_JOURNAL = "write_journal"
READ_ANSWER = "read_answer"
EXPIRE = "expire"

ATTRIBUTE_STATUS = "EndstopStatus"
ATTRIBUTE_INTERVENTION = "EndstopIntervention"
ATTRIBUTE_MODEL = "EndstopModel"
ATTRIBUTE_SPEND = "EndstopSpendUsd"

NOT_HERE = "NotHere"
"""Type of the error by which `prepare` says that another worker may be able to."""
INVALID_SPEC = "InvalidSpec"
"""Type of the failure that says in one line why an agent or a task was refused; never retried."""

MAX_INLINE_ANSWER = 16_384
"""Bytes of an answer that a starter who passed its task inline gets back inline."""


class Here(Frozen):
    """A tool or a gate that Endstop's own workers carry out."""

    where: Literal["here"] = "here"
    in_workspace: bool = False
    idempotent: bool = True
    timeout_s: float = 600
    local: bool = False
    """So cheap, and harmless to repeat, that it runs beside the workflow: one event instead of six."""


class Elsewhere(Frozen):
    """A tool or a gate that is an activity of somebody's worker, in any language; it gets one JSON object."""

    where: Literal["elsewhere"] = "elsewhere"
    activity: str
    task_queue: str
    idempotent: bool = False
    timeout_s: float = 600
    heartbeat_s: float | None = None


class Child(Frozen):
    """A tool whose calls, or a judge whose verdicts, are runs of another agent."""

    where: Literal["child"] = "child"
    agent_ref: str
    """Reference of the agent in the store; the child's workers use the same store."""
    task_queue: str = ""
    """"" : the parent's."""


Route = Annotated[Here | Elsewhere | Child, Field(discriminator="where")]
"""Where the calls of a tool go, or a gate is asked."""


class Parent(Frozen):
    """Who started a run as a sub-agent or a judge, and what it may spend."""

    workflow_id: str
    depth: Annotated[int, Field(ge=0, lt=2**31)]
    """The parent's own."""
    spend_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Its share of what the parent may still spend; None: no limit of the parent's."""


class Prepare(Frozen):
    """Input of `prepare`. `agent` and `task` are a value as the starter gave it, or `{"ref": digest}`."""

    run: str
    workflow_id: str
    agent: Any
    task: Any
    parent: Parent | None = None


class Prepared(Frozen):
    """What `prepare` resolved: in history from then on."""

    plan: Plan
    conversation: Conversation
    """Holds the task as its first message."""
    agent_ref: str
    """Reference of the validated agent in the store, where activities find the instructions."""
    files_ref: str = ""
    """Reference of the list of its files, as they were when the run was prepared; "" where it names none."""
    tools_ref: str = ""
    """Reference of the arguments of tools whose calls a person may change (`tool_schemas`); "" where there are none."""
    workspace: str = ""
    """Name of the claimed workspace; "" where the agent has none."""
    workspace_queue: str = ""
    """Task queue of the worker that holds the workspace."""
    search_attributes: tuple[str, ...] = ()
    """Those that exist in the namespace; upserting another would hang the run."""
    inline: bool = False
    """The task came inline, so the answer is returned inline too."""
    parent: Parent | None = None
    routes: dict[str, Route] = Field(default_factory=dict)
    """By tool; one that is not in it works in the run's workspace and may run any number of times."""
    gate_routes: dict[str, Route] = Field(default_factory=dict)
    """By gate; one that is not in it is a command in the run's workspace."""


class ModelCall(Frozen):
    """Input of `call_model`: one request to one target, no more."""

    attempt: str
    """The attempt's id, unique over the run: "turn.call.attempt"."""
    agent_ref: str
    stage: int = 0
    """Index of the stage in the agent."""
    target: Target
    conversation: Conversation
    wait_s: float = 0
    """A backoff of up to `ride_s` that is slept inside the activity, heartbeat phase `waiting`."""
    deadline_s: float = 600
    renew_files: bool = False
    allowance_usd: float | None = None
    """The most that the trip may cost: where it could cost more nothing is sent, and the outcome is `Held`."""
    unpriced: bool = True
    """Whether it may be made where the price is unknown; else the outcome is `Held`."""
    summarise: Summarise | None = None
    """Ask for a summary of what is old in the conversation, which then stays as it is."""


class Grown(Frozen):
    """A result that names a conversation by its place alone: its id is the one that was sent."""

    conversation: Conversation

    @classmethod
    def read(cls, raw: Any, sent: Conversation) -> Self:  # noqa: ANN401 - as it arrives
        """Return the result of an activity that was sent this conversation. Raises ValidationError."""
        done = cls.model_validate(raw)
        return done.model_copy(update={"conversation": done.conversation.within(sent)})


class ModelReply(Grown):
    """Result of `call_model`. Its conversation has the answer where one came, else is as it was."""

    trip: Trip


class RunTool(Frozen):
    """Input of `run_tool`: one tool call of an answer; its arguments are in the store."""

    call: ToolRequest
    agent_ref: str
    stage: int = 0
    answer: Conversation
    """The conversation that ends in the answer which carries the call."""
    workspace: str = ""
    look: bool = False
    """Only look whether its result is stored: a worker was lost, and the tool must not run twice."""

    def written(self) -> dict[str, Any]:
        """Without defaults, save the tag that tells a person's words apart."""
        order = self.model_dump(mode="json", exclude_defaults=True)
        if self.call.said:
            order["call"]["said"] = self.call.said.model_dump(mode="json", exclude_none=True)
        return order


class ToolDone(Grown):
    """Result of `run_tool`: what the tool said is message `answer.length + index`, the last of its conversation."""

    outcome: ToolOutcome


class ToolArguments(Frozen):
    """Result of `read_arguments`: what a tool elsewhere is called with, or why it is not."""

    arguments: dict[str, JsonValue] | None = None
    digest: str = ""
    """Of the arguments."""
    done: ToolDone | None = None
    """The result is stored already, or the arguments do not fit: no call is made."""


class KeepResult(Frozen):
    """Input of `keep_result`: what a tool elsewhere answered."""

    asked: RunTool
    result: JsonValue
    failed: bool = False


class ChildTask(Frozen):
    """Result of `read_task`: the task of a sub-agent, or why it is not started."""

    ref: str = ""
    """Reference of the task in the store."""
    done: ToolDone | None = None
    """The result is stored already, or the call cannot be made."""


class KeepAnswer(Frozen):
    """Input of `keep_answer`: how a sub-agent ended."""

    asked: RunTool
    answer: Conversation | None = None
    """Its conversation, where it completed: the last message is the result."""
    reason: str = ""
    """Why there is no answer."""


class RunGate(Frozen):
    """Input of `run_gate`, and of `judge_task`, which returns the reference of what a judge is to do."""

    gate: str
    seq: int
    run: str
    """Id of the run's conversation, under which its workspace was claimed."""
    workspace: str = ""
    answer: Conversation | None = None
    """Ends in the answer that the gate checks; None: it checks the workspace alone."""
    agent_ref: str = ""
    stage: int = 0


class KeepVerdict(Frozen):
    """Input of `keep_verdict`, which returns the `Verdict` of a gate elsewhere."""

    asked: RunGate
    output: str = ""
    broken: str = ""
    judgement: Conversation | None = None
    """What it says of work that fails, or why it could not tell, or the run of a judge, which ends in its verdict."""


class GateDone(Frozen):
    """Result of `run_gate`; a failing verdict names its full output in the store."""

    verdict: Verdict
    duration_ms: int = 0


class Append(Frozen):
    """Input of `append`: notes become one user message. Idempotent: the same notes at the same head append once."""

    conversation: Conversation
    agent_ref: str
    files_ref: str = ""
    notes: tuple[Note, ...]


class WriteJournal(Frozen):
    """Input of `write_journal`. Idempotent by (conversation, seq)."""

    conversation: str
    entries: tuple[tuple[int, dict[str, JsonValue]], ...]


class ReadAnswer(Frozen):
    """Input of `read_answer`: the text of the conversation's last message, cut at `limit` bytes."""

    conversation: Conversation
    limit: int = MAX_INLINE_ANSWER
