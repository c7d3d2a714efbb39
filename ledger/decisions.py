"""Decisions: what the ledger tells the shell to do next. The shell carries out exactly this and reports a fact."""

from typing import Annotated, Literal

from pydantic import Field

from ledger.interventions import Open
from ledger.model import Frozen
from ledger.notes import Note
from ledger.outcomes import ToolRequest
from ledger.target import Target


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


class Finish(Frozen):
    """The run ends."""

    do: Literal["finish"] = "finish"
    status: Literal["completed", "stopped", "cancelled"]
    by: str = ""
    why: str = ""


Decision = Annotated[CallModel | Wait | RunTools | RunGates | Ask | Finish, Field(discriminator="do")]
