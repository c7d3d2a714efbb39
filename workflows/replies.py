"""What each answer takes from the person who gives it, in words, and how what was typed becomes the answer's message.

For every door (the command line, the inbox), so that all say the same. Which answers an intervention takes stands in
`ledger.interventions.ACCEPTS`; what an answer does is decided in the ledger; sending it is `reaching`.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from pydantic import TypeAdapter

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
    "edit": "let the tool run with these arguments (JSON)",
    "reject": "do not run the tool, and say why",
    "reply": "answer the question",
    "resume": "go on",
    "stop": "end the run as stopped",
}


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


async def body_of(said: Said, put: Put) -> dict[str, Any]:
    """The answer's own fields; text goes to the store, and its reference stands for it. Raises `ValidationError`."""
    fields = {"answer": said.label, **said.given}
    if "text" in fields:
        fields["ref"] = await put(fields.pop("text"))
    message: dict[str, Any] = _ANSWER.validate_python(fields).model_dump(mode="json", exclude_none=True)
    return message


_ANSWER: TypeAdapter[AnswerBody] = TypeAdapter(AnswerBody)
