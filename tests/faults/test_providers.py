"""Providers that fail in every way, seen from a whole run of two models (FAULTS 17, 18, 20-26; I1-I8).

That one trip sends one request and gets its kind, for each protocol, is proved beside `call_model`; here it is what
the run makes of it. One worker serves the module: each test gives the simulator a script of its own.
"""

from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest
from temporalio.client import Client, WorkflowHandle

from commands.server import free_port
from simulator.script import Script
from tests.faults.conftest import Stage, eventually, staged
from tests.faults.invariants import invariants_hold, requests_of
from workflows.payloads import data_converter

KEY = "key-marker-0815"
FIRST, SECOND = "openai:gpt-5", "anthropic:claude-x"
ANSWER = "the second model answered"
PARTIAL = "zebra words of an answer that never ended"
HTML = "<html><head><title>Sign in to this network</title></head><body><form></form></body></html>"
JSON = {"content-type": "application/json"}
STREAM = {"content-type": "text/event-stream"}
EMPTY_CHOICES = (
    'data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"gpt-5","choices":[]}\n\ndata: [DONE]\n\n'
)
NO_WAIT = {"attempts": 1, "patience_s": 0}
"""One attempt a target and no durable wait: the schedules' seconds are proved in the ledger's tests."""
SHORT = NO_WAIT | {"deadline_s": 1}


class Fault(NamedTuple):
    """What the first model does, and what its attempt must be recorded as."""

    reply: dict[str, Any]
    kind: str
    maybe_paid: bool = False
    calls: dict[str, Any] = NO_WAIT


