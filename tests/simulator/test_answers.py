"""Good answers arrive at the vendors' own clients as the script says, plain and streamed."""

import json

import pytest
from anthropic.types import RawMessageStreamEvent
from openai.types.chat import ChatCompletionChunk
from pydantic import TypeAdapter
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from simulator import Text, ToolCall, ToolCalls, Usage
from simulator.dialect import Ask
from simulator.routing import DIALECTS

OPENAI, _, ANTHROPIC, _ = DIALECTS
ASK = Ask(model="m", stream=True, newest="", size=40)
PARIS = Text(text="Paris, la ville lumière", usage=Usage(input_tokens=30, output_tokens=9, cached_tokens=20))
TWO_CALLS = ToolCalls(
    text="Two at once.",
    calls=(
        ToolCall(name="read_file", arguments={"path": "a.py"}, id="first"),
        ToolCall(name="write_file", arguments={"path": "ä.py", "content": "x = '{}'\n"}),
    ),
)
ARGUMENTS = [json.loads(call.arguments) for call in TWO_CALLS.calls]


async def test_openai_client_reads_a_plain_text_with_its_usage(simulate, ask_openai):
    answer = await ask_openai(await simulate(PARIS))
    assert answer.choices[0].message.content == PARIS.text
    assert answer.choices[0].finish_reason == "stop"
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (30, 9, 39)
    assert answer.usage.prompt_tokens_details.cached_tokens == 20


async def test_openai_client_reads_a_streamed_text_in_pieces_and_usage_at_the_end(simulate, ask_openai):
    chunks = await ask_openai(await simulate(PARIS), stream=True)
    pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    assert len(pieces) == PARIS.chunks
    assert "".join(pieces) == PARIS.text
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens == 9


async def test_openai_stream_has_usage_only_when_the_client_asks_for_it(simulate, openai_to):
    client = await openai_to(await simulate(PARIS))
    async with await client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "x"}], stream=True
    ) as chunks:
        received = [chunk async for chunk in chunks]
    assert all(chunk.choices for chunk in received)
    assert all("usage" not in chunk.model_fields_set for chunk in received)


async def test_anthropic_client_reads_a_plain_text_and_counts_cached_input_beside_the_rest(simulate, ask_anthropic):
    answer = await ask_anthropic(await simulate(PARIS))
    assert answer.content[0].text == PARIS.text
    assert answer.stop_reason == "end_turn"
    assert (answer.usage.input_tokens, answer.usage.cache_read_input_tokens) == (10, 20)
    assert answer.usage.output_tokens == 9


async def test_anthropic_client_reads_the_same_message_from_a_stream(simulate, ask_anthropic):
    answer = await ask_anthropic(await simulate(PARIS), stream=True)
    assert [block.text for block in answer.content] == [PARIS.text]
    assert answer.stop_reason == "end_turn"
    assert (answer.usage.input_tokens, answer.usage.cache_read_input_tokens) == (10, 20)
    assert answer.usage.output_tokens == 9


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_anthropic_client_reads_parallel_tool_calls(simulate, ask_anthropic, stream):
    answer = await ask_anthropic(await simulate(TWO_CALLS), stream=stream)
    words, first, second = answer.content
    assert words.text == TWO_CALLS.text
    assert [first.input, second.input] == ARGUMENTS
    assert first.id == "first"
    assert second.id.startswith("toolu_")
    assert answer.stop_reason == "tool_use"


async def test_openai_client_reads_parallel_tool_calls(simulate, ask_openai):
    answer = await ask_openai(await simulate(TWO_CALLS))
    calls = answer.choices[0].message.tool_calls
    assert [json.loads(call.function.arguments) for call in calls] == ARGUMENTS
    assert [call.function.name for call in calls] == ["read_file", "write_file"]
    assert calls[0].id == "first"
    assert answer.choices[0].finish_reason == "tool_calls"


async def test_openai_client_puts_parallel_tool_calls_together_from_a_stream(simulate, openai_to):
    client = await openai_to(await simulate(TWO_CALLS))
    async with client.chat.completions.stream(model="m", messages=[{"role": "user", "content": "x"}]) as stream:
        final = await stream.get_final_completion()
    message = final.choices[0].message
    assert message.content == TWO_CALLS.text
    assert [json.loads(call.function.arguments) for call in message.tool_calls] == ARGUMENTS
    assert final.choices[0].finish_reason == "tool_calls"


