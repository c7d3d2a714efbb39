"""What tools take, as it is kept for people who change a call's arguments."""

import json

import pytest

from activities.tool_declaration import Handling, ToolDeclaration
from activities.tool_schemas import fault, kept

CENTS = {"type": "object", "required": ["cents"], "properties": {"cents": {"type": "integer", "minimum": 1}}}


def tool(name: str, approval: object = "always", **schema: object) -> ToolDeclaration:
    handling = Handling.model_validate({"approval": approval})
    return ToolDeclaration(name=name, description="d", parameters=schema or CENTS, handling=handling)  # type: ignore[arg-type]


def test_only_named_tools_that_ask_and_whose_schema_can_be_checked_are_kept() -> None:
    tools = (
        tool("pay"),
        tool("never", "never"),
        tool("sometimes", {"cents": "1"}),
        tool("unnamed"),
        tool("strange", patternProperties={"x": {}}),
    )
    known = {one.name: one for one in tools}
    assert set(json.loads(kept(known, set(known) - {"unnamed"}))) == {"pay", "sometimes"}
    assert kept(known, {"never", "strange"}) == ""


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ('{"cents": 5}', ""),
        ('{"to": "Bob"}', "arguments of pay: cents: is missing"),
        ('{"cents": "5"}', "arguments of pay: cents: type is not met"),
        ('{"cents": 0}', "arguments of pay: cents: minimum is not met"),
    ],
)
def test_arguments_that_a_tool_would_not_take_are_told_by_their_place(arguments: str, why: str) -> None:
    schemas = kept({"pay": tool("pay")}, {"pay"}).encode()
    assert fault(schemas, "pay", arguments) == why
    assert fault(schemas, "another", arguments) == ""
