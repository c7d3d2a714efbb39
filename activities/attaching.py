"""How a target gets the files of a conversation: by the id of an upload where its API takes one, else in the request.

Here: which way a file goes, which uploads are remembered and for how long, and one upload at a time of the same file.
Not here: a vendor's files API (`vendor_files`), what a file is (`files`), what a failed upload means (`evidence`).

An id belongs to the provider that gave it and is never sent elsewhere: another target has its own, and uploads first.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final
from weakref import WeakValueDictionary

from activities.client import ById, Form, Inline, ModelClient, NewFile, Uploaded
from activities.declared import Api, Provider
from activities.exchange import Exchange, Exchanges
from activities.files import IMAGES, PDF, TEXT, NamedFile
from activities.kept import CallStore

BY_ID: Final[Mapping[Api, frozenset[str]]] = {
    # Chat completions take images by address or inline only, and of documents by id PDFs alone.
    "openai-chat": frozenset({PDF}),
    "openai-responses": IMAGES | {PDF, TEXT},
    "anthropic-messages": IMAGES | {PDF, TEXT},
    "google": IMAGES | {PDF, TEXT},
}
"""Media types that a request of the API can name by the id of an upload."""

MARGIN_S: Final = 300
"""Seconds before its expiry from which on an upload is not relied on: a request may wait in a queue."""

UPLOAD_S: Final = 120
"""Seconds that one upload may take: 32 MB at 2.2 Mbit/s."""


class Attacher:
    """Attaches files for all calls of a worker. `now` tells unix seconds."""

    def __init__(self, store: CallStore, now: Callable[[], float]) -> None:
        self._store = store
        self._now = now
        self._uploading: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def forms(
        self, client: ModelClient, provider: Provider, files: tuple[NamedFile, ...], exchanges: Exchanges
    ) -> dict[str, Form] | Exchange:
        """Each file's form by its digest, uploaded where it has to be; else the exchange in which an upload failed."""
        forms: dict[str, Form] = {}
        for file in files:
            if not goes_by_id(provider, file):
                forms[file.ref] = Inline(content=await self._store.get(file.ref))
                continue
            file_id = await self._file_id(client, provider, file, exchanges)
            if file_id is None:
                return exchanges.last
            forms[file.ref] = ById(file_id=file_id)
        return forms

    async def forget(self, provider: Provider, files: tuple[NamedFile, ...]) -> None:
        """The provider misses one of these files: no upload before now is relied on any more (A8)."""
        for file in files:
            if goes_by_id(provider, file):
                await self._store.forget_upload(_holder(provider), file.ref)

    async def _file_id(
        self, client: ModelClient, provider: Provider, file: NamedFile, exchanges: Exchanges
    ) -> str | None:
        lock = self._uploading.setdefault((provider.name, file.ref), asyncio.Lock())
        async with lock:
            known = await self._store.find_upload(_holder(provider), file.ref)
            if known and (known.expires_at is None or known.expires_at - MARGIN_S > self._now()):
                return known.file_id
            uploaded = await self._upload(client, file, exchanges)
            if uploaded is None:
                return None
            await self._store.put_upload(_holder(provider), file.ref, uploaded.file_id, uploaded.expires_at)
            return uploaded.file_id

    async def _upload(self, client: ModelClient, file: NamedFile, exchanges: Exchanges) -> Uploaded | None:
        new = NewFile(ref=file.ref, media_type=file.media_type, content=await self._store.get(file.ref))
        try:
            async with asyncio.timeout(UPLOAD_S):
                return await client.upload(new, exchanges)
        except TimeoutError:
            exchanges.out_of_time()
            return None


def goes_by_id(provider: Provider, file: NamedFile) -> bool:
    """Whether this provider gets this file as an upload that its requests name."""
    return provider.files and file.media_type in BY_ID[provider.api]


def _holder(provider: Provider) -> str:
    """Who holds an upload: the same name at another address is somebody else."""
    return f"{provider.name} {provider.base_url}"
