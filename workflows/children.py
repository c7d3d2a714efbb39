"""Runs that a run starts: sub-agents and judges. They are runs like any other, listed, shown and answered by their ids.

A child tells its parent when it waits for a person, so that the parent shows it. Nothing is decided here.
"""

from typing import Any, Final

from pydantic import ValidationError
from temporalio import workflow
from temporalio.exceptions import ChildWorkflowError, FailureError

from activities.contract import (
    KEEP_ANSWER,
    READ_TASK,
    WORKFLOW,
    Child,
    ChildTask,
    KeepAnswer,
    Parent,
    RunTool,
    ToolDone,
)
from ledger.outcomes import Totals
from workflows.carrying_out import local
from workflows.messages import SIGNAL_CHILD, ChildStatus, RunResult

MAX_REASON: Final = 500
"""Characters of a child's failure that are passed on."""


class Children:
    """The children that are under way, and which of them wait for a person."""

    def __init__(self) -> None:
        self._under_way: dict[str, str] = {}

    def heard(self, sent: tuple[Any, ...]) -> bool:
        """Take a child's word; False where it is none of a child that is under way."""
        try:
            (told,) = sent
            child = ChildStatus.model_validate(told)
        except (ValueError, TypeError):  # ValidationError is a ValueError
            return False
        if child.id not in self._under_way:
            return False
        self._under_way[child.id] = child.intervention
        return True

    @property
    def status(self) -> tuple[ChildStatus, ...]:
        """Those under way, in the order in which they began."""
        return tuple(ChildStatus(id=child, intervention=label) for child, label in self._under_way.items())

    async def run(self, name: str, route: Child, task_ref: str, parent: Parent) -> RunResult | str:
        """Run an agent to its end; text says why it has no result. A cancelled parent cancels its children."""
        child_id = f"{workflow.info().workflow_id}/{name}"
        order = {"agent": {"ref": route.agent_ref}, "task": {"ref": task_ref}, "parent": parent.model_dump(mode="json")}
        self._under_way[child_id] = ""
        try:
            result: Any = await workflow.execute_child_workflow(
                WORKFLOW,
                order,
                id=child_id,
                task_queue=route.task_queue or None,
                parent_close_policy=workflow.ParentClosePolicy.REQUEST_CANCEL,
                cancellation_type=workflow.ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
                static_summary=f"sub-agent of {parent.workflow_id}",
            )
            return RunResult.model_validate(result)
        except ChildWorkflowError as error:
            return str(error.cause or error)[:MAX_REASON]
        except ValidationError:
            return "it ended in something that is no result of an agent"
        finally:
            del self._under_way[child_id]


async def run_subagent(
    children: Children, order: RunTool, route: Child, turn: int, parent: Parent
) -> tuple[ToolDone, Totals | None]:
    """A tool call that is a run: its task is the argument, its result the answer."""
    asked = ChildTask.model_validate(await local(READ_TASK, order.written()))
    if asked.done:
        return asked.done.model_copy(update={"conversation": asked.done.conversation.within(order.answer)}), None
    ended = await children.run(f"{turn}.{order.call.index}", route, asked.ref, parent)
    if isinstance(ended, str):
        kept = KeepAnswer(asked=order, reason=f"it failed: {ended}")
    elif ended.status == "completed":
        kept = KeepAnswer(asked=order, answer=ended.conversation)
    else:
        kept = KeepAnswer(asked=order, reason=f"{ended.by or 'somebody'} stopped it: {ended.why or 'no reason given'}")
    written = kept.model_dump(mode="json") | {"asked": order.written()}
    done = ToolDone.read(await local(KEEP_ANSWER, written), order.answer)
    return done, None if isinstance(ended, str) else ended.totals


async def tell_parent(parent: Parent | None, label: str) -> None:
    """Say that this run waits for a person, or with "" that it does no longer, if there is a parent still."""
    if parent is None:
        return
    word = ChildStatus(id=workflow.info().workflow_id, intervention=label)
    try:
        handle = workflow.get_external_workflow_handle(parent.workflow_id)
        await handle.signal(SIGNAL_CHILD, word.model_dump(mode="json"))
    except FailureError:
        workflow.logger.info("parent.gone")
