"""One run on a page: where it stands, what it tried, what it asks and how to answer. Pure: a view in, text out."""

import math
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from commands.answering import how_to_answer
from commands.compaction_words import compactions
from commands.final_answer import told as answer_told
from commands.runs import Unfinished, View
from commands.sums import cost_of, tables, what_it_cost
from commands.tables import plain, plain_line
from commands.tallies import (
    ending,
    gates,
    revision,
    sub_runs,
    targets,
    time_spent,
)
from commands.words import counted, narrate, place, revision_named, seconds
from commands.words import line as words_of
from inbox.asked_call import AskedCall, offered
from inbox.reasons import last_failures
from inbox.rounds import rounds_of, whole_output
from inbox.shell import endstop
from ledger.captures import tally
from ledger.journal import CaptureChanged, GateRecord, JournalRecord
from ledger.records import AttemptRecord
from workflows.messages import Asked, ChildStatus, Status

MAX_ARGUMENTS: Final = 8_000
"""Characters of a call's arguments on a terminal, some 200 lines; `-o json` has the whole."""


def show(view: View, now: float | None = None) -> str:
    """The page; `now` (unix seconds) is what waits are counted from."""
    now = time.time() if now is None else now
    blocks = [_head(view, now), *tables(view)]
    if view.asked:
        blocks.append(question(view.id, view.asked, view.call))
    blocks += [answer_told(view.id, view.answer), *view.notices]
    return plain("\n\n".join(block for block in blocks if block))


def as_json(view: View) -> dict[str, object]:
    """The page's content for programs."""
    ended = ending(view.entries)
    return {
        **view.model_dump(mode="json", include={"id", "run_id", "conversation", "state", "reason", "notices"}),
        "by": ended.by if ended else "",
        "why": ended.why if ended else "",
        **view.answer.for_programs(),
        "status": view.status.model_dump(mode="json") if view.status else None,
        "intervention": _asked(view.asked, view.call) if view.asked else None,
        "unfinished": [one.model_dump(mode="json") for one in view.unfinished],
        "targets": [row.model_dump(mode="json") for row in targets(view.entries)],
        "sub_runs": [row.model_dump(mode="json") | {"run": f"{view.id}/{row.run}"} for row in sub_runs(view.entries)],
        "failures": [failure.model_dump(mode="json") for failure in last_failures(view.id, view.entries)],
        "gates": [row.model_dump(mode="json") for row in gates(view.entries)],
        "rounds": [record.model_dump(mode="json", exclude={"type"}) for record in rounds_of(view.entries)],
        "revision": revision(view.entries),
        "cost": spent.model_dump(mode="json") if (spent := cost_of(view)) else None,
        "captures": tally(_attempts(view), view.changes),
        "time_spent": time_spent(view.entries).model_dump(mode="json"),
    }


def _asked(asked: Asked, call: AskedCall | None) -> dict[str, object]:
    found = asked.model_dump(mode="json") | {"answers": offered(asked, call)}
    return found | ({"arguments": call.value, "trouble": call.trouble} if call else {})


def question(run: str, asked: Asked, call: AskedCall | None = None) -> str:
    """What is asked, and the exact command for each answer. Further lines of the text are marked as such."""
    text = asked.text.replace("\n", "\n  | ")
    blocks = [f"{asked.id} asks a person: {asked.label} (digest {asked.digest})\n{text}"]
    if where := whole_output(run, asked):
        blocks.append(plain_line(where))
    blocks += _choices(asked)
    if call:
        blocks += _arguments(run, call)
    commands = how_to_answer(run, asked, call)
    return "\n".join(blocks) + "\n\n" + "\n".join(f"  {command}\n      {meaning}" for command, meaning in commands)


def _choices(asked: Asked) -> Iterator[str]:
    """The replies that the model suggests, each on a line of its own."""
    options = asked.facts.get("options")
    if isinstance(options, list) and options:
        yield "replies that it suggests (any other is taken too):"
        yield from (f"  - {plain_line(str(option))}" for option in options)


def _arguments(run: str, call: AskedCall) -> Iterator[str]:
    """The arguments, whole where they are not long; they are JSON on lines that no text in it can forge."""
    if call.trouble:
        yield f"the arguments of {call.tool} cannot be shown: {call.trouble}"
        return
    text = call.pretty
    yield f"the arguments of {call.tool}" + (", as they were written (no plain JSON object):" if call.odd else ":")
    yield "\n".join(f"  {line}" for line in text[:MAX_ARGUMENTS].split("\n"))
    if len(text) > MAX_ARGUMENTS:
        rest = f"{len(text) - MAX_ARGUMENTS:,} more characters"
        whole, before = endstop("show", run, flags="-o json"), endstop("transcript", run)
        yield f"  [{rest}: `{whole}` has them whole, `{before}` what led to them]"


