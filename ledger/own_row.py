"""A classifier row that an operator declares: read strictly, written as a person writes.

Here: what an operator may leave out, how it is spelled, and what is refused. Not here: where such rows stand among ours
(`classify.rows_with`), or the file they come from (`settings.py`).
"""

import re
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, BeforeValidator, model_validator

from ledger.classifier_row import Row, Status
from ledger.failures import FailureKind
from ledger.phrases import squeezed, words

_OURS: Final = frozenset({FailureKind.WORKER_LOST, FailureKind.NOT_SENT, FailureKind.CANCELLED})
"""Kinds that say what happened on our side: nothing that a provider answers can mean them."""
_VERDICT: Final = frozenset(
    {"rule", "source", "kind", "transient", "capacity", "failover", "renew_files", "outcome_unknown", "unless"}
)
"""Fields that say what a row means, or where it does not apply; all others are conditions."""


def _of_a_provider(kind: FailureKind) -> FailureKind:
    if kind in _OURS:
        raise ValueError(f'"{kind.value}" is no answer of a provider; name another kind')
    return kind


def _a_name(name: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9_.-]{0,63}", name):
        raise ValueError('a rule\'s name is lower case letters, digits, "_", "." and "-", such as "own.maintenance"')
    return name


def _a_status(value: Any) -> Any:  # noqa: ANN401 - whatever the file holds
    """A status as a number will do as well."""
    text = str(value) if isinstance(value, int) else value
    if isinstance(text, str) and not re.fullmatch(r"[1-9]\d\d|[1-9]xx|none", text):
        raise ValueError('a status is three digits, a hundred of them such as "5xx", or "none" where no answer came')
    return text


def _a_phrase(text: str) -> str:
    """A phrase as the words of an answer are compared: any case and punctuation, ` * ` for a gap."""
    pieces = [words(piece) for piece in text.split(" * ")]
    if not all(pieces):
        raise ValueError('a phrase is words, with " * " for a gap between two of them')
    return " * ".join(pieces)


def _a_code(text: str) -> str:
    if not squeezed(text):
        raise ValueError("a code has letters or digits")
    return text


def _a_part(text: str) -> str:
    """A part of a provider's name, as names are compared."""
    return squeezed(_a_code(text))


Phrase = Annotated[str, AfterValidator(_a_phrase)]
Code = Annotated[str, AfterValidator(_a_code)]


class OwnRow(Row):
    """A `Row` of `[[classify]]`."""

    rule: Annotated[str, AfterValidator(_a_name)]
    """Its name; the name of one of our rows replaces that row."""
    source: str = "endstop.toml"
    kind: Annotated[FailureKind, AfterValidator(_of_a_provider)]

    providers: tuple[Annotated[str, AfterValidator(_a_part)], ...] = ()
    ended: tuple[Phrase, ...] = ()
    statuses: tuple[Annotated[Status, BeforeValidator(_a_status)], ...] = ()
    codes: tuple[Code, ...] = ()
    finishes: tuple[Code, ...] = ()
    phrases: tuple[Phrase, ...] = ()
    unless: tuple[Phrase, ...] = ()

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        """Without a condition a row would swallow every failure there is."""
        set_to = self.model_dump(include=set(type(self).model_fields) - _VERDICT, exclude_defaults=True)
        if not set_to:
            raise ValueError(f'the row "{self.rule}" has no condition; give statuses, codes or phrases')
        return self


def without_twins(rows: tuple[OwnRow, ...]) -> tuple[OwnRow, ...]:
    """Refuse (ValueError) two rows of one name: which of them would count is not to be guessed."""
    seen: set[str] = set()
    for row in rows:
        if row.rule in seen:
            raise ValueError(f'two rows are named "{row.rule}"; give each a name of its own')
        seen.add(row.rule)
    return rows
