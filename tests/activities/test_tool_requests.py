"""Which calls of an answer a person has to look at, as the operator declared it."""

import json

import pytest
from pydantic_ai.messages import ToolCallPart

from activities.tool_declaration import HARMLESS, Handling
from activities.tool_requests import MAX_SEARCHED, tool_requests


def needed(approval: object, **arguments: object) -> str:
    """What the ledger is told of a call of a tool with this rule."""
    handling = Handling.model_validate({"approval": approval})
    call = ToolCallPart(tool_name="pay", args=json.dumps(arguments))
    (request,) = tool_requests([call], {"pay": handling})
    return request.approval


@pytest.mark.parametrize(
    ("rule", "arguments", "expected"),
    [
        pytest.param("never", {"to": "ann"}, "", id="never"),
        pytest.param("always", {"to": "ann"}, "always", id="always"),
        pytest.param("once", {"to": "ann"}, "once", id="once"),
        pytest.param({"to": "^a"}, {"to": "ann"}, "always", id="a text that matches"),
        pytest.param({"to": "^a"}, {"to": "bob"}, "", id="a text that does not"),
        pytest.param({"sum": r"\d{4}"}, {"sum": 1000}, "always", id="a number, as JSON"),
        pytest.param({"sum": r"\d{4}"}, {"sum": 999}, "", id="a smaller number"),
        pytest.param({"to": "^a", "sum": "9"}, {"to": "ann", "sum": 1}, "", id="one of two patterns"),
        pytest.param({"to": "^a", "sum": "9"}, {"to": "ann", "sum": 9}, "always", id="both patterns"),
        pytest.param({"to": "^a"}, {}, "always", id="an argument that is missing: its default is not known here"),
        pytest.param({"to": "^b"}, {"to": "a" * (MAX_SEARCHED + 1)}, "always", id="one too long to be searched"),
    ],
)
def test_a_call_needs_approval_as_the_operator_says(rule, arguments, expected):
    assert needed(rule, **arguments) == expected


def test_a_digest_goes_along_only_where_a_person_may_have_to_look():
    calls = [ToolCallPart(tool_name=name, args="{}") for name in ("read", "pay", "gone")]
    read, pay, gone = tool_requests(calls, {"read": HARMLESS, "pay": Handling()})
    assert (read.arguments, bool(pay.arguments), gone.name, gone.arguments) == ("", True, "", "")


def test_a_question_beyond_what_every_door_can_show_is_not_put():
    asked = [
        ToolCallPart(tool_name="ask_person", args=json.dumps({"question": text})) for text in ("é" * 1_000, "é" * 1_001)
    ]
    short, long = tool_requests(asked, {"ask_person": HARMLESS})
    assert (short.question is not None, long.question) == (True, None)
