"""What another target gets to read of a conversation, and what its own writer gets back."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from activities.adapting import (
    ID_LENGTH,
    MAX_NAME,
    ORIGIN,
    Adapting,
    ConversationBrokenError,
    alternating,
    may_think,
)
from activities.declared import Api
from tests.activities.model_bench import APIS

OWN, OTHER = "me", "somebody"


def adapted(messages: list[ModelMessage], api: Api, origin: str) -> list[ModelMessage]:
    """What the target that `origin` names gets to read, of a conversation that it is told for the first time."""
    return list(alternating(Adapting(api, origin).all(messages)))


def asked(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(content=text)])


def answered(*parts, by: str | None = OTHER, **fields) -> ModelResponse:
    return ModelResponse(parts=list(parts), metadata={ORIGIN: by} if by else None, **fields)


def call(number: str, name: str = "read_file") -> ToolCallPart:
    return ToolCallPart(tool_name=name, args="{}", tool_call_id=number, id="fc_1", provider_name="openai")


def result(number: str, text: str = "done") -> ModelRequest:
    return ModelRequest(parts=[ToolReturnPart(tool_name="read_file", content=text, tool_call_id=number)])


def calls(messages: list[ModelMessage]) -> list[ToolCallPart]:
    return [part for message in messages for part in message.parts if isinstance(part, ToolCallPart)]


def results(messages: list[ModelMessage]) -> list[ToolReturnPart]:
    return [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]


SIGNED = ThinkingPart(content="hm", id="rs_1", signature="sig", provider_name="openai")


@pytest.mark.parametrize("api", APIS)
def test_an_answer_goes_back_to_its_own_target_as_it_came(api):
    answer = answered(
        SIGNED,
        TextPart(content="Look.", id="msg_1", provider_name="openai"),
        call("functions.read_file:0"),
        by=OWN,
        provider_response_id="resp_1",
    )
    assert adapted([asked("?"), answer, result("functions.read_file:0")], api, OWN)[1] == answer


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("writer", [OTHER, None], ids=["another target", "nobody knows"])
def test_nothing_of_another_writers_servers_is_sent_on(api, writer):
    answer = answered(
        SIGNED,
        TextPart(content="Look.", id="msg_1", provider_name="openai", provider_details={"phase": "x"}),
        NativeToolCallPart(tool_name="web_search", args="{}", tool_call_id="ws_1", provider_name="openai"),
        call("call_1"),
        by=writer,
        provider_name="openai",
        provider_url="https://api.openai.com",
        provider_response_id="resp_1",
        provider_details={"finish_reason": "completed"},
    )
    _, sent, _ = adapted([asked("?"), answer, result("call_1")], api, OWN)
    assert [type(part) for part in sent.parts] == [TextPart, ToolCallPart]
    for held in (sent, *sent.parts):
        names = ("id", "provider_name", "provider_url", "provider_response_id", "provider_details", "metadata")
        assert not any(getattr(held, name, None) for name in names)


@pytest.mark.parametrize("number", ["call/a:1", "x" * 90, "functions.read_file:0", "", "call_1"])
def test_a_foreign_id_becomes_one_that_every_vendor_takes_and_the_result_follows(number):
    sent = adapted([asked("?"), answered(call(number)), result(number)], "openai-chat", OWN)
    assert re.fullmatch(f"[a-zA-Z0-9]{{{ID_LENGTH}}}", calls(sent)[0].tool_call_id)
    assert results(sent)[0].tool_call_id == calls(sent)[0].tool_call_id


def test_calls_of_one_id_are_told_apart_and_answered_in_order():
    """Servers count from 0 in every answer, or give parallel calls no id at all."""
    round_ = [answered(call("0"), call("0"), by=OWN), result("0", "a"), result("0", "b")]
    sent = adapted([asked("?"), *round_, asked("more"), *round_], "openai-chat", OWN)
    numbers = [part.tool_call_id for part in calls(sent)]
    assert len(set(numbers)) == 4
    assert [(part.tool_call_id, part.content) for part in results(sent)] == list(zip(numbers, "abab", strict=True))


def test_a_longer_conversation_leaves_what_was_sent_before_as_it_was():
    """Signatures and prompt caches cover all that came before."""
    conversation = [asked("?"), answered(call("0")), result("0"), answered(SIGNED, call("1"), by=OWN), result("1")]
    longer = [*conversation, answered(call("0")), result("0"), answered(TextPart(content="End."))]
    before, after = (adapted(messages, "anthropic-messages", OWN) for messages in (conversation, longer))
    assert after[: len(before)] == before


def test_a_name_that_a_model_invented_is_one_that_vendors_take():
    sent = adapted([asked("?"), answered(call("1", "functions.rm -rf/" + "x" * 90)), result("1")], "google", OWN)
    assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]*", calls(sent)[0].tool_name)
    assert len(calls(sent)[0].tool_name) == MAX_NAME
    assert results(sent)[0].tool_name == calls(sent)[0].tool_name


def test_blank_text_is_sent_to_nobody_and_an_answer_of_nothing_else_disappears():
    answers = [answered(TextPart(content=" \n"), by=by) for by in (OWN, OTHER)]
    (sent,) = adapted([asked("a"), answers[0], asked("b"), answers[1], asked("c")], "anthropic-messages", OWN)
    assert [part.content for part in sent.parts] == ["a", "b", "c"]


def test_blank_text_that_carries_its_vendors_signature_goes_back():
    carrier = TextPart(content="", provider_name="google", provider_details={"thought_signature": "c2ln"})
    sent = adapted([asked("?"), answered(TextPart(content="Yes."), carrier, by=OWN), asked("!")], "google", OWN)
    assert carrier in sent[1].parts


@pytest.mark.parametrize(
    ("api", "part", "kept"),
    [
        ("anthropic-messages", ThinkingPart(content="hm", signature="sig", provider_name="anthropic"), True),
        ("anthropic-messages", ThinkingPart(content="hm"), False),
        ("openai-responses", ThinkingPart(content="", signature="enc", provider_name="openai"), True),
        (
            "openai-responses",
            ThinkingPart(content="", provider_name="x", provider_details={"raw_content": ["hm"]}),
            True,
        ),
        ("openai-responses", ThinkingPart(content="hm", id="rs_1", provider_name="openai"), False),
        ("openai-chat", ThinkingPart(content="hm", id="reasoning_content", provider_name="x"), True),
        ("google", ThinkingPart(content="hm", provider_name="google"), True),
    ],
)
def test_own_thinking_goes_back_where_it_is_taken_as_thinking_and_never_as_words(api, part, kept):
    sent = adapted([asked("?"), answered(part, TextPart(content="Yes."), by=OWN), asked("!")], api, OWN)
    assert (part in sent[1].parts) is kept


@pytest.mark.parametrize(
    "broken",
    [
        [asked("?"), answered(call("1")), asked("go on")],
        [asked("?"), answered(call("1"), call("2")), result("1")],
        [asked("?"), answered(call("1")), answered(TextPart(content="!"))],
        [asked("?"), result("1")],
        [asked("?"), answered(call("1")), result("2")],
        [asked("?"), answered(call("1")), result("1"), result("1")],
    ],
    ids=["no result", "one result of two", "answered over", "no call", "another's result", "two results"],
)
def test_a_round_that_is_not_whole_is_a_bug_of_ours(broken):
    with pytest.raises(ConversationBrokenError):
        adapted(broken, "openai-chat", OWN)


THOUGHT = answered(SIGNED, call("1"), by=OWN)


@pytest.mark.parametrize(
    ("messages", "may"),
    [
        ([asked("?")], True),
        ([asked("?"), THOUGHT, result("1")], True),
        ([asked("?"), answered(call("1")), result("1")], False),
        ([asked("?"), answered(call("1"), by=OWN), result("1")], False),
        ([asked("?"), THOUGHT, result("1"), answered(call("2"), by=OWN), result("2")], True),
        ([asked("?"), answered(call("1")), result("1"), THOUGHT, result("1")], False),
        ([asked("?"), answered(call("1")), result("1"), answered(TextPart(content="!")), asked("?")], True),
        ([asked("?"), answered(call("1")), result("1"), asked("a note")], False),
    ],
    ids=[
        "before any answer",
        "own thought",
        "another's round",
        "no thought",
        "thought at its start",
        "another's start",
        "a new turn",
        "a note after results",
    ],
)
def test_claude_is_asked_to_think_only_in_a_round_that_began_with_a_thought(messages, may):
    assert may_think(adapted(messages, "anthropic-messages", OWN), "anthropic-messages") is may
    assert may_think(adapted(messages, "google", OWN), "google")


PARTS = st.sampled_from(
    [SIGNED, TextPart(content="a"), TextPart(content=" "), call("0"), call("0"), call(""), call("call:1", "no such")]
)


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.lists(PARTS, max_size=4), st.sampled_from([OWN, OTHER])), max_size=6), st.sampled_from(APIS)
)
def test_any_whole_conversation_alternates_and_each_call_has_its_one_result(answers, api):
    conversation: list[ModelMessage] = [asked("?")]
    for parts, writer in answers:
        conversation.append(answered(*parts, by=writer))
        conversation += [result(part.tool_call_id) for part in parts if isinstance(part, ToolCallPart)]
        conversation.append(asked("go on"))
    sent = adapted(conversation, api, OWN)
    assert all(type(a) is not type(b) for a, b in pairwise(sent))
    assert all(message.parts for message in sent)
    numbers = [part.tool_call_id for part in calls(sent)]
    assert len(set(numbers)) == len(numbers)
    assert [part.tool_call_id for part in results(sent)] == numbers
