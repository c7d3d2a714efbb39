"""A server of the Model Context Protocol, as a program of its own: on its standard streams, or over HTTP.

`python mcp_program.py [PORT] [--key KEY] [--sessions]`; with `--sessions` it speaks older revisions of the protocol
only, in which a client has a session that a restart forgets.
"""

import argparse
import asyncio
import json
import os
from pathlib import Path

import mcp_types as types
import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("shop")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def refuse() -> str:
    raise ToolError("the shop is closed")


@server.tool()
def environment() -> list[str]:
    return sorted(os.environ)


@server.tool()
def folder() -> str:
    return str(Path.cwd())


@server.tool(structured_output=False)
def show() -> list[types.ContentBlock]:
    pdf = types.BlobResourceContents(uri="file:///a.pdf", mime_type="application/pdf", blob="AAAA")
    note = types.TextResourceContents(uri="file:///note", text="a note")
    return [
        types.TextContent(text="first"),
        types.ImageContent(data="AAAA", mime_type="image/png"),
        types.ResourceLink(uri="file:///b", name="b"),
        types.EmbeddedResource(resource=note),
        types.EmbeddedResource(resource=pdf),
        types.TextContent(text="last"),
    ]


@server.tool(structured_output=False)
def count() -> types.CallToolResult:
    return types.CallToolResult(content=[], structured_content={"count": 3})


@server.tool()
def repeat(text: str, times: int) -> str:
    return text * times


@server.tool()
def die() -> str:
    os._exit(3)


@server.tool()
async def hang(marks: str) -> str:
    """Leave a mark when it has begun, and another when it is cancelled."""
    mark(marks, "begun")
    try:
        await asyncio.Event().wait()
    finally:
        mark(marks, "cancelled")
    return "never"


def mark(folder: str, name: str) -> None:
    Path(folder, name).touch()


def guarded(app, key: str, *, sessions: bool):
    """The application, for those who have the key; without the newest revision's way of saying hello."""

    async def guard(scope, receive, send):
        headers = {name.decode(): value.decode() for name, value in scope.get("headers", ())}
        if scope["type"] == "http" and key and headers.get("authorization") != f"Bearer {key}":
            await answer(send, 401, {})
        elif scope["type"] == "http" and sessions and headers.get("mcp-method") == "server/discover":
            await answer(send, 404, {})
        else:
            await app(scope, receive, send)

    return guard


async def answer(send, status: int, body: dict) -> None:
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("port", nargs="?", type=int)
    asked.add_argument("--key", default="")
    asked.add_argument("--sessions", action="store_true")
    given = asked.parse_args()
    if given.port is None:
        server.run()
    else:
        app = guarded(server.streamable_http_app(), given.key, sessions=given.sessions)
        uvicorn.run(app, host="127.0.0.1", port=given.port, log_level="warning")


if __name__ == "__main__":
    main()
