"""A question's deadline that passes: what follows happens once, whatever the question takes as an answer."""

from datetime import timedelta

from ledger.policy import AskPolicy, Policy
from tests.workflows.scripted import World, failing, plan


async def test_a_question_that_takes_no_failover_goes_on_waiting_when_its_deadline_has_passed(stage):
    policy = Policy(ask=AskPolicy(deadline_s=3_600, then="failover"))
    world = World(plan=plan(gates=("g",), turns=1, policy=policy), verdicts=[failing("A")])
    act = stage(world)
    async with act.worker():
        run = await act.start()
        asked = await act.until(run, "TurnLimit")
        await act.env.sleep(timedelta(hours=3))
        events = len((await run.fetch_history()).events)
        await act.env.sleep(timedelta(days=3))
        assert await run.query("intervention") == asked
        assert len((await run.fetch_history()).events) == events
        page = await run.query("journal", {"after": 0})
        await run.signal("intervene", {"directive": "stop"})
        await run.result()
    assert [r["then"] for r in page["records"] if r["type"] == "deadline"] == ["stay"]
