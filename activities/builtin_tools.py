"""The tools every agent may use in its run's workspace: `read_file`, `write_file`, `list_files`.

Here: their arguments (from which the model's schema is made), and what they answer. Whatever is wrong with a call is
an answer to the model, never an exception. Not here: keeping a path inside the workspace (`workspace_files`), or
storing a result (`run_tool`).
"""

import asyncio
import inspect
import io
from collections.abc import Callable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeVar

from pydantic import Field, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from activities.tool import Asked, Tool, ToolResult
from activities.tool_declaration import ToolDeclaration
from activities.workspace_files import MAX_ENTRIES, FileRefused, WorkspaceFiles
from ledger.model import Frozen
from ledger.reading import one_line

RelativePath = Annotated[str, Field(max_length=4_096, description="Path relative to the workspace, such as src/app.py")]


class ReadFile(Frozen):
    """Read lines of a text file of the workspace."""

    path: RelativePath
    start_line: Annotated[int, Field(ge=1, description="First line to read, counted from 1")] = 1
    lines: Annotated[int, Field(ge=1, le=10_000, description="How many lines to read")] = 400


class WriteFile(Frozen):
    """Create a text file of the workspace, or replace it whole. Missing folders are made."""

    path: RelativePath
    content: Annotated[str, Field(description="The whole content of the file")]


class ListFiles(Frozen):
    """List files and folders of the workspace; folders end in a slash."""

    path: RelativePath = "."
    depth: Annotated[int, Field(ge=1, le=16, description="How many levels of folders to list")] = 3


_Asked = TypeVar("_Asked", ReadFile, WriteFile, ListFiles)


def read_file(files: WorkspaceFiles, asked: ReadFile) -> str:
    """Return the lines as they are; where lines are left over, the last line says so and how to go on."""
    lines = io.StringIO(_text(files, asked.path), newline="\n").readlines()
    first = asked.start_line - 1
    if first and first >= len(lines):
        raise FileRefused(f"{asked.path} has {len(lines)} lines; start_line {asked.start_line} is past its end")
    shown = lines[first : first + asked.lines]
    end = first + len(shown)
    rest = (
        f"\n[lines {first + 1} to {end} of {len(lines)}; go on with start_line={end + 1}]" if end < len(lines) else ""
    )
    return "".join(shown) + rest


def _text(files: WorkspaceFiles, path: str) -> str:
    try:
        text = files.read(path).decode()
    except UnicodeDecodeError:
        raise FileRefused(f"{path} is not UTF-8 text") from None
    if "\0" in text:
        raise FileRefused(f"{path} is not text: it holds a zero byte")
    return text


def write_file(files: WorkspaceFiles, asked: WriteFile) -> str:
    """Write the file and say how many bytes it has now."""
    content = asked.content.encode()
    files.write(asked.path, content)
    return f"wrote {len(content)} bytes to {asked.path}"


def list_files(files: WorkspaceFiles, asked: ListFiles) -> str:
    """Return one entry a line, at most `MAX_ENTRIES`; where more were left out, the last line says so."""
    entries = list(islice(files.entries(asked.path, asked.depth), MAX_ENTRIES + 1))
    if len(entries) > MAX_ENTRIES:
        entries[MAX_ENTRIES:] = [f"[more than {MAX_ENTRIES} entries; list a folder of it, or a smaller depth]"]
    return "\n".join(entries) or "[empty]"


class _WithoutTitles(GenerateJsonSchema):
    """A title repeats the field's name in every request; a model gains nothing by it."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401, ARG002 - as the base class has it
        return False


def _tool(arguments: type[_Asked], does: Callable[[WorkspaceFiles, _Asked], str]) -> Tool:
    def result(asked: Asked) -> ToolResult:
        if asked.folder is None:
            raise TypeError("a file tool is called with the run's workspace")
        try:
            given = arguments.model_validate_json(asked.arguments or "{}")
            return ToolResult(text=does(WorkspaceFiles(asked.folder, asked.protected), given))
        except ValidationError as error:
            return ToolResult(text=one_line(error, f"arguments of {does.__name__}", arguments), failed=True)
        except FileRefused as refused:
            return ToolResult(text=str(refused), failed=True)

    async def run(asked: Asked) -> ToolResult:
        return await asyncio.to_thread(result, asked)

    return Tool(declaration=declaration(does.__name__, arguments), run=run, in_workspace=True)


def declaration(name: str, arguments: type[Frozen]) -> ToolDeclaration:
    """Tell a model of a tool whose arguments are this model's fields, and whose use is its docstring."""
    schema = arguments.model_json_schema(schema_generator=_WithoutTitles)
    parameters = {key: value for key, value in schema.items() if key not in ("title", "description")}
    return ToolDeclaration(name=name, description=inspect.getdoc(arguments) or "", parameters=parameters)


TOOLS: Final[Mapping[str, Tool]] = MappingProxyType(
    {
        tool.declaration.name: tool
        for tool in (_tool(ReadFile, read_file), _tool(WriteFile, write_file), _tool(ListFiles, list_files))
    }
)
"""By name. All of them need a workspace."""
