"""Tools that are commands of the operator's: run in the run's workspace as a gate's is, with no word of the model's.

Here: what its end means for the model. Not here: its environment, sandbox and limits (`workspace_command`).
"""

import asyncio
from pathlib import Path

from activities.command import Command, NotStarted, Ran, run_command
from activities.declared_tools import CommandTool
from activities.taking_away import take_away
from activities.tool import Asked, Tool, ToolResult
from activities.workspace_command import WorkspaceCommands, limit_line


def command_tool(declared: CommandTool, commands: WorkspaceCommands) -> Tool:
    """The tool. A command that cannot be started is told to the model: other work may go on without it."""

    async def run(asked: Asked) -> ToolResult:
        if asked.folder is None:
            raise TypeError("a command tool is called with the run's workspace")
        use = _use(declared, asked)
        command = await asyncio.to_thread(commands.made, declared, asked.run, asked.folder.name, use)
        try:
            return _worded(declared, await run_command(command))
        finally:
            await asyncio.to_thread(take_away, _scratch(command))

    return Tool(declaration=declared.declaration, run=run, own_limit=True, in_workspace=True)


def _use(declared: CommandTool, asked: Asked) -> str:
    """A scratch folder of each call's own: calls of one answer run at the same time."""
    return f"{declared.name}-{asked.key.removeprefix(asked.run).strip('/').replace('/', '-')}"


def _scratch(command: Command) -> Path:
    return Path(command.environment["HOME"])


def _worded(declared: CommandTool, ran: Ran | NotStarted) -> ToolResult:
    if isinstance(ran, NotStarted):
        return ToolResult(text=f"{declared.name} cannot be started: {ran.reason}", failed=True)
    code = f"exit code {ran.exit_code}" if ran.exit_code else ""
    end = limit_line(declared, ran) or code
    if not end:
        return ToolResult(text=ran.output)
    said = ran.output.rstrip("\n")
    return ToolResult(text=f"{said}\n{end}" if said else end, failed=True)
