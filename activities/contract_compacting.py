"""What the workflow and the activity `compact` agree on: its name, its input and its result.

Light as `contract` is, for the same reason.
"""

from typing import Final

from activities.contract import Grown
from ledger.conversation import Conversation
from ledger.model import Frozen

COMPACT: Final = "compact"


class CompactConversation(Frozen):
    """Input of `compact`. Idempotent: the same conversation is compacted the same way once."""

    conversation: Conversation
    agent_ref: str
    stage: int = 0
    verbatim: float
    """Share of the conversation's bytes that its newest rounds keep word for word."""
    summary: Conversation | None = None
    """Ends in the summary that takes the place of what is old; None: old tool results are dropped."""


class CompactDone(Grown):
    """Result of `compact`: the new branch, or the conversation as it was where nothing could be dropped."""

    bytes_before: int
    bytes_after: int
    dropped: int = 0
    replaced: int = 0
