"""Every way in which a provider fails: one request at the socket, the right kind, and whether it may have been paid."""

import pytest

from activities.exchange import MAX_RESPONSE, Exchange
from simulator import (
    Cut,
    Drip,
    Error,
    ErrorInStream,
    Hang,
    Huge,
    Raw,
    Refuse,
    Reply,
    Text,
    ToolCall,
    ToolCalls,
)
from tests.activities.model_bench import APIS, bench

HTML = "<html><head><title>502</title></head><body>nginx</body></html>"
EVENTS = {"content-type": "text/event-stream"}
SHORT = {"deadline_s": 2}  # by then a machine under load has sent the request too
LONG = Text(text="This answer comes in many small pieces.", chunks=12)
"""Each protocol has its own number of events before the first word; this one is in its middle after six."""

FAULTS: dict[str, tuple[Reply, str, bool, dict]] = {
    # what happens: the reply, the kind, whether the work may have been done and billed, changes of the call
    "rate limit": (Error(error="rate_limited", retry_after_s=7), "rate_limited", False, {}),
    "overloaded": (Error(error="overloaded"), "overloaded", False, {}),
    "server error": (Error(error="server_error"), "server_error", False, {}),
    "wrong key": (Error(error="auth"), "auth", False, {}),
    "quota used up": (Error(error="quota_exhausted"), "quota_exhausted", False, {}),
    "unknown model": (Error(error="model_unavailable"), "model_unavailable", False, {}),
    "too long": (Error(error="too_large"), "too_large", False, {}),
    "a web page as a success": (Raw(body=HTML, headers={"content-type": "text/html"}), "bad_output", False, {}),
    "a web page as an error": (Raw(status=502, body=HTML), "server_error", False, {}),
    "an empty success": (Raw(body="", headers=EVENTS), "bad_output", False, {}),
    "half an object as a success": (Raw(body='{"choices": [{"mess'), "bad_output", False, {}),
    "nonsense as an event": (Raw(body="data: {nonsense\n\n", headers=EVENTS), "network", True, {}),
    "an answer without words": (Text(text=""), "bad_output", False, {}),
    "an answer of blanks": (Text(text=" \n "), "bad_output", False, {}),
    "error event at once": (ErrorInStream(error="overloaded"), "overloaded", False, {}),
    "error event in mid stream": (
        ErrorInStream(after_events=6, error="server_error", answer=LONG),
        "server_error",
        True,
        {},
    ),
    "cut in mid stream": (Cut(after_events=6, answer=LONG), "network", True, {}),
    "reset in mid stream": (Cut(after_events=6, ending="reset", answer=LONG), "network", True, {}),
    "ended in good order but too early": (Cut(after_events=6, ending="clean", answer=LONG), "network", True, {}),
    "closed after the request": (Refuse(), "network", True, {}),
    "reset after the request": (Refuse(ending="reset"), "network", True, {}),
    "never a status line": (Hang(), "timeout", True, SHORT),
    "headers and then silence": (Hang(where="after_headers"), "timeout", True, SHORT),
    "silence in mid stream": (Cut(after_events=6, ending="stall", answer=LONG), "timeout", True, SHORT),
    "a slow drip": (Drip(interval_s=0.01), "timeout", True, SHORT),
    "more than we read": (Huge(size=40_000_000), "bad_output", True, {}),
    "a gzip bomb": (Huge(size=400_000_000, gzip=True), "bad_output", True, {}),
    "a compression nobody asked for": (Raw(body="x", headers={"content-encoding": "br"}), "bad_output", False, {}),
    "broken compression": (Raw(body="x" * 99, headers={"content-encoding": "gzip"}), "bad_output", False, {}),
    "arguments that are no JSON": (
        ToolCalls(calls=(ToolCall(name="read_file", arguments='{"path": '),)),
        "bad_output",
        False,
        {},
    ),
    "cut by the token budget": (Text(text="half a sent", finish_reason="length"), "output_truncated", False, {}),
    "refused by policy": (Text(text="I cannot", finish_reason="content_filter"), "content_refused", False, {}),
    "a redirect": (Raw(status=302, headers={"location": "http://127.0.0.1:9/"}), "invalid_request", False, {}),
}

BY_API = [pytest.param(api, fault, id=f"{name} ({api})") for name, fault in FAULTS.items() for api in APIS]


@pytest.mark.parametrize(("api", "fault"), BY_API)
async def test_a_fault_costs_one_request_and_is_told_by_its_kind(tmp_path, api, fault):
    scripted, kind, maybe_paid, changes = fault
    async with bench(tmp_path, api, scripted, Text(text="a second request was sent")) as b:
        reply = await b.ask(**changes)
        assert reply.trip.outcome.outcome == "refused"
        failure = reply.trip.outcome.failure
        assert (failure.kind.value, failure.outcome_unknown) == (kind, maybe_paid), failure.rule
        assert len(b.sim.requests) == 1
        assert reply.conversation == b.conversation


@pytest.mark.parametrize("api", APIS)
async def test_a_deadline_that_passes_before_there_is_a_request_is_no_fault_of_the_request(tmp_path, api):
    """As where uploads took all the time: another try may do, and nothing was paid."""
    async with bench(tmp_path, api, Text(text="nobody asked")) as b:
        failure = (await b.ask(deadline_s=1e-9)).trip.outcome.failure
        assert (failure.kind.value, failure.outcome_unknown) == ("network", False), failure.rule
        assert not b.sim.requests


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("api", APIS)
async def test_a_huge_answer_is_read_no_further_than_the_cap(tmp_path, api, packed):
    """After decompression: a bomb of 400 MB is 400 kB on the wire."""
    async with bench(tmp_path, api, Huge(size=400_000_000, gzip=packed)) as b:
        exchanges = watched(b)
        reply = await b.ask()
        assert reply.trip.outcome.failure.rule == "transport.oversize"
        assert MAX_RESPONSE < exchanges[0].received <= MAX_RESPONSE + 65_536
        assert len(exchanges[0].body) < 70_000


def watched(b) -> list[Exchange]:
    """Remember the exchange of every call."""
    client, seen = b.caller._clients["sim"], []
    ask = client.ask
    client.ask = lambda request, exchange: (seen.append(exchange), ask(request, exchange))[1]
    return seen
