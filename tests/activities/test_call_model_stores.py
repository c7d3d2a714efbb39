"""A store in trouble costs a call neither its attempt nor its answer."""

import asyncio
from itertools import count
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from activities import keeping
from simulator import Error, Text
from store import StoreTroubled
from tests.activities.model_bench import Bench, bench

ANSWER = Text(text="Paris.")


class TroubledStore:
    """The real store, save that the named operations fail so often, before or (`late`) after they were done."""

    def __init__(self, b: Bench, *, late: bool = False, **failing: int) -> None:
        self._store = b.store
        self._failing = failing
        self._late = late
        self.troubled = asyncio.Event()
        b.caller._store = self

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._store, name)

        async def perhaps(*given: Any) -> Any:
            if not self._failing.get(name):
                return await operation(*given)
            self._failing[name] -= 1
            if self._late:
                await operation(*given)
            self.troubled.set()
            raise StoreTroubled("connection refused")

        return perhaps


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    monkeypatch.setattr(keeping, "PAUSE_S", 0.001)
    monkeypatch.setattr(keeping, "CANCELLED_S", 0.1)


@pytest.mark.parametrize("operation", ["read", "find"])
async def test_a_store_in_trouble_before_a_call_sends_nothing_and_says_that_nothing_can_be_owed(tmp_path, operation):
    async with bench(tmp_path, "openai-chat", ANSWER) as b:
        TroubledStore(b, **{operation: 1})
        with pytest.raises(StoreTroubled):
            await b.ask()
        assert not b.sim.requests
        assert (await b.trip("1.1.2")).outcome.outcome == "answered"


async def test_an_answer_is_stored_once_the_store_works_again_with_no_second_request(tmp_path):
    async with bench(tmp_path, "openai-chat", ANSWER) as b:
        TroubledStore(b, append=5)
        reply = await b.ask()
        assert (reply.trip.outcome.outcome, reply.trip.outcome.recovered) == ("answered", "")
        assert len(await b.store.read(reply.conversation)) == 2
        assert len(b.sim.requests) == 1


async def test_an_answer_stored_without_a_word_of_it_is_this_attempts_own(tmp_path):
    async with bench(tmp_path, "openai-chat", ANSWER) as b:
        TroubledStore(b, append=2, late=True)
        reply = await b.ask()
        assert (reply.trip.outcome.outcome, reply.trip.outcome.recovered) == ("answered", "")
        assert len(await b.store.read(reply.conversation)) == 2
        assert await b.store.unused_answers("run-1") == []


async def test_an_answer_that_could_not_be_stored_in_the_attempts_time_is_told_with_what_it_may_cost(tmp_path):
    async with bench(tmp_path, "openai-chat", ANSWER) as b:
        TroubledStore(b, append=1_000)
        seconds = count()
        b.caller._clock = lambda: next(seconds) / 4
        with pytest.raises(ApplicationError) as lost:
            await b.ask(deadline_s=30)
        assert lost.value.type == "StoreTroubled"
        (told,) = lost.value.details
        assert told["phase"] == "streaming"
        assert told["bound"][1] == 1_000


async def test_a_call_cancelled_while_its_answer_cannot_be_stored_ends_as_cancelled(tmp_path):
    async with bench(tmp_path, "openai-chat", ANSWER) as b:
        store = TroubledStore(b, append=1_000_000)
        call = b.start()
        await store.troubled.wait()
        b.env.cancel()
        failure = (await call).trip.outcome.failure
        assert (failure.kind.value, failure.outcome_unknown) == ("cancelled", True)


async def test_a_failure_is_told_as_it_was_where_its_words_cannot_be_kept(tmp_path):
    async with bench(tmp_path, "openai-chat", Error(error="auth")) as b:
        TroubledStore(b, put_detail=1)
        failure = (await b.trip()).outcome.failure
        assert failure.kind.value == "auth"
        assert await b.store.get_details("run-1") == {}
