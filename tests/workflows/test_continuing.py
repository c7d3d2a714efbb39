"""Continue-as-new carries the whole ledger, the open question and the journal's place (RULES X7, FAULTS 30)."""

import sysconfig
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowHandle
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from ledger.outcomes import Passed
from tests.faults.conftest import eventually
from tests.workflows.scripted import World, answered, failing, plan
from workflows.agent import AgentWorkflow
from workflows.payloads import data_converter

AGENT = {"agent": {"models": ["openai:first"]}, "task": "x"}


@pytest.fixture(scope="module")
async def restless() -> AsyncIterator[WorkflowEnvironment]:
    """A server that suggests to continue as new after forty events already."""
    binary = str(Path(sysconfig.get_path("scripts")) / "temporal")
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=binary,
        data_converter=data_converter,
        dev_server_extra_args=["--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=40"],
    ) as env:
        yield env


def worker(env: WorkflowEnvironment, world: World) -> Worker:
    return Worker(
        env.client,
        task_queue="endstop",
        workflows=[AgentWorkflow],
        activities=world.activities(),
    )


async def executions(env: WorkflowEnvironment, run: WorkflowHandle) -> int:
    return len([found async for found in env.client.list_workflows(f'WorkflowId="{run.id}"')])


async def test_no_count_is_lost_when_a_run_goes_on_in_a_new_execution(restless):
    verdicts = [failing(letter) for letter in "ABCDABCD"]
    world = World(plan=plan(gates=("g",)), verdicts=[*verdicts, Passed()])
    async with worker(restless, world):
        run = await restless.client.start_workflow("AgentWorkflow", AGENT, id="counts", task_queue="endstop")

        async def asked() -> Any:
            return await run.query("intervention")

        found = await eventually(asked)
        assert (found["label"], found["facts"]) == ("BudgetSpent", {"gate": "g", "charged": 4, "budget": 3})

        async def continued() -> bool:
            return await executions(restless, run) > 1

        await eventually(continued)
        assert await asked() == found
        await run.execute_update("answer", {"answer": "retry", "intervention": found["id"], "digest": found["digest"]})
        result = await run.result()
    assert (result["status"], result["turns"]) == ("completed", 9)
    assert sorted(world.journal) == list(range(1, len(world.journal) + 1))
    gates = [r for r in world.journal.values() if r["type"] == "gate"]
    assert [r.get("charged", False) for r in gates] == [False] * 4 + [True] * 4 + [False]
    assert [r["round"] for r in gates] == list(range(1, 10))
    assert [r["what"] for r in world.journal.values() if r["type"] == "run"].count("continued") >= 1


async def test_a_question_survives_the_signals_that_fill_its_history(restless):
    world = World(plan=plan(gates=("g",)), verdicts=[failing("A")] * 4 + [Passed()], replies=[answered()])
    async with worker(restless, world):
        run = await restless.client.start_workflow("AgentWorkflow", AGENT, id="noise", task_queue="endstop")

        async def asked() -> Any:
            return await run.query("intervention")

        found = await eventually(asked)
        for number in range(60):
            await run.signal("intervene", {"answer": "retry", "digest": str(number)})
        assert await asked() == found
        await run.signal("intervene", "retry")
        assert (await run.result())["status"] == "completed"
        assert await executions(restless, run) > 1
    refused = [r for r in world.journal.values() if r["type"] == "refused"]
    assert len(refused) == 60
