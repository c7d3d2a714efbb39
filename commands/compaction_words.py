"""A compaction in plain words: one line, for the journal and whoever else tells of it. Pure."""

from collections.abc import Iterable

from ledger.journal import CompactionRecord, Entry

_REASONS = {"full": "its window was full", "too_large": "the request was refused for its size"}


def compacted(record: CompactionRecord, by: str) -> str:
    """What was done, for whom, and what is left. `by`: the attempt that gave the summary, for people."""
    if record.after == record.before:
        return f"{record.id}: the conversation could not be compacted for {record.target}: nothing old is left to drop"
    tokens = f"about {record.tokens_before:,} tokens to {record.tokens_after:,}"
    sizes = f"{tokens}, {_length(record.before)} messages to {_length(record.after)}"
    start = f"{record.id}: the conversation was compacted for {record.target}, because {_REASONS[record.reason]}"
    return f"{start}: {_done(record, by)}; {sizes} ({_head(record.before)} to {_head(record.after)})"


def compactions(entries: Iterable[Entry]) -> list[str]:
    """How often a run's conversation was made shorter, and what the last time came to; nothing where it never was."""
    records = [entry.record for entry in entries if isinstance(entry.record, CompactionRecord)]
    done = [record for record in records if record.after != record.before]
    if not done:
        return []
    times = "once" if len(done) == 1 else f"{len(done):,} times"
    last = f"about {done[-1].tokens_before:,} tokens to {done[-1].tokens_after:,}"
    return [f"the conversation was compacted {times}, last from {last}; `endstop transcript` shows all of it"]


def _done(record: CompactionRecord, by: str) -> str:
    if record.how == "summarise":
        return f"{record.replaced:,} messages summarised by {by}"
    instead = ", as nobody could summarise it" if record.fallback else ""
    return f"{record.dropped:,} old tool results dropped{instead}"


def _length(place: str) -> str:
    return f"{int(place.partition('/')[0]):,}"


def _head(place: str) -> str:
    """The first digits of a conversation's digest."""
    return place.partition("/")[2][:8]
