"""The time-skipping server, one a test: it has one global clock."""

import sysconfig
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio.client import WorkflowHandle
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from tests.workflows.scripted import World
from workflows.agent import AgentWorkflow
from workflows.payloads import data_converter

AGENT = {"models": ["openai:first", "anthropic:second"]}


@pytest.fixture
async def env() -> AsyncIterator[WorkflowEnvironment]:
    binary = str(Path(sysconfig.get_path("scripts")) / "temporal-test-server")
    async with await WorkflowEnvironment.start_time_skipping(
        test_server_existing_path=binary, data_converter=data_converter
    ) as started:
        yield started


class Stage:
    """A time-skipping server, a worker, and a scripted world."""

    def __init__(self, env: WorkflowEnvironment, world: World) -> None:
        self.env = env
        self.world = world

    def worker(self, **options: object) -> Worker:
        return Worker(
            self.env.client,
            task_queue="endstop",
            workflows=[AgentWorkflow],
            activities=self.world.activities(),
            **options,  # type: ignore[arg-type]
        )

    async def start(self, spec: object = None, **options: object) -> WorkflowHandle:
        given = {"agent": AGENT, "task": "do it"} if spec is None else spec
        return await self.env.client.start_workflow(
            "AgentWorkflow",
            given,
            id=f"run-{uuid4()}",
            task_queue="endstop",
            **options,  # type: ignore[arg-type]
        )

    async def until(self, handle: WorkflowHandle, label: str) -> dict:
        """Skip time until this intervention is open."""
        for _ in range(200):
            asked = await handle.query("intervention")
            if asked and asked["label"] == label:
                return asked
            await self.env.sleep(5)
        raise AssertionError(f"{label} was not raised: {await handle.query('status')}")


@pytest.fixture
def stage(env: WorkflowEnvironment) -> Callable[[World], Stage]:
    return lambda world: Stage(env, world)
