"""How values are laid out for people: columns of text, and JSON for programs. What is shown is decided elsewhere."""

import json
from collections.abc import Sequence
from typing import Any

import click
from pydantic_core import to_jsonable_python


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as their widest cell, two spaces apart, without trailing spaces."""
    lines = [[plain_line(str(cell)) for cell in row] for row in (header, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def print_json(value: Any) -> None:  # noqa: ANN401 - whatever a command answers
    """One JSON document on stdout; keys in the order they were made, which is stable."""
    click.echo(json.dumps(to_jsonable_python(value), ensure_ascii=False, indent=2))


def print_json_line(value: Any) -> None:  # noqa: ANN401 - as above
    """One JSON document on one line, for streams of them."""
    click.echo(json.dumps(to_jsonable_python(value), ensure_ascii=False))


def plain(text: str) -> str:
    """Text as it may stand on a terminal: control characters but newline and tab are shown, not obeyed (S10)."""
    return "".join(char if char.isprintable() or char in "\n\t" else f"\\x{ord(char):02x}" for char in text)


def plain_line(text: str) -> str:
    """The same for text that is a line of its own: a line break is shown as well, so that it forges no line (S10)."""
    return plain(text).replace("\n", "\\x0a").replace("\t", " ")
