"""The calls of an answer and their results, as they stand in the store: finding one, and keeping what came of it.

Here: the call by its position, a person's word on it, cutting what is too large for a model, the digests of a step.
Not here: carrying a call out (`run_tool`, `tools_elsewhere`), or what a tool does.
"""

import json
from collections.abc import Mapping
from typing import Final, Literal, Protocol

from temporalio.exceptions import ApplicationError

from activities.agents import Agents
from activities.contract import RunTool, ToolDone
from activities.cutting import middle_out, whole_characters
from activities.messages import Call, result_of, tool_calls, tool_result
from activities.spoken import spoken
from activities.stored import Contents, Transcript
from activities.tool import ToolResult
from activities.tool_declaration import Handling
from ledger.answers import Edit, Reject, Reply
from ledger.conversation import Conversation, digest
from ledger.outcomes import ToolOutcome

MAX_RESULT: Final = 65_536
"""Bytes of a result that a model is shown; the whole of a larger one is in the store."""

SHORT: Final = 16
"""Hex characters of a step's and its arguments' digests: enough to tell steps apart, and in history for every call."""


class ToolStore(Contents, Transcript, Protocol):
    """What a tool call needs of the store."""


class ToolCalls:
    """Reads calls and keeps results. `tools` are all that this worker knows, with the handling of each."""

    def __init__(self, store: ToolStore, tools: Mapping[str, Handling]) -> None:
        self._store = store
        self._agents = Agents(store)
        self._tools = tools

    async def read(self, request: RunTool) -> tuple[Call, tuple[bytes, ...]]:
        """Return the call, with a person's arguments where one changed them, and the conversation before its answer."""
        *before, answer = await self._store.read(request.answer)
        calls = tool_calls(answer)
        if request.call.index >= len(calls):
            message = f"the answer has {len(calls)} tool calls; there is no number {request.call.index} (from 0)"
            raise ApplicationError(message, type="NoSuchCall", non_retryable=True)
        call = calls[request.call.index]
        if isinstance(request.call.said, Edit):
            call = call.model_copy(update={"arguments": await self.words(request.call.said)})
        return call, tuple(before)

    async def written_before(self, request: RunTool) -> int:
        """Bytes that the model wrote as arguments of the calls before this one, in the same answer."""
        *_, answer = await self._store.read(request.answer)
        return sum(len(call.arguments.encode()) for call in tool_calls(answer)[: request.call.index])

    async def words(self, said: Edit | Reject | Reply) -> str:
        """What a person wrote; "" for nothing."""
        return await spoken(self._store, said)

    async def unknown(self, request: RunTool, call: Call) -> ToolResult | None:
        """What the model is told of a tool that its stage has not; None where it has."""
        agent = await self._agents.get(request.agent_ref)
        allowed = tuple(name for name in agent.stages[request.stage].tools if name in self._tools)
        if call.name in allowed:
            return None
        return ToolResult(
            text=f"there is no such tool; the tools of this stage: {', '.join(allowed) or 'none'}", failed=True
        )

    async def find(self, request: RunTool, call: Call) -> ToolDone | None:
        """What an earlier try left."""
        held = await self._store.find_result(request.answer, request.call.index)
        return None if held is None else self._done(request, call, held.body, held.conversation, 0)

    async def keep(self, request: RunTool, call: Call, result: ToolResult, duration_ms: int = 0) -> ToolDone:
        """Store the result as the call's, unless one is there already."""
        text = whole_characters(result.text)
        if isinstance(request.call.said, Edit):
            text = f"A person changed the arguments to {call.arguments}\n{text}"
        body = tool_result(call, await self._shown(text), failed=result.failed)
        stored = await self._store.append_result(request.answer, request.call.index, body)
        return self._done(request, call, stored.body, stored.conversation, duration_ms)

    def without_result(self, request: RunTool, call: Call, status: Literal["lost", "no_workspace"]) -> ToolDone:
        """Nothing is stored, so that the call can be carried out later."""
        outcome = ToolOutcome(
            index=request.call.index,
            name=request.call.name,
            status=status,
            arguments=arguments_digest(call.arguments),
        )
        return ToolDone(outcome=outcome, conversation=request.answer)

    async def _shown(self, text: str) -> str:
        if len(text.encode()) <= MAX_RESULT:
            return text
        ref = await self._store.put(text)
        return middle_out(text, MAX_RESULT, f"[{{bytes}} bytes left out here; the whole result is stored as {ref}]")

    def _done(
        self, request: RunTool, call: Call, body: bytes, conversation: Conversation, duration_ms: int
    ) -> ToolDone:
        """Everything is read off the stored result, so that a second run of the activity says the same."""
        text, failed = result_of(body)
        handling = self._tools.get(call.name)
        step = digest(f"{call.name}\0{_canonical(call.arguments)}\0{text}".encode())[:SHORT]
        rejected = isinstance(request.call.said, Reject)
        outcome = ToolOutcome(
            index=request.call.index,
            name=request.call.name,
            status="rejected" if rejected else "error" if failed else "ok",
            step="" if handling and handling.polling else step,
            arguments=arguments_digest(call.arguments),
            bytes=len(text.encode()),
            duration_ms=duration_ms,
        )
        return ToolDone(outcome=outcome, conversation=conversation)


def arguments_digest(arguments: str) -> str:
    """Name the arguments of a call; the same for every spelling of the same JSON."""
    return digest(_canonical(arguments).encode())[:SHORT]


def _canonical(arguments: str) -> str:
    """The same arguments whatever their spacing and order of keys; what is no JSON stays as it is."""
    try:
        return json.dumps(json.loads(arguments or "{}"), sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        return arguments
