"""What is kept outside Temporal: transcripts, contents, journals, runs, uploads and error details (SQL)."""

from store.errors import ContentMissing, ConversationBroken, StoreUnavailable
from store.messages import Appended, UnusedAnswer
from store.store import RegisteredRun, Store
from store.uploads import Upload

__all__ = [
    "Appended",
    "ContentMissing",
    "ConversationBroken",
    "RegisteredRun",
    "Store",
    "StoreUnavailable",
    "UnusedAnswer",
    "Upload",
]
