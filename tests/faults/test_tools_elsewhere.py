"""Tools that are activities of somebody else's worker: their calls, their failures, and people's word on them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest
from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from activities.tool_calls import arguments_digest
from tests.faults.conftest import TEXT, Stage, eventually, records

AGENT = {"models": ["openai:gpt-5"], "tools": ["refund", "ask_person"]}


@dataclass
class Shop:
    """Another team's worker: what it was asked, and how it answers."""

    queue: str = field(default_factory=lambda: f"shop-{uuid4().hex[:8]}")
    asked: list[dict[str, Any]] = field(default_factory=list)
    answers: list[Any] = field(default_factory=lambda: [{"refunded": True}])

    @activity.defn(name="RefundOrder")
    async def refund_order(self, order: dict[str, Any]) -> Any:
        self.asked.append(order)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        if answer == "hang":
            await asyncio.Event().wait()
        return answer

    def settings(self, more: str = "") -> str:
        return (
            f'[tools.refund]\nactivity = "RefundOrder"\ntask_queue = "{self.queue}"\ndescription = "Refund an order"\n'
            'parameters = { type = "object", required = ["order"], properties = { order = { type = "integer" } } }\n'
            f"{more}\n"
        )


def calls(*arguments: str, name: str = "refund") -> dict[str, Any]:
    return {"kind": "tool_calls", "calls": [{"name": name, "arguments": given} for given in arguments]}


@asynccontextmanager
async def open_shop(act: Stage, shop: Shop) -> AsyncIterator[None]:
    async with Worker(act.client, task_queue=shop.queue, activities=[shop.refund_order]):
        yield


async def asked_for(run: Any, label: str, number: int = 1) -> dict[str, Any]:
    """The question, once it is open; `number` counts the run's questions."""

    async def asks() -> dict[str, Any] | None:
        asked: dict[str, Any] | None = await run.query("intervention")
        return asked if asked and (asked["id"], asked["label"]) == (f"int-{number}", label) else None

    found: dict[str, Any] = await eventually(asks)
    return found


async def answer(run: Any, asked: dict[str, Any], label: str, **more: Any) -> None:
    await run.execute_update(
        "answer", {"answer": label, "intervention": asked["id"], "digest": asked["digest"], **more}
    )


def told(act: Stage) -> str:
    """What the model got with its last request."""
    return str(act.simulator.requests[-1].body)


@pytest.fixture
async def shop(stage: Callable[..., Any]) -> Callable[..., Any]:
    async def made(*replies: dict[str, Any], more: str = "", **shop: Any) -> tuple[Stage, Shop]:
        it = Shop(**shop)
        return await stage({"models": {"gpt-5": [*replies, TEXT]}}, it.settings(more)), it

    return made


async def test_a_tool_of_another_worker_gets_its_arguments_and_its_result_goes_to_the_model(shop):
    act, it = await shop(calls('{"order": 7}', '{"order": 8}'))
    async with open_shop(act, it):
        run = await act.start(AGENT)
        assert (await run.result())["status"] == "completed"
    assert sorted(order["order"] for order in it.asked) == [7, 8]
    assert told(act).count('{"refunded":true}') == 2
    (batch,) = await records(run, "tools")
    assert [call["status"] for call in batch["calls"]] == ["ok", "ok"]


async def test_arguments_that_do_not_fit_are_told_to_the_model_and_no_call_is_made(shop):
    act, it = await shop(calls('{"order": "seven"}'))
    async with open_shop(act, it):
        run = await act.start(AGENT)
        await run.result()
    assert it.asked == []
    assert "arguments of refund: order" in told(act)
    (batch,) = await records(run, "tools")
    assert batch["calls"][0]["status"] == "error"


async def test_a_failure_of_the_tool_is_told_to_the_model_in_its_own_words(shop):
    act, it = await shop(calls('{"order": 7}'), answers=[ApplicationError("no such order", type="Missing")])
    async with open_shop(act, it):
        await (await act.start(AGENT)).result()
    assert len(it.asked) == 1
    assert "Missing: no such order" in told(act)


@pytest.mark.full
async def test_a_call_whose_worker_hangs_is_never_made_again_without_a_persons_word(shop):
    act, it = await shop(calls('{"order": 7}'), more="timeout_s = 1", answers=["hang", {"refunded": True}])
    async with open_shop(act, it):
        run = await act.start(AGENT)
        asked = await asked_for(run, "OutcomeUnknown")
        assert (asked["facts"]["tool"], len(it.asked)) == ("refund", 1)
        await answer(run, asked, "retry")
        assert (await run.result())["status"] == "completed"
    assert len(it.asked) == 2
    assert '{"refunded":true}' in told(act)


