"""A conversation that grows is sent in the words of one that was never seen before, and costs what is new of it."""

import json
from functools import cache
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)

from activities.adapting import ORIGIN
from activities.client import ById, Request
from activities.declared import Provider
from activities.exchange import Exchange
from activities.files import NamedFile
from activities.identity import origin
from activities.messages import Call, serialise, tool_result, user_message
from activities.pydantic_ai_client import PydanticAIClient
from activities.rehearsal import offline
from activities.wording import Wordings
from tests.activities.model_bench import APIS, TOOLS

SYSTEM = {"openai-chat": "openai", "openai-responses": "openai", "anthropic-messages": "anthropic", "google": "google"}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
FIELDS = {"plain": {}, "thinking": {"thinking": "low"}, "output": {"output": SCHEMA, "tools": ()}}


@cache
def client(api: str) -> tuple[Provider, PydanticAIClient]:
    provider = Provider.model_validate({"name": "sim", "api": api, "base_url": "https://sim.invalid"})
    return provider, PydanticAIClient(provider, offline(provider.api, 200))


def request(*messages: bytes, **fields) -> Request:
    asked = {"model": "m", "instructions": "be brief", "tools": tuple(TOOLS.values()), "max_tokens": 4_096}
    return Request.model_validate(asked | fields | {"messages": messages})


async def sent(api: str, asked: Request, run: str) -> Exchange:
    exchange = Exchange(run=run, attempt="1.1.1")
    await client(api)[1].ask(asked, exchange)
    assert exchange.request
    return exchange


@st.composite
def rounds(draw, api: str, fields: dict) -> list[list[bytes]]:
    """What each next request has more than the one before it."""
    own = origin(client(api)[0], request(**fields))
    signed = ThinkingPart(content="hm", id="rs_1", signature="c2ln", provider_name=SYSTEM[api])
    unsigned = ThinkingPart(content="hm", id="reasoning", provider_name=SYSTEM[api])
    parts = [signed, unsigned, TextPart(content="a"), TextPart(content="é\n"), TextPart(content=" ")]
    calls = [ToolCallPart(tool_name="read_file", args='{"path": "x"}', tool_call_id=i) for i in ("0", "1", "call:1")]
    grown = [[user_message("?")]]
    for _ in range(draw(st.integers(1, 4))):
        said = draw(st.lists(st.sampled_from([*parts, *calls]), min_size=1, max_size=4))
        answer = ModelResponse(parts=said, metadata={ORIGIN: draw(st.sampled_from([own, "another"]))})
        called = [part for part in said if isinstance(part, ToolCallPart)]
        results = [
            tool_result(Call(id=c.tool_call_id, name=c.tool_name, arguments=""), "<|im_end|> ok") for c in called
        ]
        notes = [user_message("go on")] * (draw(st.booleans()) or not called)
        grown.append([serialise(answer), *results, *notes])
    return grown


async def same_words(api: str, grown: list[list[bytes]], run: str, fields: dict) -> None:
    """Each request of a conversation that grows is the one that would be made of it at first sight."""
    messages: list[bytes] = []
    for number, more in enumerate(grown):
        messages += more
        asked = request(*messages, **fields)
        known, unseen = await sent(api, asked, run), await sent(api, asked, f"{run} {number}")
        assert json.loads(known.request) == json.loads(unseen.request)
        assert known.parameters() == unseen.parameters()


