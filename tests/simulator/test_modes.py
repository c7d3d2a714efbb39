"""Thinking, images and structured output: in all four APIs they are taken, answered and kept in the log."""

import base64
import json

import pytest
from google.genai import types
from pydantic import BaseModel

from simulator import Text
from simulator.signatures import fits, issued, seal

THOUGHT = Text(text="Paris", thinking="They mean France, surely.")
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452")
PNG_URL = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
CITY = Text(text='{"city": "Paris"}')
THINKING = {"max_tokens": 2048, "thinking": {"type": "enabled", "budget_tokens": 1024}}


class City(BaseModel):
    city: str


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_anthropic_thinks_before_it_answers_and_signs_it(simulate, ask_anthropic, stream):
    answer = await ask_anthropic(await simulate(THOUGHT), stream=stream, **THINKING)
    thinking, text = answer.content
    assert (thinking.type, thinking.thinking) == ("thinking", THOUGHT.thinking)
    assert issued("anthropic", thinking.signature)
    assert fits(thinking.signature, THOUGHT.thinking)
    assert text.text == "Paris"


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_anthropic_shows_no_thought_to_a_request_that_did_not_ask(simulate, ask_anthropic, stream):
    answer = await ask_anthropic(await simulate(THOUGHT), stream=stream)
    assert [block.type for block in answer.content] == ["text"]


async def test_chat_shows_thoughts_as_reasoning_content_before_the_text(simulate, ask_openai):
    sim = await simulate(THOUGHT, THOUGHT)
    plain = (await ask_openai(sim)).choices[0].message
    deltas = [chunk.choices[0].delta for chunk in await ask_openai(sim, stream=True) if chunk.choices]
    assert plain.reasoning_content == THOUGHT.thinking
    assert "".join(getattr(delta, "reasoning_content", "") for delta in deltas) == THOUGHT.thinking
    first_word = next(number for number, delta in enumerate(deltas) if delta.content)
    assert not any(hasattr(delta, "reasoning_content") for delta in deltas[first_word:])


async def test_thoughts_are_counted_as_output_unless_usage_is_scripted(simulate, ask_openai):
    usage = (await ask_openai(await simulate(Text(text="x" * 40, thinking="y" * 80)))).usage
    assert (usage.completion_tokens, usage.completion_tokens_details.reasoning_tokens) == (30, 20)


@pytest.mark.parametrize(("vendor", "other"), [("anthropic", "openai"), ("openai", "google"), ("google", "anthropic")])
def test_a_seal_is_known_by_its_vendor_alone_and_fits_its_thought_alone(vendor, other):
    signature = seal(vendor, "thought")
    assert issued(vendor, signature)
    assert not issued(other, signature)
    assert not fits(signature, "thought!")
    assert not issued(vendor, signature[:-6] + "AAAAA=")
    assert not issued(vendor, "no base64")


async def test_an_image_reaches_the_log_of_every_api(simulate, ask_openai, ask_responses, ask_anthropic, ask_gemini):
    sim = await simulate(Text(text="A cat.", repeat=True))
    chat = [{"type": "image_url", "image_url": {"url": PNG_URL}}]
    responses = [{"type": "input_image", "image_url": PNG_URL, "detail": "auto"}]
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()}
    await ask_openai(sim, messages=[{"role": "user", "content": chat}])
    await ask_responses(sim, input=[{"role": "user", "content": responses}])
    await ask_anthropic(sim, messages=[{"role": "user", "content": [{"type": "image", "source": source}]}])
    await ask_gemini(sim, contents=[types.Part.from_bytes(data=PNG, mime_type="image/png")])
    assert len(sim.requests) == 4
    encoded = base64.b64encode(PNG).decode()
    assert all(encoded in json.dumps(request.body) for request in sim.requests)


async def test_structured_output_is_read_by_every_client(simulate, ask_responses, ask_gemini, openai_to, anthropic_to):
    sim = await simulate(CITY.model_copy(update={"repeat": True}))
    openai, anthropic = await openai_to(sim), await anthropic_to(sim)
    messages = [{"role": "user", "content": "Which?"}]
    chat = await openai.chat.completions.parse(model="m", messages=messages, response_format=City)
    response = await openai.responses.parse(model="m", input="Which?", text_format=City)
    claude = await anthropic.messages.parse(model="m", max_tokens=100, messages=messages, output_format=City)
    config = types.GenerateContentConfig(response_mime_type="application/json", response_schema=City)
    gemini = await ask_gemini(sim, config=config)
    assert chat.choices[0].message.parsed == response.output_parsed == claude.parsed_output == gemini.parsed
    assert gemini.parsed == City(city="Paris")
    assert all("city" in json.dumps(request.body) for request in sim.requests)
