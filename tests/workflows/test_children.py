"""A run that starts runs, where Temporal does not let it."""

from tests.histories.wide import WideWorld, call, calls
from tests.workflows.conftest import AGENT
from tests.workflows.scripted import answered


async def test_a_sub_agent_whose_id_is_taken_is_a_failed_call_and_not_the_end_of_the_run(stage):
    world = WideWorld(replies=[calls(call(0, "helper")), answered()])
    act = stage(world)
    client = act.env.client
    await client.start_workflow("SomebodyElses", id="taken/1.0", task_queue="nobody")
    async with act.worker():
        run = await client.start_workflow(
            "AgentWorkflow", {"agent": AGENT, "task": "x"}, id="taken", task_queue="endstop"
        )
        assert (await run.result())["status"] == "completed"
    (reason,) = world.reasons
    assert "taken/1.0" in reason
