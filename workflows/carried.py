"""What a run's input may hold, and what goes through continue-as-new: the whole ledger, and nothing of the content."""

from typing import Any

from pydantic import ValidationError
from temporalio.exceptions import ApplicationError

from activities.contract import INVALID_SPEC, Prepared
from ledger.conversation import Conversation
from ledger.model import Frozen
from ledger.reading import one_line
from ledger.state import Ledger


class Carried(Frozen):
    """The state of a run between two executions (X7: a loss would buy new attempts)."""

    prepared: Prepared
    conversation: Conversation
    ledger: Ledger
    seq: int
    """Sequence number of the last journal entry."""


class RunInput(Frozen):
    """The one argument of `AgentWorkflow`."""

    agent: Any = None
    """An agent, or `{"ref": digest}` of one in the store."""
    task: Any = None
    """The task as text, or `{"ref": digest}`."""
    carried: Carried | None = None
    """Set by the run itself when it continues as new."""


def read_input(spec: Any) -> RunInput:  # noqa: ANN401 - whatever the starter sent
    """The run's input, or the one error that ends it: InvalidSpec, not retried."""
    try:
        return RunInput.model_validate(spec if spec is not None else {})
    except ValidationError as error:
        text = f'{one_line(error, "input")}: start with {{"agent": {{...}}, "task": "..."}}'
        raise ApplicationError(text, type=INVALID_SPEC, non_retryable=True) from None
