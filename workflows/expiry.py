"""`ExpiryWorkflow`: has what is older than the operator keeps it removed, once; a schedule starts it every day.

Not here: the schedule, what is removed, and how (`activities`). No agent's run has any part in it.
"""

from datetime import timedelta
from typing import Any, Final

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from activities.contract import EXPIRE, EXPIRY_WORKFLOW, INVALID_SPEC

LIMIT: Final = timedelta(hours=6)
"""Of one attempt; a store of millions of old bodies takes minutes."""
SILENCE: Final = timedelta(minutes=2)
"""A batch, or a wait for readers, is done in less."""


@workflow.defn(name=EXPIRY_WORKFLOW)
class ExpiryWorkflow:
    """Expires what is old, once. A store that cannot be reached is tried again until it can be."""

    @workflow.run
    async def run(self, *sent: Any) -> dict[str, Any]:  # noqa: ANN401 - whoever starts it may send anything
        """Take `{"days": N}`; return how many requests and details were older than that, and are removed."""
        match sent:
            case ({"days": int(days)},) if days > 0:
                pass
            case _:
                message = 'input: should be {"days": N}, N from 1'
                raise ApplicationError(message, type=INVALID_SPEC, non_retryable=True)
        done: dict[str, Any] = await workflow.execute_activity(
            EXPIRE,
            days,
            result_type=dict,
            start_to_close_timeout=LIMIT,
            heartbeat_timeout=SILENCE,
            summary=f"older than {days} days",
        )
        return done
