"""`run_tool`: carries out one tool call of an answer on this worker, and stores the result as the next message.

Here: running it once, within its time limit, or taking a person's word for it. Not here: what a tool does
(`builtin_tools` and its like), how results are kept (`tool_calls`), whether a step is one too many (the ledger).
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Any, assert_never

from temporalio import activity

from activities.builtin_tools import TOOLS
from activities.contract import RUN_TOOL, RunTool, ToolDone
from activities.heartbeat import heartbeats
from activities.messages import Call
from activities.tool import Asked, Tool, ToolResult
from activities.tool_calls import ToolCalls, ToolStore
from activities.workspace import WorkspaceMissing, WorkspaceRefused, Workspaces
from ledger.answers import Approve, Edit, Reject, Reply


class ToolRunner:
    """The activity `run_tool`; on the worker that holds the workspaces it also runs the tools that work in one."""

    def __init__(self, store: ToolStore, workspaces: Workspaces, tools: Mapping[str, Tool] = TOOLS) -> None:
        self._calls = ToolCalls(store, {name: tool.handling for name, tool in tools.items()})
        self._workspaces = workspaces
        self._tools = tools

    @activity.defn(name=RUN_TOOL)
    async def run_tool(self, request: RunTool) -> dict[str, Any]:
        """Return a `ToolDone`. A call whose result is stored is not carried out again.

        Where the workspace is not here, nothing is stored, so that the call can be carried out when it is back.
        """
        due = asyncio.Event()  # never set: most tools are done before a first heartbeat is due
        async with heartbeats(lambda: {"phase": "tool"}, first=due):
            done = await self._tool_done(request)
        return {
            "outcome": done.outcome.model_dump(mode="json", exclude_defaults=True),
            "conversation": done.conversation.place,
        }

    async def _tool_done(self, request: RunTool) -> ToolDone:
        began = time.monotonic()
        call, before = await self._calls.read(request)
        held = await self._calls.find(request, call)
        if held is not None:
            return held
        if request.look:
            return self._calls.without_result(request, call, "lost")
        try:
            result = await self._result(request, call, before)
        except (WorkspaceMissing, WorkspaceRefused):
            return self._calls.without_result(request, call, "no_workspace")
        return await self._calls.keep(request, call, result, round((time.monotonic() - began) * 1_000))

    async def _result(self, request: RunTool, call: Call, before: tuple[bytes, ...]) -> ToolResult:
        match request.call.said:
            case Reject() as said:
                words = await self._calls.words(said)
                return ToolResult(text=f"A person rejected this call{f': {words}' if words else '.'}", failed=True)
            case Reply() as said:
                return ToolResult(text=f"A person says:\n{await self._calls.words(said)}")
            case Approve() | Edit() | None:
                return await self._calls.unknown(request, call) or await self._carried_out(request, call, before)
            case never:
                assert_never(never)

    async def _carried_out(self, request: RunTool, call: Call, before: tuple[bytes, ...]) -> ToolResult:
        tool = self._tools[call.name]
        asked = Asked(
            arguments=call.arguments,
            run=request.answer.id,
            key=f"{request.answer.id}/{request.answer.head}/{request.call.index}",
            folder=self._workspaces.path(request.answer.id, request.workspace) if tool.in_workspace else None,
            protected=self._protected(request) if tool.in_workspace else {},
            said=before,
        )
        limit = tool.handling.timeout_s
        try:
            async with asyncio.timeout(None if tool.own_limit else limit):
                return await tool.run(asked)
        except TimeoutError:
            return ToolResult(text=f"{call.name} was called off after {limit:g} s, its time limit", failed=True)

    def _protected(self, request: RunTool) -> dict[str, str]:
        kept = self._workspaces.protected(request.answer.id, request.workspace)
        return {path: gate for gate, protected in kept.items() for path in protected.paths}
