"""The vendors' files APIs: how each takes a file, and what id and expiry it gives it.

Every request goes out by the vendor's own client and our transport, with the provider's key, once. Here: uploads.
Not here: requests that name a file (pydantic-ai), and whether a file has to be uploaded (`attaching`).

A file's name is its digest: what it is called in a workspace concerns no vendor, and theirs have alphabets.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

import httpx2
from pydantic import AwareDatetime, BaseModel, Field

from activities.client import NewFile, Uploaded
from activities.declared import Provider
from activities.exchange import Exchanges
from activities.files import IMAGES
from activities.transport import recorded

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from openai import AsyncOpenAI

Upload = Callable[[NewFile, Exchanges], Awaitable[Uploaded]]

KEPT_S: Final = 30 * 24 * 3_600
"""Seconds that OpenAI and Anthropic keep an upload of ours: OpenAI's longest. Without it they keep it for ever."""

ENDINGS: Final = {
    "application/pdf": "pdf",
    "text/plain": "txt",
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
}


def openai_upload(client: "AsyncOpenAI") -> Upload:
    """`POST …/files`: images with the purpose that OpenAI's guide has for them, all else as the user's own data."""

    async def upload(file: NewFile, exchanges: Exchanges) -> Uploaded:
        with recorded(exchanges.next()):
            stored = await client.files.create(
                file=_form(file),
                purpose="vision" if file.media_type in IMAGES else "user_data",
                expires_after={"anchor": "created_at", "seconds": KEPT_S},
            )
        return Uploaded(file_id=stored.id, expires_at=stored.expires_at)

    return upload


def anthropic_upload(client: "AsyncAnthropic") -> Upload:
    """`POST /v1/files`, in beta."""

    async def upload(file: NewFile, exchanges: Exchanges) -> Uploaded:
        with recorded(exchanges.next()):
            stored = await client.beta.files.upload(
                file=_form(file), expires_in_seconds=KEPT_S, betas=["files-api-2025-04-14"]
            )
        return Uploaded(file_id=stored.id, expires_at=_seconds(stored.expires_at))

    return upload


def google_upload(http: httpx2.AsyncClient, provider: Provider, key: str) -> Upload:
    """The resumable upload, in its two requests: a start, which names an address, and all bytes at once.

    Worded here and not by google-genai, which sends a second one again up to three times where a proxy or an error
    leaves out a header, and sleeps in between while all other calls of the worker stand still.
    """

    async def upload(file: NewFile, exchanges: Exchanges) -> Uploaded:
        headers = {"x-goog-api-key": key, **provider.headers}
        with recorded(exchanges.next()):
            started = await http.post(
                f"{provider.base_url}/upload/v1beta/files",
                headers=headers | _start(file),
                json={"file": {"displayName": _name(file)}},
            )
            started.raise_for_status()
            there = _at_base(provider.base_url, started.headers["x-goog-upload-url"])
        with recorded(exchanges.next()):
            ended = await http.post(there, headers=headers | _END, content=file.content)
            ended.raise_for_status()
            stored = _GoogleAnswer.model_validate_json(ended.content).file
        return Uploaded(file_id=stored.uri, expires_at=_seconds(stored.expires))

    return upload


_END: Final = {"x-goog-upload-command": "upload, finalize", "x-goog-upload-offset": "0"}


class _GoogleFile(BaseModel):
    uri: str
    expires: Annotated[AwareDatetime | None, Field(alias="expirationTime")] = None


class _GoogleAnswer(BaseModel):
    file: _GoogleFile


def _start(file: NewFile) -> dict[str, str]:
    return {
        "x-goog-upload-protocol": "resumable",
        "x-goog-upload-command": "start",
        "x-goog-upload-header-content-length": str(len(file.content)),
        "x-goog-upload-header-content-type": file.media_type,
    }


def _at_base(base_url: str, address: str) -> str:
    """The named address at the declared host: key and content go where the operator said, whatever an answer says."""
    base, named = urlsplit(base_url), urlsplit(address)
    return named._replace(scheme=base.scheme, netloc=base.netloc).geturl()


def _form(file: NewFile) -> tuple[str, bytes, str]:
    return _name(file), file.content, file.media_type


def _name(file: NewFile) -> str:
    return f"{file.ref}.{ENDINGS[file.media_type]}"


def _seconds(at: datetime | None) -> int | None:
    return None if at is None else int(at.timestamp())
