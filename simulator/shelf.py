"""The files that clients uploaded, vendor by vendor, and when they vanish. Their bytes are not kept.

How uploads are spoken is in the `*_files` modules; what a request that names a vanished file gets is its dialect's.
"""

import hashlib
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime

from simulator.signatures import Vendor


@dataclass(frozen=True, kw_only=True)
class Content:
    """What a client uploads."""

    filename: str
    media_type: str
    data: bytes


@dataclass(frozen=True, kw_only=True)
class StoredFile:
    """A file as the vendor remembers it. `purpose` is asked for by OpenAI only.

    `last_request`: the number of the last request to a model that can name the file, None while it does not expire.
    """

    vendor: Vendor
    id: str
    filename: str
    media_type: str
    size: int
    sha256: str
    purpose: str
    at: datetime
    last_request: int | None


@dataclass
class Shelf:
    """The files of all vendors: one of them never sees another's. `expire_after` counts requests to models, any model.

    Files outlive a script: a real vendor does not forget them either when its models answer otherwise.
    """

    expire_after: int | None = None
    requests: int = 0
    _files: dict[tuple[Vendor, str], StoredFile] = field(default_factory=dict)

    def put(self, vendor: Vendor, prefix: str, content: Content, purpose: str = "") -> StoredFile:
        """Keep a file under a new id that starts with the vendor's prefix."""
        made = StoredFile(
            vendor=vendor,
            id=f"{prefix}{secrets.token_hex(8)}",
            filename=content.filename,
            media_type=content.media_type,
            size=len(content.data),
            sha256=hashlib.sha256(content.data).hexdigest(),
            purpose=purpose,
            at=datetime.now(UTC),
            last_request=None if self.expire_after is None else self.requests + self.expire_after,
        )
        self._files[vendor, made.id] = made
        return made

    def get(self, vendor: Vendor, name: str) -> StoredFile | None:
        """The file, unless there is none of this name or it has vanished."""
        found = self._files.get((vendor, name))
        if found is None or (found.last_request is not None and self.requests > found.last_request):
            return None
        return found

    def delete(self, file: StoredFile) -> None:
        """Forget a file."""
        del self._files[file.vendor, file.id]

    def expire(self, name: str | None = None) -> int:
        """Let one file of this id vanish, or all; how many did."""
        gone = [key for key in self._files if name in (None, key[1])]
        for key in gone:
            del self._files[key]
        return len(gone)
