"""Approvals and questions on the page: what a person sees of a call, and what comes of what they press.

Real server, worker process, simulated models, somebody else's worker, and the inbox over HTTP as a browser uses it.
"""

import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

import httpx2
import pytest
from temporalio.client import Client, WorkflowHandle

from inbox import pages
from inbox.asked_call import AskedCall
from inbox.serving import serving
from inbox.waiting import Waiting
from ledger.conversation import Conversation
from ledger.interventions import ApprovalNeeded, Open
from simulator.script import Script
from store import Store
from tests.billing import TOOLS, Billing
from tests.faults.conftest import Stage as Backstage
from tests.faults.conftest import eventually, staged
from tests.inbox.conftest import Forms, Stage, end
from workflows.messages import Status
from workflows.payloads import data_converter
from workflows.showing import asked_of

pytestmark = pytest.mark.timeout(300)

ARGUMENTS = {"order": "A-17 </textarea><script>alert(1)</script>\u202e", "amount": 40}
DONE = {"kind": "text", "text": "done"}


class Act(NamedTuple):
    """A worker process behind the page, the page with its browser, and who pays."""

    back: Backstage
    page: Stage
    billing: Billing

    async def begun(self, tool: str, *arguments: dict[str, Any]) -> WorkflowHandle:
        """A run whose model calls the tool so, one call an answer, and then is done; it asks by now."""
        calls = [{"kind": "tool_calls", "calls": [{"name": tool, "arguments": given}]} for given in arguments]
        self.back.simulator.use(Script.parse({"models": {"clerk": [*calls, DONE]}}))
        run = await self.back.start({"models": ["openai:clerk"], "tools": ["refund", "ask_person"]})
        self.page.closing.push_async_callback(end, run)
        await eventually(lambda: run.query("intervention"))
        return run

    async def shown(self, run: WorkflowHandle) -> str:
        page: str = (await self.page.browser.get("/run", params={"id": run.id})).text
        return page

    def told(self) -> str:
        """The last request that the model got."""
        return json.dumps(self.back.simulator.requests[-1].body)


@pytest.fixture(scope="module")
async def act(temporal_server: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Act]:
    folder = tmp_path_factory.mktemp("calls")
    client = await Client.connect(temporal_server, data_converter=data_converter)
    async with AsyncExitStack() as closing:
        back = await closing.enter_async_context(staged(client, temporal_server, folder, {}, TOOLS))
        billing = closing.enter_context(Billing(temporal_server))
        store = await Store.open(f"sqlite:///{folder / '.endstop' / 'store.db'}")
        closing.push_async_callback(store.close)
        address = await closing.enter_async_context(serving(client, store, port=0))
        base = re.sub(r"/\?token=.*", "", address)
        browser = await closing.enter_async_context(httpx2.AsyncClient(base_url=base, timeout=60))
        await browser.get(address)
        yield Act(back, Stage(client, store, address, browser, closing, back.queue), billing)


async def test_the_exact_arguments_are_shown_as_text_and_an_approval_lets_the_tool_run_with_them(act: Act) -> None:
    run = await act.begun("refund", ARGUMENTS)
    page = await act.shown(run)
    assert "\\u202e" in page
    assert "\u202e" not in page
    assert "script" not in Forms(page).tags
    forms = await act.page.forms(run.id)
    assert json.loads(forms["edit"]["value"]) == ARGUMENTS
    assert list(forms) == ["approve", "edit", "reject", "stop"]
    assert ARGUMENTS not in act.billing.refunds
    assert (await act.page.post(forms["approve"])).status_code == 200
    assert (await run.result())["status"] == "completed"
    assert act.billing.refunds.count(ARGUMENTS) == 1


