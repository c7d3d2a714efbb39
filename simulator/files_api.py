"""What a vendor's files API must tell the simulator to be spoken, and the form that two of the three are.

`form_files` describes OpenAI's and Anthropic's, `gemini_files` is the third; `routing` lists them.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from email.message import Message
from typing import Final, Protocol, Self

from pydantic import JsonValue

from simulator.dialect import AskError, Dialect
from simulator.shelf import Content, Shelf, StoredFile
from simulator.wire import BODY_LIMIT, Request

UNNAMED: Final = "unnamed"


@dataclass(frozen=True, kw_only=True)
class FileAnswer:
    """What a request about files gets."""

    status: int = 200
    body: JsonValue
    headers: Mapping[str, str] = field(default_factory=dict)

    def with_headers(self, more: Mapping[str, str]) -> Self:
        return replace(self, headers={**more, **self.headers})


class FilesApi(Protocol):
    """The files API of one vendor. AskError is answered in the envelope of `dialect`, whose keys it shares.

    `begins_upload`: the request in which the vendor would refuse an upload. `needs_key`: it is not a later step of one,
    whose address is secret enough.
    """

    @property
    def name(self) -> str: ...

    @property
    def dialect(self) -> Dialect: ...

    def recognises(self, request: Request) -> bool: ...

    def begins_upload(self, request: Request) -> bool: ...

    def needs_key(self, request: Request) -> bool: ...

    def answer(self, request: Request, shelf: Shelf) -> FileAnswer: ...


@dataclass(frozen=True, kw_only=True)
class FormFiles:
    """An API of multipart forms: POST to the path, GET and DELETE below it.

    The fields are what a vendor has its own way. `path`: with a group `id`. `mine`: tells vendors of the same path
    apart. `required`: what a form must hold, each with the vendor's complaint. `shown`, `deleted`: its answers.
    """

    name: str
    dialect: Dialect
    prefix: str
    path: re.Pattern[str]
    mine: Callable[[Request], bool]
    required: Mapping[str, str]
    shown: Callable[[StoredFile], JsonValue]
    deleted: Callable[[str], JsonValue]

    def recognises(self, request: Request) -> bool:
        return self.path.fullmatch(request.path) is not None and self.mine(request)

    def begins_upload(self, request: Request) -> bool:
        return request.method == "POST"

    def needs_key(self, request: Request) -> bool:  # noqa: ARG002 - an upload is one request here
        return True

    def answer(self, request: Request, shelf: Shelf) -> FileAnswer:
        found = self.path.fullmatch(request.path)
        name = found["id"] if found else None
        match request.method, name:
            case "POST", None:
                return FileAnswer(body=self.shown(self._upload(request, shelf)))
            case "GET", str():
                return FileAnswer(body=self.shown(known(self.dialect, name, shelf)))
            case "DELETE", str():
                shelf.delete(known(self.dialect, name, shelf))
                return FileAnswer(body=self.deleted(name))
            case method, _:
                raise AskError(f"simulator: {method} {request.path} is not spoken")

    def _upload(self, request: Request, shelf: Shelf) -> StoredFile:
        fields, file = form_of(request)
        for name, complaint in self.required.items():
            if not fields.get(name) and not (name == "file" and file):
                raise AskError(complaint)
        if file is None:
            raise AssertionError("every vendor requires the file")
        return shelf.put(self.dialect.vendor, self.prefix, file, fields.get("purpose", ""))


def known(dialect: Dialect, name: str, shelf: Shelf) -> StoredFile:
    """The file of this name, or the vendor's AskError for one that it does not know."""
    found = shelf.get(dialect.vendor, name)
    if found is None:
        raise dialect.missing(name)
    return found


def form_of(request: Request) -> tuple[dict[str, str], Content | None]:
    """A multipart body's text fields and the one file it carries; AskError when it is none or too big."""
    check_size(request.size)
    kind = _headers({"content-type": request.headers.get("content-type", "")})
    boundary = kind.get_param("boundary")
    if kind.get_content_type() != "multipart/form-data" or not isinstance(boundary, str):
        raise AskError("expected multipart/form-data with a boundary")
    fields: dict[str, str] = {}
    file: Content | None = None
    for head, data in _sections(request.body, boundary):
        name, filename = (head.get_param(key, header="content-disposition") for key in ("name", "filename"))
        if filename is None:
            fields[str(name)] = data.decode(errors="replace")
        else:
            file = Content(filename=str(filename) or UNNAMED, media_type=head.get_content_type(), data=data)
    return fields, file


def check_size(size: int) -> None:
    """AskError for an upload of more bytes than are read."""
    if size > BODY_LIMIT:
        raise AskError(f"simulator: the upload has {size} bytes; at most {BODY_LIMIT} are read", "too_large")


def _sections(body: bytes, boundary: str) -> Iterator[tuple[Message, bytes]]:
    for section in body.split(b"--" + boundary.encode())[1:-1]:
        head, _, data = section.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        lines = (line.partition(":") for line in head.decode(errors="replace").splitlines())
        yield _headers({name: value.strip() for name, _, value in lines}), data.removesuffix(b"\r\n")


def _headers(given: Mapping[str, str]) -> Message:
    message = Message()
    for name, value in given.items():
        message[name] = value
    return message
