"""Money in one trip: nothing is sent that could cost more than is allowed, and nothing that was sent is forgotten."""

import json

import pytest
from temporalio.activity import ActivityCancellationDetails
from temporalio.exceptions import ApplicationError

from activities.declared import Model
from ledger.outcomes import Held
from ledger.progress import Progress
from simulator import Cut, Error, ErrorInStream, Hang, Raw, Text, Usage
from tests.activities.model_bench import APIS, bench

every_api = pytest.mark.parametrize("api", APIS)
PRICES = Model(input_usd_per_mtok=1, output_usd_per_mtok=10)
USED = Usage(input_tokens=120, output_tokens=7)
PAID = (120 * 1 + 7 * 10) / 1e6
WHOLE_ANSWER = 1_000 * 10 / 1e6
"""What the bench's limit of 1,000 tokens an answer can cost."""
SHORT = {"deadline_s": 2}  # by then a machine under load has sent the request too


def priced(b) -> None:
    b.caller._models = {"sim:m": PRICES}


async def kept(b) -> int:
    """Messages and unused answers in the store, and what was noted for people."""
    return len(await b.store.read(b.conversation)) + len(await b.store.get_details("run-1"))


@every_api
async def test_a_call_that_could_cost_more_than_is_allowed_is_not_sent_and_leaves_no_trace(tmp_path, api):
    async with bench(tmp_path, api, Text(text="Paris.")) as b:
        priced(b)
        before = await kept(b)
        reply = await b.ask(allowance_usd=WHOLE_ANSWER)
        assert isinstance(reply.trip.outcome, Held)
        assert WHOLE_ANSWER < reply.trip.outcome.bound_usd < 2 * WHOLE_ANSWER
        assert (reply.conversation, reply.trip.usage, reply.trip.sent) == (b.conversation, None, None)
        assert await kept(b) == before
        assert not b.sim.requests


@every_api
async def test_a_call_that_fits_is_sent_and_costs_no_more_than_its_bound(tmp_path, api):
    async with bench(tmp_path, api, Text(text="Paris.", usage=USED)) as b:
        priced(b)
        bound = (await b.trip(allowance_usd=0.0)).outcome.bound_usd
        trip = await b.trip(allowance_usd=bound)
        assert trip.outcome.outcome == "answered"
        assert (trip.usage.cost_usd, trip.usage.estimated) == (pytest.approx(PAID), False)
        assert trip.usage.cost_usd <= bound


async def test_a_target_that_costs_nothing_is_called_with_nothing_left(tmp_path):
    async with bench(tmp_path, "openai-chat", Text(text="Paris.")) as b:
        b.caller._models = {"sim:m": Model(input_usd_per_mtok=0, output_usd_per_mtok=0)}
        trip = await b.trip(allowance_usd=0.0, unpriced=False)
        assert (trip.outcome.outcome, trip.usage.cost_usd) == ("answered", 0)


@pytest.mark.parametrize("unpriced", [True, False], ids=["allowed", "not allowed"])
async def test_a_target_of_unknown_price_is_called_only_where_that_is_allowed(tmp_path, unpriced):
    async with bench(tmp_path, "openai-chat", Text(text="Paris.", usage=USED)) as b:
        trip = await b.trip(allowance_usd=1.0, unpriced=unpriced)
        assert len(b.sim.requests) == unpriced
        if unpriced:
            assert trip.usage.cost_usd is None
        else:
            assert trip.outcome == Held(bound_usd=None)


async def test_an_answer_that_is_stored_already_is_found_whatever_is_left(tmp_path):
    async with bench(tmp_path, "openai-chat", Text(text="Paris.", usage=USED)) as b:
        priced(b)
        await b.ask("1.1.1")
        assert (await b.trip("1.1.2", allowance_usd=0.0)).outcome.recovered == "1.1.1"


@every_api
async def test_an_answer_that_failed_is_paid_where_the_provider_counted_it(tmp_path, api):
    """Cut by its token budget, and refused by policy: both were written and are billed."""
    replies = [Text(text="half", finish_reason=reason, usage=USED) for reason in ("length", "content_filter")]
    async with bench(tmp_path, api, *replies) as b:
        priced(b)
        for attempt in ("1.1.1", "1.1.2"):
            trip = await b.trip(attempt)
            assert trip.outcome.outcome == "refused"
            assert (trip.usage.cost_usd, trip.usage.estimated) == (pytest.approx(PAID), False)


async def test_a_request_that_was_turned_away_costs_nothing(tmp_path):
    async with bench(tmp_path, "openai-chat", Error(error="rate_limited"), Raw(status=503)) as b:
        priced(b)
        assert [(await b.trip(f"1.1.{n}")).usage for n in (1, 2)] == [None, None]


@every_api
async def test_an_outcome_that_nobody_knows_is_charged_the_most_it_can_be(tmp_path, api):
    async with bench(tmp_path, api, Hang()) as b:
        priced(b)
        bound = (await b.trip(allowance_usd=0.0)).outcome.bound_usd
        trip = await b.trip(**SHORT)
        assert trip.outcome.failure.outcome_unknown
        assert (trip.usage.cost_usd, trip.usage.estimated, trip.usage.output_tokens) == (bound, True, 1_000)


