"""Reaching a run from outside: who waits for a person, asking a run, answering it. Through a Temporal client.

For every door (the command line, the inbox). No workflow imports it. Errors of the connection itself pass through as
Temporal's `RPCError`; how they are told to a person is the door's.
"""

import asyncio
import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final, Literal

from temporalio.client import (
    WorkflowHandle,
    WorkflowQueryFailedError,
    WorkflowQueryRejectedError,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from activities.contract import ATTRIBUTE_STATUS, WORKFLOW
from ledger.model import Frozen
from workflows.messages import UPDATE_ANSWER

QUERY_S: Final = 5.0
"""Seconds that a query may take; a worker answers in milliseconds."""
ANSWER_S: Final = 20.0
"""Seconds that an answer may take to be taken; a worker does it in milliseconds."""
MAX_MESSAGE: Final = 65_536
"""Bytes of an answer as JSON. Longer text belongs into the store, and its reference into the answer.

Above 2 MB the server takes an update that no worker can be given: the run's workflow task would fail until a reset.
"""

NEEDS_HUMAN: Final = (
    f"WorkflowType = '{WORKFLOW}' AND {ATTRIBUTE_STATUS} = 'needs_human' AND ExecutionStatus = 'Running'"
)
"""The runs that wait for a person now: a closed run keeps its attributes, so the execution's own status counts too."""

_UNANSWERED: Final = frozenset(
    {RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED, RPCStatusCode.FAILED_PRECONDITION}
)


class NotTaken(Frozen):
    """An answer that changed nothing, as far as can be told."""

    why: Literal["refused", "unanswered"]
    """refused: by the run, or before it was sent; unanswered: nobody said anything in time, it may still be taken."""
    reason: str
    """Why, on one line; "" where nobody answered."""


async def ask(handle: WorkflowHandle[Any, Any], query: str, *args: object, within_s: float = QUERY_S) -> Any:  # noqa: ANN401 - JSON
    """Ask the workflow; None where nobody answers in time, or where the run broke before it could."""
    try:
        return await handle.query(query, args=args, rpc_timeout=timedelta(seconds=within_s))
    except (WorkflowQueryFailedError, WorkflowQueryRejectedError):
        return None
    except RPCError as error:
        task = asyncio.current_task()
        if task and task.cancelling():  # the SDK words our own cancellation (Ctrl-C) as the server's
            raise asyncio.CancelledError from error
        if error.status in _UNANSWERED:
            return None
        raise


async def answer(handle: WorkflowHandle[Any, Any], message: Mapping[str, Any]) -> NotTaken | None:
    """Send update `answer`; None: it was taken."""
    size = len(json.dumps(dict(message)).encode())
    if size > MAX_MESSAGE:
        return NotTaken(
            why="refused", reason=f"the answer has {size:,} bytes; at most {MAX_MESSAGE:,} are sent to a run"
        )
    try:
        await handle.execute_update(UPDATE_ANSWER, dict(message), rpc_timeout=timedelta(seconds=ANSWER_S))
    except WorkflowUpdateFailedError as error:
        reason = error.cause.message if isinstance(error.cause, ApplicationError) else str(error.cause)
        return NotTaken(why="refused", reason=" ".join(reason.split()))
    except WorkflowUpdateRPCTimeoutOrCancelledError:
        return NotTaken(why="unanswered", reason="")
    return None
