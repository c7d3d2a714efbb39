"""The two ends of a sub-agent, a tool whose calls are runs: the task goes into the store, the answer is the result.

The workflow runs it between them. Not here: starting anything.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Field, ValidationError
from temporalio import activity

from activities.contract import KEEP_ANSWER, READ_TASK, ChildTask, KeepAnswer, RunTool
from activities.messages import Call, text_of
from activities.tool import ToolResult
from activities.tool_calls import ToolCalls, ToolStore
from activities.tool_declaration import ToolDeclaration
from ledger.conversation import Conversation
from ledger.model import Frozen
from ledger.reading import one_line
from store import ConversationBroken

REFUSED: Final = {
    # what the ledger says: what the model is told
    "children": "this run has started as many sub-agents as it may; do the work yourself, or with what you have",
    "depth": "a sub-agent this deep starts no other; do the work yourself",
}


class Subagent(Frozen):
    """Arguments of every sub-agent."""

    task: Annotated[str, Field(min_length=1)]


class Subagents:
    """The activities `read_task` and `keep_answer`."""

    def __init__(self, store: ToolStore, tools: Mapping[str, ToolDeclaration]) -> None:
        self._store = store
        self._calls = ToolCalls(store, {name: tool.handling for name, tool in tools.items()})

    @activity.defn(name=READ_TASK)
    async def read_task(self, request: RunTool) -> dict[str, Any]:
        """Return a `ChildTask`."""
        call, _ = await self._calls.read(request)
        done = await self._calls.find(request, call)
        if done is None:
            asked = await self._asked(request, call)
            if isinstance(asked, Subagent):
                return ChildTask(ref=await self._store.put(asked.task)).model_dump(mode="json")
            done = await self._calls.keep(request, call, asked)
        return ChildTask(done=done).model_dump(mode="json")

    @activity.defn(name=KEEP_ANSWER)
    async def keep_answer(self, kept: KeepAnswer) -> dict[str, Any]:
        """Return a `ToolDone`."""
        call, _ = await self._calls.read(kept.asked)
        if kept.answer is None:
            result = ToolResult(text=f"{call.name} gave no answer: {kept.reason}", failed=True)
        else:
            result = await self._answer(call, kept.answer)
        done = await self._calls.keep(kept.asked, call, result)
        return {"outcome": done.outcome.model_dump(mode="json"), "conversation": done.conversation.place}

    async def _answer(self, call: Call, conversation: Conversation) -> ToolResult:
        """What it answered. One that this store does not have would be asked for for ever: the model is told."""
        try:
            *_, last = await self._store.read(conversation)
        except ConversationBroken as broken:
            return ToolResult(text=f"{call.name} answered, but its answer cannot be read: {broken}", failed=True)
        return ToolResult(text=text_of(last))

    async def _asked(self, request: RunTool, call: Call) -> Subagent | ToolResult:
        """The task, or what the model is told instead."""
        if request.call.refused:
            return ToolResult(text=REFUSED[request.call.refused], failed=True)
        refusal = await self._calls.unknown(request, call)
        if refusal:
            return refusal
        try:
            return Subagent.model_validate_json(call.arguments or "{}")
        except ValidationError as error:
            return ToolResult(text=one_line(error, f"arguments of {call.name}", Subagent), failed=True)
