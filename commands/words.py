"""A journal in plain words: one line a record, for people. Pure: records in, text out.

Wording lives here so that `journal`, `show`, `--watch` and the demo say the same thing about the same record.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from commands.compaction_words import compacted
from commands.tallies import Cost
from inbox.reasons import setting
from ledger.journal import (
    AnswerRecord,
    CaptureChanged,
    CompactionRecord,
    DeadlineRecord,
    DirectiveRecord,
    Entry,
    EvidenceRecord,
    GateRecord,
    InterventionRecord,
    JournalRecord,
    RefusedRecord,
    RunRecord,
    SetAside,
    ToolBatchRecord,
    ToolCallRecord,
    WaitRecord,
)
from ledger.records import AttemptRecord, FailoverRecord, Retry, UsageRecord

SECOND_MS = 1_000
ONE_DIGIT_S = 10
"""Below this many seconds a tenth matters to a reader."""
SMALL_USD = 0.001
"""Below this many dollars four digits would show too little of the amount, or nothing."""


def seconds(milliseconds: float) -> str:
    """A length of time for people: "350 ms", "1.5 s", "2 s", "16 s", "4 min 30 s", "2 h 5 min"."""
    in_seconds = milliseconds / SECOND_MS
    if in_seconds < 1:
        return f"{round(milliseconds)} ms"
    if in_seconds < ONE_DIGIT_S:
        return f"{in_seconds:.1f} s".replace(".0 s", " s")
    minutes, rest = divmod(round(in_seconds), 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    large, small = (
        (f"{hours} h", f"{minutes} min" if minutes else "")
        if hours
        else (f"{minutes} min", f"{rest} s" if rest else "")
    )
    return f"{large} {small}".rstrip()


def revision_named(revision: str) -> str:
    """What a workspace was made of, for people: "commit 1a2b3c4d5e6f"."""
    kind, _, digest = revision.partition(":")
    return f"{'commit' if kind == 'git' else f'an archive, {kind}'} {digest[:12]}"


def counted(count: int, thing: str) -> str:
    """A number of things: "1 attempt", "3 attempts"."""
    return f"{count} {thing}" if count == 1 else f"{count:,} {thing}s"


def place(attempt_id: str) -> str:
    """Where an attempt stands in its run, by its id: turn, call, attempt, each from 1; an old id stays as it is."""
    numbers = attempt_id.split(".")
    if len(numbers) != len("tca"):
        return attempt_id or "an attempt without id"
    return ".".join(letter + number for letter, number in zip("tca", numbers, strict=True))


def narrate(entries: Sequence[Entry], aside: Iterable[SetAside] = ()) -> Iterator[tuple[int, str]]:
    """Tell a whole journal, in order; a retry says how long it waited, because the next attempt is known."""
    told = [(entry.seq, line(entry.record, _wait_after(entries, at))) for at, entry in enumerate(entries)]
    told += [(one.seq, f"a record that this release cannot read, set aside: {one.reason}") for one in aside]
    yield from sorted(told)


def line(record: JournalRecord, wait_ms: int | None = None) -> str:
    """One record in words; `wait_ms` is the wait before the attempt after a failed one, where it is known."""
    match record:
        case AttemptRecord():
            return _attempt(record, wait_ms)
        case UsageRecord():
            return _usage(record)
        case FailoverRecord():
            return _failover(record)
        case ToolBatchRecord():
            return "tools: " + (", ".join(_tool(call) for call in record.calls) or "not all could be carried out")
        case GateRecord():
            return _gate(record)
        case WaitRecord():
            cut = f" of {seconds(record.asked_ms)}, interrupted" if record.interrupted else ""
            return f"waited {seconds(record.slept_ms)}{cut} ({record.reason}) for {record.target}"
        case CompactionRecord():
            return compacted(record, place(record.attempt_id))
        case _:
            return _people_and_run(record)


def _people_and_run(
    record: RunRecord
    | InterventionRecord
    | AnswerRecord
    | DeadlineRecord
    | DirectiveRecord
    | RefusedRecord
    | EvidenceRecord
    | CaptureChanged,
) -> str:
    match record:
        case RunRecord():
            return _run(record)
        case InterventionRecord():
            return f"{record.id}: needs a person: {record.label}{_facts(record)}"
        case AnswerRecord():
            return _answer(record)
        case DeadlineRecord():
            return f"{record.intervention}: nobody answered in time; by policy: {record.then}"
        case DirectiveRecord():
            return f"{record.by or 'somebody'} told the run: {_named(record.directive, record.target)} ({record.door})"
        case RefusedRecord():
            return f"a message by {record.door or 'signal'} was refused and changed nothing: {record.reason}"
        case EvidenceRecord():
            return f"gate {record.gate}: evidence recorded by {record.by} for {record.fingerprint[:8]}; no count falls"
        case CaptureChanged():
            return _changed(record)
        case _:
            assert_never(record)


def _changed(record: CaptureChanged) -> str:
    match record.what:
        case "request":
            return f"captured request of {place(record.attempt_id)} is now {record.status} by {record.by}"
        case "detail":
            return f"what was said of {record.attempt_id}'s failure is now {record.status} by {record.by}"
        case "transcript":
            return f"all messages are now {record.status} by {record.by}"
        case _:
            assert_never(record.what)


def _attempt(record: AttemptRecord, wait_ms: int | None) -> str:
    start = f"{place(record.id)} {record.provider}:{record.model}{', for a summary,' if record.purpose else ''}"
    took = seconds(record.duration_ms)
    failed = record.failed
    if record.found:
        return f"{start} found the stored answer of {place(record.recovered)}; nothing was sent"
    if record.recovered:
        first = place(record.recovered)
        return f"{start} was answered in {took}, later than {first}, whose answer counts{_captured(record)}"
    if failed is None:
        return f"{start} answered in {took} ({record.finish_reason or 'finish unknown'}){_captured(record)}"
    doubt = ", outcome unknown: it may have been paid" if record.outcome_unknown else ""
    look = f" ({found})" if (found := setting(record.rule)) else ""
    kind, kept = failed.kind or "unclassified", _captured(record)
    return f"{start} failed {kind} after {took}{look}{doubt}, {_next(failed.next, wait_ms)}{kept}"


def _captured(record: AttemptRecord) -> str:
    """That its request was captured; what became of it stands in a record of its own."""
    size = record.model_input.bytes if record.model_input else 0
    return f", request captured ({size:,} bytes)" if size else ""


def _next(following: Retry, wait_ms: int | None) -> str:
    match following:
        case Retry.REPORTED:
            return "no further try in this call"
        case Retry.RENEWED_FILES:
            return "files uploaded afresh, again at once"
        case Retry.SAME_MODEL:
            return "retry follows" if wait_ms is None else f"retry in {seconds(wait_ms)}"
        case _:
            assert_never(following)


def _wait_after(entries: Sequence[Entry], at: int) -> int | None:
    this = entries[at].record
    if not isinstance(this, AttemptRecord):
        return None
    for entry in entries[at + 1 :]:
        later = entry.record
        if isinstance(later, AttemptRecord):
            same_call = (later.turn, later.call, later.attempt) == (this.turn, this.call, this.attempt + 1)
            return later.backoff_ms if same_call else None
    return None


def _usage(record: UsageRecord) -> str:
    return f"{place(record.attempt_id)} {used(record)}"


def used(record: UsageRecord) -> str:
    """What an attempt used and cost; an upper bound says so, and so does an unknown price."""
    up_to = "up to " if record.estimated else ""
    tokens = f"{record.input_tokens:,} tokens in, {record.output_tokens:,} out"
    return f"used {up_to}{tokens}, {dollars(record.cost_usd, estimated=record.estimated)}"


def dollars(usd: float | None, *, estimated: bool = False) -> str:
    """An amount for people: "0.0043 USD", "up to 0.0043 USD" for a bound, "price unknown", which is never 0."""
    if usd is None:
        return "price unknown"
    return f"{'up to ' if estimated else ''}{amount(usd)} USD"


def amount(usd: float) -> str:
    """So many digits that a small amount is not told as nothing."""
    return f"{usd:.{6 if 0 < usd < SMALL_USD else 4}f}"


def cost_line(spent: Cost) -> str:
    """What something cost, how much of it is a bound, and what has no known price."""
    parts = [f"cost {'unknown' if spent.usd is None else dollars(spent.usd, estimated=spent.estimated > 0)}"]
    if spent.estimated:
        attempts = counted(spent.estimated, "attempt")
        parts.append(f"{dollars(spent.estimated_usd)} of it for {attempts} that nobody counted")
    if spent.unpriced:
        parts.append(f"{counted(spent.unpriced, 'attempt')} at an unknown price")
    return ", ".join(parts)


def _failover(record: FailoverRecord) -> str:
    source, goal = f"{record.from_provider}:{record.from_model}", f"{record.to_provider}:{record.to_model}"
    kind = f" ({record.kind})" if record.kind else ""
    return f"failover: {source} → {goal}, because {record.reason}{kind}"


def _tool(call: ToolCallRecord) -> str:
    name = call.name or "unknown tool"
    again = f", step seen {call.repetitions} times" if call.repetitions > 1 else ""
    return f"{name} {call.status} in {seconds(call.duration_ms)}{again}"


def _gate(record: GateRecord) -> str:
    start = f"gate {record.gate} round {record.round}:"
    if record.verdict == "broken":  # that counts as no round
        return f"gate {record.gate}: it could not run, which tells nothing of the work"
    if record.verdict != "failing":
        return f"{start} {record.verdict}"
    cost = f"charged ({record.charges} so far)" if record.charged else "free"
    seen = f", seen {record.repetitions} times" if record.repetitions > 1 else ", new"
    drift = f", drift {record.drift}" if record.drift > 1 else ""
    moved = ", handed to the next model" if record.escalated else ""
    items = counted(record.items, "failing item")
    return f"{start} {items}, failure {record.exact[:8]}{seen}{drift}, {cost}, {_decided(record.decided)}{moved}"


def _decided(decided: str) -> str:
    return {"admitted": "one more repair", "waived": "waived on a person's word"}.get(decided, f"stopped by {decided}")


def _run(record: RunRecord) -> str:
    match record.what:
        case "began":
            return "the run began" + (
                f", its workspace made of {revision_named(record.revision)}" if record.revision else ""
            )
        case "stage":
            return f"stage {record.stage} began"
        case "continued":
            return "the run went on in a new execution (its history was long)"
        case "completed":
            return "the run completed"
        case "stopped" | "cancelled":
            by = f" by {record.by}" if record.by else ""
            return f"the run was {record.what}{by}" + (f": {record.why}" if record.why else "")
        case _:
            assert_never(record.what)


def _answer(record: AnswerRecord) -> str:
    amount = "" if record.amount is None else f"{record.amount:g}"
    said = _named(record.answer, record.target or amount)
    unbound = ", unbound" if record.unbound else ""
    after = seconds(record.waited_ms)
    return f"{record.intervention}: {record.by or 'somebody'} answered {said} after {after} ({record.door}{unbound})"


def _named(word: str, what: str) -> str:
    return f"{word} {what}" if what else word


def _facts(record: InterventionRecord) -> str:
    """Numbers and names of the facts; content, such as a question's text, is shown where it is asked."""
    known = {k: v for k, v in record.facts.items() if k not in {"label", "text"} and v != ""}
    shown = {k: v for k, v in known.items() if isinstance(v, str | int | float)}
    return f" ({', '.join(f'{k} {v}' for k, v in shown.items())})" if shown else ""
