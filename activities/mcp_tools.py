"""Tools of servers of the Model Context Protocol: what a model is told of them, and what it is told they answered.

Here: taking over exactly the declared tools as the server describes them, and wording results. Not here: reaching the
server (`mcp_session`), the time limit and the stored result (`run_tool`).

The server's word counts: its error is told to the model as such, and so is a server that cannot be reached, since then
nothing was done. A call that was lost on its way is told for a tool that may run twice; of any other nobody knows
whether it ran, so it is an exception, upon which the run looks for a result and asks a person.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import mcp_types as types
import pydantic_core
from mcp import MCPError

from activities.declared_tools import McpServer
from activities.mcp_session import CallLost, McpSession, Unreachable
from activities.tool import Asked, Tool, ToolResult
from activities.tool_declaration import ToolDeclaration
from activities.tool_unusable import ToolUnusable
from ledger.reading import suggestion

MAX_REASON: Final = 2_000
"""Characters of a server's own words about an error that the model is told."""


@asynccontextmanager
async def open_mcp(server: McpServer, environ: Mapping[str, str], folder: Path) -> AsyncIterator[dict[str, Tool]]:
    """Open the server's session for this block: its declared tools, by the names under which models know them.

    `ToolUnusable`: it cannot be reached, or lacks a tool.
    """
    for name in (*server.env, server.key_env):
        if name and not environ.get(name, "").strip():
            raise ToolUnusable(f"mcp {server.name}: the variable {name} is not set, and the server is to have it")
    session = McpSession(server, environ, folder)
    try:
        yield _taken_over(server, session, await _offered(server, session))
    finally:
        await session.close()


async def _offered(server: McpServer, session: McpSession) -> Mapping[str, types.Tool]:
    try:
        return await session.tools()
    except Unreachable as error:
        raise ToolUnusable(f"mcp {server.name}: {error}; try it without Endstop, or take it out") from None


def _taken_over(server: McpServer, session: McpSession, offered: Mapping[str, types.Tool]) -> dict[str, Tool]:
    for name in server.tools:
        if name not in offered:
            raise ToolUnusable(f'mcp {server.name}: the server has no tool "{name}"; {suggestion(name, offered)}')
    tools = (_McpTool(server, session, offered[name]).tool() for name in server.tools)
    return {tool.declaration.name: tool for tool in tools}


class _McpTool:
    def __init__(self, server: McpServer, session: McpSession, offered: types.Tool) -> None:
        self._server = server
        self._session = session
        self._offered = offered

    def tool(self) -> Tool:
        declaration = ToolDeclaration(
            name=self._server.known_as(self._offered.name),
            description=self._offered.description or self._offered.title or self._offered.name,
            parameters=self._offered.input_schema,
            handling=self._server.handling,
        )
        return Tool(declaration=declaration, run=self._run)

    async def _run(self, asked: Asked) -> ToolResult:
        arguments = _arguments(asked.arguments)
        if arguments is None:
            return _failed(f"arguments of {self._server.known_as(self._offered.name)}: should be a JSON object")
        try:
            return worded(await self._session.call(self._offered.name, arguments))
        except Unreachable as error:
            return _failed(f"{error}; nothing was done")
        except CallLost as lost:
            if not self._server.idempotent:
                raise
            return _failed(str(lost))
        except MCPError as error:
            return _failed(f"MCP server {self._server.name} answered: {error.message}")
        except (RuntimeError, ValueError) as error:  # the SDK's own check of a result; the server has done its work
            return _failed(f"MCP server {self._server.name} answered what it should not: {error}")


def _arguments(written: str) -> dict[str, Any] | None:
    try:
        given = pydantic_core.from_json(written or "{}")
    except ValueError:
        return None
    return given if isinstance(given, dict) else None


def _failed(text: str) -> ToolResult:
    return ToolResult(text=text[:MAX_REASON], failed=True)


def worded(result: types.CallToolResult) -> ToolResult:
    """Join the texts; what is no text is named. Structured content stands in where there is no text."""
    parts = [_part(block) for block in result.content]
    has_text = any(isinstance(block, types.TextContent) for block in result.content)
    if not has_text and result.structured_content is not None:
        parts.insert(0, pydantic_core.to_json(result.structured_content).decode())
    return ToolResult(text="\n".join(parts), failed=result.is_error)


def _part(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.ImageContent() | types.AudioContent():
            return f"[{block.type} {block.mime_type}, which cannot be shown here]"
        case types.ResourceLink():
            return f"[resource {block.uri}: {block.title or block.name}]"
        case types.EmbeddedResource(resource=types.TextResourceContents() as held):
            return f"[resource {held.uri}]\n{held.text}"
        case types.EmbeddedResource(resource=held):
            return f"[resource {' '.join(filter(None, (held.uri, held.mime_type)))}, which cannot be shown here]"
