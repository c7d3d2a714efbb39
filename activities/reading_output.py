"""The tool `read_output`: reads on in what was too large to be shown, such as a gate's output or a result that was cut.

Here: its arguments, and which outputs a run may read: those whose reference it was told, never by its own words. Not
here: what is cut (`tool_calls`, `notes`), or where it is kept (the store).
"""

import asyncio
import io
from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import Field, ValidationError

from activities.builtin_tools import declaration
from activities.catalog import READ_OUTPUT
from activities.messages import is_answer
from activities.stored import Contents
from activities.tool import Asked, Tool, ToolResult
from ledger.model import Frozen
from ledger.reading import one_line
from store import ContentMissing

MAX_LINE: Final = 2_000
"""Characters of one line; a longer one is read as several, so that an output of a single line can be read too."""

MAX_SHOWN: Final = 60_000
"""UTF-8 bytes that are shown at a time: less than what a result is cut at, so that reading on always gets on."""


class ReadOutput(Frozen):
    """Read lines of an output that was too large to be shown. A line of over 2,000 characters counts as several."""

    ref: Annotated[str, Field(pattern=r"^[0-9a-f]{24}$", description="The reference under which it is stored")]
    start_line: Annotated[int, Field(ge=1, description="First line to read, counted from 1")] = 1
    lines: Annotated[int, Field(ge=1, le=10_000, description="How many lines to read")] = 400


def reading(store: Contents) -> Tool:
    """The tool, reading from this store."""

    async def run(asked: Asked) -> ToolResult:
        try:
            given = ReadOutput.model_validate_json(asked.arguments or "{}")
        except ValidationError as error:
            return ToolResult(text=one_line(error, f"arguments of {READ_OUTPUT}", ReadOutput), failed=True)
        if not _was_told(given.ref, asked.said):
            return ToolResult(text=f"no such output: {given.ref} was not named in this conversation", failed=True)
        try:
            output = await store.get(given.ref)
        except ContentMissing:
            return ToolResult(text=f"no such output: {given.ref} is not in the store any more", failed=True)
        return await asyncio.to_thread(shown, output.decode(errors="replace"), given)

    return Tool(declaration=declaration(READ_OUTPUT, ReadOutput), run=run)


def _was_told(ref: str, said: tuple[bytes, ...]) -> bool:
    """Whether a result or a note named it: what the model wrote itself does not count."""
    wanted = ref.encode()
    return any(wanted in body and not is_answer(body) for body in said)


def shown(output: str, asked: ReadOutput) -> ToolResult:
    """Return the lines as they are; where lines are left over, the last line says so and how to go on."""
    lines = list(_lines(output))
    first = asked.start_line - 1
    if first >= max(len(lines), 1):
        text = f"the output has {len(lines)} lines; start_line {asked.start_line} is past its end"
        return ToolResult(text=text, failed=True)
    taken = list(_fitting(lines[first : first + asked.lines]))
    end = first + len(taken)
    rest = f"\n[lines {first + 1} to {end} of {len(lines)}; go on with start_line={end + 1}]"
    return ToolResult(text="".join(taken) + (rest if end < len(lines) else ""))


def _lines(output: str) -> Iterator[str]:
    for line in io.StringIO(output, newline="\n"):
        yield from (line[start : start + MAX_LINE] for start in range(0, len(line), MAX_LINE))


def _fitting(lines: list[str]) -> Iterator[str]:
    size = 0
    for line in lines:
        size += len(line.encode())
        if size > MAX_SHOWN:
            return
        yield line
