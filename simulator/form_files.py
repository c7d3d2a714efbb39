"""The files APIs of OpenAI and Anthropic: `POST /v1/files` (multipart), `GET` and `DELETE /v1/files/ID`.

They have the same paths and are told apart by a header that Anthropic's clients always send. Shapes follow
platform.openai.com/docs/api-reference/files and platform.claude.com/docs/en/build-with-claude/files.
"""

import re
from typing import Final

from pydantic import JsonValue

from simulator.anthropic_messages import AnthropicMessages
from simulator.files_api import FormFiles
from simulator.openai_chat import OpenAIChat
from simulator.shelf import StoredFile
from simulator.wire import Request


def _by_anthropic(request: Request) -> bool:
    return "anthropic-version" in request.headers


def _by_openai(request: Request) -> bool:
    return not _by_anthropic(request)


def _openai_file(file: StoredFile) -> JsonValue:
    return {
        "id": file.id,
        "object": "file",
        "bytes": file.size,
        "created_at": int(file.at.timestamp()),
        "expires_at": None,
        "filename": file.filename,
        "purpose": file.purpose,
        "status": "processed",
        "status_details": None,
    }


def _openai_deleted(name: str) -> JsonValue:
    return {"id": name, "object": "file", "deleted": True}


def _anthropic_file(file: StoredFile) -> JsonValue:
    return {
        "id": file.id,
        "type": "file",
        "filename": file.filename,
        "mime_type": file.media_type,
        "size_bytes": file.size,
        "created_at": file.at.isoformat().replace("+00:00", "Z"),
        "downloadable": False,
    }


def _anthropic_deleted(name: str) -> JsonValue:
    return {"id": name, "type": "file_deleted"}


OPENAI_FILES: Final = FormFiles(
    name="openai_files",
    dialect=OpenAIChat(),
    prefix="file-",
    path=re.compile(r"(?:/openai)?(?:/v1)?/files(?:/(?P<id>[^/]+))?"),
    mine=_by_openai,
    required={"purpose": "'purpose' is a required property", "file": "'file' is a required property"},
    shown=_openai_file,
    deleted=_openai_deleted,
)
"""Azure's deployments have the same API below `/openai`."""

ANTHROPIC_FILES: Final = FormFiles(
    name="anthropic_files",
    dialect=AnthropicMessages(),
    prefix="file_",
    path=re.compile(r"/v1/files(?:/(?P<id>[^/]+))?"),
    mine=_by_anthropic,
    required={"file": "file: Field required"},
    shown=_anthropic_file,
    deleted=_anthropic_deleted,
)
"""`anthropic-beta: files-api-2025-04-14` is taken but not required: the vendor's client no longer always sends it."""
