"""In strict mode a vendor takes back what it said itself, whatever it said: proved with pydantic-ai's own messages."""

import pytest
from pydantic_ai.direct import model_request
from pydantic_ai.messages import BinaryContent, ModelRequest, TextPart, ThinkingPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.tools import ToolDefinition

from simulator import Script, Text, ToolCall, ToolCalls

PNG = BinaryContent(bytes.fromhex("89504e470d0a1a0a0000000d49484452"), media_type="image/png")
TOOLS = ModelRequestParameters(
    function_tools=[ToolDefinition(name="look", parameters_json_schema={"type": "object", "properties": {}})]
)
LOOKS = ToolCalls(thinking="I look twice.", calls=(ToolCall(name="look"), ToolCall(name="look")))
DONE = Text(text="Seen.", thinking="That was it.")
SCRIPT = (LOOKS, LOOKS, DONE, Text(text="You are welcome."))

SETTINGS = {
    "openai": {},
    "responses": {"openai_reasoning_summary": "auto"},
    "sealed": {"openai_reasoning_summary": "auto", "openai_store": False},
    "anthropic": {"max_tokens": 4096, "anthropic_thinking": {"type": "enabled", "budget_tokens": 1024}},
    "google": {"google_thinking_config": {"include_thoughts": True}},
}


@pytest.fixture
async def model_of(openai_to, anthropic_to, gemini_to):
    async def build(api, sim):
        match api:
            case "openai":
                return OpenAIChatModel("gpt-5", provider=OpenAIProvider(openai_client=await openai_to(sim)))
            case "responses" | "sealed":
                return OpenAIResponsesModel("gpt-5", provider=OpenAIProvider(openai_client=await openai_to(sim)))
            case "anthropic":
                provider = AnthropicProvider(anthropic_client=await anthropic_to(sim))
                return AnthropicModel("claude-haiku-4-5", provider=provider)
            case "google":
                return GoogleModel("gemini-3-pro", provider=GoogleProvider(client=await gemini_to(sim)))

    return build


@pytest.mark.parametrize("api", SETTINGS)
async def test_a_conversation_with_thoughts_tools_and_an_image_is_taken_back_by_its_vendor(simulate, model_of, api):
    names = ("gpt-5", "claude-haiku-4-5", "gemini-3-pro")
    sim = await simulate(script=Script(strict=True, models=dict.fromkeys(names, SCRIPT)))
    model = await model_of(api, sim)
    messages = [ModelRequest([UserPromptPart(["Look at this.", PNG])], instructions="Be brief.")]

    async def ask():
        messages.append(
            await model_request(model, messages, model_settings=SETTINGS[api], model_request_parameters=TOOLS)
        )
        return messages[-1]

    for _ in range(2):
        answer = await ask()
        assert [part for part in answer.parts if isinstance(part, ThinkingPart)]
        returns = [ToolReturnPart(call.tool_name, "a cat", call.tool_call_id) for call in answer.tool_calls]
        assert len(returns) == 2
        messages.append(ModelRequest(returns, instructions="Be brief."))
    assert TextPart("Seen.").content == (await ask()).text
    messages.append(ModelRequest.user_text_prompt("Thanks"))
    assert (await ask()).text == "You are welcome."
    assert [request.number for request in sim.requests] == [1, 2, 3, 4]
