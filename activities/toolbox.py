"""Opens the tools that this worker carries out, and closes them with it.

Here: which kind of tool is made of which declaration. Not here: any kind of tool. A tool that cannot be opened ends the
worker before it takes any work: an agent that needs it would find out in the middle of its run.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from activities.asking import ASKING
from activities.builtin_tools import TOOLS
from activities.command_tools import command_tool
from activities.declared import Declared
from activities.declared_tools import ActivityTool, AgentTool, CommandTool, FunctionTool
from activities.function_tools import function_tool
from activities.functions import FunctionThreads, make_importable
from activities.reading_output import reading
from activities.stored import Contents
from activities.tool import Tool
from activities.workspace_command import WorkspaceCommands


@asynccontextmanager
async def open_tools(
    declared: Declared,
    *,
    store: Contents,
    commands: WorkspaceCommands,
    threads: FunctionThreads,
    environ: Mapping[str, str],
    folder: Path,
) -> AsyncIterator[dict[str, Tool]]:
    """Every tool that runs here, by the name under which models know it. `folder` is that of endstop.toml.

    Raises `ToolUnusable`, whose message is one line for the operator.
    """
    built_in = (*TOOLS.values(), ASKING, reading(store))
    tools = {tool.declaration.name: tool for tool in built_in}
    async with AsyncExitStack() as closing:
        make_importable(folder)
        for name, tool in declared.tools.items():
            match tool:
                case FunctionTool():
                    tools[name] = function_tool(tool, threads)
                case CommandTool():
                    tools[name] = command_tool(tool, commands)
                case ActivityTool() | AgentTool():
                    pass  # its own worker carries it out
        if declared.mcp:
            from activities.mcp_tools import open_mcp  # noqa: PLC0415 - a second of CPU, for those who declare a server

            for server in declared.mcp.values():
                tools |= await closing.enter_async_context(open_mcp(server, environ, folder))
        yield tools
