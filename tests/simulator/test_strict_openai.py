"""What OpenAI's two APIs refuse, the simulator refuses in strict mode, in the vendor's words, at its own client."""

import openai
import pytest

from simulator import Script, Text, ToolCall, ToolCalls
from simulator.signatures import seal


def call(name="c1", /, **function):
    return {"id": name, "type": "function", "function": {"name": "look", "arguments": "{}", **function}}


def asks(*calls, **more):
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def answers(name="c1"):
    return {"role": "tool", "tool_call_id": name, "content": "seen"}


GO = {"role": "user", "content": "Go"}
LONG = "c" * 41

CHAT_TAKEN = {
    "a tool round": [GO, asks(call()), answers()],
    "parallel results in any order": [GO, asks(call("a"), call("b")), answers("b"), answers("a"), GO],
    "an empty word": [{"role": "user", "content": ""}],
    "thoughts sent back": [GO, {"role": "assistant", "content": "x", "reasoning_content": "y"}, GO],
    "instructions": [{"role": "developer", "content": "x"}, GO],
}


@pytest.mark.parametrize("messages", CHAT_TAKEN.values(), ids=CHAT_TAKEN)
async def test_chat_takes_what_the_vendor_takes(simulate, ask_openai, messages):
    assert await ask_openai(await simulate(script=Script(strict=True)), messages=messages)


CHAT = {
    "a call without a result": ([GO, asks(call()), GO], "did not have response messages: c1", "messages.[1].role"),
    "a call at the end": ([GO, asks(call())], "did not have response messages: c1", "messages.[1].role"),
    "one result missing": ([GO, asks(call("a"), call("b")), answers("a"), GO], "messages: b", "messages.[1].role"),
    "a result without a call": ([GO, answers()], "must be a response to a preceeding message", "messages.[1].role"),
    "a result too late": (
        [GO, asks(call()), answers(), GO, answers()],
        "must be a response to a preceeding message",
        "messages.[4].role",
    ),
    "an id of 41": ([GO, asks(call(LONG)), answers(LONG)], "maximum length 40", "messages[1].tool_calls[0].id"),
    "no id": ([GO, asks(call("")), answers("")], "empty string", "messages[1].tool_calls[0].id"),
    "a name with a dot": (
        [GO, asks(call(name="a.b")), answers()],
        "does not match pattern",
        "messages[1].tool_calls[0].function.name",
    ),
    "a call with an unknown field": (
        [GO, asks({**call(), "signature": "x"}), answers()],
        "Unknown parameter",
        "messages[1].tool_calls[0].signature",
    ),
    "a call without arguments": (
        [GO, asks({**call(), "function": {"name": "look"}}), answers()],
        "Missing required parameter",
        "messages[1].tool_calls[0].function.arguments",
    ),
    "a call of nothing": (
        [GO, asks({"id": "c1", "type": "function"}), answers()],
        "Missing required parameter",
        "messages[1].tool_calls[0].function",
    ),
    "no calls": ([GO, asks(), GO], "expected a string, got null", "messages.[1].content"),
    "an empty list of calls": ([GO, asks(content="x"), GO], "empty array", "messages[1].tool_calls"),
    "no content": ([{"role": "user", "content": None}], "expected a string, got null", "messages.[0].content"),
    "an empty list of parts": ([{"role": "user", "content": []}], "empty array", "messages[0].content"),
    "a foreign role": ([{"role": "model", "content": "x"}], "Invalid value: 'model'", "messages[0].role"),
    "a foreign part": (
        [{"role": "user", "content": [{"type": "input_text", "text": "x"}]}],
        "Invalid value: 'input_text'",
        "messages[0].content[0].type",
    ),
    "an image by a tool": (
        [GO, asks(call()), {**answers(), "content": [{"type": "image_url", "image_url": {"url": "x"}}]}],
        "Supported values are: 'text'",
        "messages[2].content[0].type",
    ),
    "an unknown field": ([{**GO, "signature": "x"}], "Unknown parameter", "messages[0].signature"),
}


