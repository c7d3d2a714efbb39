"""What a run's input may hold, and what goes through continue-as-new: the whole ledger, and nothing of the content."""

from typing import Any, Self

from pydantic import ValidationError, model_validator
from temporalio.exceptions import ApplicationError

from activities.contract import INVALID_SPEC, Parent, Prepared
from ledger.conversation import Conversation
from ledger.model import Frozen
from ledger.reading import one_line
from ledger.state import Ledger
from workflows.payloads import Unreadable


class Carried(Frozen):
    """The state of a run between two executions (X7: a loss would buy new attempts)."""

    prepared: Prepared
    conversation: Conversation
    ledger: Ledger
    seq: int
    """Sequence number of the last journal entry."""

    @model_validator(mode="after")
    def _has_something_to_do(self) -> Self:
        if self.ledger.doing is None:
            raise ValueError("ledger: nothing is decided in it, so there is nothing to go on with")
        return self


class RunInput(Frozen):
    """The one argument of `AgentWorkflow`."""

    agent: Any = None
    """An agent, or `{"ref": digest}` of one in the store."""
    task: Any = None
    """The task as text, or `{"ref": digest}`."""
    parent: Parent | None = None
    """Set by a run that starts another one as its sub-agent."""
    carried: Carried | None = None
    """Set by the run itself when it continues as new."""


def carried_in(sent: tuple[Any, ...]) -> Carried | None:
    """What the execution before this one passed on; None in a run's first, and where the input is refused."""
    match sent:
        case ({"carried": dict()},):
            try:
                return read_input(sent).carried
            except ApplicationError:  # the run itself ends in it
                return None
        case _:
            return None


EXPECTED = 'start with {"agent": {...}, "task": "..."}'


def read_input(sent: tuple[Any, ...]) -> RunInput:
    """The run's input, or the one error that ends it: InvalidSpec, not retried."""
    match sent:
        case () | (None,):
            return RunInput()
        case (Unreadable(),):
            raise _invalid("input: is not JSON that can be read, or is nested too deeply")
        case (spec,):
            try:
                return RunInput.model_validate(spec)
            except ValidationError as error:
                raise _invalid(one_line(error, "input")) from None
        case _:
            raise _invalid(f"input: got {len(sent)} arguments where one is expected")


def _invalid(text: str) -> ApplicationError:
    return ApplicationError(f"{text}: {EXPECTED}", type=INVALID_SPEC, non_retryable=True)
