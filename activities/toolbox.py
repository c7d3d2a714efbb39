"""Opens the tools that this worker carries out, and closes them with it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from activities.catalog import BUILT_IN
from activities.declared import Declared
from activities.tool import Tool


@asynccontextmanager
async def open_tools(declared: Declared) -> AsyncIterator[dict[str, Tool]]:  # noqa: ARG001
    """Every tool that runs here, by the name under which models know it."""
    yield dict(BUILT_IN)