@pytest.mark.parametrize(("messages", "words", "param"), CHAT.values(), ids=CHAT)
async def test_chat_refuses_what_the_vendor_refuses(simulate, ask_openai, messages, words, param):
    sim = await simulate(script=Script(strict=True))
    with pytest.raises(openai.BadRequestError) as caught:
        await ask_openai(sim, messages=messages)
    assert words in caught.value.message
    assert (caught.value.type, caught.value.param) == ("invalid_request_error", param)
    assert sim.requests[0].number == 0
    sim.use(Script())
    assert await ask_openai(sim, messages=messages)


async def test_chat_refuses_a_tool_without_a_name(simulate, ask_openai):
    with pytest.raises(openai.BadRequestError, match=r"Missing required parameter: 'tools\[0\].function.name'"):
        await ask_openai(await simulate(script=Script(strict=True)), tools=[{"type": "function", "function": {}}])


async def test_both_apis_refuse_an_unknown_parameter(simulate, ask_openai, ask_responses):
    sim = await simulate(script=Script(strict=True))
    for ask in (ask_openai, ask_responses):
        with pytest.raises(openai.BadRequestError, match="Unknown parameter: 'thinking'") as caught:
            await ask(sim, extra_body={"thinking": {"type": "enabled"}})
        assert (caught.value.param, caught.value.code) == ("thinking", "unknown_parameter")


def calls(name="c1", /, **more):
    return {"type": "function_call", "call_id": name, "name": "look", "arguments": "{}", **more}


def output(name="c1", **more):
    return {"type": "function_call_output", "call_id": name, "output": "seen", **more}


def said(kind="output_text", **more):
    return {"type": "message", "role": "assistant", "content": [{"type": kind, "text": "x"}], **more}


RESPONSES_TAKEN = {
    "a tool round": [GO, calls(), output()],
    "a person between call and result": [GO, calls(), GO, output()],
    "a model's word without an id": [GO, said(), GO],
    "a short message": [GO, {"role": "assistant", "content": "x"}, GO],
    "an id of 64": [GO, calls("c" * 64), output("c" * 64)],
}


@pytest.mark.parametrize("items", RESPONSES_TAKEN.values(), ids=RESPONSES_TAKEN)
async def test_responses_take_what_the_vendor_takes(simulate, ask_responses, items):
    assert await ask_responses(await simulate(script=Script(strict=True)), input=items)


def reasoning(**more):
    return {"type": "reasoning", "summary": [], **more}


RESPONSES = {
    "a call without a result": ([GO, calls(), GO], 400, "No tool output found for function call c1."),
    "a result without a call": ([GO, output()], 400, "No tool call found for function call output with call_id c1."),
    "a result before its call": ([GO, output(), calls()], 400, "No tool call found for function call output"),
    "an id of 65": ([GO, calls("c" * 65), output("c" * 65)], 400, "maximum length 64, but got a string with length 65"),
    "a name with a dot": ([GO, calls(name="a.b"), output()], 400, "'input[1].name': string does not match pattern"),
    "a person's part by the model": ([GO, said("input_text"), GO], 400, "values are: 'output_text' and 'refusal'"),
    "a part of the other API": ([{"role": "user", "content": [{"type": "text"}]}], 400, "Invalid value: 'text'"),
    "a foreign role": ([{"role": "tool", "content": "x"}], 400, "Invalid value: 'tool'"),
    "a foreign item": ([{"type": "tool_use"}], 400, "Invalid value: 'tool_use'"),
    "an unknown field": ([{**GO, "signature": "x"}], 400, "Unknown parameter: 'input[0].signature'"),
    "a foreign alphabet of ids": ([GO, calls(id="toolu_1"), output()], 400, "Expected an ID that begins with 'fc'"),
    "a foreign call": ([GO, calls(id="fc_1"), output()], 404, "Item with id 'fc_1' not found"),
    "a foreign message": ([GO, said(id="msg_1"), GO], 404, "Item with id 'msg_1' not found"),
    "foreign reasoning": ([GO, reasoning(id="rs_1"), said(), GO], 404, "Item with id 'rs_1' not found"),
    "foreign encrypted reasoning": (
        [GO, reasoning(encrypted_content=seal("google", "x")), said(), GO],
        400,
        "could not be verified",
    ),
    "reasoning without a summary": ([GO, {"type": "reasoning", "id": "rs_1"}, GO], 400, "input[1].summary"),
    "a call without arguments": (
        [GO, {"type": "function_call", "call_id": "c1", "name": "look"}, output()],
        400,
        "Missing required parameter: 'input[1].arguments'",
    ),
    "a result of nothing": (
        [GO, calls(), {"type": "function_call_output", "call_id": "c1"}],
        400,
        "Missing required parameter: 'input[2].output'",
    ),
    "a message without content": ([{"role": "user"}], 400, "Missing required parameter: 'input[0].content'"),
    "an empty list of parts": ([{"role": "user", "content": []}], 400, "Invalid 'input[0].content': empty array"),
    "nothing": ([], 400, "Invalid 'input': empty array"),
}


