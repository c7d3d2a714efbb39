"""`endstop stats`: what happened across runs, from the store alone, as text, JSON or CSV. The sums: `adding_up`."""

import csv
import re
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal

import click

from commands.adding_up import Adding
from commands.opening import open_store, settings_from
from commands.refusals import BadInput
from commands.tables import plain, print_json, table
from commands.totals import InterventionTotal, Stats, TargetTotal
from commands.words import cost_line, counted, seconds
from ledger.journal import read_journal

Form = Literal["text", "json", "csv"]

UNITS_S: Final = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
SLACK_S: Final = 3_600
"""The store's clock and the workflow's may differ by this much; what is read too much is not counted."""
FLUSHED: Final = "A run that is under way counts as far as its journal is in the store, which gets it in batches."
HEAD: Final = ("SECTION", "NAME", "MEASURE", "VALUE")


async def show_stats(settings: Path | None, since: str | None, agent: str | None, form: Form) -> None:
    """Add up and print."""
    at = moment(since, time.time()) if since else 0
    async with open_store(settings_from(settings)) as store:
        adding, unread = Adding(at), 0
        async for written in store.journal_since(max(0, at - SLACK_S), agent):
            entries, aside = read_journal((written.entry,))
            unread += len(aside)
            for entry in entries:
                adding.take(written.conversation, entry.record)
    stats = adding.result(agent=agent, unread=unread)
    match form:
        case "json":
            print_json(stats)
        case "csv":
            csv.writer(sys.stdout).writerows((tuple(name.lower() for name in HEAD), *cells(stats)))
        case "text":
            click.echo(render(stats))


def moment(since: str, now: float) -> int:
    """A moment in unix seconds: so long before now (7d, 12h, 30m, 2w), or a date or time, local where it names no zone.

    BadInput: it is neither.
    """
    if length := re.fullmatch(r"(\d{1,6})([mhdw])", since):
        return max(0, int(now) - int(length[1]) * UNITS_S[length[2]])
    try:
        return max(0, int(datetime.fromisoformat(since).astimezone().timestamp()))
    except (ValueError, OverflowError):
        raise BadInput(
            f"--since {since!r}: expected a length such as 7d, 12h, 30m or 2w, or a date such as 2026-11-01"
        ) from None


def cells(stats: Stats) -> Iterator[tuple[str, str, str, object]]:
    """One row a number: section, whose, which measure, value. What is unknown has an empty value."""
    for section, content in stats.model_dump(mode="json").items():
        if isinstance(content, list):
            for row in content:
                names = [row.pop(key) for key in _KEYS[section]]
                yield from ((section, " ".join(names), *cell) for cell in _flat(row))
        elif isinstance(content, dict):
            yield from ((section, "", *cell) for cell in _flat(content))
        else:
            yield "asked", "", section, content


_KEYS: Final = {
    "targets": ("target",),
    "failovers": ("reason", "source", "goal"),
    "interventions": ("label",),
    "gates": ("gate",),
}


def _flat(row: dict[str, Any], of: str = "") -> Iterator[tuple[str, object]]:
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{of}{name}.")
        else:
            yield of + name, value


def render(stats: Stats) -> str:
    """The tables, those that are not empty, and what they leave out."""
    if not stats.runs.seen:
        return plain(f"{_which(stats)}: no runs")
    blocks = [_runs(stats), *_tables(stats), _lost(stats), _cost(stats)]
    if stats.unread:
        blocks.append(f"{counted(stats.unread, 'record')} that this release cannot read: not counted")
    return plain("\n\n".join(block for block in (*blocks, FLUSHED) if block))


def _which(stats: Stats) -> str:
    of = f"agent {stats.agent}, " if stats.agent else ""
    if stats.since is None:
        return f"{of}all that the store holds"
    return f"{of}since {datetime.fromtimestamp(stats.since).astimezone():%Y-%m-%d %H:%M}"


def _runs(stats: Stats) -> str:
    runs = stats.runs
    ended = {"completed": runs.completed, "stopped": runs.stopped, "cancelled": runs.cancelled}
    parts = [f"{runs.began} began", *(f"{count} {how}" for how, count in ended.items() if count)]
    return f"{_which(stats)}: {counted(runs.seen, 'run')}, {', '.join(parts)}"


def _tables(stats: Stats) -> Iterator[str]:
    if stats.targets:
        head: tuple[str, ...] = ("MODEL", "ATTEMPTS", "FAILED", "RATE", "WAITS", "TOKENS IN", "OUT", "USD")
        yield table(head, [_target(target) for target in stats.targets])
    if stats.failovers:
        rows = [(f"{move.source} → {move.goal}", move.reason, move.count) for move in stats.failovers]
        yield table(("FAILOVER", "BECAUSE", "TIMES"), rows)
    if stats.interventions:
        head = ("ASKED", "TIMES", "ANSWERED", "TIMED OUT", "MEDIAN", "LONGEST", "ANSWERS")
        yield table(head, [_intervention(one) for one in stats.interventions])
    if stats.gates:
        head = ("GATE", "ROUNDS", "FAILING", "CHARGES")
        yield table(head, [(gate.gate, gate.rounds, gate.failing, gate.charges) for gate in stats.gates])
    if any((compacted := stats.compactions.model_dump()).values()):
        yield table(("CONVERSATIONS COMPACTED BY", "TIMES"), list(compacted.items()))


def _intervention(one: InterventionTotal) -> tuple[object, ...]:
    times = (_time(one.median_ms), _time(one.max_ms))
    return one.label, one.raised, one.answered, one.timed_out, *times, _by(one.answers)


def _target(target: TargetTotal) -> tuple[object, ...]:
    cost = target.cost
    known = "" if cost.usd is None else f"{'up to ' if cost.estimated else ''}{cost.usd:.4f}"
    unknown = f"{cost.unpriced} of unknown price" if cost.unpriced else ""
    return (
        target.target,
        f"{target.attempts:,}",
        _by(target.failed),
        "-" if target.rate is None else f"{target.rate:.1%}",
        seconds(target.waits_ms) if target.waits_ms else "-",
        f"{target.input_tokens:,}",
        f"{target.output_tokens:,}",
        " + ".join(filter(None, (known, unknown))) or "-",
    )


def _by(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "-"


def _time(milliseconds: int | None) -> str:
    return "-" if milliseconds is None else seconds(milliseconds)


def _lost(stats: Stats) -> str:
    waits = stats.waits
    parts = {"retries": waits.retry_ms, "patience": waits.patience_ms, "no worker": waits.not_sent_ms}
    lost = ", ".join(f"{name} {seconds(length)}" for name, length in parts.items() if length)
    return f"lost to waits: {seconds(sum(parts.values()))} ({lost})" if lost else ""


def _cost(stats: Stats) -> str:
    return "" if stats.cost.usd is None and not stats.cost.unpriced else cost_line(stats.cost)
