"""All tools by name: the built-in ones and those that the operator declared; what each needs, and where it runs.

Here: names and routes, which checks of an agent and the run's plan need. Not here: building a tool (the worker does).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from activities.asking import ASK_PERSON
from activities.builtin_tools import TOOLS
from activities.contract import Child, Elsewhere, Here, Route
from activities.declared import Declared
from activities.declared_tools import ActivityTool, AgentTool, CommandTool, DeclaredTool, FunctionTool, McpServer
from activities.spec import canonical
from activities.tool import Tool
from activities.tool_declaration import ToolDeclaration
from ledger.conversation import digest

READ_OUTPUT: Final = "read_output"

QUICK_S: Final = 5
"""A function that may run twice, and has at most these seconds, runs beside the workflow, whose task has 10."""

BUILT_IN: Final[Mapping[str, Here]] = MappingProxyType(
    {
        **{name: Here(in_workspace=tool.in_workspace) for name, tool in TOOLS.items()},
        ASK_PERSON: Here(local=True),
        READ_OUTPUT: Here(local=True),
    }
)
"""What every agent may name, and where its calls go."""


def routes(declared: Declared) -> dict[str, Route]:
    """Every tool that an agent may name here, and where its calls go."""
    known: dict[str, Route] = dict(BUILT_IN)
    known |= {name: _route(tool, declared) for name, tool in declared.tools.items()}
    for server in declared.mcp.values():
        known |= {server.known_as(tool): _here(server) for tool in server.tools}
    return known


def _route(tool: DeclaredTool, declared: Declared) -> Route:
    match tool:
        case ActivityTool():
            return Elsewhere(
                activity=tool.activity,
                task_queue=tool.task_queue,
                idempotent=tool.idempotent,
                timeout_s=tool.timeout_s,
                heartbeat_s=tool.heartbeat_s,
            )
        case FunctionTool():
            quick = tool.idempotent and tool.timeout_s <= QUICK_S
            return _here(tool).model_copy(update={"local": quick})
        case CommandTool():
            return _here(tool).model_copy(update={"in_workspace": True})
        case AgentTool():
            return Child(agent_ref=digest(canonical(declared.agents[tool.agent])), task_queue=tool.task_queue)


def _here(tool: FunctionTool | CommandTool | McpServer) -> Here:
    return Here(idempotent=tool.idempotent, timeout_s=tool.timeout_s)


def declarations(declared: Declared, here: Mapping[str, Tool]) -> dict[str, ToolDeclaration]:
    """What models are told of every tool: those that run here, and those elsewhere."""
    told = {name: tool.declaration for name, tool in here.items()}
    for name, tool in declared.tools.items():
        if isinstance(tool, ActivityTool | AgentTool):
            told[name] = tool.declaration
    return told