def raw(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> dict[str, Any]:
    return {"kind": "raw", "status": status, "body": body, "headers": headers or {}}


def cut(ending: str) -> dict[str, Any]:
    return {
        "kind": "cut",
        "after_events": 6,
        "ending": ending,
        "answer": {"kind": "text", "text": PARTIAL, "chunks": 12},
    }


def error(**envelope: Any) -> dict[str, Any]:
    return {"error": {"param": None, **envelope}}


BAD_KEY = error(message=f"Incorrect API key provided: {KEY}", type="invalid_request_error", code="invalid_api_key")
NO_QUOTA = error(
    message=f"{KEY}: you exceeded your current quota", type="insufficient_quota", code="insufficient_quota"
)
NO_REGION = error(message="Country, region, or territory not supported", type="request_forbidden", code="x")

FAULTS: dict[str, Fault] = {
    "20: a key that is not accepted": Fault(raw(BAD_KEY, 401), "auth"),
    "20: a region that is not served": Fault(raw(NO_REGION, 403), "access_denied"),
    "20: no money left": Fault(raw(NO_QUOTA, 429), "billing"),
    "22: closed after the request": Fault({"kind": "refuse"}, "network", maybe_paid=True),
    "22: reset after the request": Fault({"kind": "refuse", "ending": "reset"}, "network", maybe_paid=True),
    "23: a stream that is cut": Fault(cut("close"), "network", maybe_paid=True),
    "23: a stream that is reset": Fault(cut("reset"), "network", maybe_paid=True),
    "23: a stream that ends too early in good order": Fault(cut("clean"), "network", maybe_paid=True),
    "23: a stream that stalls": Fault(cut("stall"), "timeout", maybe_paid=True, calls=SHORT),
    "24: a slow drip": Fault({"kind": "drip", "interval_s": 0.05}, "timeout", maybe_paid=True, calls=SHORT),
    "25: an error object in a success": Fault(
        raw(error(message="boom", type="server_error"), 200, JSON), "server_error"
    ),
    "25: a stream without choices": Fault(raw(EMPTY_CHOICES, 200, STREAM), "network", maybe_paid=True),
    "25: a plain success without choices": Fault(
        raw({"id": "x", "object": "chat.completion", "choices": []}, 200, JSON), "bad_output"
    ),
    "25: half an object as a success": Fault(raw('{"choices": [{"mess', 200, JSON), "bad_output"),
    "25: a web page as a success": Fault(raw(HTML, 200, {"content-type": "text/html"}), "bad_output"),
    "26: forty megabytes": Fault({"kind": "huge", "size": 40_000_000}, "bad_output", maybe_paid=True),
    "26: a gzip bomb": Fault({"kind": "huge", "size": 400_000_000, "gzip": True}, "bad_output", maybe_paid=True),
}


UNREACHABLE = (
    f'[providers.closed]\napi = "openai-chat"\nbase_url = "http://127.0.0.1:{free_port()}/v1"\n'
    '[providers.nowhere]\napi = "openai-chat"\nbase_url = "http://no-such-host.invalid/v1"\n'
)


@pytest.fixture(scope="module")
async def act(temporal_server: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """One worker for all tests of this module; two of its providers cannot be reached at all."""
    client = await Client.connect(temporal_server, data_converter=data_converter)
    folder = tmp_path_factory.mktemp("providers")
    async with staged(client, temporal_server, folder, {}, UNREACHABLE) as stage:
        yield stage


async def begun(act: Stage, *models: str, calls: dict[str, Any], **replies: list[dict[str, Any]]) -> WorkflowHandle:
    """Start a run of these models, which answer as scripted; the second one answers unless it is told otherwise."""
    second = replies.get("second", [{"kind": "text", "text": ANSWER}])
    act.simulator.use(Script.parse({"models": {"gpt-5": replies.get("first", []), "claude-x": second}}))
    return await act.start({"models": [*models], "policy": {"calls": calls}})


def of(journal: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [record for record in journal if record["type"] == kind]


def failure(attempt: dict[str, Any]) -> tuple[str, str, bool]:
    failed = attempt["outcome"]["failed"]
    return failed["kind"], failed["next"], attempt.get("outcome_unknown", False)


async def asked(run: WorkflowHandle) -> dict[str, Any]:
    return await eventually(lambda: run.query("intervention"))


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_a_fault_costs_one_request_and_the_next_model_answers(act: Stage, fault: Fault) -> None:
    run = await begun(act, FIRST, SECOND, calls=fault.calls, first=[fault.reply])
    result = await run.result()
    assert (result["status"], result["answer"]) == ("completed", ANSWER)
    journal = await invariants_hold(act, run)
    lost, won = of(journal, "attempt")
    assert failure(lost) == (fault.kind, "reported", fault.maybe_paid), lost["rule"]
    assert won["outcome"] == "succeeded"
    estimated = [usage["attempt_id"] for usage in of(journal, "usage") if usage.get("estimated")]
    assert estimated == ([lost["id"]] if fault.maybe_paid else [])  # I5: what may be billed is charged
    (move,) = of(journal, "failover")
    assert (move["to_provider"], move["kind"]) == ("anthropic", fault.kind)
    first, second = requests_of(act, run)
    assert (first.model, second.model) == ("gpt-5", "claude-x")
    assert "zebra" not in str(second.body)  # half an answer is no part of the conversation


@pytest.mark.parametrize("body", [BAD_KEY, NO_QUOTA], ids=["401", "insufficient_quota"])
async def test_a_key_that_a_provider_repeats_in_its_error_is_kept_nowhere(act: Stage, body: dict[str, Any]) -> None:
    status = 401 if body is BAD_KEY else 429
    run = await begun(act, FIRST, SECOND, calls=NO_WAIT, first=[raw(body, status)])
    await run.result()
    journal = await invariants_hold(act, run)
    history = b"".join(event.SerializeToString() for event in (await run.fetch_history()).events)
    stored = b"".join(path.read_bytes() for path in (act.folder / ".endstop").glob("store.db*"))
    assert "auth" in str(journal) or "quota" in str(journal)
    for place in (str(journal).encode(), history, stored, b"".join(act.log)):
        assert KEY.encode() not in place
    assert b"API key provided" in stored or b"current quota" in stored  # what was said is kept, without the key


async def test_a_stated_wait_is_waited_out_on_the_same_model(act: Stage) -> None:  # FAULTS 17
    limited = {"kind": "error", "error": "rate_limited", "retry_after_s": 1}
    run = await begun(act, FIRST, SECOND, calls={}, first=[limited, {"kind": "text", "text": "after a second"}])
    result = await run.result()
    assert (result["status"], result["answer"]) == ("completed", "after a second")
    journal = await invariants_hold(act, run)
    refused, won = of(journal, "attempt")
    assert failure(refused) == ("rate_limited", "same_model", False)
    assert refused["outcome"]["failed"]["capacity"]
    assert won["backoff_ms"] >= 1_000
    before, after = requests_of(act, run)
    assert (after.at - before.at).total_seconds() >= 1
    assert not of(journal, "failover")


@pytest.mark.parametrize("attempts", [1, 3])
async def test_an_outage_of_every_model_spends_the_attempts_and_asks_a_person(act: Stage, attempts: int) -> None:
    burst = [
        {"kind": "raw", "status": status, "body": {}, "headers": {"retry-after": "0"}, "repeat": status == 503}
        for status in (500, 503)
    ]
    calls = {"attempts": attempts, "patience_s": 0}
    run = await begun(act, FIRST, SECOND, calls=calls, first=burst, second=burst)  # FAULTS 18
    question = await asked(run)
    assert question["label"] == "ModelsExhausted"
    assert [(tried["target"], tried["attempts"]) for tried in question["facts"]["tried"]] == [
        (FIRST, attempts),
        (SECOND, attempts),
    ]
    journal = await invariants_hold(act, run)
    assert len(requests_of(act, run)) == len(of(journal, "attempt")) == 2 * attempts
    await run.execute_update("answer", "stop")
    assert (await run.result())["status"] == "stopped"
    await invariants_hold(act, run)


@pytest.mark.parametrize("provider", ["closed", "nowhere"])
async def test_a_provider_that_cannot_be_reached_was_sent_nothing(act: Stage, provider: str) -> None:  # FAULTS 21
    run = await begun(act, f"{provider}:gpt-5", SECOND, calls=NO_WAIT)
    result = await run.result()
    assert (result["status"], result["answer"]) == ("completed", ANSWER)
    journal = await invariants_hold(act, run)
    unsent, won = of(journal, "attempt")
    assert failure(unsent) == ("network", "reported", False)
    assert [request.model for request in requests_of(act, run)] == ["claude-x"]
    assert [usage["attempt_id"] for usage in of(journal, "usage")] == [won["id"]]


async def test_an_answer_beyond_all_bounds_leaves_small_events(act: Stage) -> None:  # FAULTS 26
    run = await begun(act, FIRST, SECOND, calls=NO_WAIT, first=[{"kind": "huge", "size": 40_000_000}])
    await run.result()
    await invariants_hold(act, run)
    assert max(event.ByteSize() for event in (await run.fetch_history()).events) < 4_096
