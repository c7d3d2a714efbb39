"""How a stored conversation becomes a request: messages, tools and settings, in pydantic-ai's values.

Not here: the format of one stored message (`messages`), what another target may read of it (`adapting`), and how a
vendor says it (pydantic-ai). A change of what a model gets to read from the same conversation raises
`ASSEMBLY_VERSION`.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic_ai.messages import InstructionPart, ModelMessage
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from activities.adapting import adapted, may_think
from activities.client import Request
from activities.declared import Provider, Thinking, ToolDeclaration
from activities.identity import origin
from activities.messages import parse

NO_THINKING: Final[Mapping[str, Any]] = {"thinking": False}

BUDGETS: Final[Mapping[Thinking, int]] = {"minimal": 1_024, "low": 2_048, "medium": 10_000, "high": 16_384}
"""Tokens of thought, as pydantic-ai has them for Claude."""

LEAST: Final = 1_024
"""What Anthropic takes as the smallest budget."""


def conversation(request: Request, provider: Provider) -> list[ModelMessage]:
    """Read the messages in the form that the request's target takes."""
    return adapted([parse(body) for body in request.messages], provider.api, origin(provider, request))


def settings(
    request: Request, provider: Provider, messages: list[ModelMessage], profile: ModelProfile
) -> ModelSettings:
    """The parameters of a request; `messages` are adapted already, `profile` is what pydantic-ai knows of the model."""
    asked: dict[str, Any] = {"max_tokens": request.max_tokens}
    if request.temperature is not None:
        asked["temperature"] = request.temperature
    if request.thinking is not None:
        asked |= (
            _thinking(request, request.thinking, provider, profile)
            if may_think(messages, provider.api)
            else NO_THINKING
        )
    return cast("ModelSettings", asked)


def _thinking(request: Request, level: Thinking, provider: Provider, profile: ModelProfile) -> Mapping[str, Any]:
    """As the vendor words it; Claude before adaptive thinking takes tokens, which are part of the answer's.

    Half of them at most: Anthropic refuses a budget of all of them, or of less than 1,024.
    """
    if level == "off":
        return NO_THINKING
    if provider.api != "anthropic-messages" or profile.get("anthropic_supports_adaptive_thinking"):
        return {"thinking": level}
    budget = min(BUDGETS[level], request.max_tokens // 2)
    return {"anthropic_thinking": {"type": "enabled", "budget_tokens": budget}} if budget >= LEAST else NO_THINKING


def parameters(request: Request) -> ModelRequestParameters:
    """The instructions and tools of a request; an answer may be text or calls as the model likes."""
    instructions = [InstructionPart(content=request.instructions)] if request.instructions else []
    return ModelRequestParameters(
        function_tools=[_tool(tool) for tool in request.tools],
        instruction_parts=instructions,
    )


def _tool(tool: ToolDeclaration) -> ToolDefinition:
    return ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.parameters)
