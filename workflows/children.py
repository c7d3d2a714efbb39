"""Runs that a run starts: sub-agents and judges. They are runs like any other, listed, shown and answered by their ids.

A child tells its parent when it waits for a person, so that the parent shows it. Nothing is decided here.
"""

from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError
from temporalio import workflow
from temporalio.exceptions import ChildWorkflowError, FailureError, WorkflowAlreadyStartedError

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
from ledger.totals import SubRun, Totals, of_call
from workflows.carrying_out import local
from workflows.messages import SIGNAL_CHILD, ChildStatus, ChildWord, RunResult

MAX_REASON: Final = 500
"""Characters of a child's failure that are passed on."""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a child ended."""

    result: RunResult | str
    """Text says why there is none."""
    totals: Totals | None = None
    """What it came to; None: nobody knows."""


class Children:
    """The children that are under way, which of them wait for a person, and what those that ended came to."""

    def __init__(self) -> None:
        self._under_way: dict[str, str] = {}
        self._told: dict[str, Totals] = {}
        self._ran: list[SubRun] = []

    def heard(self, sent: tuple[Any, ...]) -> bool:
        """Take a child's word; False where it is none of a child that is under way."""
        try:
            (told,) = sent
            child = ChildWord.model_validate(told)
        except (ValueError, TypeError):  # ValidationError is a ValueError
            return False
        if child.id not in self._under_way:
            return False
        self._under_way[child.id] = child.intervention
        if child.totals:
            self._told[child.id] = child.totals
        return True

    @property
    def status(self) -> tuple[ChildStatus, ...]:
        """Those under way, in the order in which they began."""
        return tuple(ChildStatus(id=child, intervention=label) for child, label in self._under_way.items())

    def unbooked(self) -> tuple[SubRun, ...]:
        """Those that ended since this was last asked. A fact tells them to the ledger, or the end of the run does."""
        ran, self._ran = tuple(self._ran), []
        return ran

    async def run(self, name: str, of: str, route: Child, task_ref: str, parent: Parent) -> Ended:
        """Run an agent, for the tool or gate `of`, to its end. A cancelled parent cancels its children."""
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
            ended = RunResult.model_validate(result)
            return Ended(result=ended, totals=self._booked(name, of, ended.totals))
        except ChildWorkflowError as error:
            told = self._told.pop(child_id, None)
            return Ended(result=str(error.cause or error)[:MAX_REASON], totals=self._booked(name, of, told))
        except WorkflowAlreadyStartedError:  # somebody else's, or an earlier one's that a reset has yet to end
            return Ended(result=f"a run with its id, {child_id}, is under way already")
        except ValidationError:
            return Ended(result="it ended in something that is no result of an agent")
        finally:
            del self._under_way[child_id]

    def _booked(self, name: str, of: str, totals: Totals | None) -> Totals | None:
        if totals:
            self._ran.append(SubRun(run=name, name=of, totals=totals))
        return totals


async def run_subagent(children: Children, order: RunTool, route: Child, turn: int, parent: Parent) -> ToolDone:
    """A tool call that is a run: its task is the argument, its result the answer."""
    began = workflow.time()
    asked = ChildTask.model_validate(await local(READ_TASK, order.written()))
    if asked.done:
        return asked.done.model_copy(update={"conversation": asked.done.conversation.within(order.answer)})
    ran = await children.run(of_call(turn, order.call.index), order.call.name, route, asked.ref, parent)
    ended = ran.result
    if isinstance(ended, str):
        kept = KeepAnswer(asked=order, reason=f"it failed: {ended}")
    elif ended.status == "completed":
        kept = KeepAnswer(asked=order, answer=ended.conversation)
    else:
        kept = KeepAnswer(asked=order, reason=f"{ended.by or 'somebody'} stopped it: {ended.why or 'no reason given'}")
    written = kept.model_dump(mode="json") | {"asked": order.written()}
    done = ToolDone.read(await local(KEEP_ANSWER, written), order.answer)
    took = {"totals": ran.totals, "duration_ms": round((workflow.time() - began) * 1_000)}
    return done.model_copy(update={"outcome": done.outcome.model_copy(update=took)})


async def tell_parent(parent: Parent | None, label: str, totals: Totals | None = None) -> None:
    """Say that this run waits for a person, or with "" that it does no longer, if there is a parent still.

    A run that ends as cancelled has no result: it says what it came to.
    """
    if parent is None:
        return
    word = ChildWord(id=workflow.info().workflow_id, intervention=label, totals=totals)
    try:
        handle = workflow.get_external_workflow_handle(parent.workflow_id)
        await handle.signal(SIGNAL_CHILD, word.model_dump(mode="json", exclude_none=True))
    except FailureError:
        workflow.logger.info("parent.gone")
