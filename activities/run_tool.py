"""`run_tool`: carries out one tool call of an answer, by its position, and stores the result as the next message.

Here: finding the call, running it once, cutting what is too large for a model. Not here: what a tool does
(`builtin_tools`), or whether a repeated step is one too many (the ledger).
"""

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any, Final, Protocol

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.builtin_tools import TOOLS, BuiltinTool, ToolResult
from activities.contract import RUN_TOOL, RunTool, ToolDone
from activities.cutting import middle_out
from activities.heartbeat import heartbeats
from activities.messages import Call, result_of, tool_calls, tool_result
from activities.stored import Contents, Transcript
from activities.workspace import WorkspaceMissing, WorkspaceRefused, Workspaces
from activities.workspace_files import WorkspaceFiles
from ledger.agent import AgentSpec
from ledger.conversation import Conversation, digest
from ledger.outcomes import ToolOutcome

MAX_RESULT: Final = 65_536
"""Bytes of a result that a model is shown; the whole of a larger one is in the store."""

SHORT: Final = 16
"""Hex characters of a step's and its arguments' digests: enough to tell steps apart, and in history for every call."""


class ToolStore(Contents, Transcript, Protocol):
    """What a tool call needs of the store."""


class ToolRunner:
    """The activity `run_tool` on the worker that holds the workspaces."""

    def __init__(self, store: ToolStore, workspaces: Workspaces, tools: Mapping[str, BuiltinTool] = TOOLS) -> None:
        self._store = store
        self._workspaces = workspaces
        self._tools = tools

    @activity.defn(name=RUN_TOOL)
    async def run_tool(self, request: RunTool) -> dict[str, Any]:
        """Return a `ToolDone`. A call whose result is stored is not carried out again.

        Where the workspace is not here, nothing is stored, so that the call can be carried out when it is back.
        """
        async with heartbeats(lambda: {"phase": "tool"}):
            done = await self._tool_done(request)
        return {"outcome": done.outcome.model_dump(mode="json"), "conversation": done.conversation.place}

    async def _tool_done(self, request: RunTool) -> ToolDone:
        began = time.monotonic()
        call = await self._call(request)
        held = await self._store.find_result(request.answer, request.call.index)
        if held is not None:
            return _done(request, call, held.body, held.conversation, 0)
        try:
            result = await self._carried_out(request, call)
        except (WorkspaceMissing, WorkspaceRefused):
            return _without_workspace(request)
        body = tool_result(call, await self._shown(result.text), failed=result.failed)
        stored = await self._store.append_result(request.answer, request.call.index, body)
        return _done(request, call, stored.body, stored.conversation, round((time.monotonic() - began) * 1_000))

    async def _call(self, request: RunTool) -> Call:
        answer = (await self._store.read(request.answer))[-1]
        calls = tool_calls(answer)
        if request.call.index >= len(calls):
            message = f"the answer has {len(calls)} tool calls; there is no number {request.call.index} (from 0)"
            raise ApplicationError(message, type="NoSuchCall", non_retryable=True)
        return calls[request.call.index]

    async def _carried_out(self, request: RunTool, call: Call) -> ToolResult:
        allowed = await self._allowed(request)
        if call.name not in allowed:
            names = ", ".join(allowed) or "none"
            return ToolResult(text=f"there is no such tool; the tools of this stage: {names}", failed=True)
        workspace = self._workspaces.path(request.answer.id, request.workspace)
        return await asyncio.to_thread(self._tools[call.name].run, WorkspaceFiles(workspace), call.arguments)

    async def _allowed(self, request: RunTool) -> tuple[str, ...]:
        agent = AgentSpec.model_validate_json(await self._store.get(request.agent_ref))
        return tuple(name for name in agent.stages[request.stage].tools if name in self._tools)

    async def _shown(self, text: str) -> str:
        if len(text.encode()) <= MAX_RESULT:
            return text
        ref = await self._store.put(text)
        return middle_out(text, MAX_RESULT, f"[{{bytes}} bytes left out here; the whole result is stored as {ref}]")


def _done(request: RunTool, call: Call, body: bytes, conversation: Conversation, duration_ms: int) -> ToolDone:
    """Everything is read off the stored result, so that a second run of the activity says the same."""
    text, failed = result_of(body)
    arguments = _canonical(call.arguments)
    outcome = ToolOutcome(
        index=request.call.index,
        name=request.call.name,
        status="error" if failed else "ok",
        step=digest(f"{call.name}\0{arguments}\0{text}".encode())[:SHORT],
        arguments=digest(arguments.encode())[:SHORT],
        duration_ms=duration_ms,
    )
    return ToolDone(outcome=outcome, conversation=conversation)


def _without_workspace(request: RunTool) -> ToolDone:
    outcome = ToolOutcome(index=request.call.index, name=request.call.name, status="no_workspace")
    return ToolDone(outcome=outcome, conversation=request.answer)


def _canonical(arguments: str) -> str:
    """The same arguments whatever their spacing and order of keys; what is no JSON stays as it is."""
    try:
        return json.dumps(json.loads(arguments or "{}"), sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        return arguments
