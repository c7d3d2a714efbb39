"""How full a target's window is, as far as the providers' own counts tell, and when a conversation is to be compacted.

Here: the size, the thresholds, and how much stays word for word. Not here: what a compaction is (`compacting`), or the
messages, which the ledger never sees.
"""

from typing import Final

from ledger.model import Frozen
from ledger.outcomes import Trip
from ledger.policy import ContextPolicy
from ledger.records import Count

BYTES_PER_TOKEN: Final = 4
"""Of what was added since the last count: the usual rule of thumb; the next answer brings the provider's own count."""
GROWTH: Final = 0.1
"""Share of the window that a conversation must have grown by before it is compacted for the same window again."""
TIGHTER: Final = 0.5
"""A request that was refused for its size is cut to this share of what would else stay: the counts were too low."""


class Context(Frozen):
    """What the run's conversation takes of a window."""

    tokens: Count = 0
    """Input and output of the last answer, as its provider counted them; 0: no answer came yet.

    After a compaction: in proportion to the bytes that are left.
    """
    added_bytes: Count = 0
    """Of tool results since."""
    window: Count = 0
    """Tokens of the window that the last compaction was for; 0: there was none, or its size was not known."""
    settled: Count = 0
    """Tokens after the last compaction, by the first count that came after it."""
    counted: bool = True
    """Whether that count has come."""

    @property
    def size(self) -> int:
        """Tokens, by and large."""
        return self.tokens + self.added_bytes // BYTES_PER_TOKEN

    def after(self, trip: Trip) -> "Context":
        """The size after an answer; one that nobody counted adds nothing that is known."""
        usage = trip.usage
        known = usage is not None and not usage.estimated and usage.input_tokens > 0
        tokens = usage.input_tokens + usage.output_tokens if usage is not None and known else max(1, self.size)
        settled = self.settled if self.counted else tokens
        return self.model_copy(update={"tokens": tokens, "added_bytes": 0, "settled": settled, "counted": True})

    def grown(self, added: int) -> "Context":
        """The size after tool results of so many bytes."""
        return self.model_copy(update={"added_bytes": self.added_bytes + added})

    def shrunk(self, left: float, window: int) -> "Context":
        """The size after a compaction for a window that left this share of the bytes."""
        tokens = max(1, int(self.size * left))
        return Context(tokens=tokens, window=window, settled=tokens, counted=False)


def is_full(context: Context, window: int, policy: ContextPolicy) -> bool:
    """Whether a conversation is to be compacted before it goes to a target with a window of so many tokens.

    Not again for the same window, or a larger one, before it has grown by `GROWTH`: what a compaction leaves may be
    above the threshold already, and compacting with every turn would cost the providers' caches and free nothing.
    """
    if policy.full == "keep" or not window or context.size < policy.at * window:
        return False
    smaller = not context.window or window < context.window
    return smaller or context.size >= context.settled + GROWTH * window


def verbatim_share(context: Context, window: int, policy: ContextPolicy, *, refused: bool) -> float:
    """How much of the conversation's bytes, from its end, stays word for word; a window of unknown size is full."""
    size = max(1, context.size)
    limit = min(window or size, size) if refused else window
    return min(1.0, policy.verbatim * limit * (TIGHTER if refused else 1) / size)


def fitting_share(context: Context, window: int, policy: ContextPolicy, *, refused: bool) -> float:
    """How much of the conversation's bytes a request may have that asks for its summary."""
    size = max(1, context.size)
    limit = min(window or size, size) * TIGHTER if refused else window
    return min(1.0, policy.at * limit / size)
