"""A trip that waits, or that somebody stops: what is sent and recorded, and that the socket is closed."""

import asyncio
from itertools import chain, repeat

import pytest
from temporalio.activity import ActivityCancellationDetails
from temporalio.exceptions import ApplicationError

from activities.call_model import CallModel
from simulator import Cut, Hang, Text
from tests.activities.model_bench import APIS, TOOLS, bench

every_api = pytest.mark.parametrize("api", APIS)


@every_api
async def test_cancelling_closes_the_socket_and_is_recorded_as_possibly_paid(tmp_path, api):
    async with bench(tmp_path, api, Cut(after_events=4, ending="stall")) as b:
        call = b.start()
        await b.sim.received(1)
        await b.beat("streaming")
        b.env.cancel()
        reply = await call
        assert (await b.sim.finished(1)).outcome == "client_closed"
        failure = reply.trip.outcome.failure
        assert (failure.kind.value, failure.outcome_unknown) == ("cancelled", True)
        assert reply.conversation == b.conversation


async def test_cancelling_a_riding_wait_sends_nothing(tmp_path):
    async with bench(tmp_path, "openai-chat", Text(text="Paris.")) as b:
        call = b.start(wait_s=60)
        await b.beat("waiting")
        b.env.cancel()
        trip = (await call).trip
        assert (trip.outcome.failure.kind.value, trip.outcome.failure.outcome_unknown) == ("cancelled", False)
        assert trip.sent is None
        assert not b.sim.requests


async def test_a_riding_wait_is_not_part_of_the_duration(tmp_path):
    async with bench(tmp_path, "openai-chat", Text(text="Paris.")) as b:
        seconds = chain((10.0, 13.5), repeat(15.0))  # came, waited, answered
        b.caller = CallModel(b.store, b.caller._providers, TOOLS, clock=lambda: next(seconds))
        await b.caller.warm()
        trip = await b.trip(wait_s=0.001)
        await b.caller.close()
        assert (trip.waited_ms, trip.duration_ms) == (3_500, 1_500)


async def test_a_cancel_while_the_answer_is_stored_keeps_the_answer(tmp_path):
    async with bench(tmp_path, "openai-chat", Text(text="Paris.")) as b:
        store = SlowStore(b.store)
        b.caller._store = store
        call = b.start()
        await store.storing.wait()
        b.env.cancel()
        store.go_on.set()
        assert (await call).trip.outcome.outcome == "answered"


@every_api
async def test_a_shutdown_that_the_call_does_not_outlast_is_told_to_temporal_by_type(tmp_path, api):
    async with bench(tmp_path, api, Hang()) as b:
        call = b.start()
        await b.sim.received(1)
        b.env.worker_shutdown()
        b.env.cancel(ActivityCancellationDetails(worker_shutdown=True))
        with pytest.raises(ApplicationError) as refused:
            await call
        assert refused.value.type == "WorkerShutdown"
        assert (await b.sim.finished(1)).outcome == "client_closed"


async def test_a_call_that_fits_into_the_grace_of_a_shutdown_is_answered(tmp_path):
    async with bench(tmp_path, "openai-chat", Text(text="Paris.", held_until="shutdown")) as b:
        call = b.start()
        await b.sim.received(1)
        b.env.worker_shutdown()
        b.sim.release("shutdown")
        assert (await call).trip.outcome.outcome == "answered"


async def test_an_attempt_that_temporal_gave_up_closes_its_socket(tmp_path):
    async with bench(tmp_path, "openai-chat", Hang()) as b:
        call = b.start()
        await b.sim.received(1)
        b.env.cancel(ActivityCancellationDetails(timed_out=True))
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await b.sim.finished(1)).outcome == "client_closed"


async def test_heartbeats_tell_the_phase_and_numbers_and_nothing_else(tmp_path):
    stalls = Cut(after_events=4, ending="stall", held_until="told")
    async with bench(tmp_path, "openai-chat", stalls) as b:
        call = b.start(wait_s=0.01)
        await b.beat("waiting")
        await b.beat("sending")
        b.sim.release("told")
        await b.beat("streaming", at_least=1)
        b.env.cancel()
        await call
        phases = list(dict.fromkeys(beat["phase"] for beat in b.beats))
        assert phases == ["waiting", "sending", "streaming"]
        assert {frozenset(beat) for beat in b.beats} == {frozenset({"phase", "bytes", "bound"})}


class SlowStore:
    """The real store, save that storing an answer waits for the test's word."""

    def __init__(self, store) -> None:
        self._store = store
        self.storing = asyncio.Event()
        self.go_on = asyncio.Event()

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def append(self, *given):
        self.storing.set()
        await self.go_on.wait()
        return await self._store.append(*given)
