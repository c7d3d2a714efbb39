"""What the classifier makes of answers that somebody kept: read from a file, judged, told with the rule that decided.

Here: reading cases and showing verdicts. Not here: the judgement (`ledger.classify`). Nothing is sent anywhere, and no
server, store or key is needed. A line that cannot be used is a BadInput that names it; then nothing is judged.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click
from pydantic import ValidationError

from commands.given_file import called, mended, parsed, whole
from commands.opening import settings_from
from commands.refusals import BadInput
from commands.tables import plain, print_json_line, table
from ledger.classify import Observation, Row, classify, rows_with, stated_wait
from ledger.model import Frozen
from ledger.reading import one_line

MAX_BYTES: Final = 256 * 2**20
"""Of all cases together; they are held in memory."""

_READ: Final = tuple(Observation.model_fields)
_TELLING: Final = frozenset({"status", "headers", "body", "transport"})
"""Without any of these there is nothing to judge."""
_EXPECTED: Final = 'expected an object such as {"provider": "openai", "status": 429, "headers": {}, "body": "..."}'


class Case(Frozen):
    """One answer to judge, and what it is called in the output."""

    name: str
    seen: Observation


class Verdict(Frozen):
    """One judged case, as `-o json` prints it."""

    case: str
    """The case's id, else its line."""
    kind: str
    transient: bool
    capacity: bool
    renew_files: bool
    failover: bool
    outcome_unknown: bool
    """The provider may have done, and billed, the work."""
    wait_s: float | None
    """Seconds that the provider stated; None: none."""
    judged_wait_s: float | None
    """As far as the kind lets the stated wait be trusted."""
    rule: str
    source: str
    """Where the rule's words come from; "" where no rule fitted."""


def tell(file: str, settings: Path | None, *, as_json: bool) -> None:
    """Judge the cases in `file` ("-": standard input) by our rows and the operator's own, and print the verdicts."""
    rows = rows_with(settings_from(settings).declared.rules)
    verdicts = [_verdict(case, rows) for case in cases(file)]
    if as_json:
        for verdict in verdicts:
            print_json_line(verdict)
    else:
        click.echo(plain(render(verdicts)))


def cases(file: str) -> list[Case]:
    """Read one JSON object, over as many lines as it takes, or JSON lines. BadInput: file, line, what was expected."""
    where = called(file)
    text = _text(file, where)
    found = [_case(value, line, where) for line, value in _values(text, where)]
    if not found:
        raise BadInput(f"{where}: holds no case; {_EXPECTED}, or one on each line")
    return found


def render(verdicts: Sequence[Verdict]) -> str:
    """A single verdict line by line; several as columns."""
    shown = [{name: _word(value) for name, value in _told(verdict).items()} for verdict in verdicts]
    if len(shown) == 1:
        width = max(map(len, shown[0]))
        return "\n".join(f"{name.ljust(width)}  {word}" for name, word in shown[0].items())
    return table([name.upper() for name in shown[0] if name != "source"], [list(told.values())[:-1] for told in shown])


def _told(verdict: Verdict) -> Mapping[str, Any]:
    """What people are shown: one wait where the two agree."""
    told = verdict.model_dump(exclude={"judged_wait_s", "wait_s", "rule", "source"})
    return told | {"wait_s": _wait(verdict), "rule": verdict.rule, "source": verdict.source}


def _wait(verdict: Verdict) -> str:
    stated, judged = verdict.wait_s, verdict.judged_wait_s
    if stated is None:
        return "-"
    if stated == judged:
        return f"{stated:g}"
    return f"{stated:g}, not trusted" if judged is None else f"{stated:g}, bounded to {judged:g}"


def _word(value: Any) -> str:  # noqa: ANN401 - a field of a verdict
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _verdict(case: Case, rows: Sequence[Row]) -> Verdict:
    judged = classify(case.seen, rows)
    return Verdict(
        case=case.name,
        kind=judged.kind.value,
        transient=judged.transient,
        capacity=judged.capacity,
        renew_files=judged.renew_files,
        failover=judged.failover,
        outcome_unknown=judged.outcome_unknown,
        wait_s=stated_wait(case.seen),
        judged_wait_s=judged.wait_s,
        rule=judged.rule,
        source=next((row.source for row in rows if row.rule == judged.rule), ""),
    )


def _text(file: str, where: str) -> str:
    try:
        return whole(file, MAX_BYTES).decode()
    except UnicodeDecodeError:
        raise BadInput(f"{where}: is not UTF-8 text; {_EXPECTED}") from None


def _values(text: str, where: str) -> Iterator[tuple[int, Any]]:
    """Line (from 1) and value of each case: of the whole text where that is JSON, else of each line."""
    found, value = parsed(text)
    if found:
        yield 1, value
        return
    broken_at = value
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    for number, line in lines:
        found, value = parsed(line)
        if not found:  # where not even the first line stands alone, it is one object over several lines
            raise BadInput(f"{where}: line {broken_at if number == lines[0][0] else number}: is not JSON; {_EXPECTED}")
        yield number, value


def _case(value: Any, line: int, where: str) -> Case:  # noqa: ANN401 - JSON
    place = f"{where}: line {line}"
    if not isinstance(value, dict):
        raise BadInput(f"{place}: is not a JSON object; {_EXPECTED}")
    if _TELLING.isdisjoint(value):
        raise BadInput(f"{place}: has none of status, headers, body, transport; {_EXPECTED}")
    try:
        seen = Observation.model_validate_json(json.dumps(_given(value)), strict=True)
    except ValidationError as error:
        raise BadInput(one_line(error, place, Observation)) from None
    return Case(name=str(value.get("id") or f"line {line}"), seen=seen)


def _given(value: Mapping[str, Any]) -> dict[str, Any]:
    """What an observation takes, without what was left empty; a body that was kept as JSON becomes its text."""
    given = {name: value[name] for name in _READ if value.get(name) is not None}
    match given.get("body"):
        case dict() | list() as kept:
            given["body"] = json.dumps(kept)
        case str() as text:
            given["body"] = mended(text)
    return given
