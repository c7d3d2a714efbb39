"""Gemini's generateContent: what is scripted arrives at Google's own client, whole and streamed."""

import json

import pytest
from google.genai import errors, types
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelRequest, ThinkingPart
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.providers.google import GoogleProvider

from simulator import Cut, Error, ErrorInStream, ErrorWord, Script, Text, ToolCall, ToolCalls, Usage
from simulator.gemini_errors import ERRORS

USAGE = Usage(input_tokens=30, output_tokens=9, cached_tokens=20, reasoning_tokens=4)
PARIS = Text(text="Paris, la ville lumière", thinking="They mean France.", usage=USAGE)
TWO_CALLS = ToolCalls(
    text="Two at once.",
    calls=(
        ToolCall(name="read_file", arguments={"path": "a.py"}, id="first"),
        ToolCall(name="write_file", arguments={"path": "ä.py", "content": "x = '{}'\n"}),
    ),
)
ARGUMENTS = [json.loads(call.arguments) for call in TWO_CALLS.calls]
SHOWN = types.GenerateContentConfig(thinking_config=types.ThinkingConfig(include_thoughts=True))


def parts_of(chunks):
    return [part for chunk in chunks for part in chunk.candidates[0].content.parts or []]


async def test_a_plain_answer_has_its_text_and_counts_thoughts_beside_the_rest(simulate, ask_gemini):
    answer = await ask_gemini(await simulate(PARIS))
    assert answer.text == PARIS.text
    assert answer.candidates[0].finish_reason == types.FinishReason.STOP
    usage = answer.usage_metadata
    assert (usage.prompt_token_count, usage.cached_content_token_count) == (30, 20)
    assert (usage.candidates_token_count, usage.thoughts_token_count, usage.total_token_count) == (5, 4, 39)
    assert answer.model_version == "m"


async def test_a_stream_comes_in_pieces_and_finishes_in_its_last_chunk(simulate, ask_gemini):
    chunks = await ask_gemini(await simulate(PARIS), stream=True)
    assert len(chunks) == PARIS.chunks
    assert "".join(part.text for part in parts_of(chunks)) == PARIS.text
    assert [chunk.candidates[0].finish_reason for chunk in chunks] == [None, None, types.FinishReason.STOP]
    assert chunks[-1].usage_metadata.total_token_count == 39
    assert len({chunk.response_id for chunk in chunks}) == 1


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_parallel_calls_arrive_as_objects(simulate, ask_gemini, stream):
    answer = await ask_gemini(await simulate(TWO_CALLS), stream=stream)
    calls = [part.function_call for part in parts_of(answer if stream else [answer]) if part.function_call]
    assert [call.name for call in calls] == ["read_file", "write_file"]
    assert [call.args for call in calls] == ARGUMENTS
    assert [call.id for call in calls] == ["first", None]


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_thoughts_are_shown_only_for_a_request_that_asks(simulate, ask_gemini, stream):
    sim = await simulate(PARIS, PARIS)
    shown = await ask_gemini(sim, stream=stream, config=SHOWN)
    hidden = await ask_gemini(sim, stream=stream)
    thoughts = [part.text for part in parts_of(shown if stream else [shown]) if part.thought]
    assert "".join(thoughts) == PARIS.thinking
    assert not any(part.thought for part in parts_of(hidden if stream else [hidden]))


async def test_gemini_3_signs_its_first_call_and_gives_all_an_id(simulate, ask_gemini):
    calls = ToolCalls(calls=(ToolCall(name="a"), ToolCall(name="b")))
    sim = await simulate(script=Script(models={"gemini-3-pro": (calls,), "gemini-2.5-pro": (calls,)}))
    new, old = [
        parts_of([await ask_gemini(sim, model=model, contents="Go")]) for model in ("gemini-3-pro", "gemini-2.5-pro")
    ]
    assert [bool(part.thought_signature) for part in new] == [True, False]
    assert len({part.function_call.id for part in new} - {None}) == 2
    assert [(part.thought_signature, part.function_call.id) for part in old] == [(None, None)] * 2


async def test_an_answer_in_words_after_thinking_is_signed_on_its_last_part(simulate, ask_gemini):
    chunks = await ask_gemini(await simulate(PARIS), stream=True)
    assert [bool(part.thought_signature) for part in parts_of(chunks)] == [False, False, True]


