"""The two ends of a tool that is somebody else's activity: which arguments it gets, and keeping what it answered.

The workflow calls the activity between them. Not here: any call of a tool.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

import pydantic_core
from temporalio import activity

from activities.contract import KEEP_RESULT, READ_ARGUMENTS, KeepResult, RunTool, ToolArguments, ToolDone
from activities.messages import Call
from activities.output_schema import misfit
from activities.tool import ToolResult
from activities.tool_calls import ToolCalls, ToolStore, arguments_digest
from activities.tool_declaration import ToolDeclaration

MAX_ARGUMENTS: Final = 1_048_576
"""Bytes of arguments that the calls of one answer may bring into history, each twice (read, then scheduled).

Temporal takes payloads of 2 MB and messages of 4 MB; beyond that the workflow task would fail for ever.
"""

SHORT_ARGUMENTS: Final = 4_096
"""Bytes that are never refused for their size: of the most calls that an answer may have (128), half a megabyte."""


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
            fault = await self._too_long(request, call) or _beyond_json(call.arguments)
            fault = fault or misfit(self._tools[call.name].parameters, call.arguments or "{}")
            refusal = ToolResult(text=f"arguments of {call.name}: {fault}", failed=True) if fault else None
        return await self._calls.keep(request, call, refusal) if refusal else None

    async def _too_long(self, request: RunTool, call: Call) -> str | None:
        size = len(call.arguments.encode())
        if size <= SHORT_ARGUMENTS or size + await self._calls.written_before(request) <= MAX_ARGUMENTS:
            return None
        return f"too long; the calls of one answer may have {MAX_ARGUMENTS:,} bytes of arguments together"


def _beyond_json(arguments: str) -> str | None:
    """A number like 1e400 is valid JSON, but no other worker could read what it would become."""
    try:
        json.dumps(json.loads(arguments or "{}"), allow_nan=False)
    except ValueError:
        return "it is not JSON, or holds a number beyond all bounds"
    return None
