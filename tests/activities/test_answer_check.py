"""How an answer that came whole is read: how it ended in the ledger's words, and whether it can be used."""

from functools import partial

import pytest

from activities import answer_check
from activities.answer_check import MAX_CALLS, Usable, Useless
from activities.messages import serialise, user_message
from activities.pricing import Tariff
from activities.tool_declaration import HARMLESS
from ledger.observation import Ended
from ledger.target import Target

check = partial(answer_check.check, tariff=Tariff(target=Target.parse("openai:acme-9"), provider=None))

TOOLS = {"read_file": HARMLESS}


def answer(*parts: dict, word: str | None = "stop", reason: str | None = None, **fields) -> bytes:
    """A stored answer, as the client writes it: `word` is the vendor's, `reason` pydantic-ai's."""
    from pydantic import TypeAdapter
    from pydantic_ai.messages import ModelMessage

    details = {} if word is None else {"finish_reason": word}
    written = {"kind": "response", "parts": parts, "provider_details": details, "finish_reason": reason} | fields
    return serialise(TypeAdapter(ModelMessage).validate_python(written))


def text(content: str) -> dict:
    return {"part_kind": "text", "content": content}


def call(arguments: str | dict | None, name: str = "read_file") -> dict:
    return {"part_kind": "tool-call", "tool_name": name, "args": arguments, "tool_call_id": "c"}


@pytest.mark.parametrize(
    ("word", "parts", "finish", "stopped_for"),
    [
        pytest.param("stop", [text("a")], "complete", None, id="OpenAI's end"),
        pytest.param("end_turn", [text("a")], "complete", None, id="Anthropic's end"),
        pytest.param("stop_sequence", [text("a")], "stop", None, id="a stop sequence"),
        pytest.param("tool_calls", [call("{}")], "tool_call", None, id="OpenAI's tool call"),
        pytest.param("tool_use", [call({})], "tool_call", None, id="Anthropic's tool call"),
        pytest.param("stop", [call("{}")], "tool_call", None, id="a tool call under a wrong word"),
        pytest.param("pause_turn", [text("a")], "unknown", "pause_turn", id="a word without a meaning for us"),
        pytest.param("it said: password", [text("a")], "unknown", "other", id="words that are no word"),
        pytest.param("x" * 65, [text("a")], "unknown", "other", id="a word too long for a record"),
    ],
)
def test_the_end_of_an_answer_is_told_in_the_ledgers_words(word, parts, finish, stopped_for):
    checked = check(answer(*parts, word=word), TOOLS)
    assert isinstance(checked, Usable)
    assert (checked.answered.finish_reason, checked.answered.stopped_for) == (finish, stopped_for)


@pytest.mark.parametrize(
    ("message", "ended"),
    [
        pytest.param(answer(text("a"), word=None), Ended.TRUNCATED, id="no word of an end"),
        pytest.param(answer(text("a"), word="length", reason="length"), Ended.TOKEN_LIMIT, id="half an answer"),
        pytest.param(answer(word="refusal", reason="content_filter"), Ended.REFUSED, id="a refusal"),
        pytest.param(answer(text("a"), word="error", reason="error"), Ended.UNUSABLE, id="an error for an end"),
        pytest.param(answer(), Ended.UNUSABLE, id="nothing"),
        pytest.param(answer(text(" \n")), Ended.UNUSABLE, id="blanks"),
        pytest.param(
            answer({"part_kind": "thinking", "content": "hm"}), Ended.UNUSABLE, id="thoughts without an answer"
        ),
        pytest.param(answer(text("a"), word="tool_calls"), Ended.UNUSABLE, id="a tool call that got lost"),
        pytest.param(answer(call('{"path": ')), Ended.UNUSABLE, id="arguments cut off"),
        pytest.param(answer(call("[1]")), Ended.UNUSABLE, id="arguments that are no object"),
        pytest.param(answer(call('{"a":' * 100_000)), Ended.UNUSABLE, id="arguments of endless depth"),
        pytest.param(answer(call("{}"), call("nonsense")), Ended.UNUSABLE, id="one call of two malformed"),
        pytest.param(answer(*[call("{}")] * (MAX_CALLS + 1)), Ended.UNUSABLE, id="more calls than a history bears"),
    ],
)
def test_what_cannot_be_used_is_told_apart(message, ended):
    checked = check(message, TOOLS)
    assert isinstance(checked, Useless)
    assert checked.ended is ended


def test_a_call_without_arguments_is_wellformed():
    assert isinstance(check(answer(call(None), call("")), TOOLS), Usable)


def test_a_message_that_is_no_answer_is_a_mistake_of_the_caller():
    with pytest.raises(TypeError):
        check(user_message("hello"), {})


@pytest.mark.parametrize(
    ("model", "known"), [pytest.param("gpt-4o", True, id="known"), pytest.param("acme-9", False, id="unknown")]
)
def test_an_unknown_price_is_none_and_a_known_one_a_number(model, known):
    used = {"input_tokens": 1_000_000, "output_tokens": 1_000}
    message = answer(text("a"), usage=used, model_name=model, provider_name="openai")
    cost = check(message, {}).usage.cost_usd
    assert (cost is not None and cost > 0) if known else cost is None


def test_counts_that_nobody_can_have_used_do_not_break_the_trip():
    message = answer(text("a"), usage={"input_tokens": -5, "output_tokens": 3})
    usage = check(message, {}).usage
    assert (usage.input_tokens, usage.output_tokens) == (0, 3)
