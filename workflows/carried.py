"""What a run's input may hold, and what goes through continue-as-new: the whole ledger, and nothing of the content."""

from typing import Any

from pydantic import ValidationError
from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.common import RawValue
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


NOTHING = RawValue(Payload())
"""What a start without an argument gives."""
EXPECTED = 'start with {"agent": {...}, "task": "..."}'


def read_input(sent: RawValue) -> RunInput:
    """The run's input, or the one error that ends it: InvalidSpec, not retried.

    It comes undecoded: what Temporal cannot decode for us fails the workflow task for ever (FAULTS S9).
    """
    if sent is NOTHING:
        return RunInput()
    try:
        spec = workflow.payload_converter().from_payload(sent.payload)
    except (ValueError, RecursionError):  # pydantic's and json's errors are ValueErrors
        raise _invalid("input: is not JSON that can be read, or is nested too deeply") from None
    try:
        return RunInput.model_validate(spec if spec is not None else {})
    except ValidationError as error:
        raise _invalid(one_line(error, "input")) from None


def _invalid(text: str) -> ApplicationError:
    return ApplicationError(f"{text}: {EXPECTED}", type=INVALID_SPEC, non_retryable=True)
