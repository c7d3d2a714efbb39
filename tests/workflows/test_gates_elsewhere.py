"""Gates that are not in the workspace, as the workflow asks them: what waits for nobody, and how judges share."""

from datetime import timedelta
from typing import Any

import pytest
from temporalio import activity, workflow
from temporalio.worker import Worker

from activities import contract
from activities.contract import Child, Elsewhere
from activities.cutting import head
from ledger.policy import Policy, SpendPolicy
from tests.workflows.scripted import World, plan
from workflows import tools_elsewhere


class Audited(World):
    """A world whose gates have routes."""

    routes: dict[str, Any]
    said = "the answer"

    def activities(self):
        return [*super().activities(), self.keep_verdict, self.judge_task]

    @activity.defn(name=contract.PREPARE)
    async def prepare(self, order: dict[str, Any]) -> dict[str, Any]:
        prepared = await super().prepare(order)
        gates = {name: route.model_dump(mode="json") for name, route in self.routes.items()}
        return prepared | {"gate_routes": gates}

    @activity.defn(name=contract.KEEP_VERDICT)
    async def keep_verdict(self, order: dict[str, Any]) -> dict[str, Any]:
        self.kept.append(order)
        return {"verdict": "broken" if order["broken"] else "passed"}

    @activity.defn(name=contract.READ_ANSWER)
    async def read_answer(self, order: dict[str, Any]) -> str:
        return head(self.said, order["limit"])

    @activity.defn(name=contract.JUDGE_TASK)
    async def judge_task(self, order: dict[str, Any]) -> str:
        return f"task-of-{order['gate']}"


def audited(routes: dict[str, Any], policy: Policy | None = None) -> Audited:
    world = Audited(plan=plan(gates=tuple(routes), policy=policy))
    world.routes, world.kept = routes, []
    return world


async def test_a_gate_that_no_worker_takes_in_time_is_broken_and_asks(stage, monkeypatch):
    monkeypatch.setattr(tools_elsewhere, "PICKUP", timedelta(seconds=1))  # no server skips it
    world = audited({"invoice": Elsewhere(activity="Check", task_queue="nobody", idempotent=True)})
    act = stage(world)
    async with act.worker():
        run = await act.start()
        asked = await act.until(run, "WorkspaceLost")
        assert asked["facts"]["gate"] == "invoice"
        assert world.kept[0]["broken"] == "no worker on task queue nobody took Check within 1 s: it did not run"
        await run.terminate()


@pytest.mark.parametrize("said", ["x" * 65_537, "分" * 21_846])
async def test_an_answer_that_is_too_long_for_a_gate_is_not_judged_by_its_beginning(stage, said):
    world = audited({"invoice": Elsewhere(activity="Check", task_queue="nobody", idempotent=True)})
    world.said = said
    act = stage(world)
    async with act.worker():
        run = await act.start()
        await run.result()
    (kept,) = world.kept
    assert kept["output"] == "error: the answer has more than the 65,536 bytes that gate invoice can be given"


@workflow.defn(name="AgentWorkflow", sandboxed=False)
class Judge:
    """A judge's run that says what it was given."""

    @workflow.run
    async def run(self, order: dict[str, Any]) -> dict[str, Any]:
        given.append((workflow.info().workflow_id, order))
        conversation = {"id": "c", "length": 2, "head": "h"}
        return {"status": "completed", "conversation": conversation, "totals": {"cost_usd": 1.5}}


given: list[tuple[str, dict[str, Any]]] = []


async def test_the_judges_of_a_stage_share_what_is_left_and_what_they_used_is_added(stage):
    routes = {name: Child(agent_ref=f"agent-{name}", task_queue="judges") for name in ("a", "b")}
    world = audited(routes, Policy(spend=SpendPolicy(limit_usd=8)))
    act = stage(world)
    judges = Worker(act.env.client, task_queue="judges", workflows=[Judge])
    given.clear()
    async with act.worker(), judges:
        run = await act.start()
        result = await run.result()
    assert sorted(given) == [
        (
            f"{run.id}/gate.{number}",
            {
                "agent": {"ref": f"agent-{name}"},
                "task": {"ref": f"task-of-{name}"},
                "parent": {"workflow_id": run.id, "depth": 0, "spend_usd": 4},
            },
        )
        for number, name in ((1, "a"), (2, "b"))
    ]
    assert result["totals"]["cost_usd"] == 3
    assert [kept["judgement"] for kept in world.kept] == ["c/2/h", "c/2/h"]