@pytest.mark.parametrize("arguments", ['{"path": ', "[1]"], ids=["cut off", "no object"])
async def test_malformed_arguments_finish_the_answer_without_a_call(simulate, ask_gemini, arguments):
    answer = await ask_gemini(await simulate(ToolCalls(calls=(ToolCall(name="f", arguments=arguments),))))
    assert answer.candidates[0].finish_reason == types.FinishReason.MALFORMED_FUNCTION_CALL
    assert answer.candidates[0].content.parts is None


FINISHES = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY", "RECITATION": "RECITATION"}


@pytest.mark.parametrize("word", FINISHES)
async def test_finish_reasons_are_said_in_the_vendors_word(simulate, ask_gemini, word):
    answer = await ask_gemini(await simulate(Text(text="x", finish_reason=word)))
    assert answer.candidates[0].finish_reason.value == FINISHES[word]


@pytest.mark.parametrize("word", [word for word in ErrorWord.__args__ if word != "content_refused"])
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_an_error_word_becomes_the_clients_own_error(simulate, ask_gemini, word, stream):
    with pytest.raises(errors.APIError) as caught:
        await ask_gemini(await simulate(Error(error=word)), stream=stream)
    assert (caught.value.code, caught.value.status) == (ERRORS[word].http, ERRORS[word].status)


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_a_refused_prompt_is_an_answer_without_candidates(simulate, ask_gemini, stream):
    answer = await ask_gemini(await simulate(Error(error="content_refused")), stream=stream)
    answer = answer[0] if stream else answer
    assert answer.candidates is None
    assert answer.prompt_feedback.block_reason == types.BlockedReason.PROHIBITED_CONTENT


async def test_a_stated_wait_is_in_the_retry_info(simulate, ask_gemini):
    with pytest.raises(errors.ClientError) as caught:
        await ask_gemini(await simulate(Error(error="rate_limited", retry_after_s=7)))
    assert caught.value.details["error"]["details"][-1]["retryDelay"] == "7s"


async def test_a_wrong_key_is_a_400_that_names_the_reason(simulate, ask_gemini):
    sim = await simulate(script=Script(keys=("right",)))
    with pytest.raises(errors.ClientError) as caught:
        await ask_gemini(sim, key="wrong")
    assert caught.value.code == 400
    assert caught.value.details["error"]["details"][0]["reason"] == "API_KEY_INVALID"
    assert await ask_gemini(sim, key="right")
    assert "wrong" not in str(sim.requests)


async def test_an_error_in_the_stream_is_raised_after_what_came_before(simulate, gemini_to):
    client = await gemini_to(await simulate(ErrorInStream(after_events=2, error="overloaded")))
    chunks = await client.aio.models.generate_content_stream(model="m", contents="x")
    assert (await anext(chunks)).candidates
    assert (await anext(chunks)).candidates
    with pytest.raises(errors.ServerError) as caught:
        await anext(chunks)
    assert caught.value.status == "UNAVAILABLE"


async def test_a_stream_cut_cleanly_lacks_its_finish_reason(simulate, ask_gemini):
    chunks = await ask_gemini(await simulate(Cut(after_events=1, ending="clean")), stream=True)
    assert [chunk.candidates[0].finish_reason for chunk in chunks] == [None]


async def test_when_contains_sees_the_results_of_functions(simulate, ask_gemini):
    sim = await simulate(Text(text="seen", when_contains="two"), Text(text="other", repeat=True))
    call = types.Part.from_function_call(name="f", args={"x": "two"})
    model = types.Content(role="model", parts=[call])
    user = types.Content(role="user", parts=[types.Part.from_text(text="one")])
    assert (await ask_gemini(sim, contents=[model, user])).text == "other"
    result = types.Part.from_function_response(name="f", response={"lines": ["two"]})
    assert (await ask_gemini(sim, contents=[model, types.Content(role="user", parts=[result])])).text == "seen"


async def test_pydantic_ai_streams_thoughts_text_and_tool_calls(simulate, gemini_to):
    sim = await simulate(TWO_CALLS.model_copy(update={"thinking": "Both files."}))
    model = GoogleModel("m", provider=GoogleProvider(client=await gemini_to(sim)))
    settings = {"google_thinking_config": {"include_thoughts": True}}
    async with model_request_stream(model, [ModelRequest.user_text_prompt("Go")], model_settings=settings) as stream:
        _ = [event async for event in stream]
    response = stream.get()
    assert response.text == TWO_CALLS.text
    assert [part.content for part in response.parts if isinstance(part, ThinkingPart)] == ["Both files."]
    assert [call.args_as_dict() for call in response.tool_calls] == ARGUMENTS
    assert len(sim.requests) == 1
