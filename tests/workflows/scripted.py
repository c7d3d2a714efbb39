"""Scripted activities under the real names: what the outside world answers, one fact after the other.

For tests of the workflow alone, on the time-skipping server. Content is not simulated; identity is.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities import contract
from activities.contract import GateDone, ModelReply, Prepared, ToolDone
from activities.contract_compacting import COMPACT, CompactDone
from ledger.agent import Plan, StagePlan
from ledger.conversation import Conversation, digest
from ledger.failures import Failure, FailureKind
from ledger.outcomes import Answered, Failing, Passed, Refused, ToolOutcome, ToolRequest, Trip, Usage, Verdict
from ledger.policy import ContextPolicy, Policy
from ledger.target import Target

FIRST, SECOND = Target.parse("openai:first"), Target.parse("anthropic:second")
Reply = Trip | Exception | Callable[[dict[str, Any]], Any]


def answered(*tools: str, tokens: int = 0) -> Trip:
    """An answer, with tool calls where tools are named; its provider counted so many tokens."""
    calls = tuple(ToolRequest(index=i, name=name) for i, name in enumerate(tools))
    usage = Usage(input_tokens=tokens) if tokens else None
    return Trip(outcome=Answered(finish_reason="tool_call" if tools else "complete", tool_calls=calls), usage=usage)


def summary() -> Trip:
    """An answer to a request for a summary."""
    return Trip(outcome=Answered(finish_reason="complete", summary=f"9/{digest(b'summary')}"))


def refused(kind: FailureKind, **flags: Any) -> Trip:
    return Trip(outcome=Refused(failure=Failure.of(kind, **flags)))


def failing(exact: str) -> Failing:
    return Failing(version=1, exact=exact, family=exact, items=1)


def windowed(full: str) -> Plan:
    """A plan whose first target has a window of 1,000 tokens, the second one of 10,000."""
    made = plan(policy=Policy(context=ContextPolicy.model_validate({"full": full})))
    return made.model_copy(update={"context_tokens": {str(FIRST): 1_000, str(SECOND): 10_000}})


def plan(*, gates: tuple[str, ...] = (), policy: Policy | None = None, turns: int = 100, stages: int = 1) -> Plan:
    stage = StagePlan(name="main", models=(FIRST, SECOND), gates=gates, turns=turns)
    named = tuple(stage.model_copy(update={"name": f"s{i}"}) for i in range(stages))
    return Plan(agent="scripted", stages=named, policy=policy or Policy())


@dataclass
class World:
    """What the outside world answers; the last reply of a list repeats."""

    plan: Plan = field(default_factory=plan)
    replies: list[Reply] = field(default_factory=lambda: [answered()])
    verdicts: list[Verdict] = field(default_factory=lambda: [Passed()])
    calls: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    journal: dict[int, dict[str, Any]] = field(default_factory=dict)
    compacted: list[dict[str, Any]] = field(default_factory=list)
    gate_calls: int = 0
    not_here: int = 0
    """How many workers cannot prepare the run before one can."""
    step: str = ""
    """Digest that every tool call reports as its step; "" for a new one each time."""
    calling: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a model is called."""
    working: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a tool runs or a note is appended."""
    going: asyncio.Event = field(default_factory=asyncio.Event)
    """Tools and notes wait for it where `slow` is set."""
    slow: bool = False
    compacting: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a conversation is compacted, which waits for `going` too where `slow_to_compact` is set."""
    slow_to_compact: bool = False

    def activities(self) -> list[Callable[..., Any]]:
        return [
            self.prepare,
            self.call_model,
            self.run_tool,
            self.run_gate,
            self.append,
            self.compact,
            self.write_journal,
            self.read_answer,
        ]

    @activity.defn(name=contract.PREPARE)
    async def prepare(self, order: dict[str, Any]) -> dict[str, Any]:
        if self.not_here:
            self.not_here -= 1
            raise ApplicationError("the store has nothing", type=contract.NOT_HERE, non_retryable=True)
        if not order["agent"]:
            raise ApplicationError("agent: is missing", type=contract.INVALID_SPEC, non_retryable=True)
        conversation = Conversation(id=order["run"], length=1, head=digest(b"task"))
        inline = isinstance(order["task"], str)
        return Prepared(plan=self.plan, conversation=conversation, agent_ref="a", inline=inline).model_dump(mode="json")

    @activity.defn(name=contract.CALL_MODEL)
    async def call_model(self, order: dict[str, Any]) -> Any:
        self.calls.append(order)
        self.calling.set()
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        if callable(reply):
            return await reply(order)
        conversation = Conversation.model_validate(order["conversation"])
        if isinstance(reply.outcome, Answered) and not reply.outcome.summary:
            conversation = _grown(conversation, order["attempt"])
        return ModelReply(trip=reply, conversation=conversation).model_dump(mode="json")

    @activity.defn(name=contract.RUN_TOOL)
    async def run_tool(self, order: dict[str, Any]) -> dict[str, Any]:
        call = order["call"]
        await self._pace()
        answer = Conversation.model_validate(order["answer"])
        step = self.step or digest(f"{answer.length}{call['index']}".encode())
        outcome = ToolOutcome(index=call["index"], name=call["name"], status="ok", step=step)
        return ToolDone(outcome=outcome, conversation=_grown(answer, "tool")).model_dump(mode="json")

    @activity.defn(name=contract.RUN_GATE)
    async def run_gate(self, order: dict[str, Any]) -> dict[str, Any]:
        self.gate_calls += 1
        verdict = self.verdicts.pop(0) if len(self.verdicts) > 1 else self.verdicts[0]
        return GateDone(verdict=verdict).model_dump(mode="json")

    @activity.defn(name=contract.APPEND)
    async def append(self, order: dict[str, Any]) -> dict[str, Any]:
        await self._pace()
        self.notes.extend(order["notes"])
        return _grown(Conversation.model_validate(order["conversation"]), "note").model_dump(mode="json")

    @activity.defn(name=COMPACT)
    async def compact(self, order: dict[str, Any]) -> dict[str, Any]:
        """Half of the bytes go, every time."""
        self.compacted.append(order)
        self.compacting.set()
        if self.slow_to_compact:
            await self.going.wait()
        conversation = Conversation.model_validate(order["conversation"])
        after = Conversation(id=conversation.id, length=2, head=digest(f"{conversation.head}compact".encode()))
        done = CompactDone(conversation=after, bytes_before=1_000, bytes_after=500, dropped=1)
        return done.model_dump(mode="json")

    async def _pace(self) -> None:
        self.working.set()
        if self.slow:
            await self.going.wait()

    @activity.defn(name=contract.WRITE_JOURNAL)
    async def write_journal(self, order: dict[str, Any]) -> None:
        self.journal |= dict(order["entries"])

    @activity.defn(name=contract.READ_ANSWER)
    async def read_answer(self, order: dict[str, Any]) -> str:
        return "the answer"


def _grown(conversation: Conversation, by: str) -> Conversation:
    head = digest(f"{conversation.head}{by}".encode())
    return conversation.model_copy(update={"length": conversation.length + 1, "head": head})