async def test_two_answers_never_share_an_id(simulate, ask_openai):
    sim = await simulate(TWO_CALLS, TWO_CALLS)
    one, two = await ask_openai(sim), await ask_openai(sim)
    assert one.id != two.id
    assert one.choices[0].message.tool_calls[1].id != two.choices[0].message.tool_calls[1].id
    assert one._request_id != two._request_id


async def test_request_ids_come_in_the_vendors_own_header(simulate, ask_openai, ask_anthropic):
    sim = await simulate(PARIS, PARIS)
    assert (await ask_openai(sim))._request_id.startswith("req_")
    assert (await ask_anthropic(sim))._request_id.startswith("req_")


FINISHES = {
    "stop": ("stop", "end_turn"),
    "length": ("length", "max_tokens"),
    "tool_calls": ("tool_calls", "tool_use"),
    "content_filter": ("content_filter", "refusal"),
    "pause_turn": ("pause_turn", "pause_turn"),
}


@pytest.mark.parametrize("word", FINISHES)
async def test_finish_reasons_are_said_in_the_vendors_word(simulate, ask_openai, ask_anthropic, word):
    sim = await simulate(Text(text="x", finish_reason=word, repeat=True))
    openai_says, anthropic_says = FINISHES[word]
    assert (await ask_openai(sim)).choices[0].finish_reason == openai_says
    assert (await ask_anthropic(sim)).stop_reason == anthropic_says
    assert (await ask_anthropic(sim, stream=True)).stop_reason == anthropic_says


async def test_usage_without_a_script_grows_with_the_conversation(simulate, ask_openai):
    sim = await simulate(Text(text="x" * 40, repeat=True))
    short = await ask_openai(sim)
    long = await ask_openai(sim, messages=[{"role": "user", "content": "y" * 4000}])
    assert short.usage.completion_tokens == 10
    assert 900 < long.usage.prompt_tokens - short.usage.prompt_tokens < 1100


async def test_malformed_arguments_reach_the_client_unmended(simulate, ask_openai):
    broken = ToolCalls(calls=(ToolCall(name="f", arguments='{"path": "a.py'),))
    answer = await ask_openai(await simulate(broken))
    assert answer.choices[0].message.tool_calls[0].function.arguments == '{"path": "a.py'


@pytest.mark.parametrize("answer", [PARIS, TWO_CALLS, Text()], ids=["text", "tool calls", "nothing"])
def test_every_streamed_event_is_what_the_vendors_types_require(answer):
    *chunks, done = OPENAI.events(ASK, answer, "t")
    assert done == b"data: [DONE]\n\n"
    for chunk in chunks:
        ChatCompletionChunk.model_validate_json(chunk.removeprefix(b"data: "))
    kinds = []
    for event in ANTHROPIC.events(ASK, answer, "t"):
        name, data = event.decode().strip().split("\n", 1)
        kinds.append(name.removeprefix("event: "))
        if kinds[-1] != "ping":  # the vendor sends it, the client's types leave it out
            TypeAdapter(RawMessageStreamEvent).validate_json(data.removeprefix("data: "))
    assert kinds[0] == "message_start"
    assert ("ping" in kinds) == ("content_block_start" in kinds)
    assert kinds[-2:] == ["message_delta", "message_stop"]
    assert kinds.count("content_block_start") == kinds.count("content_block_stop")


@pytest.mark.parametrize("vendor", ["openai", "anthropic"])
async def test_pydantic_ai_streams_text_and_tool_calls(simulate, openai_to, anthropic_to, vendor):
    sim = await simulate(TWO_CALLS)
    if vendor == "openai":
        model = OpenAIChatModel("m", provider=OpenAIProvider(openai_client=await openai_to(sim)))
    else:
        model = AnthropicModel("m", provider=AnthropicProvider(anthropic_client=await anthropic_to(sim)))
    async with model_request_stream(model, [ModelRequest.user_text_prompt("Go")]) as stream:
        _ = [event async for event in stream]
    response = stream.get()
    assert response.text == TWO_CALLS.text
    assert [call.args_as_dict() for call in response.tool_calls] == ARGUMENTS
    assert response.finish_reason == "tool_call"
    assert response.usage.output_tokens > 0
    assert len(sim.requests) == 1