async def test_what_a_person_makes_of_the_arguments_is_what_the_tool_gets(act: Act) -> None:
    run = await act.begun("refund", {"order": "B-1", "amount": 40})
    form = (await act.page.forms(run.id))["edit"]
    assert (await act.page.post(form, value=form["value"].replace("40", "12"))).status_code == 200
    await run.result()
    assert {"order": "B-1", "amount": 12} in act.billing.refunds
    assert "A person changed the arguments" in act.told()


async def test_arguments_that_the_tool_would_not_take_are_refused_and_change_nothing(act: Act) -> None:
    run = await act.begun("refund", {"order": "C-1", "amount": 40})
    now = await run.query("intervention")
    form = (await act.page.forms(run.id))["edit"]
    for value, why in (("[1]", "one JSON object"), ('{"a": }', "line 1, column 7"), (" ", "edit needs a value")):
        page = await act.page.post(form, value=value)
        assert page.status_code == 422
        assert why in page.text
    misfit = await act.page.post(form, value='{"order": "C-1", "amount": "12"}')
    assert misfit.status_code == 409
    assert "arguments of refund: amount: type is not met" in misfit.text
    assert await run.query("intervention") == now
    assert not [refund for refund in act.billing.refunds if refund.get("order") == "C-1"]


async def test_the_words_of_a_rejection_reach_the_model_and_the_call_is_not_made(act: Act) -> None:
    run = await act.begun("refund", {"order": "D-1", "amount": 40})
    assert (
        await act.page.post((await act.page.forms(run.id))["reject"], value="ask for the receipt")
    ).status_code == 200
    await run.result()
    assert "ask for the receipt" in act.told()
    assert not [refund for refund in act.billing.refunds if refund.get("order") == "D-1"]


async def test_a_question_is_answered_by_one_of_its_buttons(act: Act) -> None:
    run = await act.begun("ask_person", {"question": "Which one?", "options": ["the first", "the second"]})
    page = await act.shown(run)
    assert Forms(page).buttons == ["the first", "the second"]
    form = next(form for form in Forms(page).found if form["answer"] == "reply" and "value" not in form)
    assert (await act.page.post(form, value="the second")).status_code == 200
    await run.result()
    assert "the second" in act.told().rsplit("A person says", 1)[1]


async def test_a_form_of_one_call_approves_no_later_one(act: Act) -> None:
    run = await act.begun("refund", {"order": "E-1", "amount": 1}, {"order": "E-1", "amount": 4_000})
    old = (await act.page.forms(run.id))["approve"]
    await act.page.post(old)

    async def another() -> dict[str, Any] | None:
        asked = await run.query("intervention")
        return asked if asked and asked["id"] != old["intervention"] else None

    now = await eventually(another)
    told = await act.page.post(old)
    assert told.status_code == 409
    assert "Refused, and nothing changed: stale" in told.text
    assert await run.query("intervention") == now
    assert [refund["amount"] for refund in act.billing.refunds if refund.get("order") == "E-1"] == [1]


ASKED = asked_of(Open(id="int-1", intervention=ApprovalNeeded(tool="refund", arguments="d" * 16), at=0))
STATUS = Status(status="needs_human", agent="a", stage="s", turn=1, conversation=Conversation(id="c"))


def drawn(call: AskedCall) -> str:
    return pages.single(Waiting(run="r", status=STATUS, asked=ASKED, call=call), "word", "nonce")


def test_a_call_that_cannot_be_shown_has_no_button_that_lets_it_run() -> None:
    page = drawn(AskedCall(tool="refund", trouble="the arguments in the store are not <those>"))
    assert "are not &lt;those&gt;" in page
    assert [form["answer"] for form in Forms(page).found] == ["edit", "reject", "stop"]


def test_arguments_without_end_are_cut_and_not_offered_for_editing() -> None:
    page = drawn(AskedCall(tool="refund", arguments=json.dumps({"text": "x" * 100_000})))
    assert "endstop show r -o json" in page
    assert len(page) < 80_000
    assert next(form for form in Forms(page).found if form["answer"] == "edit")["value"] == ""
