"""What Anthropic refuses, the simulator refuses in strict mode: a 400 in the vendor's words, at its own client."""

import anthropic
import pytest

from simulator import Script
from simulator.signatures import seal

THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": seal("anthropic", "Hm.")}
ON = {"max_tokens": 4096, "thinking": {"type": "enabled", "budget_tokens": 1024}}
ROUND = ON | {"tools": [{"name": "look", "input_schema": {"type": "object"}}]}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def model(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def text(words="Go"):
    return {"type": "text", "text": words}


def call(name="toolu_1", /, **more):
    return {"type": "tool_use", "id": name, "name": "look", "input": {}, **more}


def result(name="toolu_1", **more):
    return {"type": "tool_result", "tool_use_id": name, "content": "seen", **more}


PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}

TAKEN = {
    "a tool round": [user(text()), model(text("I look."), call()), user(result())],
    "two results and a word after them": [
        user(text()),
        model(call("a"), call("b")),
        user(result("b"), result("a"), text("And?")),
    ],
    "two turns of a person": [user(text()), user(text())],
    "an image in a result": [user(text()), model(call()), user(result(content=[PNG]))],
    "plain text": [{"role": "user", "content": "Go"}],
}


@pytest.mark.parametrize("messages", TAKEN.values(), ids=TAKEN)
async def test_what_the_vendor_takes_is_taken(simulate, ask_anthropic, messages):
    sim = await simulate(script=Script(strict=True))
    assert (await ask_anthropic(sim, messages=messages)).stop_reason == "end_turn"


