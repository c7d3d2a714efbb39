"""How a stored conversation becomes a request: messages, tools and settings, in pydantic-ai's values.

Not here: the format of one stored message (`messages`), what another target may read of it (`adapting`), and how a
vendor says it (pydantic-ai). A change of what a model gets to read from the same conversation raises
`ASSEMBLY_VERSION`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, assert_never, cast

from pydantic_ai.messages import (
    BinaryContent,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    UploadedFile,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from activities.adapting import may_think
from activities.client import ById, Form, Inline, Request
from activities.declared import Provider, Thinking
from activities.files import TEXT, NamedFile
from activities.messages import file_at
from activities.tool_declaration import ToolDeclaration

NO_THINKING: Final[Mapping[str, Any]] = {"thinking": False}

BUDGETS: Final[Mapping[Thinking, int]] = {"minimal": 1_024, "low": 2_048, "medium": 10_000, "high": 16_384}
"""Tokens of thought, as pydantic-ai has them for Claude."""

LEAST: Final = 1_024
"""What Anthropic takes as the smallest budget."""


def with_files(messages: list[ModelMessage], request: Request, system: str) -> list[ModelMessage]:
    """Each file behind the words that announce it; `system` is pydantic-ai's name of the target's provider."""
    return [_with_files(message, request.files, system) for message in messages] if request.files else messages


def _with_files(message: ModelMessage, files: Mapping[str, Form], system: str) -> ModelMessage:
    if not isinstance(message, ModelRequest):
        return message
    return replace(message, parts=[_part(part, files, system) for part in message.parts])


def _part(part: ModelRequestPart, files: Mapping[str, Form], system: str) -> ModelRequestPart:
    if not isinstance(part, UserPromptPart) or isinstance(part.content, str):
        return part
    return replace(part, content=[one for item in part.content for one in _announced(item, files, system)])


def _announced(item: UserContent, files: Mapping[str, Form], system: str) -> Iterator[UserContent]:
    yield item
    file = file_at(item)
    if file is not None:
        yield _sent(file, files[file.ref], system)


def _sent(file: NamedFile, form: Form, system: str) -> UserContent:
    match form:
        case ById(file_id=file_id):
            named = UploadedFile(file_id=file_id, provider_name="openai", media_type=file.media_type)
            # It takes the names of vendors only; an endpoint has the operator's, and ids are its own.
            named.provider_name = cast("Any", system)
            return named
        case Inline(content=content) if file.media_type == TEXT:
            return content.decode()
        case Inline(content=content):
            return BinaryContent(data=content, media_type=file.media_type)
        case _:
            assert_never(form)


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
    """The instructions and tools of a request; an answer may be text or calls as the model likes.

    How its output schema goes along depends on the target: `output_form`.
    """
    instructions = [InstructionPart(content=request.instructions)] if request.instructions else []
    return ModelRequestParameters(
        function_tools=[_tool(tool) for tool in request.tools],
        instruction_parts=instructions,
    )


def _tool(tool: ToolDeclaration) -> ToolDefinition:
    return ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.parameters)
