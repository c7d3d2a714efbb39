"""What the fingerprint makes of a tool's output: read from a file, or one output a line, for people and for programs.

Here: reading what is asked and showing the answer. Not here: the fingerprint itself (`ledger.fingerprint`). Nothing is
kept or sent, and no server, store or settings are needed.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import click
from pydantic import BeforeValidator, TypeAdapter, ValidationError

from commands.given_file import called, lines, mended, parsed, whole
from commands.refusals import BadInput
from commands.tables import plain, plain_line, print_json_line
from ledger.fingerprint import Fingerprint, fingerprint
from ledger.model import Frozen
from ledger.reading import one_line

MAX_BYTES: Final = 64 * 2**20
"""Of one output, or of one line; it is held in memory."""

_EXPECTED: Final = 'expected an object such as {"output": "...", "rc": 1, "root": "/checkout", "at": 1764504000}'
_RFC_3339: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)?", re.ASCII)


def moment(given: Any) -> datetime:  # noqa: ANN401 - of a flag or of JSON
    """Read RFC 3339 (without an offset: UTC) or seconds since 1970. ValueError says what was expected."""
    try:
        if isinstance(given, str) and _RFC_3339.fullmatch(given):
            found = datetime.fromisoformat(given.upper())
            return found if found.tzinfo else found.replace(tzinfo=UTC)
        if isinstance(given, str | int | float) and not isinstance(given, bool):
            return datetime.fromtimestamp(float(given), UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise ValueError('should be a time such as "2026-11-30T12:00:00Z", or seconds since 1970')


class Asked(Frozen):
    """One output, and what is known of the run that printed it."""

    output: Annotated[str, BeforeValidator(lambda text: mended(text) if isinstance(text, str) else text)]
    rc: int = 1
    """Its exit code."""
    root: str = ""
    """The checkout's folder, cut off paths."""
    at: Annotated[datetime, BeforeValidator(moment)] | None = None
    """When it ran: times close to it are masked."""


_ASKED: Final = TypeAdapter(Asked)


def tell(file: str, known: dict[str, Any], *, as_json: bool) -> None:
    """Print the fingerprint of the output in `file`; bytes that are no UTF-8 are replaced, as a gate's are."""
    found = _found(Asked(output=whole(file, MAX_BYTES).decode(errors="replace"), **known))
    if as_json:
        print_json_line(found)
    else:
        click.echo(plain(render(found)))


def tell_each(file: str, known: dict[str, Any]) -> bool:
    """Answer each line of `file` with a line of JSON at once; a line that cannot be used with an error.

    `known` holds for lines that do not say. Returns whether every line could be used.
    """
    all_good = True
    for number, line in lines(file, MAX_BYTES):
        try:
            print_json_line(_found(_asked(line, known, f"{called(file)}: line {number}")))
        except BadInput as error:
            all_good = False
            print_json_line({"error": error.message})
    return all_good


def known_of(exit_code: int, root: str, at: str | None) -> dict[str, Any]:
    """Return what the flags tell of a run. BadInput: no time."""
    try:
        if at is not None:
            moment(at)
    except ValueError as error:
        raise BadInput(f"--at: {error}") from None
    return {"rc": exit_code, "root": root, "at": at}


def render(found: Fingerprint) -> str:
    """Return the identity, then each item with what is known of it."""
    head = [f"version  {found.version}", f"exact    {found.exact}", f"family   {found.family}"]
    return "\n".join([*head, f"items    {len(found.items)}", *_items(found)])


def _items(found: Fingerprint) -> Iterator[str]:
    for item in found.items:
        yield f"\n{item.kind}"
        for name, value in item.model_dump(exclude={"kind"}).items():
            for text in (value,) if isinstance(value, str) else value:
                if text:
                    yield f"  {name.ljust(7)}  {plain_line(text)}"


def _asked(line: bytes | None, known: dict[str, Any], place: str) -> Asked:
    if line is None:
        raise BadInput(f"{place}: is larger than {MAX_BYTES // 2**20} MiB; give the first and the last part of it")
    found, value = parsed(line)
    if not found:
        raise BadInput(f"{place}: is not JSON; {_EXPECTED}")
    if not isinstance(value, dict):
        raise BadInput(f"{place}: is not a JSON object; {_EXPECTED}")
    given = {name: value[name] for name in Asked.model_fields if value.get(name) is not None}
    try:
        return _ASKED.validate_python(known | given, strict=True)
    except ValidationError as error:
        raise BadInput(one_line(error, place, Asked)) from None


def _found(asked: Asked) -> Fingerprint:
    return fingerprint(asked.output, exit_code=asked.rc, root=asked.root, at=asked.at)
