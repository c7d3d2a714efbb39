"""What each answer takes from the person who gives it, in words, and how what was typed becomes the answer's message.

Also what arguments of a tool call may look like where a person writes them: one JSON object.

For every door (the command line, the inbox), so that all say the same. Which answers an intervention takes stands in
`ledger.interventions.ACCEPTS`; what an answer does is decided in the ledger; sending it is `reaching`.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any, Final, NoReturn, Self

from pydantic import JsonValue, TypeAdapter, model_validator

from ledger.answers import AnswerBody
from ledger.model import Frozen

Put = Callable[[str], Awaitable[str]]
"""Puts a text into the store and returns its reference."""

TAKES: Final[dict[str, str]] = {
    # answer: the value it takes; "" none
    "retry": "",
    "guide": "text",
    "failover": "target",
    "accept": "",
    "raise": "amount",
    "approve": "",
    "edit": "text",
    "reject": "text",
    "reply": "text",
    "resume": "",
    "stop": "reason",
}
NEEDS: Final = frozenset({"guide", "raise", "edit", "reply"})
"""Answers that mean nothing without their value."""

MEANS: Final[dict[str, str]] = {
    "retry": "one more try; no count falls",
    "guide": "tell the model something, then try once more",
    "failover": "move to another model",
    "accept": "waive the gate on your word",
    "raise": "lift the limit by this much",
    "approve": "let the tool run",
    "edit": "let the tool run with these arguments instead: one JSON object",
    "reject": "do not run the tool, and say why",
    "reply": "answer the question",
    "resume": "go on",
    "stop": "end the run as stopped",
}
_OF_A_LOST_CALL: Final = {
    "retry": "run the tool again: it may then have run twice",
    "reply": "do not run it again, and tell the model what came of the call",
}


def meaning(answer: str, intervention: str) -> str:
    """What an answer means where this is asked; "" for an answer of a later release."""
    lost = _OF_A_LOST_CALL.get(answer) if intervention == "OutcomeUnknown" else None
    return lost or MEANS.get(answer, "")


class Said(Frozen):
    """What a person typed: a label and at most one value that goes with it."""

    label: str
    text: str | None = None
    target: str | None = None
    amount: float | None = None
    reason: str | None = None

    @property
    def given(self) -> dict[str, Any]:
        """The values that were given."""
        return self.model_dump(exclude={"label"}, exclude_none=True)

    @model_validator(mode="after")
    def _arguments_can_be_used(self) -> Self:
        if self.label == "edit" and self.text is not None:
            arguments_of(self.text)
        return self


async def body_of(said: Said, put: Put) -> dict[str, Any]:
    """The answer's own fields; text goes to the store, and its reference stands for it. Raises `ValidationError`."""
    fields = {"answer": said.label, **said.given}
    if "text" in fields:
        fields["ref"] = await put(fields.pop("text"))
    message: dict[str, Any] = _ANSWER.validate_python(fields).model_dump(mode="json", exclude_none=True)
    return message


def arguments_of(text: str) -> dict[str, JsonValue]:
    """Read the arguments of a tool call. Raises `ValueError`, in words for whoever wrote them.

    Stricter than JSON readers are, since what is shown must be what is meant: a key twice, a number that is none
    (NaN, 1e999) and half a character are refused.
    """
    try:
        found = json.loads(text, object_pairs_hook=_each_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise ValueError(f"{_EXPECTED}; it stops being JSON at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise ValueError(f"{_EXPECTED}, nested less deeply") from None
    try:
        json.dumps(found, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        raise ValueError(f"{_EXPECTED}, of finite numbers and whole characters") from None
    if not isinstance(found, dict):
        raise ValueError(_EXPECTED)  # noqa: TRY004 - a person's mistake, told by pydantic
    return found


_EXPECTED: Final = 'the arguments should be one JSON object, such as {"amount": 5}'
_ANSWER: TypeAdapter[AnswerBody] = TypeAdapter(AnswerBody)


def _each_once(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"{_EXPECTED}, with every key once")
    return found


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{_EXPECTED}; {word} is not a number of JSON")