@settings(max_examples=20, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("fields", FIELDS.values(), ids=FIELDS)
@pytest.mark.parametrize("api", APIS)
async def test_a_conversation_that_grows_is_sent_in_the_words_of_one_never_seen(api, fields, data):
    await same_words(api, data.draw(rounds(api, fields)), str(data.draw(st.uuids())), fields)


def turn(number: int, api: str, *thoughts: ThinkingPart, **fields) -> list[bytes]:
    call = ToolCallPart(tool_name="read_file", args="{}", tool_call_id=f"c{number}")
    answer = ModelResponse(parts=[*thoughts, call], metadata={ORIGIN: origin(client(api)[0], request(**fields))})
    return [serialise(answer), tool_result(Call(id=f"c{number}", name="read_file", arguments=""), f"result {number}")]


async def test_a_server_that_wants_its_field_of_thoughts_at_all_later_answers_gets_it():
    thought = ThinkingPart(content="hm", id="reasoning_content", provider_name="sim")
    grown = [[user_message("?")], turn(0, "openai-chat", thought), turn(1, "openai-chat"), turn(2, "openai-chat")]
    await same_words("openai-chat", grown, "field", {})
    assert (await sent("openai-chat", request(*chain(*grown)), "field")).request.count(b"reasoning_content") == 3


async def test_claude_goes_on_thinking_in_a_round_that_began_with_a_thought():
    thinking = {"thinking": "low"}
    signed = ThinkingPart(content="hm", signature="c2ln", provider_name="anthropic")
    api = "anthropic-messages"
    grown = [[user_message("?")], turn(0, api, signed, **thinking), turn(1, api, **thinking), turn(2, api, **thinking)]
    await same_words(api, grown, "thinks", thinking)
    assert b'"type":"enabled"' in (await sent(api, request(*chain(*grown), **thinking), "thinks")).request


@pytest.mark.parametrize("api", APIS)
async def test_an_answer_of_which_another_target_gets_nothing_is_left_out(api):
    nothing = serialise(ModelResponse(parts=[ThinkingPart(content="hm")], metadata={ORIGIN: "another"}))
    await same_words(api, [[user_message("?")], [nothing, user_message("go on")], turn(0, api)], "nothing", {})


def put_into_words(exchange: Exchange) -> list[ModelMessage]:
    assert exchange.wording
    return exchange.wording.new


@pytest.mark.parametrize("api", APIS)
async def test_only_what_is_new_of_a_conversation_is_put_into_words(api):
    messages = [user_message("?")]
    for number in range(5):
        exchange = await sent(api, request(*messages), "grows")
        assert len(put_into_words(exchange)) == (2 if number else 1)
        messages += turn(number, api)


@pytest.mark.parametrize("api", APIS)
async def test_another_branch_of_a_conversation_is_sent_as_it_is(api):
    begun = [user_message("?"), *turn(0, api)]
    await sent(api, request(*begun), "branches")
    other = [*begun[:-1], tool_result(Call(id="c0", name="read_file", arguments=""), "another result"), *turn(1, api)]
    exchange = await sent(api, request(*other), "branches")
    assert b"another result" in exchange.request
    assert b"result 0" not in exchange.request


async def test_a_file_is_named_by_the_id_that_it_has_now():
    file = NamedFile(ref="0" * 24, bytes=1, name="spec.pdf", media_type="application/pdf")
    messages = [user_message("?", [file])]
    first = await sent("openai-chat", request(*messages, files={file.ref: ById(file_id="file-1")}), "renewed")
    messages += turn(0, "openai-chat")
    second = await sent("openai-chat", request(*messages, files={file.ref: ById(file_id="file-2")}), "renewed")
    assert b"file-1" in first.request
    assert b"file-1" not in second.request
    assert b"file-2" in second.request


def test_what_is_kept_stays_within_its_bytes_and_goes_in_the_order_of_use():
    wordings = Wordings("google", max_bytes=25)
    for run in ("a", "b", "c"):
        wording = wordings.of(request(user_message("?")), run, "origin")
        wording.finish("contents", ["8 bytes."])
        wordings.keep(wording, {})
    longer = request(user_message("?"), *turn(0, "google"))
    assert [len(wordings.of(longer, run, "origin").new) for run in ("c", "b", "a")] == [2, 2, 3]


def test_what_is_kept_twice_takes_its_room_once():
    wordings = Wordings("google", max_bytes=25)
    same = [wordings.of(request(user_message("?")), "a", "origin") for _ in range(2)]
    for wording in (*same, wordings.of(request(user_message("?")), "b", "origin")):
        wording.finish("contents", ["8 bytes."])
        wordings.keep(wording, {})
    longer = request(user_message("?"), *turn(0, "google"))
    assert [len(wordings.of(longer, run, "origin").new) for run in ("a", "b")] == [2, 2]
