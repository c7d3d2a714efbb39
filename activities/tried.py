"""What was tried to mend a gate's failure, as far as the conversation tells: a part of the repair plan.

Here: which tool calls stand between which of a gate's plans, and a short line for each. Not here: the rest of the plan
(`notes`). All is read off the messages, so that the same messages always give the same words; how much is said is
bounded whatever they hold.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pydantic_core

from activities.cutting import head
from activities.messages import Call, tool_calls, words_of
from ledger.notes import RepairNote
from ledger.reading import shown

MAX_CALLS: Final = 10
"""Lines of what was tried last; the newest ones are told."""
MAX_CALL: Final = 100
"""Bytes of one call."""
MAX_ROUND: Final = 200
"""Bytes of the calls before one earlier round; the ledger remembers eight rounds of a failure."""
MAX_VALUE: Final = 60
"""Characters of an argument that is told: a path or a number, not the content of a file."""


def opening(gate: str, number: int) -> str:
    """How a plan begins, by which it is found again."""
    return f'The gate "{gate}" failed (round {number}).'


def tried(note: RepairNote, before: Sequence[bytes]) -> str:
    """Say what was called since the gate's last plan, and what before the rounds that failed as this one does.

    `before` are the messages up to this plan. "" where the gate has had no plan yet.
    """
    rounds, since = _between_plans(note.gate, before)
    if not rounds:
        return ""
    told = [_last(max(rounds), since)]
    if same := [f"- before round {number}: {_in_short(rounds[number])}" for number in note.seen if rounds.get(number)]:
        told.append("\n".join(["What was tried before, and ended in this failure:", *same]))
    return "\n\n".join(told)


def _between_plans(gate: str, messages: Sequence[bytes]) -> tuple[dict[int, list[Call]], list[Call]]:
    """The calls before each plan of the gate, by its round, and those after the last one.

    None count before the first plan: they are the work, and mend nothing.
    """
    begins = re.compile(rf'(?:\A|\n\n)The gate "{re.escape(gate)}" failed \(round (\d+)\)\.')
    rounds: dict[int, list[Call]] = {}
    since: list[Call] = []
    for body in messages:
        if b'"tool-call"' in body:  # reading a message costs more than looking through it
            since += tool_calls(body)
        elif b" failed (round " in body and (found := begins.search(words_of(body))):
            rounds[int(found[1])] = since if rounds else []
            since = []
    return rounds, since


def _last(number: int, calls: list[Call]) -> str:
    if not calls:
        return f"No tool was called since round {number}."
    lines = list(_lines(calls))
    left_out = len(lines) - MAX_CALLS + 1 if len(lines) > MAX_CALLS else 0
    more = [f"- {left_out} others before"] if left_out else []
    return "\n".join([f"What was tried since round {number}:", *more, *(f"- {line}" for line in lines[left_out:])])


def _in_short(calls: list[Call]) -> str:
    return head("; ".join(_lines(calls)), MAX_ROUND)


def _lines(calls: list[Call]) -> Iterator[str]:
    """One line for calls that read the same, where the last of them was made."""
    counts = Counter(map(_line, calls))
    newest_first = list(dict.fromkeys(_line(call) for call in reversed(calls)))
    for line in reversed(newest_first):
        yield f"{line} ({counts[line]} times)" if counts[line] > 1 else line


def _line(call: Call) -> str:
    return head(" ".join((shown(call.name), *_short_arguments(call.arguments))), MAX_CALL)


def _short_arguments(arguments: str) -> Iterator[str]:
    """Those that tell what a call was about; a long text is what it did."""
    try:
        given = pydantic_core.from_json(arguments or "{}")
    except ValueError:
        return
    if isinstance(given, dict):
        yield from (f"{shown(name)}={value}" for name, value in ((n, _short(v)) for n, v in given.items()) if value)


def _short(value: Any) -> str:  # noqa: ANN401 - any JSON
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False) if len(value) <= MAX_VALUE and value.isprintable() else ""
        case bool() | float():
            return json.dumps(value)
        case int():
            return str(value) if abs(value) < 10**MAX_VALUE else ""
        case _:
            return ""
