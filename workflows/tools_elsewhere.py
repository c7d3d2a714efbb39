"""Carries out a tool that is an activity of somebody's worker, in any language, on any task queue.

Its arguments and its result stand in history, as they must; the conversation still grows in the store alone.
"""

from datetime import timedelta
from typing import Any

from pydantic import JsonValue, TypeAdapter, ValidationError
from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    TimeoutError,  # noqa: A004 - Temporal's own word
    TimeoutType,
)

from activities.contract import KEEP_RESULT, READ_ARGUMENTS, Elsewhere, KeepResult, RunTool, ToolArguments, ToolDone
from ledger.outcomes import ToolOutcome
from workflows.carrying_out import IDEMPOTENT, ONCE, PICKUP, decision_id, local

MAX_REASON = 2_000
"""Characters of a failed activity's own words that are passed on."""

_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


async def run_elsewhere(order: RunTool, route: Elsewhere, turn: int) -> ToolDone:
    """Read the arguments, call the activity, keep what it answers."""
    asked = ToolArguments.model_validate(await local(READ_ARGUMENTS, order.written()))
    if asked.done:
        return asked.done.model_copy(update={"conversation": asked.done.conversation.within(order.answer)})
    try:
        result: Any = await call_elsewhere(
            route,
            asked.arguments or {},
            f"{turn}.tool.{order.call.index}",
            order.call.name,
            again=IDEMPOTENT,
            summary=f"turn {turn} · {order.call.name}",
        )
        kept = KeepResult(asked=order, result=_JSON.validate_python(result))
    except ActivityError as error:
        reason = why_failed(error, route)
        if reason is None:
            lost = ToolOutcome(index=order.call.index, name=order.call.name, status="lost", arguments=asked.digest)
            return ToolDone(outcome=lost, conversation=order.answer)
        kept = KeepResult(asked=order, result=reason, failed=True)
    except ValidationError:
        kept = KeepResult(asked=order, result=f"{order.call.name} answered something that is not JSON", failed=True)
    written = {"asked": order.written(), "result": kept.result, "failed": kept.failed}
    return ToolDone.read(await local(KEEP_RESULT, written), order.answer)


async def call_elsewhere(
    route: Elsewhere, argument: dict[str, JsonValue], name: str, what: str, *, again: RetryPolicy, summary: str
) -> Any:  # noqa: ANN401 - validated by the caller
    """Call somebody's activity. `name` is the call's, `what` the tool or the gate; `again` where it may run twice."""
    return await workflow.execute_activity(
        route.activity,
        argument,
        activity_id=decision_id(name, route.activity, what),
        task_queue=route.task_queue,
        schedule_to_start_timeout=PICKUP,
        start_to_close_timeout=timedelta(seconds=route.timeout_s),
        heartbeat_timeout=None if route.heartbeat_s is None else timedelta(seconds=route.heartbeat_s),
        retry_policy=again if route.idempotent else ONCE,
        cancellation_type=workflow.ActivityCancellationType.TRY_CANCEL,
        summary=summary,
    )


def why_failed(error: ActivityError, route: Elsewhere) -> str | None:
    """Why somebody's activity failed, for a model or a person; None where nobody knows what came of it."""
    match error.cause:
        case TimeoutError(type=TimeoutType.SCHEDULE_TO_START):
            nobody = f"no worker on task queue {route.task_queue} took {route.activity}"
            return f"{nobody} within {PICKUP.total_seconds():g} s: it did not run"
        case ApplicationError() as failure:
            return f"{failure.type or 'error'}: {failure.message}"[:MAX_REASON]
        case _ if route.idempotent:
            return f"{route.activity} did not end within {route.timeout_s:g} s, or its worker was lost, each time"
        case _:
            return None
