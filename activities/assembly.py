"""How a stored conversation becomes a request: the order, the merging, and the tools, in pydantic-ai's values.

Not here: the format of one stored message (`messages`), and how a vendor says it (pydantic-ai). A change of what a
model gets to read from the same conversation raises `ASSEMBLY_VERSION`.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby

from pydantic_ai.messages import InstructionPart, ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from activities.client import Request
from activities.declared import ToolDeclaration
from activities.messages import parse


def conversation(bodies: Iterable[bytes]) -> list[ModelMessage]:
    """Read the messages and join those that follow each other on our side: vendors want the sides to alternate.

    So the results of parallel tool calls, and a note after them, are one message, in stored order.
    """
    messages = (parse(body) for body in bodies)
    return [message for _, side in groupby(messages, type) for message in _one_side(list(side))]


def parameters(request: Request) -> ModelRequestParameters:
    """The instructions and tools of a request; an answer may be text or calls as the model likes."""
    instructions = [InstructionPart(content=request.instructions)] if request.instructions else []
    return ModelRequestParameters(
        function_tools=[_tool(tool) for tool in request.tools],
        instruction_parts=instructions,
    )


def _one_side(messages: list[ModelMessage]) -> Iterator[ModelMessage]:
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    if requests:
        yield ModelRequest(parts=[part for request in requests for part in request.parts])
    yield from (message for message in messages if isinstance(message, ModelResponse))


def _tool(tool: ToolDeclaration) -> ToolDefinition:
    return ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.parameters)
