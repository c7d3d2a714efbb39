"""The exact request is kept where it was asked for and allowed, and never at the price of an answer."""

import asyncio
import hashlib
import json
import sqlite3

import pytest

from activities.call_model import CallModel
from activities.declared import Capture, Declared
from activities.spec import InvalidSpec, check_agent
from ledger.agent import AgentSpec
from ledger.conversation import digest
from simulator import Cut, Error, Text
from tests.activities.model_bench import APIS, KEY, PROMPT, TOOLS, bench

every_api = pytest.mark.parametrize("api", APIS)
AGENT = {"models": ["sim:m"], "policy": {"capture": True}}


@every_api
async def test_what_is_kept_is_byte_for_byte_what_the_provider_received(tmp_path, api):
    async with bench(tmp_path, api, Text(text="Paris.")) as b:
        reply = await b.ask(agent_ref=await b.agent(AGENT))
        received, body = b.sim.requests[0], await b.store.captured_body("run-1", "1.1.1")
        assert body == received.raw
        assert hashlib.sha256(body).hexdigest() == received.body_sha256
        assert PROMPT in json.dumps(json.loads(body))
        assert KEY.encode() not in body
        captured = reply.trip.sent.captured
        assert (captured.bytes, captured.digest) == (len(body), digest(body))
        assert captured.context == b.conversation.head


async def test_without_being_asked_nothing_is_kept(tmp_path):
    async with bench(tmp_path, "openai-chat", Text(text="Paris.")) as b:
        trip = await b.trip()
        assert trip.sent.captured is None
        assert await b.store.captured("run-1") == []


async def test_where_the_operator_forbids_it_nothing_is_kept_even_of_a_run_that_began_before(tmp_path):
    async with bench(tmp_path, "openai-chat", Text(text="Paris.")) as b:
        b.caller = CallModel(b.store, b.caller._providers, TOOLS, capture=False)
        await b.caller.warm()
        trip = await b.trip(agent_ref=await b.agent(AGENT))
        await b.caller.close()
        assert trip.outcome.outcome == "answered"
        assert trip.sent.captured is None
        assert await b.store.captured("run-1") == []


def test_an_agent_that_asks_for_what_the_operator_forbids_is_refused_in_one_line():
    agent = AgentSpec.model_validate(AGENT | {"models": ["openai:gpt-5"]})
    with pytest.raises(InvalidSpec) as refused:
        check_agent(agent, Declared(capture=Capture(allowed=False)), {})
    assert str(refused.value).startswith("agent: policy.capture: the operator does not allow requests to be captured; ")


@pytest.mark.parametrize(
    "reply", [Error(error="server_error"), Cut(after_events=1)], ids=["refused", "cut in the middle"]
)
async def test_a_request_that_failed_is_kept_too(tmp_path, reply):
    async with bench(tmp_path, "openai-chat", reply) as b:
        trip = await b.trip(agent_ref=await b.agent(AGENT))
        assert trip.outcome.outcome == "refused"
        assert trip.sent.captured.bytes == b.sim.requests[0].body_size


async def test_a_request_that_was_cancelled_is_kept_too(tmp_path):
    async with bench(tmp_path, "openai-chat", Cut(after_events=4, ending="stall")) as b:
        call = b.start(agent_ref=await b.agent(AGENT))
        await b.sim.received(1)
        await b.beat("streaming")
        b.env.cancel()
        trip = (await call).trip
        assert trip.outcome.failure.kind.value == "cancelled"
        assert await b.store.captured_body("run-1", "1.1.1") == b.sim.requests[0].raw


async def test_an_answer_that_was_found_in_the_store_sent_nothing_and_keeps_nothing(tmp_path):
    async with bench(tmp_path, "openai-chat", Text(text="Paris.")) as b:
        agent_ref = await b.agent(AGENT)
        await b.ask("1.1.1", agent_ref=agent_ref)
        again = await b.trip("1.1.2", agent_ref=agent_ref)
        assert again.sent is None
        assert [one.attempt for one in await b.store.captured("run-1")] == ["1.1.1"]


async def test_a_body_that_cannot_be_kept_costs_no_answer(tmp_path):
    async with bench(tmp_path, "openai-chat", Text(text="Paris.")) as b:
        agent_ref = await b.agent(AGENT)
        with sqlite3.connect(tmp_path / "store.db") as database:
            database.execute("DROP TABLE captures")
        reply = await b.ask(agent_ref=agent_ref)
        assert reply.trip.outcome.outcome == "answered"
        assert reply.trip.sent.captured is None
        assert len(await b.store.read(reply.conversation)) == 2


class SlowStore:
    """Keeps requests only when told to."""

    def __init__(self, store) -> None:
        self._store = store
        self.keeping, self.go_on = asyncio.Event(), asyncio.Event()

    async def keep_request(self, *args) -> None:
        self.keeping.set()
        await self.go_on.wait()
        await self._store.keep_request(*args)


async def test_a_cancel_while_the_body_is_kept_keeps_the_answer(tmp_path):
    async with bench(tmp_path, "openai-chat", Text(text="Paris.")) as b:
        store = SlowStore(b.store)
        b.caller._capturer._store = store
        call = b.start(agent_ref=await b.agent(AGENT))
        await store.keeping.wait()
        b.env.cancel()
        store.go_on.set()
        trip = (await call).trip
        assert trip.outcome.outcome == "answered"
        assert trip.sent.captured is not None


async def test_a_store_that_does_not_answer_holds_up_no_answer(tmp_path, monkeypatch):
    monkeypatch.setattr("activities.capturing.KEEP_S", 0.01)
    async with bench(tmp_path, "openai-chat", Text(text="Paris.")) as b:
        b.caller._capturer._store = SlowStore(b.store)
        trip = await b.trip(agent_ref=await b.agent(AGENT))
        assert trip.outcome.outcome == "answered"
        assert trip.sent.captured is None
