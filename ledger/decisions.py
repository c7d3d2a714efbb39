"""Decisions: what the ledger tells the shell to do next. The shell carries out exactly this and reports a fact."""

from typing import Annotated, Literal

from pydantic import Field

from ledger.failures import Failure
from ledger.interventions import Open
from ledger.model import Frozen
from ledger.notes import Note
from ledger.outcomes import ToolRequest
from ledger.target import Target


class Summarise(Frozen):
    """A trip that asks for a summary of what is old in the conversation, in shares of the conversation's bytes."""

    verbatim: float
    """The newest rounds that are not summarised."""
    fit: float
    """The most that the request may have: the results of old tool calls go first."""


class CallModel(Frozen):
    """One trip to one target."""

    do: Literal["call_model"] = "call_model"
    id: str
    """The attempt's id, "turn.call.attempt", minted before the request goes out (A3)."""
    target: Target
    attempt: int
    wait_s: float = 0
    """A backoff short enough to ride inside the attempt's activity."""
    renew_files: bool = False
    notes: tuple[Note, ...] = ()
    """Appended to the conversation first."""
    allowance_usd: float | None = None
    """The most that this trip may cost; None: no limit."""
    unpriced: bool = True
    """Whether it may be made where the price is unknown."""
    summarise: Summarise | None = None
    """None: the conversation goes on."""


class Compact(Frozen):
    """Make the conversation smaller, as a new branch of it; the old one stays in the store."""

    do: Literal["compact"] = "compact"
    id: str
    """ "compact-1", "compact-2" ..., over the run."""
    how: Literal["drop_tool_results", "summarise"]
    reason: Literal["full", "too_large"]
    """The window was full by count, or a provider refused a request for its size."""
    target: Target
    """Where the call goes that the room is made for."""
    window: int = 0
    """Its tokens; 0: not known."""
    verbatim: float
    """Share of the conversation's bytes that the newest rounds keep word for word."""
    summary: str = ""
    """Place of the summary in the store, once there is one."""
    attempt_id: str = ""
    """The attempt that brought it."""
    failure: Failure | None = None
    """The refusal, which the turn goes on with where no room can be made."""
    fallback: bool = False
    """A summary was wanted and could not be had."""


class Wait(Frozen):
    """A durable timer; a pause or a stop interrupts it."""

    do: Literal["wait"] = "wait"
    reason: Literal["retry", "patience", "not_sent"]
    target: Target
    asked_s: float
    until: float
    """Unix seconds."""


class RunTools(Frozen):
    """All tool calls of one answer, in parallel."""

    do: Literal["run_tools"] = "run_tools"
    turn: int
    attempt_id: str
    calls: tuple[ToolRequest, ...]


class RunGates(Frozen):
    """All gates of a stage that are not waived, in parallel; each with its report's sequence number."""

    do: Literal["run_gates"] = "run_gates"
    gates: tuple[tuple[str, int], ...]
    allowance_usd: float | None = None
    """The most that their judges may cost together; None: no limit."""


class Ask(Frozen):
    """Wait for a person, durably and for free."""

    do: Literal["ask"] = "ask"
    open: Open
    late: bool = False
    """Its deadline has passed and changed nothing: it waits for ever now."""


class Finish(Frozen):
    """The run ends."""

    do: Literal["finish"] = "finish"
    status: Literal["completed", "stopped", "cancelled"]
    by: str = ""
    why: str = ""


Decision = Annotated[CallModel | Compact | Wait | RunTools | RunGates | Ask | Finish, Field(discriminator="do")]
