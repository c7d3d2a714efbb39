"""How each vendor's SDK is built: what it sends is what pydantic-ai worded, to nobody but the declared endpoint."""

import json
from datetime import UTC, datetime
from urllib.parse import urlsplit

import httpx2
import pytest
from pydantic_ai.messages import BinaryContent, ModelRequest, UserPromptPart

from activities import gemini_contents, vendors
from activities.exchange import Exchange
from activities.messages import Call, serialise, tool_result
from activities.transport import ForeignHostError, OneRequest, recorded
from ledger.observation import Ended
from simulator import Raw, Script, Simulator, Text, ToolCall, ToolCalls
from tests.activities.model_bench import APIS, bench

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

TOOL_ROUND = ToolCalls(
    text="I will look.",
    thinking="Where?",
    calls=(ToolCall(name="read_file", arguments={"path": "ä"}, id="call_a"), ToolCall(name="write_file", id="call_b")),
)


async def bodies_sent(folder, api) -> list[str]:
    """The bodies of two requests, the second in the middle of a tool round."""
    folder.mkdir()
    async with bench(folder, api, TOOL_ROUND, Text(text="Done.")) as b:
        answer = conversation = (await b.ask()).conversation
        for ordinal, call in enumerate(("call_a", "call_b")):
            result = tool_result(Call(id=call, name="read_file", arguments=""), "a result", failed=bool(ordinal))
            conversation = (await b.store.append_result(answer, ordinal, result)).conversation
        image = BinaryContent(data=b"no image, but bytes", media_type="image/png")
        note = serialise(ModelRequest(parts=[UserPromptPart(content=["go on", image], timestamp=NOON)]))
        conversation = (await b.store.append(conversation, "note", note)).conversation
        await b.ask("1.1.2", conversation=conversation)
        return [json.dumps(received.body, sort_keys=True) for received in b.sim.requests]


@pytest.mark.parametrize("api", APIS)
async def test_sending_messages_as_they_are_changes_no_word_on_the_wire(tmp_path, api, monkeypatch):
    short = await bodies_sent(tmp_path / "short", api)
    monkeypatch.setattr(vendors, "as_it_is", lambda create, *_: create)
    monkeypatch.setattr(gemini_contents, "as_it_is", lambda generate: generate)
    assert short == await bodies_sent(tmp_path / "long", api)
    assert all("go on" in body or "capital of France" in body for body in short)


@pytest.mark.parametrize("api", APIS)
async def test_keys_and_accounts_of_the_environment_go_to_no_declared_endpoint(tmp_path, api, monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "MARKER-ENVIRONMENT")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    script = Script(keys=("sk-declared-key",), models={"m": (Text(text="Paris."),)})
    async with bench(tmp_path, api, script=script, key="sk-declared-key") as b:
        assert (await b.trip()).outcome.outcome == "answered"
        assert "MARKER" not in json.dumps(dict(b.sim.requests[0].headers))


@pytest.mark.parametrize("api", APIS)
async def test_headers_that_the_operator_declared_are_sent(tmp_path, api):
    async with bench(tmp_path, api, Text(text="Paris."), headers={"x-team": "blue"}) as b:
        await b.ask()
        assert b.sim.requests[0].headers["x-team"] == "blue"


ELSEWHERE = {
    # how another address differs from the declared one, of which {} is the port
    "another port": "http://127.0.0.1:1/v1",
    "another host": "http://localhost:{}/v1",
    "another scheme": "https://127.0.0.1:{}/v1",
    "a cloud's metadata": "http://169.254.169.254/latest/meta-data",
    "a host that only looks like it": "http://127.0.0.1.attacker.invalid:{}/v1",
    "the declared one as a user": "http://127.0.0.1:{}@attacker.invalid/v1",
}


@pytest.mark.parametrize("declared", ELSEWHERE.values(), ids=ELSEWHERE)
async def test_a_request_to_another_host_than_the_declared_one_is_not_sent(declared):  # FAULTS S4
    exchange = Exchange(run="run", attempt="1.1.1")
    async with Simulator() as sim, httpx2.AsyncClient() as inner:
        base_url = declared.format(urlsplit(sim.url).port)
        async with httpx2.AsyncClient(transport=OneRequest(inner, base_url)) as http:
            with recorded(exchange), pytest.raises(ForeignHostError):
                await http.post(f"{sim.url}/v1/chat/completions", json={})
        assert not sim.requests
    assert (exchange.sent, exchange.ended) == (False, Ended.BAD_ADDRESS)


def chunks(*objects: dict) -> Raw:
    return Raw(
        body="".join(f"data: {json.dumps(one)}\n\n" for one in objects), headers={"content-type": "text/event-stream"}
    )


@pytest.mark.parametrize("api", APIS)
async def test_an_address_that_a_model_or_a_tool_names_is_never_fetched(tmp_path, api):  # FAULTS S4
    async with Simulator() as bait:
        image = f"![it]({bait.url}/a.png)"
        round_ = ToolCalls(text=image, calls=(ToolCall(name="read_file", arguments={"path": bait.url}, id="call_a"),))
        async with bench(tmp_path, api, round_, Text(text="Done.")) as b:
            answer = (await b.ask()).conversation
            result = tool_result(Call(id="call_a", name="read_file", arguments=""), image)
            conversation = (await b.store.append_result(answer, 0, result)).conversation
            assert (await b.trip("1.1.2", conversation=conversation)).outcome.outcome == "answered"
        assert not bait.requests


async def test_a_file_by_address_in_an_answer_is_never_fetched(tmp_path):  # FAULTS S4
    async with Simulator() as bait:
        file = {"fileData": {"fileUri": f"{bait.url}/a.png", "mimeType": "image/png"}}
        answer = {"content": {"role": "model", "parts": [{"text": "Here:"}, file]}, "finishReason": "STOP"}
        async with bench(tmp_path, "google", chunks({"candidates": [answer]})) as b:
            await b.ask()
        assert not bait.requests


def test_every_declared_protocol_has_a_row():
    from typing import get_args

    from activities.declared import Provider

    assert set(get_args(Provider.model_fields["api"].annotation)) == set(vendors.ROWS)
