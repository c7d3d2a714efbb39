"""A scripted world whose stage is checked by every kind of gate, and one in which attempts end in every odd way."""

from collections.abc import Callable
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities import contract
from activities.contract import Child, Elsewhere, GateDone, Here, Route
from ledger.conversation import digest
from ledger.failures import FailureKind
from ledger.outcomes import Answered, Broken, Captured, Failing, Held, Passed, Sent, Trip, Usage, Verdict
from ledger.policy import Policy, SpendPolicy
from ledger.records import RequestDigest
from tests.histories.wide import WideWorld, call
from tests.workflows.scripted import Reply, answered, failing, plan, refused

GATES: dict[str, Route | None] = {
    "command": None,
    "function": Here(in_workspace=True),
    "schema": Here(),
    "invoice": Elsewhere(activity="check", task_queue="endstop", idempotent=True),
    "review": Child(agent_ref="critic"),
}
"""By kind, as `activities.gate_routes` makes them; a command in the workspace has no route."""

LIMITED = Policy(spend=SpendPolicy(limit_usd=8))
"""Under a limit a judge gets its share."""

ROUNDS: dict[str, list[Verdict]] = {
    "command": [failing("c"), Passed()],
    "function": [Passed(), Broken(), Passed()],
    "schema": [failing("s"), Passed()],
    "invoice": [failing("i"), failing("i"), Passed()],
    "review": [failing("r"), Passed()],
}
"""What each gate says, the last for ever: first failures, then the same one of `invoice` again and a broken one."""


class CheckedWorld(WideWorld):
    """The work is mended twice, and a person has a broken gate asked again. Sub-agents are judges, without gates."""

    def __init__(self) -> None:
        super().__init__(plan=plan(gates=tuple(GATES), policy=LIMITED))
        self._rounds = {gate: list(verdicts) for gate, verdicts in ROUNDS.items()}

    def activities(self) -> list[Callable[..., Any]]:
        return [*super().activities(), self.check, self.judge_task, self.keep_verdict]

    @activity.defn(name=contract.PREPARE)
    async def prepare(self, order: dict[str, Any]) -> dict[str, Any]:
        prepared = await super().prepare(order)
        if order.get("parent"):
            return prepared
        routes = {name: route.model_dump(mode="json") for name, route in GATES.items() if route}
        return prepared | {"plan": self.plan.model_dump(mode="json"), "gate_routes": routes}

    @activity.defn(name=contract.RUN_GATE)
    async def run_gate(self, order: dict[str, Any]) -> dict[str, Any]:
        return GateDone(verdict=self._next(order["gate"])).model_dump(mode="json")

    @activity.defn(name="check")
    async def check(self, asked: dict[str, Any]) -> Any:
        match self._next(asked["gate"]):
            case Passed():
                return True
            case Failing(exact=exact):
                return {"passed": False, "output": exact}
            case _:
                raise ApplicationError("it cannot tell", non_retryable=True)

    @activity.defn(name=contract.JUDGE_TASK)
    async def judge_task(self, order: dict[str, Any]) -> str:
        return "task"

    @activity.defn(name=contract.KEEP_VERDICT)
    async def keep_verdict(self, order: dict[str, Any]) -> dict[str, Any]:
        verdict = failing(order["output"]) if order["output"] else self._next(order["asked"]["gate"])
        return verdict.model_dump(mode="json")

    def _next(self, gate: str) -> Verdict:
        left = self._rounds[gate]
        return left.pop(0) if len(left) > 1 else left[0]


def odd_replies() -> list[Reply]:
    """Attempts of unknown outcome, not sent, held by the limit, with files to renew, and captured ones.

    The tool is one of an MCP server, whose call may be made again or not.
    """
    shape = RequestDigest(system_hash=1, messages=2, tools=3, max_tokens=4, temperature=None)
    body = Captured(bytes=4, digest=digest(b"body"), context=digest(b"task"))
    sent = Sent(digest=shape, captured=body)
    used = Usage(input_tokens=9, output_tokens=1, cost_usd=0.5)
    asks = Answered(finish_reason="tool_call", tool_calls=(call(0, "shop_stock"), call(1, "shop_pay")))
    return [
        ApplicationError("gone", {"phase": "streaming", "bytes": 7, "bound": [9, 1, 0.25]}, type="Died"),
        ApplicationError("away", type="StoreTroubled"),
        Trip(outcome=refused(FailureKind.FILE_MISSING, renew_files=True).outcome, sent=sent, files=1),
        Trip(outcome=asks, sent=sent, files=1, usage=used, request_id="req"),
        Trip(outcome=Held(bound_usd=9.0)),
        answered(),
    ]


MCP: dict[str, Route] = {"shop_stock": Here(), "shop_pay": Here(idempotent=False)}


class OddWorld(WideWorld):
    """Tools of an MCP server, a spend limit, and odd attempts."""

    def __init__(self) -> None:
        super().__init__(plan=plan(policy=LIMITED), replies=odd_replies(), lost={"shop_pay"})

    @activity.defn(name=contract.PREPARE)
    async def prepare(self, order: dict[str, Any]) -> dict[str, Any]:
        routes = {name: route.model_dump(mode="json") for name, route in MCP.items()}
        plan_of_run = self.plan.model_dump(mode="json")
        return await super().prepare(order) | {"plan": plan_of_run, "routes": routes, "files_ref": "files"}
