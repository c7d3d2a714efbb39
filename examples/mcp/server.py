"""A server of the Model Context Protocol, as anybody would write one: it knows nothing of Endstop."""

from mcp.server.mcpserver import MCPServer

PIECES = {"cup": 12, "teapot": 1}

server = MCPServer("shop")


@server.tool()
def stock(article: str) -> int:
    """Say how many pieces of an article there are."""
    return PIECES.get(article, 0)


@server.tool()
def order(article: str, pieces: int) -> str:
    """Order an article anew."""
    return f"ordered: {pieces} of {article}"


if __name__ == "__main__":
    server.run()
