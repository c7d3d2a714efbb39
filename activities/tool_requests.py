"""What the ledger is told of the tool calls in an answer: names, and which of them a person has to look at first.

Here: whether the operator wants a call approved, and what the model asks a person. The arguments stay in the store;
of a question, its text and options go along, since every door must be able to show them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import pydantic_core
from pydantic import ValidationError
from pydantic_ai.messages import ToolCallPart

from activities.asking import ASK_PERSON, AskPerson
from activities.tool_calls import arguments_digest
from activities.tool_declaration import Handling
from ledger.interventions import MAX_TEXT, Question
from ledger.outcomes import ToolRequest

MAX_SEARCHED: Final = 10_000
"""Characters of an argument that a pattern is searched in; a longer one is approved by a person in any case."""


def tool_requests(calls: Sequence[ToolCallPart], tools: Mapping[str, Handling]) -> tuple[ToolRequest, ...]:
    """The calls of an answer in order. `tools` are the stage's; a call of another keeps no name."""
    return tuple(_requests(calls, tools))


def _requests(calls: Sequence[ToolCallPart], tools: Mapping[str, Handling]) -> Iterator[ToolRequest]:
    for index, call in enumerate(calls):
        if call.tool_name not in tools:
            yield ToolRequest(index=index, name="")
            continue
        handling, arguments = tools[call.tool_name], call.args_as_json_str()
        looked_at = handling.approval != "never" or not handling.idempotent
        yield ToolRequest(
            index=index,
            name=call.tool_name,
            arguments=arguments_digest(arguments) if looked_at else "",
            approval=_approval(handling, arguments),
            question=_question(arguments) if call.tool_name == ASK_PERSON else None,
        )


def _approval(handling: Handling, arguments: str) -> Literal["", "always", "once"]:
    match handling.approval:
        case "never":
            return ""
        case "always" | "once" as asked:
            return asked
        case patterns:
            given = pydantic_core.from_json(arguments)
            return "always" if all(_matches(given.get(name), wanted) for name, wanted in patterns.items()) else ""


def _matches(given: Any, wanted: str) -> bool:  # noqa: ANN401 - whatever the model wrote
    """Whether an argument is one that a person wants to see. One that is missing may have any value by default."""
    if given is None:
        return True
    text = given if isinstance(given, str) else pydantic_core.to_json(given).decode()
    return len(text) > MAX_SEARCHED or re.search(wanted, text) is not None


def _question(arguments: str) -> Question | None:
    """What is asked; None where the arguments do not fit, which the tool then tells the model."""
    try:
        asked = AskPerson.model_validate_json(arguments)
    except ValidationError:
        return None
    size = sum(len(text.encode()) for text in (asked.question, *asked.choices))
    return Question(text=asked.question, options=asked.choices) if size <= MAX_TEXT else None
