"""OpenAI's responses API: what is scripted arrives at the vendor's own client, whole and in its typed events."""

import json

import openai
import pytest
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelRequest, ThinkingPart
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from simulator import Error, ErrorInStream, ErrorWord, Text, ToolCall, ToolCalls, Usage
from simulator.dialect import Ask
from simulator.openai_chat import ERRORS
from simulator.openai_responses import OpenAIResponses
from simulator.signatures import issued

USAGE = Usage(input_tokens=30, output_tokens=9, cached_tokens=20, reasoning_tokens=4)
PARIS = Text(text="Paris, la ville lumière", thinking="They mean France.", usage=USAGE)
TWO_CALLS = ToolCalls(
    text="Two at once.",
    thinking="Both files.",
    calls=(
        ToolCall(name="read_file", arguments={"path": "a.py"}, id="first"),
        ToolCall(name="write_file", arguments={"path": "ä.py", "content": "x = '{}'\n"}),
    ),
)
ARGUMENTS = [json.loads(call.arguments) for call in TWO_CALLS.calls]
SHOWN = {"reasoning": {"summary": "auto"}, "include": ["reasoning.encrypted_content"]}


def kinds(items):
    return [item.type for item in items]


async def test_a_plain_response_has_its_text_and_usage(simulate, ask_responses):
    response = await ask_responses(await simulate(PARIS))
    assert response.output_text == PARIS.text
    assert response.status == "completed"
    assert (response.usage.input_tokens, response.usage.output_tokens, response.usage.total_tokens) == (30, 9, 39)
    assert response.usage.input_tokens_details.cached_tokens == 20
    assert response.usage.output_tokens_details.reasoning_tokens == 4
    assert response._request_id.startswith("req_")


async def test_streamed_events_build_the_same_response_as_a_plain_answer(simulate, ask_responses):
    sim = await simulate(TWO_CALLS, TWO_CALLS)
    plain = await ask_responses(sim, **SHOWN)
    events = await ask_responses(sim, stream=True, **SHOWN)
    assert kinds(events)[:2] == ["response.created", "response.in_progress"]
    assert kinds(events)[-1] == "response.completed"
    done = [event.item for event in events if event.type == "response.output_item.done"]
    assert done == events[-1].response.output
    assert kinds(done) == kinds(plain.output) == ["reasoning", "message", "function_call", "function_call"]
    assert [event.sequence_number for event in events] == list(range(len(events)))


async def test_pieces_of_a_stream_add_up_to_text_and_arguments(simulate, ask_responses):
    events = await ask_responses(await simulate(TWO_CALLS), stream=True, **SHOWN)
    pieces = {}
    for event in events:
        if event.type.endswith(".delta"):
            pieces.setdefault(event.item_id, []).append(event.delta)
    thought, text, *arguments = ["".join(parts) for parts in pieces.values()]
    assert (thought, text) == (TWO_CALLS.thinking, TWO_CALLS.text)
    assert [json.loads(part) for part in arguments] == ARGUMENTS
    assert [len(parts) for parts in pieces.values()] == [TWO_CALLS.chunks] * 4


async def test_calls_have_names_and_ids_as_scripted_or_made(simulate, ask_responses):
    response = await ask_responses(await simulate(TWO_CALLS))
    first, second = [item for item in response.output if item.type == "function_call"]
    assert [json.loads(call.arguments) for call in (first, second)] == ARGUMENTS
    assert first.call_id == "first"
    assert second.call_id.startswith("call_")
    assert first.id.startswith("fc_")


async def test_thoughts_are_shown_and_sealed_only_for_a_request_that_asks(simulate, ask_responses):
    sim = await simulate(PARIS, PARIS)
    shown = (await ask_responses(sim, **SHOWN)).output[0]
    assert shown.summary[0].text == PARIS.thinking
    assert issued("openai", shown.encrypted_content)
    hidden = (await ask_responses(sim)).output[0]
    assert hidden.type == "reasoning"
    assert (hidden.summary, hidden.encrypted_content) == ([], None)


@pytest.mark.parametrize(("word", "reason"), [("length", "max_output_tokens"), ("content_filter", "content_filter")])
async def test_an_unfinished_answer_is_incomplete_and_says_why(simulate, ask_responses, word, reason):
    sim = await simulate(Text(text="x", finish_reason=word, repeat=True))
    plain = await ask_responses(sim)
    streamed = (await ask_responses(sim, stream=True))[-1]
    assert streamed.type == "response.incomplete"
    assert plain.status == streamed.response.status == "incomplete"
    assert plain.incomplete_details.reason == streamed.response.incomplete_details.reason == reason


@pytest.mark.parametrize("word", ErrorWord.__args__)
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_an_error_word_becomes_the_clients_own_error(simulate, ask_responses, word, stream):
    with pytest.raises(openai.APIStatusError) as caught:
        await ask_responses(await simulate(Error(error=word)), stream=stream)
    assert caught.value.status_code == ERRORS[word][0]
    assert caught.value.code == ERRORS[word][2]


async def test_an_error_in_the_stream_is_a_failed_response_with_the_next_number(simulate, ask_responses):
    sim = await simulate(ErrorInStream(after_events=3, error="rate_limited"))
    *_, before, failed = await ask_responses(sim, stream=True)
    assert failed.type == "response.failed"
    assert failed.response.status == "failed"
    assert failed.response.error.code == "rate_limit_exceeded"
    assert failed.sequence_number == before.sequence_number + 1 == 3


async def test_when_contains_sees_what_came_after_the_models_last_item(simulate, ask_responses):
    sim = await simulate(Text(text="seen", when_contains="two"), Text(text="other", repeat=True))
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"x": "two"}'}
    assert (await ask_responses(sim, input=[call, {"role": "user", "content": "one"}])).output_text == "other"
    result = {"type": "function_call_output", "call_id": "c", "output": "line two"}
    assert (await ask_responses(sim, input=[call, result])).output_text == "seen"


@pytest.mark.parametrize("answer", [PARIS, TWO_CALLS, Text()], ids=["text", "tool calls", "nothing"])
def test_every_streamed_event_is_what_the_vendors_types_require(answer):
    ask = Ask(model="m", stream=True, newest="", size=40, thinking=True, sealed=True)
    for event in OpenAIResponses().events(ask, answer, "t"):
        name, data = event.decode().strip().split("\n", 1)
        read = TypeAdapter(ResponseStreamEvent).validate_json(data.removeprefix("data: "))
        assert name == f"event: {read.type}"


async def test_pydantic_ai_streams_thoughts_text_and_tool_calls(simulate, openai_to):
    sim = await simulate(TWO_CALLS)
    model = OpenAIResponsesModel("m", provider=OpenAIProvider(openai_client=await openai_to(sim)))
    settings = {"openai_reasoning_summary": "auto"}
    async with model_request_stream(model, [ModelRequest.user_text_prompt("Go")], model_settings=settings) as stream:
        _ = [event async for event in stream]
    response = stream.get()
    assert response.text == TWO_CALLS.text
    assert [part.content for part in response.parts if isinstance(part, ThinkingPart)] == [TWO_CALLS.thinking]
    assert [call.args_as_dict() for call in response.tool_calls] == ARGUMENTS
    assert len(sim.requests) == 1
