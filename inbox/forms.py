"""What a browser posts to the inbox, read into a `Reply`. A form that a person could not have sent is refused.

Only URL-encoded forms, which is what the inbox's own pages send.
"""

from typing import Final
from urllib.parse import parse_qs

from pydantic import ValidationError

from inbox.waiting import Reply
from ledger.reading import one_line
from workflows.replies import MEANS, NEEDS, TAKES, Said

MAX_FORM: Final = 1_048_576
"""Bytes of a form: a text of a million characters is a file, not a word."""
MAX_FIELDS: Final = 20


class Unusable(Exception):  # noqa: N818 - what the person reads
    """The form cannot be used; the message is one line."""


def read_fields(body: bytes) -> dict[str, str]:
    """The form's fields, each once. A line break is one character, whatever the browser made of it."""
    try:
        found = parse_qs(body.decode(), strict_parsing=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:  # of decoding too
        raise Unusable("this is not a form of the inbox: open the run's page and answer there") from None
    return {name: values[0].replace("\r\n", "\n") for name, values in found.items() if len(values) == 1}


def read_reply(fields: dict[str, str]) -> Reply:
    """The answer that the fields hold, bound to the question they name."""
    try:
        bound = {name: fields[name] for name in ("run", "first", "intervention", "digest")}
    except KeyError as error:
        raise Unusable(f"the form lacks {error.args[0]}: open the run's page and answer there") from None
    by = fields.get("by", "").strip()
    if not by:
        raise Unusable("say who you are: your name goes into the run's journal")
    try:
        return Reply(**bound, said=_said(fields.get("answer", ""), fields.get("value", "")), by=by)
    except ValidationError as error:
        raise Unusable(one_line(error, "answer")) from None


def _said(label: str, value: str) -> Said:
    takes = TAKES.get(label)
    if takes is None:
        raise Unusable(f"answers are {', '.join(TAKES)}: open the run's page and choose one")
    if label in NEEDS and not value.strip():
        raise Unusable(f"{label} needs a value: {MEANS[label]}")
    given = {takes: value} if takes and value.strip() else {}
    return Said.model_validate({"label": label, **given})
