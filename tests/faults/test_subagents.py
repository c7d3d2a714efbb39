"""Runs that start runs: sub-agents, their questions, their spend and their limits."""

from typing import Any

from tests.faults.conftest import TEXT, Stage, eventually, records
from tests.faults.test_tools_elsewhere import answer, asked_for, calls, told

PRICED = '[models."openai:gpt-5"]\ninput_usd_per_mtok = 1000\noutput_usd_per_mtok = 1000\n'
SETTINGS = (
    f'[agents.helper]\nfile = "helper.toml"\n[tools.help]\nagent = "helper"\ndescription = "Does one thing"\n{PRICED}'
)
HELPER = 'name = "helper"\nmodels = ["openai:small"]\ntools = ["ask_person", "help"]\n'
AGENT = {"models": ["openai:gpt-5"], "tools": ["help"]}
DELEGATED = calls('{"task": "count to three"}', name="help")
THREE = {"kind": "text", "text": "one two three"}


async def begin(stage: Any, folder: Any, *, parent: list[Any], child: list[Any], helper: str = HELPER) -> Stage:
    (folder / "helper.toml").write_text(helper)
    act: Stage = await stage({"models": {"gpt-5": parent, "small": child}}, SETTINGS)
    return act


async def test_a_sub_agent_gets_its_task_and_its_answer_is_the_calls_result(stage, tmp_path):
    act = await begin(stage, tmp_path, parent=[DELEGATED, TEXT], child=[THREE])
    run = await act.start(AGENT)
    assert (await run.result())["status"] == "completed"
    child = [request for request in act.simulator.requests if request.model == "small"]
    assert "count to three" in str(child[0].body)
    assert "one two three" in told(act)
    (batch,) = await records(run, "tools")
    assert batch["calls"][0]["status"] == "ok"
    history = b"".join(event.SerializeToString() for event in (await run.fetch_history()).events)
    assert b"count to three" not in history
    assert b"one two three" not in history


async def test_what_sub_agents_used_is_counted_in_the_run_that_started_them(stage, tmp_path):
    act = await begin(stage, tmp_path, parent=[DELEGATED, TEXT], child=[THREE])
    run = await act.start(AGENT)
    result = await run.result()
    assert (result["totals"]["attempts"], result["totals"]["unpriced"]) == (3, 1)
    (batch,) = await records(run, "tools")
    (sub,) = batch["runs"]
    assert (sub["run"], sub["name"], sub["attempts"], sub["unpriced"]) == ("1.0", "help", 1, 1)
    assert "cost_usd" not in sub
    assert batch["calls"][0]["duration_ms"] > 0


async def test_a_sub_agents_question_is_seen_from_its_parent_and_answered_in_the_child(stage, tmp_path):
    question = calls('{"question": "How far?"}', name="ask_person")
    act = await begin(stage, tmp_path, parent=[DELEGATED, TEXT], child=[question, THREE])
    run = await act.start(AGENT)

    async def child_asks() -> dict[str, Any] | None:
        children = (await run.query("status"))["children"]
        return children[0] if children and children[0]["intervention"] else None

    seen = await eventually(child_asks)
    assert seen == {"id": f"{run.id}/1.0", "intervention": "Question"}
    child = act.client.get_workflow_handle(seen["id"])
    await answer(child, await asked_for(child, "Question"), "reply", text="to three")
    await run.result()
    assert (await run.query("status"))["children"] == []
    assert "one two three" in told(act)


async def test_a_sub_agent_that_is_stopped_is_told_to_the_model(stage, tmp_path):
    question = calls('{"question": "How far?"}', name="ask_person")
    act = await begin(stage, tmp_path, parent=[DELEGATED, TEXT], child=[question])
    run = await act.start(AGENT)

    async def begun() -> bool:
        return bool((await run.query("status"))["children"])

    await eventually(begun)
    child = act.client.get_workflow_handle(f"{run.id}/1.0")
    await answer(child, await asked_for(child, "Question"), "stop", reason="not needed")
    await run.result()
    assert "help gave no answer" in told(act)
    assert "not needed" in told(act)


async def test_stopping_a_run_stops_its_sub_agents_and_counts_what_they_used(stage, tmp_path):
    question = calls('{"question": "How far?"}', name="ask_person")
    act = await begin(stage, tmp_path, parent=[DELEGATED, TEXT], child=[question])
    run = await act.start(AGENT)

    async def asked() -> bool:
        return any(child["intervention"] for child in (await run.query("status"))["children"])

    await eventually(asked)
    await run.signal("intervene", {"directive": "stop", "reason": "enough"})
    result = await run.result()
    assert (result["status"], result["totals"]["attempts"]) == ("stopped", 2)
    (sub,) = (await records(run, "run"))[-1]["runs"]
    assert (sub["run"], sub["attempts"]) == ("1.0", 1)

    async def over() -> bool:
        described = await act.client.get_workflow_handle(f"{run.id}/1.0").describe()
        return described.status is not None and described.status.name == "CANCELED"

    await eventually(over)


async def test_a_run_starts_no_more_sub_agents_than_it_may_and_the_model_is_told(stage, tmp_path):
    three = calls(*(f'{{"task": "part {number}"}}' for number in range(3)), name="help")
    act = await begin(stage, tmp_path, parent=[three, TEXT], child=[THREE])
    run = await act.start(AGENT | {"policy": {"children": {"children": 2}}})
    await run.result()
    (batch,) = await records(run, "tools")
    assert [call["status"] for call in batch["calls"]] == ["ok", "ok", "error"]
    assert "as many sub-agents as it may" in told(act)


async def test_sub_agents_nest_no_deeper_than_they_may(stage, tmp_path):
    act = await begin(stage, tmp_path, parent=[DELEGATED, TEXT], child=[DELEGATED, THREE])
    await (await act.start(AGENT)).result()
    bodies = [str(request.body) for request in act.simulator.requests if request.model == "small"]
    assert sum("a sub-agent this deep starts no other" in body for body in bodies) == 1


async def test_a_sub_agent_may_spend_its_share_and_no_more(stage, tmp_path):
    helper = HELPER.replace("openai:small", "openai:gpt-5")
    used = {"input_tokens": 10, "output_tokens": 10}
    parent = DELEGATED | {"usage": used}
    act = await begin(stage, tmp_path, parent=[parent, TEXT], child=[], helper=helper)
    run = await act.start(AGENT | {"policy": {"spend": {"limit_usd": 5}}, "limits": {"max_tokens": 1_000}})
    child = act.client.get_workflow_handle(f"{run.id}/1.0")

    async def begun() -> bool:
        return bool((await run.query("status"))["children"])

    await eventually(begun)
    asked = await asked_for(child, "SpendLimit")
    assert 0 < asked["facts"]["limit_usd"] < 5
    assert asked["facts"]["spent_usd"] == 0
    await answer(child, asked, "stop")
    await run.signal("intervene", {"directive": "stop"})
