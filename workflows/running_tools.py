"""Carries out the tool calls of one answer: which activity, on which task queue, and what came of each.

Nothing is decided here: a call that was lost, or that no worker took, is a fact like any other.
"""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal, assert_never

from pydantic import ValidationError
from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import (
    ActivityError,
    TimeoutError,  # noqa: A004 - Temporal's own word
    TimeoutType,
)

from activities.contract import RUN_TOOL, STORE_S, Child, Elsewhere, Here, Parent, Prepared, RunTool, ToolDone
from ledger.answers import Reject, Reply
from ledger.conversation import Conversation
from ledger.decisions import RunTools
from ledger.outcomes import ToolOutcome, ToolRequest, ToolsRan
from workflows.carrying_out import HEARTBEAT_TIMEOUT, IDEMPOTENT, ONCE, decision_id, local, pickup
from workflows.children import Children, run_subagent
from workflows.tools_elsewhere import run_elsewhere

SLACK: Final = timedelta(seconds=30 + 2 * STORE_S)
"""What a call may take beyond the tool's own time limit before Temporal calls it off: it may wait for a store in
trouble twice, to read the call and to keep its result."""
IN_WORKSPACE: Final = Here(in_workspace=True)


@dataclass(frozen=True, kw_only=True)
class Round:
    """What surrounds the calls of one answer."""

    prepared: Prepared
    turn: int
    stage: int
    answer: Conversation
    """Ends in the answer that carries the calls."""
    children: Children


async def run_tools(about: Round, decision: RunTools) -> tuple[ToolsRan, Conversation]:
    """All calls of one answer, in parallel; the results stand in the conversation in the order of the calls.

    Where one could not be carried out the conversation stays as it was: the round is carried out again.
    """
    done = await asyncio.gather(*(_run_tool(about, call) for call in decision.calls))
    ran = ToolsRan(attempt_id=decision.attempt_id, results=tuple(outcome for outcome, _ in done))
    after = [conversation for _, conversation in done if conversation]
    return ran, after[-1] if len(after) == len(done) else about.answer


async def _run_tool(about: Round, call: ToolRequest) -> tuple[ToolOutcome, Conversation | None]:
    """One tool call, where the tool is. A person's word in place of the tool needs no tool."""
    order = RunTool(
        call=ToolRequest(index=call.index, name=call.name, said=call.said, refused=call.refused),
        agent_ref=about.prepared.agent_ref,
        stage=about.stage,
        answer=about.answer,
        workspace=about.prepared.workspace,
    )
    done = await _done(about, order, call.spend_usd)
    if not isinstance(done, ToolDone):
        return ToolOutcome(index=call.index, name=call.name, status=done, arguments=call.arguments), None
    stored = done.outcome.status in ("ok", "error", "rejected")
    return done.outcome, done.conversation if stored else None


async def _done(about: Round, order: RunTool, spend_usd: float | None) -> ToolDone | Literal["lost", "no_workspace"]:
    spoken = isinstance(order.call.said, Reject | Reply)
    match Here(local=True) if spoken else about.prepared.routes.get(order.call.name, IN_WORKSPACE):
        case Here() as route:
            return await _here(about.prepared, order, route, about.turn)
        case Elsewhere() as route:
            return await run_elsewhere(order, route, about.turn)
        case Child() as route:
            depth = about.prepared.plan.depth
            own = Parent(workflow_id=workflow.info().workflow_id, depth=depth, spend_usd=spend_usd)
            return await run_subagent(about.children, order, route, about.turn, own)
        case never:
            assert_never(never)


async def _here(
    prepared: Prepared, order: RunTool, route: Here, turn: int
) -> ToolDone | Literal["lost", "no_workspace"]:
    """A call on one of our workers. Temporal tries again only what may run twice; else its result is looked for."""
    if route.local:
        return ToolDone.read(await local(RUN_TOOL, order.written()), order.answer)
    retry = IDEMPOTENT if route.idempotent else ONCE
    try:
        return await _execute(prepared, order, route, turn, retry)
    except (ActivityError, ValidationError) as error:
        if _never_started(error):
            return "no_workspace"
        if route.idempotent:
            return "lost"
    try:
        return await _execute(prepared, order.model_copy(update={"look": True}), route, turn, IDEMPOTENT)
    except (ActivityError, ValidationError):
        return "lost"


async def _execute(prepared: Prepared, order: RunTool, route: Here, turn: int, retry: RetryPolicy) -> ToolDone:
    raw: Any = await workflow.execute_activity(
        RUN_TOOL,
        order.written(),
        activity_id=decision_id(f"{turn}.tool.{order.call.index}", "run_tool", order.call.name),
        task_queue=(prepared.workspace_queue or None) if route.in_workspace else None,
        result_type=dict,
        schedule_to_start_timeout=pickup(prepared) if route.in_workspace else None,
        start_to_close_timeout=timedelta(seconds=route.timeout_s) + SLACK,
        heartbeat_timeout=HEARTBEAT_TIMEOUT,
        retry_policy=retry,
        cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        summary=f"turn {turn} · {order.call.name or 'unknown tool'}",
    )
    return ToolDone.read(raw, order.answer)


def _never_started(error: Exception) -> bool:
    cause = error.cause if isinstance(error, ActivityError) else None
    return isinstance(cause, TimeoutError) and cause.type is TimeoutType.SCHEDULE_TO_START
