"""How a stored conversation becomes a request: messages, tools and settings, in pydantic-ai's values.

Not here: the format of one stored message (`messages`), what another target may read of it (`adapting`), and how a
vendor says it (pydantic-ai). A change of what a model gets to read from the same conversation raises
`ASSEMBLY_VERSION`.
"""

from pydantic_ai.messages import InstructionPart, ModelMessage
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from activities.adapting import adapted, may_think
from activities.client import Request
from activities.declared import Provider, ToolDeclaration
from activities.identity import origin
from activities.messages import parse


def conversation(request: Request, provider: Provider) -> list[ModelMessage]:
    """Read the messages in the form that the request's target takes."""
    return adapted([parse(body) for body in request.messages], provider.api, origin(provider, request))


def settings(request: Request, provider: Provider, messages: list[ModelMessage]) -> ModelSettings:
    """The parameters of a request; `messages` are adapted already."""
    asked = ModelSettings(max_tokens=request.max_tokens)
    if request.temperature is not None:
        asked["temperature"] = request.temperature
    if request.thinking == "off" or (request.thinking and not may_think(messages, provider.api)):
        asked["thinking"] = False
    elif request.thinking:
        asked["thinking"] = request.thinking
    return asked


def parameters(request: Request) -> ModelRequestParameters:
    """The instructions and tools of a request; an answer may be text or calls as the model likes."""
    instructions = [InstructionPart(content=request.instructions)] if request.instructions else []
    return ModelRequestParameters(
        function_tools=[_tool(tool) for tool in request.tools],
        instruction_parts=instructions,
    )


def _tool(tool: ToolDeclaration) -> ToolDefinition:
    return ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.parameters)
