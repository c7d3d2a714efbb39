"""Reads what people send to a run: any payload becomes an answer, a directive, or a refusal with its reason.

Never raises: an exception in a signal handler would fail the workflow, or its task for ever.
"""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from ledger.answering import Refusal
from ledger.answers import Answer, Directive
from ledger.reading import one_line

EXPECTED = (
    'send one of "retry" (a bare label), {"answer": "retry", "intervention": id, "digest": digest}, '
    'or {"directive": "guide", "text": ...}'
)
_ENVELOPE = ("intervention", "digest", "by", "door")


def read_message(messages: Sequence[Any], door: str) -> Answer | Directive | Refusal:
    """One message of any shape. `door` is where it came in, unless the message itself claims another."""
    if len(messages) != 1:
        return _malformed(f"got {len(messages)} arguments where one is expected: {EXPECTED}")
    message = messages[0]
    if isinstance(message, str):
        message = {"answer": message.strip()}
    if not isinstance(message, dict):
        return _malformed(f"an answer is text or an object: {EXPECTED}")
    if not {"answer", "directive"} & message.keys():
        return _malformed(f'it has neither "answer" nor "directive": {EXPECTED}')
    envelope = {"door": door} | {k: v for k, v in message.items() if k in _ENVELOPE}
    body = {k: v for k, v in message.items() if k not in _ENVELOPE}
    try:
        if "directive" in message:
            return Directive.model_validate({"body": body, "by": envelope.get("by", ""), "door": envelope["door"]})
        return Answer.model_validate({"body": body, **envelope})
    except ValidationError as error:
        return _malformed(f"{one_line(error, 'answer')}: {EXPECTED}")


def _malformed(text: str) -> Refusal:
    return Refusal(reason="malformed", text=text)