@pytest.mark.full
async def test_a_persons_word_takes_the_place_of_a_lost_call(shop):
    act, it = await shop(calls('{"order": 7}'), more="timeout_s = 1", answers=["hang"])
    async with open_shop(act, it):
        run = await act.start(AGENT)
        await answer(run, await asked_for(run, "OutcomeUnknown"), "reply", text="it went through, ref 4711")
        await run.result()
    assert len(it.asked) == 1
    assert "it went through, ref 4711" in told(act)


async def test_a_tool_that_may_run_twice_is_tried_again_by_itself(shop):
    act, it = await shop(calls('{"order": 7}'), more="timeout_s = 1\nidempotent = true", answers=["hang", "done"])
    async with open_shop(act, it):
        await (await act.start(AGENT)).result()
    assert len(it.asked) == 2
    assert "done" in told(act)


async def test_a_call_waits_for_approval_and_runs_with_what_a_person_made_of_it(shop):
    orders = (calls(f'{{"order": {number}}}') for number in (7, 8, 9))
    act, it = await shop(*orders, more='approval = "always"')
    async with open_shop(act, it):
        run = await act.start(AGENT)
        first = await asked_for(run, "ApprovalNeeded")
        assert it.asked == []
        await answer(run, first, "edit", text='{"order": 70}')
        second = await asked_for(run, "ApprovalNeeded", 2)
        await answer(run, second, "reject", text="customer is in dunning")
        await answer(run, await asked_for(run, "ApprovalNeeded", 3), "approve")
        await run.result()
    assert [order["order"] for order in it.asked] == [70, 9]
    assert "A person changed the arguments to" in told(act)
    assert "A person rejected this call: customer is in dunning" in told(act)
    statuses = [call["status"] for batch in await records(run, "tools") for call in batch["calls"]]
    assert statuses == ["ok", "rejected", "ok"]


async def test_only_the_arguments_that_the_operator_wants_to_see_need_approval(shop):
    act, it = await shop(calls('{"order": 7}'), calls('{"order": 4000}'), more='approval = { order = "^[0-9]{4}" }')
    async with open_shop(act, it):
        run = await act.start(AGENT)
        asked = await asked_for(run, "ApprovalNeeded")
        assert [order["order"] for order in it.asked] == [7]
        await answer(run, asked, "approve")
        await run.result()
    assert [order["order"] for order in it.asked] == [7, 4000]


async def test_the_models_question_waits_for_a_person_and_the_reply_is_its_result(shop):
    act, _ = await shop(calls('{"question": "Which order?", "options": ["7", "8"]}', name="ask_person"))
    run = await act.start(AGENT)
    asked = await asked_for(run, "Question")
    assert (asked["text"], asked["facts"]["options"]) == ("Which order?", ["7", "8"])
    await answer(run, asked, "reply", text="number 8")
    await run.result()
    assert "number 8" in told(act)


async def test_a_question_for_a_yes_or_no_offers_both(shop):
    act, _ = await shop(calls('{"question": "Delete it?", "confirm": true}', name="ask_person"))
    run = await act.start(AGENT)
    asked = await asked_for(run, "Question")
    assert asked["facts"]["options"] == ["yes", "no"]
    await answer(run, asked, "reply", text="no")
    await run.result()
    assert "A person says" in told(act)


async def test_a_question_that_cannot_be_put_goes_back_to_the_model(shop):
    act, _ = await shop(calls('{"query": "Which order?"}', name="ask_person"))
    run = await act.start(AGENT)
    assert (await run.result())["status"] == "completed"
    assert "arguments of ask_person" in told(act)


async def test_a_call_that_a_person_changed_and_that_was_lost_is_asked_about_as_it_was_made(shop):
    more = 'timeout_s = 1\napproval = "always"'
    act, it = await shop(calls('{"order": 7}'), more=more, answers=["hang"])
    async with open_shop(act, it):
        run = await act.start(AGENT)
        shown = await asked_for(run, "ApprovalNeeded")
        await answer(run, shown, "edit", text='{"order": 70}')
        lost = await asked_for(run, "OutcomeUnknown", 2)
        assert lost["facts"]["arguments"] == arguments_digest('{"order":70}') != shown["facts"]["arguments"]
        await answer(run, lost, "reply", text="done")
        await run.result()
    assert it.asked == [{"order": 70}]


async def test_a_number_that_no_other_worker_could_read_is_told_to_the_model(shop):
    act, it = await shop(calls('{"order": 1e400}'))
    async with open_shop(act, it):
        await (await act.start(AGENT)).result()
    assert it.asked == []
    assert "a number beyond all bounds" in told(act)
