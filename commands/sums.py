"""What a run's journal adds up to, in tables and sentences: its models and sub-runs, its gates, its cost, its time.

Pure: a view in, text out. The sums are made in `tallies`.
"""

from collections.abc import Iterator

from commands.runs import View
from commands.tables import plain_line, table
from commands.tallies import Cost, GateTally, TargetTally, TimeSpent, cost, gates, sub_runs, targets, time_spent
from commands.words import amount, cost_line, counted, seconds
from inbox.reasons import last_failures, told
from inbox.rounds import HEADER, earlier, rounds_of, rows
from ledger.records import SubRunRecord


def tables(view: View) -> Iterator[str]:
    """The tables of the page, and for a run that has ended where the time went."""
    used = [_target_row(row) for row in targets(view.entries)]
    used += [_sub_run_row(view.id, row) for row in sub_runs(view.entries)]
    if used:
        yield table(("MODEL", "ATTEMPTS", "FAILED", "TOKENS IN", "OUT", "USD"), used)
    if failures := last_failures(view.id, view.entries):
        yield "\n".join(plain_line(told(failure)) for failure in failures)
    if checked := gates(view.entries):
        yield table(("GATE", "ROUNDS", "DIFFERENT", "CHARGES", "LAST"), [_gate_row(row) for row in checked])
        rounds = rounds_of(view.entries)
        yield f"{table(HEADER, rows(rounds))}\n{earlier(view.id, rounds)}".rstrip()
    if view.ended:
        yield from why_so_long(view)


def _target_row(row: TargetTally) -> tuple[object, ...]:
    failed = ", ".join(f"{kind} {count}" for kind, count in row.failed.items()) or "-"
    return row.target, row.attempts, failed, f"{row.input_tokens:,}", f"{row.output_tokens:,}", _usd(row)


def _sub_run_row(run: str, row: SubRunRecord) -> tuple[object, ...]:
    """A run that this one started; what failed in it stands in its own journal."""
    name = f"{run}/{row.run} ({row.name})"
    return name, row.attempts, "", f"{row.input_tokens:,}", f"{row.output_tokens:,}", _usd(row)


def _usd(row: TargetTally | SubRunRecord) -> str:
    known = "" if row.cost_usd is None else f"{'up to ' if row.estimated else ''}{amount(row.cost_usd)}"
    unknown = f"{row.unpriced} of unknown price" if row.unpriced else ""
    return " + ".join(filter(None, (known, unknown))) or "-"


def _gate_row(row: GateTally) -> tuple[object, ...]:
    last = f"waived by {row.waived_by} ({row.last})" if row.waived_by else row.last
    return row.gate, row.rounds, row.different, row.charges, last


def _time(spent: TimeSpent, *, gated: bool) -> str:
    parts = (
        (
            spent.models_ms,
            f"models {seconds(spent.models_ms)} in {counted(spent.attempts, 'attempt')} ({spent.failed} failed)",
        ),
        (spent.waits_ms, f"waits {seconds(spent.waits_ms)}"),
        (spent.tools_ms, f"tools {seconds(spent.tools_ms)}"),
        (spent.people_ms, f"people {seconds(spent.people_ms)}"),
        (spent.rest_ms, f"{'gates and ' if gated else ''}the rest {seconds(spent.rest_ms)}"),
    )
    told = ", ".join(words for amount, words in parts if amount)
    return f"took {seconds(spent.total_ms)}" + (f": {told}" if told else "")


def why_so_long(view: View) -> list[str]:
    """One sentence: where the time went; none before anything was recorded."""
    gated = bool(gates(view.entries))
    return [_time(time_spent(view.entries), gated=gated)] if view.entries else []


def what_it_cost(view: View) -> list[str]:
    """One sentence: what the run cost, how much of it is a bound, and what has no known price; none if nothing did."""
    spent = cost_of(view)
    return [cost_line(spent)] if spent else []


def cost_of(view: View) -> Cost | None:
    """By the run's own word where it can be asked: it knows of sub-runs that its journal has no record of."""
    spent, status = cost(view.entries), view.status
    if spent is None or status is None:
        return spent
    return spent.model_copy(update={"usd": status.cost_usd, "unpriced": status.unpriced})
