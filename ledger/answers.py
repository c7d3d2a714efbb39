"""Answers and directives: what a person may say to a run, asked and unasked.

Both are discriminated unions. Whether an answer is current and what it does is decided in `ledger.py`; which
answers an intervention takes stands in `interventions.ACCEPTS`.
"""

from typing import Annotated, Literal

from pydantic import Field

from ledger.model import Frozen
from ledger.target import Target

Text = Annotated[str, Field(min_length=1, max_length=65_536)]


class Retry(Frozen):
    """Grants exactly one more admission; no count falls and no ceiling moves (X8)."""

    answer: Literal["retry"] = "retry"


class Guide(Frozen):
    """Adds a message for the model, records evidence, then retries once."""

    answer: Literal["guide"] = "guide"
    text: Text | None = None
    ref: str | None = None
    """Reference of the text in the store; the CLI and the inbox send this instead of the text."""


class Failover(Frozen):
    """Moves the turn or the repair to the named target, else to the next one."""

    answer: Literal["failover"] = "failover"
    target: Target | None = None


class Accept(Frozen):
    """Waives the gate on the person's word."""

    answer: Literal["accept"] = "accept"


class Raise(Frozen):
    """Lifts a limit by a stated amount: turns, or US dollars."""

    answer: Literal["raise"] = "raise"
    amount: Annotated[float, Field(gt=0, lt=2**31)]


class Approve(Frozen):
    """Lets the tool run with the arguments that were shown."""

    answer: Literal["approve"] = "approve"


class Edit(Frozen):
    """Lets the tool run with other arguments."""

    answer: Literal["edit"] = "edit"
    text: Text | None = None
    """The arguments, as JSON text of an object."""
    ref: str | None = None


class Reject(Frozen):
    """The tool does not run; the model gets a person's words, if any, as the call's result."""

    answer: Literal["reject"] = "reject"
    text: Text | None = None
    ref: str | None = None


class Reply(Frozen):
    """The call's result in a person's words: the answer to a question, or what came of a call that was lost."""

    answer: Literal["reply"] = "reply"
    text: Text | None = None
    ref: str | None = None


class Resume(Frozen):
    answer: Literal["resume"] = "resume"


class Stop(Frozen):
    """Ends the run as stopped; every intervention accepts it."""

    answer: Literal["stop"] = "stop"
    reason: Annotated[str, Field(max_length=200)] = ""


AnswerBody = Annotated[
    Retry | Guide | Failover | Accept | Raise | Approve | Edit | Reject | Reply | Resume | Stop,
    Field(discriminator="answer"),
]


OfCall = Annotated[Approve | Edit | Reject | Reply, Field(discriminator="answer")]
"""What a person may say of one tool call."""


class Answer(Frozen):
    """A person's typed reply. `intervention` and `digest` bind it to one question; "" both: a bare label."""

    intervention: str = ""
    digest: str = ""
    body: AnswerBody
    by: Annotated[str, Field(max_length=200)] = ""
    """Who, as claimed: access to the namespace is the authority."""
    door: Annotated[str, Field(pattern=r"^[a-z]{0,16}$")] = ""
    """Where it came in: signal, update, cli, inbox."""

    @property
    def unbound(self) -> bool:
        return not self.intervention and not self.digest


class GuideRun(Frozen):
    directive: Literal["guide"] = "guide"
    text: Text | None = None
    ref: str | None = None


class PauseRun(Frozen):
    directive: Literal["pause"] = "pause"


class UseModel(Frozen):
    """Starts the next turns at this target of the stage's chain."""

    directive: Literal["model"] = "model"
    target: Target


class StopRun(Frozen):
    directive: Literal["stop"] = "stop"
    reason: Annotated[str, Field(max_length=200)] = ""


DirectiveBody = Annotated[GuideRun | PauseRun | UseModel | StopRun, Field(discriminator="directive")]


class Directive(Frozen):
    """Something a person tells a run unasked."""

    body: DirectiveBody
    by: Annotated[str, Field(max_length=200)] = ""
    door: Annotated[str, Field(pattern=r"^[a-z]{0,16}$")] = ""
