"""The two ends of a tool that is somebody else's activity: which arguments it gets, and keeping what it answered.

The workflow calls the activity between them. Not here: any call of a tool.
"""

import json
from collections.abc import Mapping
from typing import Any

import pydantic_core
from temporalio import activity

from activities.contract import KEEP_RESULT, READ_ARGUMENTS, KeepResult, RunTool, ToolArguments, ToolDone
from activities.messages import Call
from activities.output_schema import misfit
from activities.tool import ToolResult
from activities.tool_calls import ToolCalls, ToolStore, arguments_digest
from activities.tool_declaration import ToolDeclaration


class ElsewhereTools:
    """The activities `read_arguments` and `keep_result`. `tools` are all that agents may name."""

    def __init__(self, store: ToolStore, tools: Mapping[str, ToolDeclaration]) -> None:
        self._calls = ToolCalls(store, {name: tool.handling for name, tool in tools.items()})
        self._tools = tools

    @activity.defn(name=READ_ARGUMENTS)
    async def read_arguments(self, request: RunTool) -> dict[str, Any]:
        """Return `ToolArguments`: what the activity is to be called with, unless a result is there already."""
        call, _ = await self._calls.read(request)
        done = await self._calls.find(request, call) or await self._refused(request, call)
        if done:
            return ToolArguments(done=done).model_dump(mode="json")
        arguments = pydantic_core.from_json(call.arguments or "{}")
        read = ToolArguments(arguments=arguments, digest=arguments_digest(call.arguments))
        return read.model_dump(mode="json")

    @activity.defn(name=KEEP_RESULT)
    async def keep_result(self, kept: KeepResult) -> dict[str, Any]:
        """Return a `ToolDone`."""
        call, _ = await self._calls.read(kept.asked)
        text = kept.result if isinstance(kept.result, str) else pydantic_core.to_json(kept.result).decode()
        done = await self._calls.keep(kept.asked, call, ToolResult(text=text, failed=kept.failed))
        return {"outcome": done.outcome.model_dump(mode="json"), "conversation": done.conversation.place}

    async def _refused(self, request: RunTool, call: Call) -> ToolDone | None:
        """The result of a call that cannot be made."""
        refusal = await self._calls.unknown(request, call)
        if refusal is None:
            fault = _too_large(call.arguments) or misfit(self._tools[call.name].parameters, call.arguments or "{}")
            refusal = ToolResult(text=f"arguments of {call.name}: {fault}", failed=True) if fault else None
        return await self._calls.keep(request, call, refusal) if refusal else None


def _too_large(arguments: str) -> str | None:
    """A number like 1e400 is valid JSON, but no other worker could read what it would become."""
    try:
        json.dumps(json.loads(arguments or "{}"), allow_nan=False)
    except ValueError:
        return "it is not JSON, or holds a number beyond all bounds"
    return None