def journal_lines(view: View, after: int = 0, details: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """The journal in words, one line a record, those after a sequence number; what there are details of is quoted.

    What was removed stands where it happened, without a number: the store tells it, not the run.
    """
    records = {entry.seq: entry.record for entry in view.entries}
    changes = list(view.changes)
    for seq, words in narrate(view.entries, view.aside):
        record = records.get(seq)
        earlier = [change for change in changes if change.at < getattr(record, "at", 0)]
        del changes[: len(earlier)]
        if seq <= after:
            continue
        yield from map(_change_line, earlier)
        yield plain_line(f"{seq:>4}  {clock(getattr(record, 'at', None))}  {words}")
        for line in details.get(_detail_key(record), "").splitlines():
            yield plain_line(f"                | {line}")
    yield from map(_change_line, changes)
    for one in view.unfinished:
        yield plain_line(f"   -  {clock(None)}  {unfinished_line(one)}")


def _change_line(change: CaptureChanged) -> str:
    return plain_line(f"   -  {clock(change.at)}  {words_of(change)}")


def _detail_key(record: JournalRecord | None) -> str:
    """Under which name the store has what a provider or a gate's judge said."""
    match record:
        case AttemptRecord():
            return record.id
        case GateRecord():
            return f"gate:{record.gate}:{record.report}"
        case _:
            return ""


def clock(at: float | None) -> str:
    """Local time of day; the day itself is in `-o json`."""
    return "        " if at is None else datetime.fromtimestamp(at, UTC).astimezone().strftime("%H:%M:%S")


def doing(status: Status, now: float) -> str:
    """What the run does now, in whole seconds: a countdown where it waits for a known time, else since when."""
    if status.until is not None and status.until > now:
        return f"{status.doing or 'waiting'}, {seconds(math.ceil(status.until - now) * 1_000)} left"
    whole = int(now - status.since) if status.since else 0
    return f"{status.doing} for {seconds(whole * 1_000)}" if whole > 0 and status.doing else status.doing


def waiting(status: Status) -> str:
    """Until when the run waits, where it waits for a known time; else ""."""
    return f"{clock(status.since)}  {status.doing}, until {clock(status.until)}" if status.until else ""


def _head(view: View, now: float) -> str:
    lines = [plain_line(f"{view.id}  {view.state}{_why(view)}")]
    if view.status and view.status.agent:  # it has none before it is prepared
        lines += _numbers(view.status)
    if made_of := revision(view.entries):
        lines.append(f"its workspace was made of {revision_named(made_of)}")
    lines += what_it_cost(view)
    if view.status and view.status.agent and view.status.doing and not view.ended:
        lines.append(doing(view.status, now))
        lines += map(sub_run_line, view.status.children)
    lines += [unfinished_line(one) for one in view.unfinished]
    lines += compactions(view.entries)
    lines += _captures(view)
    return "\n".join(lines)


def sub_run_line(child: ChildStatus) -> str:
    """A sub-run that is under way, and how to see it: it is answered by its own id."""
    what = f"asks a person ({child.intervention})" if child.intervention else "is under way"
    return plain_line(f"sub-run {child.id} {what}: `{endstop('show', child.id)}`")


def _captures(view: View) -> list[str]:
    """What became of captured requests; nothing where none was captured, which goes without saying."""
    counts = tally(_attempts(view), view.changes)
    taken = [f"{counts[status]} {status}" for status in ("retained", "redacted", "expired") if status in counts]
    lines = [f"captured requests: {', '.join(taken)}"] if taken else []
    gone = next((change for change in view.changes if change.what == "transcript"), None)
    return [*lines, f"messages redacted by {plain_line(gone.by)}"] if gone else lines


def _attempts(view: View) -> list[AttemptRecord]:
    return [entry.record for entry in view.entries if isinstance(entry.record, AttemptRecord)]


def _why(view: View) -> str:
    """Why a run failed; who ended one that was stopped or cancelled, and why."""
    ended = ending(view.entries)
    by = f" by {ended.by}" if ended and ended.by else ""
    why = view.reason or (ended.why if ended else "")
    return by + (f": {why}" if why else "")


def unfinished_line(one: Unfinished) -> str:
    """A trip that was cut off: the provider may have done, and billed, the work."""
    return f"{place(one.id)} {one.target} was under way and never ended: outcome unknown, it may have been paid"


def _numbers(status: Status) -> list[str]:
    where = f"agent {status.agent}, stage {status.stage}, turn {status.turn}"
    counts = ", ".join(
        (counted(status.attempts, "attempt"), counted(status.failovers, "failover"), counted(status.charges, "charge"))
    )
    tokens = f"{status.input_tokens:,} tokens in, {status.output_tokens:,} out"
    return [
        f"{where}, {status.target}" if status.target else where,
        f"{counts}, {tokens}",
    ]