REFUSED = {
    "a call without a result": ([user(text()), model(call()), user(text())], "`tool_use` ids were found without"),
    "one of two results missing": ([user(text()), model(call("a"), call("b")), user(result("a"))], "after: b. Each"),
    "words before a result": ([user(text()), model(call()), user(text(), result())], "ids were found without"),
    "a result a turn too late": ([user(text()), model(call()), user(text()), user(result())], "ids were found without"),
    "a call answered by the model": ([user(text()), model(call()), model(text()), user(text())], "were found without"),
    "a result without a call": ([user(result())], "unexpected `tool_use_id` found in `tool_result` blocks: toolu_1"),
    "two results of one call": (
        [user(text()), model(call()), user(result(), result())],
        "each tool_use must have a single result",
    ),
    "two calls of one id": ([user(text()), model(call(), call()), user(result())], "ids must be unique"),
    "a model's turn first": ([model(text()), user(text())], 'first message must use the "user" role'),
    "a model's turn last": ([user(text()), model(text())], "does not support assistant message prefill"),
    "a system turn": ([{"role": "system", "content": "x"}, user(text())], 'Unexpected role "system"'),
    "a foreign role": ([{"role": "tool", "content": "x"}], "Input should be 'user' or 'assistant'"),
    "an id with a dot": ([user(text()), model(call("a.b")), user(result("a.b"))], "tool_use.id: String should match"),
    "a result's id with a dot": ([user(result("a.b"))], "tool_result.tool_use_id: String should match pattern"),
    "an id with a pipe": ([user(text()), model(call("a|b")), user(result("a|b"))], "String should match pattern"),
    "a name with a dot": ([user(text()), model(call(name="a.b")), user(result())], "tool_use.name: String should"),
    "arguments as text": (
        [user(text()), model(call(input="{}")), user(result())],
        "should be a valid dictionary",
    ),
    "an empty turn": ([user()], "all messages must have non-empty content"),
    "an empty text": ([user(text(""))], "text content blocks must be non-empty"),
    "a blank text": ([user(text(" \n"))], "must contain non-whitespace text"),
    "a blank turn": ([{"role": "user", "content": " "}], "must contain non-whitespace text"),
    "an empty text in a result": ([user(text()), model(call()), user(result(content=[text("")]))], "must be non-empty"),
    "an unknown field of a turn": ([{**user(text()), "name": "x"}], "messages.0.name: Extra inputs are not permitted"),
    "an unknown field of a block": ([user({**text(), "id": "x"})], "messages.0.content.0.text.id: Extra inputs"),
    "a foreign block": ([user({"type": "input_text", "text": "x"})], "Input tag 'input_text' found"),
    "a foreign block in a result": (
        [user(text()), model(call()), user(result(content=[{"type": "input_text", "text": "x"}]))],
        "Input tag 'input_text' is not expected",
    ),
    "an image of a foreign kind in a result": (
        [user(text()), model(call()), user(result(content=[{**PNG, "source": {**PNG["source"], "media_type": "a"}}]))],
        "messages.2.content.0.tool_result.content.0.image.source.base64.media_type: Input should be 'image/jpeg'",
    ),
    "a call by a person": ([user(call())], "`tool_use` blocks can only be in `assistant` messages"),
    "an image by the model": ([user(text()), model(PNG), user(text())], "can only be in `user` messages"),
    "an image of a foreign kind": (
        [user({"type": "image", "source": {**PNG["source"], "media_type": "image/tiff"}})],
        "media_type: Input should be 'image/jpeg'",
    ),
    "a foreign signature": (
        [user(text()), model({**THOUGHT, "signature": seal("google", "Hm.")}, text()), user(text())],
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    "no signature": ([user(text()), model({**THOUGHT, "signature": ""}, text()), user(text())], "Invalid `signature`"),
    "an altered thought": (
        [user(text()), model({**THOUGHT, "thinking": "Ha."}, text()), user(text())],
        "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified",
    ),
    "an older altered thought": (
        [user(text()), model({**THOUGHT, "thinking": "Ha."}, text()), user(text()), model(text()), user(text())],
        "messages.1.content.0: Invalid `signature`",
    ),
    "a thought at the end": (
        [user(text()), model(text(), THOUGHT), user(text())],
        "final block in an assistant message",
    ),
}


@pytest.mark.parametrize(("messages", "words"), REFUSED.values(), ids=REFUSED)
async def test_what_the_vendor_refuses_in_a_conversation_is_refused(simulate, ask_anthropic, messages, words):
    sim = await simulate(script=Script(strict=True))
    with pytest.raises(anthropic.BadRequestError) as caught:
        await ask_anthropic(sim, messages=messages)
    assert words in caught.value.message
    assert caught.value.body["error"]["type"] == "invalid_request_error"
    assert sim.requests[0].number == 0


SETTINGS = {
    "an unknown field": ({"extra_body": {"seed": 1}}, "seed: Extra inputs are not permitted"),
    "no limit": ({"extra_body": {"max_tokens": None}}, "max_tokens: Field required"),
    "a budget over the limit": (
        ON | {"max_tokens": 1024},
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
    "a tiny budget": ({"thinking": {"type": "enabled", "budget_tokens": 10}}, "greater than or equal to 1024"),
    "no budget": ({"thinking": {"type": "enabled"}}, "thinking.enabled.budget_tokens: Field required"),
    "a cool head": (ON | {"extra_body": {"temperature": 0.5}}, "`temperature` may only be set to 1"),
    "a forced tool": (ROUND | {"tool_choice": {"type": "any"}}, "may not be enabled when tool_choice forces"),
    "a tool's name with a dot": (
        {"tools": [{"name": "a.b", "input_schema": {}}]},
        "tools.0.custom.name",
    ),
    "an empty system prompt": ({"system": [text("")]}, "system: text content blocks must be non-empty"),
}


@pytest.mark.parametrize(("options", "words"), SETTINGS.values(), ids=SETTINGS)
async def test_settings_the_vendor_refuses_are_refused(simulate, ask_anthropic, options, words):
    with pytest.raises(anthropic.BadRequestError) as caught:
        await ask_anthropic(await simulate(script=Script(strict=True)), **options)
    assert words in caught.value.message


FIRST = [user(text()), model(THOUGHT, call("a")), user(result("a"))]
MIDDLES = {
    "its thought": (FIRST, True),
    "its thought two steps ago": ([*FIRST, model(call("b")), user(result("b"))], True),
    "no thought": ([user(text()), model(call("a")), user(result("a"))], False),
    "words first": ([user(text()), model(text(), call("a")), user(result("a"))], False),
    "a thought of an earlier turn only": (
        [*FIRST, model(text()), user(text()), model(call("b")), user(result("b"))],
        False,
    ),
}


@pytest.mark.parametrize(("messages", "taken"), MIDDLES.values(), ids=MIDDLES)
async def test_in_a_tool_round_with_thinking_on_the_turn_must_start_with_its_thought(
    simulate, ask_anthropic, messages, taken
):
    sim = await simulate(script=Script(strict=True))
    if taken:
        assert await ask_anthropic(sim, messages=messages, **ROUND)
        return
    with pytest.raises(anthropic.BadRequestError, match="Expected `thinking` or `redacted_thinking`, but found"):
        await ask_anthropic(sim, messages=messages, **ROUND)
    off = ROUND | {"thinking": {"type": "disabled"}}
    assert await ask_anthropic(sim, messages=messages, **off)
    adaptive = ROUND | {"thinking": {"type": "adaptive"}}
    assert await ask_anthropic(sim, messages=messages, **adaptive)


async def test_without_strict_mode_none_of_it_is_refused(simulate, ask_anthropic):
    sim = await simulate(script=Script())
    for messages, _ in REFUSED.values():
        assert await ask_anthropic(sim, messages=messages)
