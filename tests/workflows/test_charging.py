"""What a trip that ended without an answer of its activity is charged: what its last words said, and no guess."""

from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from ledger.policy import Policy
from tests.workflows.scripted import World, answered, plan

SAID = {"phase": "streaming", "bytes": 7, "bound": [900, 500, 0.25]}


async def after(stage: Any, *details: Any) -> tuple[list[dict[str, Any]], float | None]:
    """The usage records, and what the second attempt was allowed, of a run whose first one broke with these words."""
    broken = ApplicationError("the store is away", *details, type="StoreUnavailable")
    limited = Policy.model_validate({"spend": {"limit_usd": 1.0}})
    world = World(plan=plan(policy=limited), replies=[broken, answered()])
    act = stage(world)
    async with act.worker():
        run = await act.start()
        assert (await run.result())["status"] == "completed"
        page = await run.query("journal", {"after": 0})
    return [record for record in page["records"] if record["type"] == "usage"], world.calls[1]["allowance_usd"]


async def test_a_trip_that_broke_is_charged_the_most_it_said_it_may_cost(stage):
    (usage,), allowance = await after(stage, SAID)
    assert (usage["attempt_id"], usage["input_tokens"], usage["output_tokens"]) == ("1.1.1", 900, 500)
    assert (usage["cost_usd"], usage["estimated"], allowance) == (0.25, True, 0.75)


async def test_a_trip_whose_price_is_unknown_is_charged_its_tokens(stage):
    (usage,), allowance = await after(stage, SAID | {"bound": [900, 500, None]})
    assert ("cost_usd" in usage, usage["estimated"], allowance) == (False, True, 1.0)


async def test_words_of_a_newer_worker_are_understood(stage):
    (usage,), _ = await after(stage, SAID | {"mood": "fine"})
    assert usage["cost_usd"] == 0.25


@pytest.mark.parametrize(
    "details",
    [
        pytest.param((), id="it said nothing"),
        pytest.param(({"phase": "waiting", "bytes": 0},), id="nothing was sent yet"),
        pytest.param(({"phase": "streaming", "bytes": 7, "bound": [1, 2]},), id="half a bound"),
        pytest.param(({"phase": "streaming", "bytes": 7, "bound": [1, 2, -3]},), id="money back"),
        pytest.param(({"phase": "streaming", "bytes": 7, "bound": [-1, 2, 3]},), id="less than no token"),
        pytest.param(("streaming",), id="a word"),
        pytest.param((None,), id="null"),
    ],
)
async def test_words_that_name_no_cost_charge_nothing_and_stop_no_run(stage, details):
    assert await after(stage, *details) == ([], 1.0)
