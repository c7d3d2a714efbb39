"""Notes: what the ledger wants the model to be told before its next answer.

A note names; it carries no output. The `append` activity composes the message from the store. A person's words stand
in a note only where the caller sent them inline.
"""

from typing import Annotated, Literal

from pydantic import Field

from ledger.answers import Text
from ledger.model import Frozen


class RepairNote(Frozen):
    """Tells the model that a gate failed, that it was seen before, and in which rounds (the repair plan)."""

    note: Literal["repair"] = "repair"
    gate: str
    round: int
    """The gate's round that failed, from 1."""
    seen: tuple[int, ...] = ()
    """Earlier rounds of the same failure."""
    output: str
    """Reference of the gate's full output."""


class GuideNote(Frozen):
    """Carries a person's words to the model."""

    note: Literal["guide"] = "guide"
    text: Text | None = None
    ref: str | None = None
    by: str = ""


class StageNote(Frozen):
    """Opens a stage after the first: its instructions are the system prompt, this names the hand-over."""

    note: Literal["stage"] = "stage"
    stage: int
    """Index of the stage that begins."""


Note = Annotated[RepairNote | GuideNote | StageNote, Field(discriminator="note")]
