"""The arguments that tools take, kept in the store for the doors at which a person may change those of a call.

A door knows neither the operator's functions nor his MCP servers; the worker that prepares a run does. Not here: what a
tool itself makes of its arguments (each tool).
"""

import json
from collections.abc import Collection, Mapping

import pydantic_core

from activities.tool_declaration import ToolDeclaration


def kept(tools: Mapping[str, ToolDeclaration], named: Collection[str]) -> str:
    """The schemas of the named tools that a person may be asked about, as JSON; "" where there are none.

    One that we cannot check, as an MCP server may have it, is left out.
    """
    asked = {name: tool.parameters for name, tool in tools.items() if name in named and _is_asked_about(tool)}
    if not asked:
        return ""
    from activities.output_schema import refusal  # noqa: PLC0415 - a tenth of a second, for those whose tools ask

    usable = {name: schema for name, schema in asked.items() if refusal(schema) is None}
    return json.dumps(usable, sort_keys=True, separators=(",", ":")) if usable else ""


def _is_asked_about(tool: ToolDeclaration) -> bool:
    return tool.handling.approval != "never"


def fault(schemas: bytes, tool: str, arguments: str) -> str:
    """Why the tool would not take these arguments, and where; "" where nothing is known against them."""
    from activities.output_schema import misfit  # noqa: PLC0415 - as above

    known = pydantic_core.from_json(schemas)
    why = misfit(known[tool], arguments) if tool in known else None
    return f"arguments of {tool}: {why}" if why else ""
