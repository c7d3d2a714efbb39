"""The files that a run names: read from its workspace once, when the run is prepared, and known by their content.

Here: which of a workspace's files can accompany a task, and what kind each is. From then on a file is what the store
has under its digest: every target of the run, on whichever worker, gets the same bytes, also when the workspace has
changed meanwhile. Not here: how a target gets them (`attaching`), where they stand in the conversation (`messages`).
"""

from collections.abc import Iterable, Iterator
from typing import Final, Literal

from pydantic import TypeAdapter

from activities.workspace_files import FileRefused, WorkspaceFiles
from ledger.conversation import digest
from ledger.model import Frozen
from ledger.reading import shown
from ledger.records import Count

MAX_FILE: Final = 32 * 2**20
"""Bytes of one file: the most that OpenAI takes of one; Anthropic's and Google's limits are higher."""
MAX_FILES: Final = 128 * 2**20
"""Bytes of all files of a run: what one step of it holds in memory."""

PDF: Final = "application/pdf"
TEXT: Final = "text/plain"
IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What OpenAI and Anthropic read; Gemini reads all but GIF."""

MediaType = Literal["application/pdf", "text/plain", "image/png", "image/jpeg", "image/gif", "image/webp"]

SIGNATURES: Final[tuple[tuple[bytes, MediaType], ...]] = (
    # a file's first bytes decide, for vendors look at them too; a name can say anything
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)

IMAGE_TOKENS: Final = 50_000
"""Tokens of an image at most: gpt-4o-mini counts 2,833 and 5,667 for each of up to 8 tiles, all others less."""
PDF_TOKENS_A_BYTE: Final = 4
"""A page is read as text and as a picture, 3,000 to 8,000 tokens, and has 2 kB or more unless it is almost empty."""


class NamedFile(Frozen):
    """A file that accompanies a conversation; its content is in the store."""

    name: str
    """Its path in the workspace, as the agent's author wrote it."""
    ref: str
    """Digest of its content, under which the store has it."""
    media_type: MediaType
    bytes: Count

    @property
    def tokens_at_most(self) -> int:
        """What a target may count for it; of a PDF of almost empty pages it may be more."""
        match self.media_type:
            case "text/plain":
                return self.bytes
            case "application/pdf":
                return PDF_TOKENS_A_BYTE * self.bytes
            case _:
                return IMAGE_TOKENS


MANIFEST: Final[TypeAdapter[tuple[NamedFile, ...]]] = TypeAdapter(tuple[NamedFile, ...])
"""All files of a run, as they are kept in the store for the stages that begin later."""


def read_files(files: WorkspaceFiles, names: Iterable[str]) -> Iterator[tuple[NamedFile, bytes]]:
    """Yield each named file with its content. `FileRefused`, one line for its author: it cannot accompany a task."""
    total = 0
    for name in names:
        content = files.read(name, MAX_FILE)
        total += len(content)
        if total > MAX_FILES:
            raise FileRefused(
                f"{shown(name)} makes {total} bytes with the files before it; at most {MAX_FILES} are taken"
            )
        media_type = media_type_of(content)
        if media_type is None:
            raise FileRefused(f"{shown(name)} is no PDF, PNG, JPEG, GIF or WebP image and no UTF-8 text")
        yield NamedFile(name=name, ref=digest(content), media_type=media_type, bytes=len(content)), content


def media_type_of(content: bytes) -> MediaType | None:
    """What kind of file this is by its content; None: none that all vendors could take, an empty one included."""
    for signature, media_type in SIGNATURES:
        if content.startswith(signature):
            return media_type
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return "text/plain" if _is_text(content) else None


def _is_text(content: bytes) -> bool:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return False
    return bool(text.strip()) and "\0" not in text
