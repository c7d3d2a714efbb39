"""Gemini's files API: the resumable upload (`POST /upload/v1beta/files`), `GET` and `DELETE /v1beta/files/NAME`.

An upload is two steps or more: `start` names the file and is given an address, then its bytes go there until the
command says `finalize`. Shapes follow ai.google.dev/api/files; a missing one is a 403 with the words of
googleapis/python-genai#1218, expired or never there alike.
"""

import base64
import json
import re
import secrets
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from pydantic import JsonValue

from simulator.dialect import AskError
from simulator.files_api import UNNAMED, FileAnswer, check_size, known
from simulator.gemini import Gemini
from simulator.gemini_request import ADDRESS, spelled
from simulator.shelf import Content, Shelf, StoredFile
from simulator.wire import Request

UPLOAD: Final = re.compile(r"/upload/v1(?:beta)?/files(?:/(?P<session>[^/]+))?")
FILE: Final = re.compile(r"/v1(?:beta)?/files/(?P<id>[^/]+)")
LIFE: Final = timedelta(hours=48)
"""How long the vendor says it keeps a file. Source: ai.google.dev/gemini-api/docs/files."""


@dataclass
class _Upload:
    filename: str
    media_type: str
    data: bytearray = field(default_factory=bytearray)


class GeminiFiles:
    """The API, with the uploads that have started but not ended."""

    name = "gemini_files"
    dialect = Gemini()

    def __init__(self) -> None:
        self._started: dict[str, _Upload] = {}

    def recognises(self, request: Request) -> bool:
        return any(path.fullmatch(request.path) for path in (UPLOAD, FILE))

    def begins_upload(self, request: Request) -> bool:
        found = UPLOAD.fullmatch(request.path)
        return found is not None and found["session"] is None

    def needs_key(self, request: Request) -> bool:
        found = UPLOAD.fullmatch(request.path)
        return found is None or found["session"] is None

    def answer(self, request: Request, shelf: Shelf) -> FileAnswer:
        upload, file = UPLOAD.fullmatch(request.path), FILE.fullmatch(request.path)
        match request.method:
            case "POST" if upload and upload["session"] is None:
                return self._start(request)
            case "POST" if upload:
                return self._go_on(request, upload["session"], shelf)
            case "GET" if file:
                return FileAnswer(body=_shown(known(self.dialect, file["id"], shelf)))
            case "DELETE" if file:
                shelf.delete(known(self.dialect, file["id"], shelf))
                return FileAnswer(body={})
            case method:
                raise AskError(f"simulator: {method} {request.path} is not spoken")

    def _start(self, request: Request) -> FileAnswer:
        if request.headers.get("x-goog-upload-protocol") != "resumable":
            raise AskError("simulator: expected X-Goog-Upload-Protocol: resumable, the only way this API is spoken")
        session = secrets.token_hex(8)
        self._started[session] = _described(request)
        address = f"http://{request.headers.get('host', '')}/upload/v1beta/files/{session}"
        return FileAnswer(body={}, headers={"x-goog-upload-url": address, "x-goog-upload-status": "active"})

    def _go_on(self, request: Request, session: str, shelf: Shelf) -> FileAnswer:
        upload = self._started.get(session)
        if upload is None or request.headers.get("x-goog-upload-offset") != str(len(upload.data)):
            raise AskError("Upload has already been terminated, or its offset is not where it stopped.")
        check_size(len(upload.data) + request.size)
        upload.data += request.body
        if "finalize" not in request.headers.get("x-goog-upload-command", ""):
            return FileAnswer(body={}, headers={"x-goog-upload-status": "active"})
        del self._started[session]
        content = Content(filename=upload.filename, media_type=upload.media_type, data=bytes(upload.data))
        file = shelf.put("google", "", content)
        return FileAnswer(body={"file": _shown(file)}, headers={"x-goog-upload-status": "final"})


def _described(request: Request) -> _Upload:
    try:
        given: JsonValue = spelled(json.loads(request.body or b"{}"))
    except (ValueError, RecursionError) as problem:
        raise AskError("Invalid JSON payload received.") from problem
    stated = request.headers.get("x-goog-upload-header-content-type", "application/octet-stream")
    match given:
        case {"file": {"displayName": str(shown)}}:
            return _Upload(filename=shown, media_type=stated)
        case _:
            return _Upload(filename=request.headers.get("x-goog-upload-file-name", UNNAMED), media_type=stated)


def _shown(file: StoredFile) -> JsonValue:
    at = file.at.isoformat().replace("+00:00", "Z")
    return {
        "name": f"files/{file.id}",
        "displayName": file.filename,
        "mimeType": file.media_type,
        "sizeBytes": str(file.size),
        "createTime": at,
        "updateTime": at,
        "expirationTime": (file.at + LIFE).isoformat().replace("+00:00", "Z"),
        "sha256Hash": base64.b64encode(file.sha256.encode()).decode(),
        "uri": f"{ADDRESS}{file.id}",
        "state": "ACTIVE",
        "source": "UPLOADED",
    }