@pytest.mark.parametrize(("items", "status", "words"), RESPONSES.values(), ids=RESPONSES)
async def test_responses_refuse_what_the_vendor_refuses(simulate, ask_responses, items, status, words):
    sim = await simulate(script=Script(strict=True))
    with pytest.raises(openai.APIStatusError) as caught:
        await ask_responses(sim, input=items)
    assert words in caught.value.message
    assert (caught.value.status_code, caught.value.type) == (status, "invalid_request_error")
    sim.use(Script())
    assert await ask_responses(sim, input=items)


async def test_an_unknown_previous_response_is_refused(simulate, ask_responses):
    with pytest.raises(openai.BadRequestError) as caught:
        await ask_responses(await simulate(script=Script(strict=True)), previous_response_id="resp_1")
    assert caught.value.code == "previous_response_not_found"


THINKS = ToolCalls(thinking="Hm.", calls=(ToolCall(name="look"),))


@pytest.fixture
async def output_of(simulate, ask_responses):
    """What a strict simulator said: its items as a client sends them back, and a way to send some."""
    sim = await simulate(script=Script(strict=True, models={"m": (THINKS, Text(text="Done.", repeat=True))}))

    async def first(**options):
        answer = await ask_responses(sim, **options)
        items = [item.model_dump(exclude_none=True) for item in answer.output]

        async def send(*chosen):
            return await ask_responses(sim, input=[GO, *chosen, output(items[-1]["call_id"])])

        return items, send

    return first


async def test_stored_items_are_taken_back_whole_or_by_name(output_of):
    items, send = await output_of()
    assert (await send(*items)).output_text == "Done."
    named = [{"type": "item_reference", "id": items[0]["id"]}, items[1]]
    assert (await send(*named)).output_text == "Done."


async def test_items_that_were_not_stored_are_taken_back_only_with_encrypted_reasoning(output_of):
    sealed, send_sealed = await output_of(store=False, include=["reasoning.encrypted_content"])
    assert (await send_sealed(*sealed)).output_text == "Done."
    del sealed[0]["encrypted_content"]
    with pytest.raises(openai.NotFoundError, match="Items are not persisted when `store` is set to false"):
        await send_sealed(*sealed)


async def test_a_call_is_not_taken_back_without_its_reasoning(output_of):
    (_, called), send = await output_of()
    with pytest.raises(openai.BadRequestError, match="was provided without its required 'reasoning' item: 'rs_"):
        await send(called)
    del called["id"]
    assert (await send(called)).output_text == "Done."


async def test_reasoning_is_not_taken_back_without_what_followed_it(output_of):
    (thought, called), send = await output_of()
    with pytest.raises(openai.BadRequestError, match="of type 'reasoning' was provided without its required following"):
        await send(thought, GO, called)


async def test_an_item_is_taken_only_once(output_of):
    items, send = await output_of()
    with pytest.raises(openai.BadRequestError, match="Duplicate item found with id"):
        await send(*items, *items)
