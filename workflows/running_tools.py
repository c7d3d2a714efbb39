"""Carries out the tool calls of one answer: which activity, on which task queue, and what came of each.

Nothing is decided here: a call that was lost, or that no worker took, is a fact like any other.
"""

import asyncio
from datetime import timedelta
from typing import Any

from pydantic import ValidationError
from temporalio import workflow
from temporalio.exceptions import (
    ActivityError,
    TimeoutError,  # noqa: A004 - Temporal's own word
    TimeoutType,
)

from activities.contract import RUN_TOOL, Prepared, RunTool, ToolDone
from ledger.conversation import Conversation
from ledger.decisions import RunTools
from ledger.outcomes import ToolOutcome, ToolRequest, ToolsRan
from workflows.carrying_out import HEARTBEAT_TIMEOUT, IDEMPOTENT, PICKUP, decision_id

TOOL_LIMIT = timedelta(minutes=10)


async def run_tools(
    prepared: Prepared, decision: RunTools, stage: int, answer: Conversation
) -> tuple[ToolsRan, Conversation]:
    """All calls of one answer, in parallel; the results stand in the conversation in the order of the calls.

    Where one could not be carried out the conversation stays as it was: the round is carried out again.
    """
    calls = (_run_tool(prepared, call, decision.turn, stage, answer) for call in decision.calls)
    done = await asyncio.gather(*calls)
    ran = ToolsRan(attempt_id=decision.attempt_id, results=tuple(outcome for outcome, _ in done))
    after = [conversation for _, conversation in done if conversation]
    return ran, after[-1] if len(after) == len(done) else answer


async def _run_tool(
    prepared: Prepared, call: ToolRequest, turn: int, stage: int, answer: Conversation
) -> tuple[ToolOutcome, Conversation | None]:
    """One tool call, on the worker that holds the workspace. All tools here are idempotent: Temporal may retry them."""
    order = RunTool(call=call, agent_ref=prepared.agent_ref, stage=stage, answer=answer, workspace=prepared.workspace)
    name = call.name or "unknown tool"
    try:
        raw: Any = await workflow.execute_activity(
            RUN_TOOL,
            order.model_dump(mode="json", exclude_defaults=True),
            activity_id=decision_id(f"{turn}.tool.{call.index}", "run_tool", call.name),
            task_queue=prepared.workspace_queue or None,
            result_type=dict,
            schedule_to_start_timeout=PICKUP,
            start_to_close_timeout=TOOL_LIMIT,
            heartbeat_timeout=HEARTBEAT_TIMEOUT,
            retry_policy=IDEMPOTENT,
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            summary=f"turn {turn} · {name}",
        )
        done = ToolDone.read(raw, answer)
    except (ActivityError, ValidationError) as error:
        status = "no_workspace" if _never_started(error) else "lost"
        return ToolOutcome.model_validate({"index": call.index, "name": call.name, "status": status}), None
    return done.outcome, done.conversation


def _never_started(error: Exception) -> bool:
    cause = error.cause if isinstance(error, ActivityError) else None
    return isinstance(cause, TimeoutError) and cause.type is TimeoutType.SCHEDULE_TO_START
