"""The page on which people answer: what it shows, whom it lets in, and what an answer does to the run."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from urllib.parse import urlencode
from uuid import uuid4

import httpx2
import pytest
from temporalio.service import RPCError, RPCStatusCode

from inbox import pages
from inbox.forms import MAX_FORM
from inbox.reasons import LastFailure
from inbox.rounds import failed_gate
from inbox.serving import PortTaken, serving
from inbox.waiting import Waiting, waiting
from ledger.conversation import Conversation
from ledger.failures import FailureKind
from ledger.interventions import BudgetSpent, Open, Question
from ledger.journal import read_journal
from ledger.outcomes import Passed
from store import ContentMissing, StoreTroubled
from tests.faults.conftest import eventually
from tests.inbox.conftest import Forms, ListedWorld, Stage, end
from tests.workflows.scripted import answered, failing, plan, refused
from workflows.messages import ChildStatus, Status
from workflows.showing import asked_of

MARKER = "<script>alert('x')</script>\"&'<b>"


CYCLE = [failing(letter) for letter in "ABABAB"]


def stuck() -> ListedWorld:
    """A run that asks BudgetSpent after six rounds, and passes in the seventh."""
    return ListedWorld(plan=plan(gates=("tests",)), verdicts=[*CYCLE, Passed()])


def unlucky() -> ListedWorld:
    """A run whose models all reject the key once, and then answer."""
    keyless = [refused(FailureKind.AUTH), refused(FailureKind.AUTH)]
    return ListedWorld(plan=plan(), replies=[*keyless, answered()])


async def journaled(run, kind):
    page = await run.query("journal", {"after": 0})
    return [record for record in page["records"] if record["type"] == kind]


# ---- what it shows


async def test_a_run_that_needs_a_person_is_listed_with_its_question_and_a_form_for_each_answer(stage: Stage):
    await stage.work(stuck())
    run = await stage.start()
    page = await stage.listed(run.id)
    assert "budget spent: gate tests was charged 4 times of 3" in page
    assert "agent scripted, stage s0" in page
    forms = [form["answer"] for form in Forms(page).found if form["run"] == run.id]
    assert forms == ["retry", "guide", "failover", "accept", "stop"]
    assert Forms(page).methods == {"post"}


async def test_a_runs_own_page_tells_why_each_model_failed_last_and_the_list_does_not(stage: Stage):
    await stage.work(ListedWorld(replies=[refused(FailureKind.AUTH), refused(FailureKind.AUTH, rule="status.path")]))
    run = await stage.start()
    page = (await stage.browser.get("/run", params={"id": run.id})).text
    first, second = (line.partition("</li>")[0] for line in page.split("<li>")[1:])
    assert first.startswith("openai:first failed last with auth: its key was not accepted: look at the variable")
    assert second.startswith("anthropic:second failed last with auth (status.path): it knows no such path: look at")
    assert "<li>" not in await stage.listed(run.id)


def test_why_a_model_failed_is_text_whatever_its_name_says():
    failure = LastFailure(target=f"p:{MARKER}", kind="\u202enetwork", rule="<i>", why="")
    asked = asked_of(Open(id="int-1", intervention=Question(text="?"), at=0))
    status = Status(status="needs_human", agent="a", stage="s", turn=1, conversation=Conversation(id="c"))
    page = pages.single(Waiting(run="r", status=status, asked=asked, failures=(failure,)), "word", "nonce")
    assert page.count("<li>") == 1
    assert not {"script", "i"} & Forms(page).tags
    assert "\u202e" not in page


async def test_a_runs_own_page_tells_of_each_round_of_its_gate_and_the_end_of_what_it_printed(stage: Stage):
    ref = await stage.store.put(f"begin{'.' * 5_000}\u202e{MARKER} 1 failed in 0.1s")
    failures = [failing(letter).model_copy(update={"output": ref}) for letter in "ABABAB"]
    await stage.work(ListedWorld(plan=plan(gates=("tests",)), verdicts=failures))
    run = await stage.start()
    page = (await stage.browser.get("/run", params={"id": run.id})).text
    assert page.count("<td>failing</td>") == 6
    assert "<td>charged (4)</td><td>BudgetSpent</td>" in page
    printed = page.partition("What it printed when it failed last, without the ")[2].partition("</pre>")[0]
    assert printed.endswith("1 failed in 0.1s")
    assert "begin" not in printed
    assert len(printed) < 4_400
    assert "<script" not in page
    assert "\u202e" not in page
    assert f"`endstop output {run.id} tests` has it whole" in page
    assert "<td>failing</td>" not in await stage.listed(run.id)


@pytest.mark.parametrize(
    ("why", "told"),
    [
        (ContentMissing("0" * 24, "is not in the store"), "it is not in the store: it was removed"),
        (StoreTroubled("it is locked"), "the store does not work now: it is locked"),
    ],
    ids=["removed", "away"],
)
async def test_what_a_gate_printed_and_the_store_does_not_give_is_said_to_be_missing(why: Exception, told: str):
    spent = asked_of(Open(id="int-1", intervention=BudgetSpent(gate="tests", charged=4, budget=3), at=0))
    record = {"type": "gate", "seq": 1, "at": 0, "gate": "tests", "report": 1, "round": 1, "verdict": "failing"}
    entries, _ = read_journal([{**record, "output": "0" * 24, "decided": "BudgetSpent"}])
    gate = await failed_gate(Without(why), spent, entries)
    status = Status(status="needs_human", agent="a", stage="s", turn=1, conversation=Conversation(id="c"))
    page = pages.single(Waiting(run="r", status=status, asked=spent, gate=gate), "word", "nonce")
    assert f"What it printed cannot be shown: {told}" in page
    assert "stop" in {form["answer"] for form in Forms(page).found}
    assert "printed when it failed last" not in page


async def test_a_run_that_was_answered_leaves_the_list(stage: Stage):
    await stage.work(unlucky())
    run = await stage.start()
    await stage.listed(run.id)
    await run.execute_update("answer", "retry")
    await run.result()
    assert run.id not in (await stage.browser.get("/")).text


class Without:
    """A store that does not give what it is asked for."""

    def __init__(self, why: Exception) -> None:
        self._why = why

    async def get(self, _ref: str) -> bytes:
        raise self._why


class Listing:
    """A Temporal that lists two runs."""

    async def list_workflows(self, _query: str, limit: int) -> AsyncIterator[SimpleNamespace]:
        for run in ("odd", "other")[:limit]:
            yield SimpleNamespace(id=run)


@pytest.mark.parametrize(
    ("status", "shown"),
    [(RPCStatusCode.NOT_FOUND, ["other"]), (RPCStatusCode.RESOURCE_EXHAUSTED, ["odd", "other"])],
    ids=["deleted meanwhile", "the server is busy"],
)
async def test_one_run_that_cannot_be_looked_at_hides_no_other_of_the_list(
    monkeypatch: pytest.MonkeyPatch, status: RPCStatusCode, shown: list[str]
):
    async def looked(_client: object, _store: object, run: str, **_: object) -> Waiting:
        if run == "odd":
            raise RPCError("no", status, b"")
        return Waiting(run=run)

    monkeypatch.setattr("inbox.waiting.look", looked)
    assert [one.run for one in await waiting(Listing(), None)] == shown


def test_what_a_later_release_tells_of_a_run_besides_is_passed_over():
    told = {"status": "running", "agent": "a", "stage": "s", "turn": 1, "conversation": "c/0/", "later": 1}
    child = {"id": "c1", "later": 1}
    assert Status.model_validate({**told, "children": [child]}).children == (ChildStatus(id="c1"),)


async def test_a_run_without_a_worker_says_so_and_offers_no_form(stage: Stage):
    given = {"agent": {"models": ["openai:first"]}, "task": "do it"}
    run = await stage.client.start_workflow("AgentWorkflow", given, id=f"run-{uuid4()}", task_queue=stage.queue)
    stage.closing.push_async_callback(end, run)
    page = (await stage.browser.get("/run", params={"id": run.id})).text
    assert "No worker answers for this run" in page
    assert Forms(page).found == []


async def test_a_run_that_nobody_knows_is_not_found(stage: Stage):
    page = await stage.browser.get("/run", params={"id": "nobody"})
    assert page.status_code == 404
    assert "not_found" in page.text


async def test_what_a_model_an_agent_or_a_caller_named_is_never_markup(stage: Stage):
    world = stuck()
    world.plan = world.plan.model_copy(update={"agent": MARKER})
    await stage.work(world)
    run = await stage.start(f"{MARKER} {uuid4()}")
    for page in (
        await stage.listed(run.id.rsplit(" ", 1)[1]),
        (await stage.browser.get("/run", params={"id": run.id})).text,
        (await stage.post({**(await stage.forms(run.id))["failover"]}, value=MARKER)).text,
        (await stage.browser.get("/run", params={"id": MARKER})).text,
    ):
        assert {"script", "b"} & Forms(page).tags <= {"b"}
        assert "<script" not in page
        assert "<b>&" not in page
    assert await run.query("intervention")


def test_a_question_shows_the_models_words_as_text_and_its_options_to_choose_from():
    asked = asked_of(Open(id="int-1", intervention=Question(text=f"{MARKER}\u202e", options=("yes", MARKER)), at=0))
    status = Status(status="needs_human", agent="a", stage="s", turn=1, conversation=Conversation(id="c"))
    page = pages.single(Waiting(run="r", status=status, asked=asked), "word", "nonce")
    assert "<script" not in page
    assert "\u202e" not in page
    assert Forms(page).buttons == ["yes", MARKER]
    assert [form["answer"] for form in Forms(page).found] == ["reply", "reply", "stop"]


def test_the_page_of_a_run_links_to_its_sub_runs_that_wait():
    children = (ChildStatus(id="sup/1.0", intervention="Question"), ChildStatus(id="sup/1.1"))
    conversation = Conversation(id="c")
    status = Status(status="running", agent="a", stage="s", turn=1, children=children, conversation=conversation)
    page = pages.single(Waiting(run="sup", status=status), "word", "nonce")
    assert 'Its sub-run <a href="/run?id=sup%2F1.0">sup/1.0</a> asks a person: Question' in page
    assert "sup/1.1" not in page


# ---- what an answer does


async def test_an_answer_goes_to_the_run_with_name_and_door_and_its_text_to_the_store_only(stage: Stage):
    world = stuck()
    await stage.work(world)
    run = await stage.start()
    forms = await stage.forms(run.id)
    told = await stage.post(forms["guide"], value="zebra: round half\r\nto even")
    assert told.status_code == 200
    assert "Your answer was taken: guide." in told.text
    assert (await run.result())["status"] == "completed"
    (answer,) = await journaled(run, "answer")
    assert (answer["answer"], answer["by"], answer["door"], answer.get("unbound", False)) == (
        "guide",
        "ada",
        "inbox",
        False,
    )
    assert await stage.store.get(world.notes[-1]["ref"]) == b"zebra: round half\nto even"
    assert "zebra" not in (await run.fetch_history()).to_json()


@pytest.mark.parametrize(("answer", "value"), [("retry", ""), ("failover", ""), ("failover", "anthropic:second")])
async def test_a_button_does_what_it_says(stage: Stage, answer: str, value: str):
    await stage.work(unlucky())
    run = await stage.start()
    told = await stage.post((await stage.forms(run.id))[answer], value=value)
    assert told.status_code == 200, told.text
    assert (await run.result())["status"] == "completed"


async def test_a_limit_is_raised_by_the_typed_amount(stage: Stage):
    world = ListedWorld(plan=plan(turns=1), replies=[answered("look"), answered()])
    await stage.work(world)
    run = await stage.start()
    form = (await stage.forms(run.id))["raise"]
    assert (await stage.post(form, value="many")).status_code == 422
    assert (await stage.post(form, value="-1")).status_code == 422
    assert (await stage.post(form, value="5")).status_code == 200
    assert (await run.result())["status"] == "completed"
    assert (await journaled(run, "answer"))[0]["amount"] == 5


async def test_a_stop_tells_its_reason(stage: Stage):
    await stage.work(stuck())
    run = await stage.start()
    await stage.post((await stage.forms(run.id))["stop"], value="enough")
    result = await run.result()
    assert (result["status"], result["by"], result["why"]) == ("stopped", "ada", "enough")


async def test_an_answer_to_a_question_that_is_no_longer_open_is_refused_and_said_to_change_nothing(stage: Stage):
    await stage.work(ListedWorld(plan=plan(gates=("tests",)), verdicts=[*CYCLE, failing("A")]))
    run = await stage.start()
    old = await stage.forms(run.id)
    await stage.post(old["retry"])

    async def another() -> dict | None:
        asked = await run.query("intervention")
        return asked if asked and asked["id"] != old["retry"]["intervention"] else None

    now = await eventually(another)
    told = await stage.post(old["accept"])
    assert told.status_code == 409
    assert "Refused, and nothing changed: stale" in told.text
    assert now["digest"] in told.text
    assert await run.query("intervention") == now
    assert [record["answer"] for record in await journaled(run, "answer")] == ["retry"]


async def test_an_answer_does_not_reach_a_later_run_of_the_same_id(stage: Stage):
    await stage.work(ListedWorld(plan=plan(gates=("tests",)), verdicts=[*CYCLE, *CYCLE, Passed()]))
    first = await stage.start()
    old = (await stage.forms(first.id))["accept"]
    await first.terminate()
    second = await stage.start(first.id)
    now = await second.query("intervention")
    assert (now["id"], now["digest"]) == (old["intervention"], old["digest"])
    told = await stage.post(old)
    assert told.status_code == 404
    assert await second.query("intervention") == now


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        pytest.param({"by": " "}, "say who you are", id="nobody's word"),
        pytest.param({"by": "x" * 201}, "200", id="a name that is too long"),
        pytest.param({"answer": "obey"}, "answers are retry, guide", id="an unknown answer"),
        pytest.param({"answer": "guide", "value": " \n"}, "guide needs a value", id="guidance without words"),
        pytest.param({"answer": "raise", "value": "5"}, "not raise", id="an answer to something else"),
        pytest.param({"answer": "failover", "value": "nowhere"}, "provider:model", id="a model without a provider"),
        pytest.param(
            {"answer": "failover", "value": "openai:other"},
            "is not a model of this stage",
            id="a model it does not have",
        ),
        pytest.param(
            {"intervention": "", "digest": "", "answer": "guide", "value": "x"}, "lacks intervention", id="unbound"
        ),
    ],
)
async def test_what_cannot_be_used_is_refused_in_one_sentence_and_changes_nothing(
    stage: Stage, changed: dict[str, str], told: str
):
    await stage.work(stuck())
    run = await stage.start()
    now = await run.query("intervention")
    page = await stage.post((await stage.forms(run.id))["retry"], **changed)
    assert page.status_code in (409, 422)
    assert told in page.text
    assert await run.query("intervention") == now


# ---- whom it lets in


async def test_without_the_token_nothing_is_shown_and_nothing_is_taken(stage: Stage, stranger: httpx2.AsyncClient):
    await stage.work(stuck())
    run = await stage.start()
    form = (await stage.forms(run.id))["accept"]
    answers = [
        await stranger.get("/"),
        await stranger.get("/?token=wrong"),
        await stranger.get("/?token="),
        await stranger.get("/run", params={"id": run.id}),
        await stranger.get("/nowhere"),
        await stranger.post("/answer", data={**form, "by": "eve"}),
        await stranger.get("/", headers={"Cookie": f"{next(iter(stage.browser.cookies))}=wrong"}),
    ]
    assert {answer.status_code for answer in answers} == {403}
    assert not any(run.id in answer.text or "BudgetSpent" in answer.text for answer in answers)
    assert stranger.cookies == {}
    assert (await run.query("intervention"))["id"] == form["intervention"]


async def test_the_token_is_traded_for_a_cookie_that_scripts_and_other_sites_cannot_use(
    stage: Stage, stranger: httpx2.AsyncClient
):
    first = await stranger.get(stage.address)
    token = stage.address.split("token=")[1]
    assert len(token) >= 32
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert token not in cookie + first.text
    assert (await stranger.get("/")).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1.evil.example", ""])
async def test_a_name_that_was_made_to_point_here_is_turned_away(stage: Stage, host: str):
    for page in (
        await stage.browser.get("/", headers={"Host": host}),
        await stage.browser.get(stage.address, headers={"Host": host}),
    ):
        assert page.status_code == 400
        assert "set-cookie" not in page.headers


async def test_localhost_with_its_port_is_as_good_as_the_number(stage: Stage):
    host = f"localhost:{stage.browser.base_url.port}"
    assert (await stage.browser.get("/", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize("word", [None, "", "wrong"])
async def test_a_form_that_another_page_made_is_refused(stage: Stage, word: str | None):
    await stage.work(stuck())
    run = await stage.start()
    form = (await stage.forms(run.id))["accept"]
    form.pop("form_word")
    if word is not None:
        form["form_word"] = word
    now = await run.query("intervention")
    page = await stage.post(form)
    assert page.status_code == 403
    assert "was not made by this inbox" in page.text
    assert await run.query("intervention") == now


async def test_looking_never_answers(stage: Stage):
    await stage.work(stuck())
    run = await stage.start()
    now = await run.query("intervention")
    form = {**(await stage.forms(run.id))["accept"], "by": "ada"}
    asked = [
        await stage.browser.get("/answer", params=form),
        await stage.browser.head("/answer", params=form),
        await stage.browser.put("/answer", data=form),
        await stage.browser.post("/answer", params=form),
        await stage.browser.get("/run", params={**form, "id": run.id}),
        await stage.browser.post("/run", data=form),
    ]
    assert [page.status_code for page in asked] == [405, 405, 405, 403, 200, 405]
    assert await run.query("intervention") == now


async def test_a_form_larger_than_any_word_is_not_read_to_its_end(stage: Stage):
    page = await stage.browser.post("/answer", content=b"value=" + b"x" * MAX_FORM)
    assert page.status_code == 413
    broken = await stage.browser.post("/answer", content=b"\xff&;=")
    assert broken.status_code == 422
    many = await stage.browser.post("/answer", content=urlencode([("a", 1)] * 1000))
    assert many.status_code == 422


async def test_every_page_forbids_scripts_frames_and_caches_also_where_it_refuses(
    stage: Stage, stranger: httpx2.AsyncClient
):
    for page in (
        await stage.browser.get("/"),
        await stage.browser.get("/nowhere"),
        await stranger.get("/"),
        await stranger.get(stage.address),
        await stage.browser.get("/", headers={"Host": "evil"}),
    ):
        policy = page.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'nonce-")
        nonce = policy.split("nonce-")[1].split("'")[0]
        assert f'<style nonce="{nonce}">' in page.text
        assert "frame-ancestors 'none'" in policy
        assert "form-action 'self'" in policy
        assert page.headers["cache-control"] == "no-store"
        assert page.headers["referrer-policy"] == "no-referrer"
        assert "server" not in page.headers
    again = await stage.browser.get("/")
    assert nonce not in again.text


async def test_two_starts_share_no_secret(stage: Stage):
    async with serving(stage.client, stage.store, port=0) as address:
        assert address.split("token=")[1] != stage.address.split("token=")[1]
        page = await stage.browser.get(address.split("?")[0])
        assert page.status_code == 403


async def test_a_port_in_use_is_said_to_be_so(stage: Stage):
    with pytest.raises(PortTaken, match="choose another --port"):
        async with serving(stage.client, stage.store, port=stage.browser.base_url.port):
            pass
