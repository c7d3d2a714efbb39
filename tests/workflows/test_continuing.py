"""Continue-as-new carries the whole ledger, the open question and the journal's place (RULES X7, FAULTS 30)."""

import asyncio
import sysconfig
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio import activity
from temporalio.client import WithStartWorkflowOperation, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from activities import contract
from activities.contract import Prepared
from ledger.conversation import Conversation
from ledger.outcomes import Passed
from tests.faults.conftest import eventually
from tests.ledger.runs import Run
from tests.workflows.scripted import World, answered, failing, plan, summary, windowed
from workflows.agent import AgentWorkflow
from workflows.carried import Carried, carried_in, read_input
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


@dataclass
class SlowToContinue(World):
    """The journal's last batch before a new execution is written once `going` is set."""

    continuing: asyncio.Event = field(default_factory=asyncio.Event)

    @activity.defn(name=contract.WRITE_JOURNAL)
    async def write_journal(self, order: dict[str, Any]) -> None:
        if any(record.get("what") == "continued" for _, record in order["entries"]):
            self.continuing.set()
            await self.going.wait()
        await super().write_journal(order)


async def test_what_is_said_while_a_slow_store_holds_up_the_next_execution_is_in_the_journal(restless):
    world = SlowToContinue(replies=[*(answered("read_file") for _ in range(6)), answered()])
    async with worker(restless, world):
        run = await restless.client.start_workflow(
            "AgentWorkflow", AGENT, id="slow", task_queue="endstop", task_timeout=timedelta(seconds=1)
        )
        await world.continuing.wait()
        await run.signal("intervene", "nonsense")

        async def heard() -> bool:
            page = await run.query("journal")
            return page["records"][-1]["type"] == "refused"

        await eventually(heard)
        world.going.set()
        await run.result()
    assert await executions(restless, run) > 1
    assert sorted(world.journal) == list(range(1, len(world.journal) + 1))
    assert [r["reason"] for r in world.journal.values() if r["type"] == "refused"] == ["malformed"]


def asking() -> tuple[dict[str, Any], dict[str, str]]:
    """What an execution that has a question open passes on, and the answer to it."""
    stuck = Run(plan(gates=("g",))).rounds("ABABAB")
    opened = stuck.doing.open
    conversation = Conversation(id="run", length=1, head="h")
    prepared = Prepared(plan=stuck.plan, conversation=conversation, agent_ref="a")
    carried = Carried(prepared=prepared, conversation=conversation, ledger=stuck.ledger, seq=9)
    word = {"answer": "retry", "intervention": opened.id, "digest": opened.digest}
    return {"carried": carried.model_dump(mode="json")}, word


async def test_an_answer_that_comes_as_the_next_execution_begins_is_taken(restless):
    given, word = asking()
    async with worker(restless, World()):
        begun = WithStartWorkflowOperation(
            "AgentWorkflow", given, id="at-once", task_queue="endstop", id_conflict_policy=WorkflowIDConflictPolicy.FAIL
        )
        taken = await restless.client.execute_update_with_start_workflow("answer", word, start_workflow_operation=begun)
        assert taken["accepted"]
        assert (await (await begun.workflow_handle()).result())["status"] == "completed"


def test_a_state_in_which_nothing_was_decided_is_refused_before_it_can_keep_a_worker_busy_for_ever():
    given, _ = asking()
    given["carried"]["ledger"]["doing"] = None
    with pytest.raises(ApplicationError, match="carried"):
        read_input((given,))
    assert carried_in((given,)) is None


async def test_what_is_refused_as_the_next_execution_begins_is_in_the_journal_all_the_same(restless):
    given, word = asking()
    world = World()
    async with worker(restless, world):
        run = await restless.client.start_workflow(
            "AgentWorkflow", given, id="noted", task_queue="endstop", start_signal="child", start_signal_args=["?"]
        )
        await run.execute_update("answer", word)
        await run.result()
    assert (world.journal[10]["type"], world.journal[10]["reason"]) == ("refused", "malformed")


class SlowToSummarise(World):
    """Works through a conversation that fills its window once; its tool, summary or compaction waits for `go`."""

    def __init__(self, slowly: str) -> None:
        replies = [answered("read_file", tokens=900), self._summary, answered()]
        super().__init__(plan=windowed("summarise"), replies=replies)
        self.slowly, self.slow, self.slow_to_compact = slowly, slowly == "tool", slowly == "compaction"

    async def _summary(self, order: dict[str, Any]) -> dict[str, Any]:
        if self.slowly == "summary":
            await self.going.wait()
        return {"trip": summary().model_dump(mode="json"), "conversation": order["conversation"]}

    async def held(self) -> bool:
        """Whether it has come to what waits."""
        match self.slowly:
            case "tool":
                return self.working.is_set()
            case "summary":
                return any("summarise" in call for call in self.calls)
            case _:
                return self.compacting.is_set()


@pytest.mark.parametrize(("slowly", "last"), [("tool", "tools"), ("summary", "attempt"), ("compaction", "compaction")])
async def test_a_run_goes_on_in_a_new_execution_in_the_middle_of_a_compaction(restless, slowly, last):
    world = SlowToSummarise(slowly)
    async with worker(restless, world):
        run = await restless.client.start_workflow("AgentWorkflow", AGENT, id=f"c-{slowly}", task_queue="endstop")
        await eventually(world.held)
        for _ in range(40):
            await run.signal("intervene", "nonsense")
        world.going.set()
        assert (await run.result())["status"] == "completed"
    asked = [("summarise" in call, call["attempt"]) for call in world.calls]
    assert asked == [(False, "1.1.1"), (True, "2.1.1"), (False, "2.2.1")]
    (order,) = world.compacted
    assert order["summary"].partition("/")[2] == summary().outcome.summary
    told = [record for _, record in sorted(world.journal.items()) if record["type"] != "refused"]
    continued = next(at for at, record in enumerate(told) if record.get("what") == "continued")
    assert told[continued - 1]["type"] == last
    kinds = [record["type"] for record in told]
    assert (kinds.count("attempt"), kinds.count("compaction")) == (3, 1)
