"""What is kept outside Temporal: transcripts, contents, journals, runs, uploads, requests and error details (SQL)."""

from store.captures import Capture
from store.chain import Message
from store.errors import ContentMissing, ConversationBroken, ConversationRedacted, StoreTroubled, StoreUnavailable
from store.looking import Looked, look_at
from store.messages import Appended, Stretch, UnusedAnswer
from store.opening import tag
from store.remembering import RememberingStore
from store.removing import Removal, Removed
from store.store import RegisteredRun, Store
from store.uploads import Upload

__all__ = [
    "Appended",
    "Capture",
    "ContentMissing",
    "ConversationBroken",
    "ConversationRedacted",
    "Looked",
    "Message",
    "RegisteredRun",
    "RememberingStore",
    "Removal",
    "Removed",
    "Store",
    "StoreTroubled",
    "StoreUnavailable",
    "Stretch",
    "UnusedAnswer",
    "Upload",
    "look_at",
    "tag",
]
