"""The format of a stored message: the one place that knows it. A message is one pydantic-ai message as JSON.

Here: reading and writing single messages, and what Endstop needs of an answer (its text, its tool calls). Not here:
sending messages to a provider (the model client), or where they are kept (the store).

What we write ourselves carries no timestamp, so that the same words always give the same bytes: a retried activity
appends nothing new. The store knows when a message came.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import pydantic_core
from pydantic import ConfigDict, TypeAdapter
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextContent,
    TextPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from activities.files import NamedFile
from ledger.model import Frozen

FILE: Final = "endstop_file"
"""Key of the metadata of the words that announce a file: which one. Metadata is sent to nobody."""

REMEMBERED: Final = 16_384
"""Bytes of a message that is kept as it was read; 2,048 of them are at most some 100 MB, 10 MB as they usually are."""

_MESSAGE: Final[TypeAdapter[ModelMessage]] = TypeAdapter(ModelMessage, config=ConfigDict(hide_input_in_errors=True))


class Call(Frozen):
    """One tool call of an answer, as the model wrote it."""

    id: str
    name: str
    arguments: str
    """JSON text, unchecked; "" where the model gave none."""


def parse(body: bytes) -> ModelMessage:
    """Read one stored message. Nobody changes what is returned: the next caller may get it too."""
    return _remembered(body) if len(body) <= REMEMBERED else _MESSAGE.validate_json(body)


@lru_cache(2_048)
def _remembered(body: bytes) -> ModelMessage:
    """A conversation is read again with every turn; all of it but the last messages was read before."""
    return _MESSAGE.validate_json(body)


def serialise(message: ModelMessage) -> bytes:
    """Write one message as it came; fields without a value are left out."""
    return _MESSAGE.dump_json(message, exclude_none=True)


def user_message(text: str, files: Iterable[NamedFile] = ()) -> bytes:
    """Write a user message; the same text and files give the same bytes. Files are named, their content is not here."""
    announced = [TextContent(content=_announced(file), metadata={FILE: file.model_dump()}) for file in files]
    content: str | list[UserContent] = [text, *announced] if announced else text
    return _without_times(ModelRequest(parts=[UserPromptPart(content=content)]))


def file_at(item: UserContent) -> NamedFile | None:
    """Return the file that these words of ours announce, if they do."""
    named = item.metadata.get(FILE) if isinstance(item, TextContent) and isinstance(item.metadata, dict) else None
    return None if named is None else NamedFile.model_validate(named)


def files_of(body: bytes) -> Iterator[NamedFile]:
    """Yield the files that a stored message names."""
    if not _may_name_one(body):
        return
    for part in parse(body).parts:
        if isinstance(part, UserPromptPart) and not isinstance(part.content, str):
            yield from filter(None, map(file_at, part.content))


@lru_cache(8_192)
def _may_name_one(body: bytes) -> bool:
    """Whether it is worth reading. Every call asks it of its whole conversation, whose messages are held anyway."""
    return _FILE_BYTES in body


def tool_result(call: Call, text: str, *, failed: bool = False) -> bytes:
    """Write the result of `call`; a failed one reaches the provider through its own error channel."""
    part = ToolReturnPart(
        tool_name=call.name, content=text, tool_call_id=call.id, outcome="failed" if failed else "success"
    )
    return _without_times(ModelRequest(parts=[part]))


def result_of(body: bytes) -> tuple[str, bool]:
    """Return the text of a stored tool result and whether it failed."""
    (part,) = parse(body).parts
    if not isinstance(part, ToolReturnPart):
        raise TypeError(f"expected a tool result, found {part.part_kind}")
    return str(part.content), part.outcome != "success"


def with_result(body: bytes, text: str) -> bytes:
    """Write a stored tool result anew with another text; whose result it is, and how the call ended, stay."""
    (part,) = parse(body).parts
    if not isinstance(part, ToolReturnPart):
        raise TypeError(f"expected a tool result, found {part.part_kind}")
    again = ToolReturnPart(tool_name=part.tool_name, content=text, tool_call_id=part.tool_call_id, outcome=part.outcome)
    return _without_times(ModelRequest(parts=[again]))


def is_result(body: bytes) -> bool:
    """Whether a stored message is the result of a tool call."""
    return any(isinstance(part, ToolReturnPart) for part in parse(body).parts)


def of_nobody(body: bytes) -> bytes:
    """Write a stored answer anew as if nobody knew whose it is: no reader gets its signed parts back.

    For an answer before which something was changed: signatures cover all that came before.
    """
    message = parse(body)
    if not isinstance(message, ModelResponse) or not message.metadata:
        return body
    return serialise(replace(message, metadata=None))


def is_answer(body: bytes) -> bool:
    """Whether a stored message is a model's; else it is ours: a task, a note, a result."""
    return isinstance(parse(body), ModelResponse)


def tool_calls(body: bytes) -> tuple[Call, ...]:
    """Return the tool calls of a stored message in the order of the answer; none where it is not an answer."""
    message = parse(body)
    if not isinstance(message, ModelResponse):
        return ()
    return tuple(
        Call(id=part.tool_call_id, name=part.tool_name, arguments=_as_text(part.args)) for part in message.tool_calls
    )


def text_of(body: bytes) -> str:
    """Return the text of a stored answer: its text parts joined as they stream; "" where it has none."""
    message = parse(body)
    if not isinstance(message, ModelResponse):
        return ""
    return "".join(part.content for part in message.parts if isinstance(part, TextPart))


def words_of(body: bytes) -> str:
    """Return the text of a stored user message of ours, without the files that come with it."""
    parts = (part for part in parse(body).parts if isinstance(part, UserPromptPart))
    contents = ([part.content] if isinstance(part.content, str) else part.content for part in parts)
    return "".join(item for content in contents for item in content if isinstance(item, str))


_FILE_BYTES: Final = FILE.encode()


def _announced(file: NamedFile) -> str:
    """A name is quoted as JSON: a line break in it cannot pass for words of ours."""
    return f"The file {json.dumps(file.name, ensure_ascii=False)}:"


def _as_text(arguments: str | dict[str, Any] | None) -> str:
    match arguments:
        case None:
            return ""
        case str():
            return arguments
        case _:
            return pydantic_core.to_json(arguments).decode()


def _without_times(message: ModelRequest) -> bytes:
    written = _MESSAGE.dump_python(message, mode="json", exclude_none=True)
    for part in written["parts"]:
        part.pop("timestamp", None)
    return pydantic_core.to_json(written)
