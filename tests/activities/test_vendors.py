"""How each vendor's SDK is built: what it sends is what pydantic-ai worded, to nobody but the declared endpoint."""

import json
from datetime import UTC, datetime

import pytest
from pydantic_ai.messages import BinaryContent, ModelRequest, UserPromptPart

from activities import gemini_contents, vendors
from activities.messages import Call, serialise, tool_result
from simulator import Script, Text, ToolCall, ToolCalls
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


def test_every_declared_protocol_has_a_row():
    from typing import get_args

    from activities.declared import Provider

    assert set(get_args(Provider.model_fields["api"].annotation)) == set(vendors.ROWS)