async def test_a_stream_that_broke_is_charged_the_input_that_was_told_and_a_whole_answer(tmp_path):
    """Anthropic counts the input at once and the answer at its end, which did not come."""
    async with bench(tmp_path, "anthropic-messages", Cut(after_events=4, answer=Text(text="cut", usage=USED))) as b:
        priced(b)
        used = (await b.trip()).usage
        assert (used.input_tokens, used.output_tokens, used.estimated) == (120, 1_000, True)
        assert used.cost_usd == pytest.approx(120 / 1e6 + WHOLE_ANSWER)


async def test_what_was_counted_before_a_known_failure_is_priced_as_it_was_told(tmp_path):
    refused = ErrorInStream(after_events=1, error="overloaded", answer=Text(text="cut", usage=USED))
    async with bench(tmp_path, "anthropic-messages", refused) as b:
        priced(b)
        trip = await b.trip()
        assert not trip.outcome.failure.outcome_unknown
        assert (trip.usage.input_tokens, trip.usage.estimated) == (120, False)
        assert trip.usage.cost_usd == (120 + 10 * trip.usage.output_tokens) / 1e6


async def test_an_unknown_outcome_at_an_unknown_price_is_estimated_in_tokens_only(tmp_path):
    async with bench(tmp_path, "openai-chat", Hang()) as b:
        used = (await b.trip(**SHORT)).usage
        assert (used.cost_usd, used.estimated, used.output_tokens) == (None, True, 1_000)


async def test_an_answer_whose_provider_counts_nothing_is_charged_the_most_it_can_be(tmp_path):
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    said = {**chunk, "choices": [{"index": 0, "delta": {"content": "Paris."}, "finish_reason": "stop"}]}
    body = f"data: {json.dumps(said)}\n\ndata: [DONE]\n\n"
    async with bench(tmp_path, "openai-chat", Raw(body=body, headers={"content-type": "text/event-stream"})) as b:
        priced(b)
        trip = await b.trip()
        assert trip.outcome.outcome == "answered"
        assert trip.usage.estimated
        assert trip.usage.cost_usd > WHOLE_ANSWER


@every_api
async def test_a_cancelled_call_is_charged_once_it_was_sent(tmp_path, api):
    async with bench(tmp_path, api, Hang()) as b:
        priced(b)
        call = b.start()
        await b.sim.received(1)
        b.env.cancel()
        used = (await call).trip.usage
        assert used.estimated
        assert used.cost_usd > WHOLE_ANSWER


async def test_a_call_that_is_cancelled_in_its_wait_costs_nothing(tmp_path):
    async with bench(tmp_path, "openai-chat", Text(text="Paris.")) as b:
        priced(b)
        call = b.start(wait_s=60)
        await b.beat("waiting")
        b.env.cancel()
        assert (await call).trip.usage is None


async def test_the_first_heartbeat_tells_what_the_call_may_cost_before_its_request_leaves(tmp_path):
    async with bench(tmp_path, "openai-chat", Hang()) as b:
        priced(b)
        call = b.start(wait_s=0.01)
        await b.sim.received(1)
        most = Progress.model_validate(b.beats[0]).most
        b.env.cancel()
        assert most == (await call).trip.usage


async def test_a_heartbeat_in_a_long_wait_tells_of_no_cost(tmp_path):
    async with bench(tmp_path, "openai-chat", Text(text="Paris.")) as b:
        priced(b)
        call = b.start(wait_s=60)
        await b.beat("waiting")
        b.env.cancel()
        await call
        assert {Progress.model_validate(beat).most for beat in b.beats} == {None}


async def test_a_shutdown_in_mid_call_tells_what_the_call_may_have_cost(tmp_path):
    async with bench(tmp_path, "openai-chat", Hang()) as b:
        priced(b)
        call = b.start()
        await b.sim.received(1)
        b.env.worker_shutdown()
        b.env.cancel(ActivityCancellationDetails(worker_shutdown=True))
        with pytest.raises(ApplicationError) as refused:
            await call
        assert Progress.model_validate(refused.value.details[0]).most.cost_usd > WHOLE_ANSWER


async def test_trouble_of_ours_after_the_answer_tells_what_the_answer_may_have_cost(tmp_path):
    class FullStore:
        def __init__(self, store) -> None:
            self._store = store

        def __getattr__(self, name):
            return getattr(self._store, name)

        async def append(self, *given):
            raise OSError("no space left")

    async with bench(tmp_path, "openai-chat", Text(text="Paris.", usage=USED)) as b:
        priced(b)
        b.caller._store = FullStore(b.store)
        with pytest.raises(ApplicationError) as refused:
            await b.ask()
        assert (refused.value.type, refused.value.message) == ("OSError", "no space left")
        assert Progress.model_validate(refused.value.details[0]).most.cost_usd > WHOLE_ANSWER
