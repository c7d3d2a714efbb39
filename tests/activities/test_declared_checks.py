"""What a look at a declared tool or gate tells, before any run meets it."""

import sys

import pytest

from activities.declared import Declared
from activities.declared_checks import check_approval, check_declared, check_program
from activities.declared_gates import CommandGate
from activities.tool_declaration import Handling, ToolDeclaration
from activities.tool_unusable import ToolUnusable

CENTS = {"type": "object", "properties": {"to": {}, "cents": {}}}


def asking(argument: str, schema: object) -> ToolDeclaration:
    handling = Handling(approval={argument: "1"})
    return ToolDeclaration(name="pay", description="d", parameters=schema, handling=handling)  # type: ignore[arg-type]


def test_an_approval_by_an_argument_that_no_call_has_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ToolUnusable) as refused:
        check_approval(asking("sents", CENTS))
    assert str(refused.value) == 'tool pay: approval: it has no argument "sents"; did you mean "cents"?'


@pytest.mark.parametrize("schema", [CENTS, {"type": "object"}, {**CENTS, "additionalProperties": {"type": "string"}}])
def test_an_approval_that_may_be_meant_is_let_through(schema: object) -> None:
    check_approval(asking("cents" if schema is CENTS else "sents", schema))


@pytest.mark.parametrize("word", ["python", "sh", sys.executable, "./check.sh"])
def test_a_program_that_is_there_or_may_be_in_the_workspace_is_let_through(word: str) -> None:
    check_program("gate tests", word)


@pytest.mark.parametrize("word", ["no-such-program", "/no/such/program"])
def test_a_gate_whose_program_is_not_there_is_refused_by_name(word: str) -> None:
    declared = Declared(gates={"tests": CommandGate(name="tests", command=(word, "-q"))})
    with pytest.raises(ToolUnusable, match=f"^gate tests: there is no program {word}.*; install it"):
        check_declared(declared, {})
