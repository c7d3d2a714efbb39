"""A compaction inside a workflow: which conversation goes on, and what a person may do meanwhile."""

from ledger.outcomes import Answered
from tests.workflows.conftest import Stage
from tests.workflows.scripted import World, answered, summary, windowed


def told(world: World) -> list[str]:
    """The conversations that the model calls were sent, by length."""
    return [call["conversation"].split("/")[1] for call in world.calls]


async def test_the_call_after_a_compaction_goes_on_from_the_new_branch(env):
    world = World(plan=windowed("drop_tool_results"), replies=[answered("read_file", tokens=900), answered()])
    stage = Stage(env, world)
    async with stage.worker():
        result = await (await stage.start()).result()
    assert told(world) == ["1", "2"]
    assert result["conversation"].split("/")[1] == "3"
    (order,) = world.compacted
    assert order["conversation"].split("/")[1] == "3"


async def test_a_summary_is_no_part_of_the_conversation_and_named_to_whoever_compacts_it(env):
    replies = [answered("read_file", tokens=900), summary(), answered()]
    place = replies[1].outcome.summary if isinstance(replies[1].outcome, Answered) else ""
    world = World(plan=windowed("summarise"), replies=[*replies])
    stage = Stage(env, world)
    async with stage.worker():
        await (await stage.start()).result()
    assert [("summarise" in call, call["attempt"]) for call in world.calls] == [
        (False, "1.1.1"),
        (True, "2.1.1"),
        (False, "2.2.1"),
    ]
    (order,) = world.compacted
    assert order["conversation"].split("/")[1] == "3"
    assert order["summary"].partition("/")[2] == place


async def test_a_stop_in_the_middle_of_a_compaction_ends_the_run(env):
    world = World(plan=windowed("drop_tool_results"), replies=[answered("read_file", tokens=900), answered()])
    world.slow_to_compact = True
    stage = Stage(env, world)
    async with stage.worker():
        run = await stage.start()
        await world.compacting.wait()
        await run.signal("intervene", {"directive": "stop", "by": "ann"})
        result = await run.result()
        world.going.set()
    assert (result["status"], result["by"]) == ("stopped", "ann")
    assert len(world.calls) == 1
