"""Money against a real server: a limit that holds at the provider, and what a killed worker may have spent (I5)."""

from typing import Any

from temporalio.client import WorkflowHandle

from tests.faults.conftest import TEXT, Stage, eventually, records
from tests.faults.invariants import invariants_hold, requests_of

IN, OUT = 1, 10
"""USD for a million tokens."""
MAX_TOKENS = 500
PRICES = f'[models."openai:gpt-5"]\ninput_usd_per_mtok = {IN}\noutput_usd_per_mtok = {OUT}\n'
LIMITED = {
    "models": ["openai:gpt-5"],
    "limits": {"max_tokens": MAX_TOKENS},
    "policy": {"spend": {"limit_usd": 0.01}},
}
USED = {"input_tokens": 300, "output_tokens": 400}
STEP = {"kind": "tool_calls", "calls": [{"name": "no_such_tool"}], "usage": USED}
DONE = TEXT | {"usage": USED}


def usd(tokens_in: int, tokens_out: int) -> float:
    return (tokens_in * IN + tokens_out * OUT) / 1e6


async def charged(run: WorkflowHandle) -> float:
    """What the ledger charged, as its records have it and as its sum has it."""
    costs = [record["cost_usd"] for record in await records(run, "usage")]
    total = float((await run.query("status"))["cost_usd"])
    assert abs(sum(costs) - total) < 1e-9
    return total


async def asks(run: WorkflowHandle) -> Any:
    async def asked() -> Any:
        return await run.query("intervention")

    return await eventually(asked)


async def raised(run: WorkflowHandle, asked: dict[str, Any], amount: float) -> None:
    bound = {"intervention": asked["id"], "digest": asked["digest"]}
    await run.execute_update("answer", {"answer": "raise", "amount": amount, **bound})


async def test_the_call_that_could_cross_the_limit_never_reaches_the_provider_and_a_raise_lets_it_go(stage):
    act: Stage = await stage({"models": {"gpt-5": [STEP, DONE]}}, PRICES)
    run = await act.start(LIMITED)
    asked = await asks(run)
    facts = asked["facts"]
    assert (asked["label"], facts["limit_usd"], facts["target"]) == ("SpendLimit", 0.01, "openai:gpt-5")
    assert facts["spent_usd"] == usd(300, 400)
    assert facts["spent_usd"] + facts["bound_usd"] > 0.01
    assert len(requests_of(act, run)) == 1
    assert [a["id"] for a in await records(run, "attempt")] == ["1.1.1"]
    await raised(run, asked, 0.01)
    assert (await run.result())["status"] == "completed"
    assert [request.attempt for request in requests_of(act, run)] == ["1.1.1", "2.1.1"]
    assert await charged(run) >= 2 * usd(300, 400)
    await invariants_hold(act, run)


async def test_a_raise_that_is_too_small_asks_again_and_sends_nothing(stage):
    act: Stage = await stage({"models": {"gpt-5": [DONE]}}, PRICES)
    run = await act.start(LIMITED | {"policy": {"spend": {"limit_usd": 0.001}}})
    first = await asks(run)
    await raised(run, first, 0.0005)

    async def again() -> Any:
        asked = await run.query("intervention")
        return asked if asked and asked["id"] != first["id"] else None

    second = await eventually(again)
    assert (second["facts"]["limit_usd"], requests_of(act, run)) == (0.0015, [])
    await raised(run, second, 0.01)
    assert (await run.result())["status"] == "completed"


async def test_a_call_of_a_killed_worker_is_charged_the_most_it_can_have_cost(stage):  # FAULTS 1, I5
    act: Stage = await stage({"models": {"gpt-5": [{"kind": "hang"}, DONE]}}, PRICES)
    run = await act.start(LIMITED | {"policy": {"spend": {"limit_usd": 1}}})
    await act.simulator.received(1)
    await act.kill()
    await act.work()
    assert (await run.result())["status"] == "completed"
    lost, won = await records(run, "usage")
    assert (lost["attempt_id"], lost["estimated"], lost["output_tokens"]) == ("1.1.1", True, MAX_TOKENS)
    assert (won["attempt_id"], won.get("estimated", False)) == ("1.1.2", False)
    (first, _) = requests_of(act, run)
    billed_at_worst = usd(first.body_size // 4, MAX_TOKENS) + usd(300, 400)
    assert await charged(run) >= billed_at_worst
    await invariants_hold(act, run)


async def test_an_unknown_price_is_asked_about_before_the_first_call(stage):
    act: Stage = await stage({"models": {"acme-9": [DONE]}})
    run = await act.start(LIMITED | {"models": ["openai:acme-9"]})
    asked = await asks(run)
    assert (asked["label"], asked["facts"]["bound_usd"]) == ("SpendLimit", None)
    assert "unknown price" in asked["text"]
    assert requests_of(act, run) == []
    await raised(run, asked, 1)
    assert (await run.result())["status"] == "completed"
    status = await run.query("status")
    assert (status["cost_usd"], status["unpriced"]) == (None, 1)
