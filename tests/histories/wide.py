"""A scripted world whose tools are everywhere: beside the workflow, on other queues, other people's, whole runs."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities import contract
from activities.contract import Child, ChildTask, Elsewhere, Here, Route, ToolArguments
from ledger.interventions import Question
from ledger.outcomes import Answered, ToolRequest, Trip
from tests.workflows.scripted import World, plan

ROUTES: dict[str, Route] = {
    "read_output": Here(local=True),
    "charge": Here(idempotent=False),
    "refund": Elsewhere(activity="refund", task_queue="endstop"),
    "pay": Elsewhere(activity="pay", task_queue="endstop", timeout_s=1),
    "helper": Child(agent_ref="helper"),
}


def calls(*requests: ToolRequest) -> Trip:
    """An answer with these tool calls."""
    return Trip(outcome=Answered(finish_reason="tool_call", tool_calls=requests))


def call(index: int, name: str, **fields: Any) -> ToolRequest:
    return ToolRequest(index=index, name=name, **fields)


def question(index: int = 0) -> ToolRequest:
    return call(index, "ask_person", question=Question(text="Which one?", options=("this", "that")))


@dataclass
class WideWorld(World):
    """`charge` is lost the first time, `pay` always; `refund` fails when it is not given an order."""

    lost: set[str] = field(default_factory=lambda: {"charge"})
    reasons: list[str] = field(default_factory=list)
    """Why sub-agents gave no answer."""

    def activities(self) -> list[Callable[..., Any]]:
        return [
            *super().activities(),
            self.read_arguments,
            self.keep_result,
            self.read_task,
            self.keep_answer,
            self.refund,
            self.pay,
        ]

    @activity.defn(name=contract.PREPARE)
    async def prepare(self, order: dict[str, Any]) -> dict[str, Any]:
        parent = order.get("parent")
        prepared = await super().prepare(order)
        own = plan().model_copy(update={"agents": ("helper",), "depth": parent["depth"] + 1 if parent else 0})
        routes = {name: route.model_dump(mode="json") for name, route in ROUTES.items()}
        return prepared | {"plan": own.model_dump(mode="json"), "parent": parent, "routes": routes}

    @activity.defn(name=contract.RUN_TOOL)
    async def run_tool(self, order: dict[str, Any]) -> dict[str, Any]:
        name = order["call"]["name"]
        if name in self.lost:
            if order.get("look"):
                self.lost.discard(name)
            raise ApplicationError("its worker is gone", non_retryable=True)
        return await super().run_tool(order)

    @activity.defn(name=contract.READ_ARGUMENTS)
    async def read_arguments(self, order: dict[str, Any]) -> dict[str, Any]:
        return ToolArguments(arguments={"order": order["call"]["index"]}, digest="d").model_dump(mode="json")

    @activity.defn(name="refund")
    async def refund(self, arguments: dict[str, Any]) -> dict[str, Any]:
        if not arguments["order"]:
            raise ApplicationError("there is no order 0", type="NoOrder", non_retryable=True)
        return {"refunded": arguments["order"]}

    @activity.defn(name="pay")
    async def pay(self, arguments: dict[str, Any]) -> str:
        await asyncio.Event().wait()  # until its time is up
        return ""

    @activity.defn(name=contract.KEEP_RESULT)
    async def keep_result(self, order: dict[str, Any]) -> dict[str, Any]:
        return await super().run_tool(order["asked"])

    @activity.defn(name=contract.READ_TASK)
    async def read_task(self, order: dict[str, Any]) -> dict[str, Any]:
        return ChildTask(ref="task").model_dump(mode="json")

    @activity.defn(name=contract.KEEP_ANSWER)
    async def keep_answer(self, order: dict[str, Any]) -> dict[str, Any]:
        self.reasons += filter(None, [order["reason"]])
        return await super().run_tool(order["asked"])
