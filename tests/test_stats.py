"""`endstop stats`: what the journals of many runs add up to, from the store alone, whatever the records look like."""

import asyncio
import csv
import io
import json
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import cli
from commands.stats import moment
from store import Store

NOW = 1_800_000_000
FIRST, SECOND = ("openai", "first"), ("anthropic", "second")
Record = dict[str, Any]


def attempt(number: int, target: tuple[str, str] = FIRST, kind: str = "", at: int = NOW, **fields: Any) -> Record:
    """The trip `1.1.number`; with a kind it failed."""
    failed = {"failed": {"kind": kind, "transient": True, "capacity": False, "next": "same_model"}}
    return {
        "type": "attempt",
        "id": f"1.1.{number}",
        "stage": "main",
        "iteration": 1,
        "turn": 1,
        "call": 1,
        "provider": target[0],
        "model": target[1],
        "attempt": number,
        "backoff_ms": 0,
        "duration_ms": 100,
        "at": at,
        "outcome": failed if kind else "succeeded",
        "finish_reason": "" if kind else "complete",
        "digest": None,
        **fields,
    }


SHAPE = {"system_hash": 0, "messages": 1, "tools": 0, "max_tokens": 9, "temperature": None}


def usage(number: int, cost_usd: float | None = None, *, estimated: bool = False) -> Record:
    used = {"type": "usage", "attempt_id": f"1.1.{number}", "input_tokens": 100, "output_tokens": 10}
    return used | ({} if cost_usd is None else {"cost_usd": cost_usd}) | ({"estimated": True} if estimated else {})


def wait(reason: str, slept_ms: int, at: int = NOW) -> Record:
    return {"type": "wait", "at": at, "reason": reason, "target": ":".join(FIRST), "asked_ms": 1, "slept_ms": slept_ms}


def failover(reason: str, at: int = NOW) -> Record:
    moved = {"from_provider": FIRST[0], "from_model": FIRST[1], "to_provider": SECOND[0], "to_model": SECOND[1]}
    return {"type": "failover", "stage": "main", "iteration": 1, "at": at, "kind": "", "reason": reason, **moved}


def compaction(number: int, how: str = "drop_tool_results", after: str = "3/b", at: int = NOW) -> Record:
    made = {"id": f"compact-{number}", "reason": "full", "how": how, "target": ":".join(FIRST)}
    sizes = {"tokens_before": 9, "tokens_after": 4, "bytes_before": 90, "bytes_after": 40}
    return {"type": "compaction", "at": at, "before": "9/a", "after": after, **made, **sizes}


def asked(number: int, label: str, at: int = NOW) -> Record:
    return {"type": "intervention", "at": at, "id": f"int-{number}", "digest": "d", "label": label, "facts": {}}


def answer(number: int, label: str, word: str, waited_ms: int, at: int = NOW) -> Record:
    told = {"answer": word, "by": "ann", "door": "cli", "waited_ms": waited_ms}
    return {"type": "answer", "at": at, "intervention": f"int-{number}", "label": label, **told}


def gate(number: int, verdict: str, *, charged: bool = False) -> Record:
    said = {"verdict": verdict, "decided": "admitted" if verdict == "failing" else "passed", "charged": charged}
    return {"type": "gate", "at": NOW, "gate": "tests", "report": number, "round": number, **said}


def run(what: str, at: int = NOW) -> Record:
    return {"type": "run", "at": at, "what": what}


Kept = Callable[..., Result]


@pytest.fixture
def stats(tmp_path: Path) -> Kept:
    """Give it the journals of runs, each by its agent's name and a number; it types `endstop stats` with flags."""
    file = tmp_path / "endstop.toml"
    file.write_text('[store]\nurl = "sqlite:///kept.db"\n')

    async def write(journals: dict[str, list[Record]]) -> None:
        store = await Store.open(f"sqlite:///{tmp_path}/kept.db")
        for name, records in journals.items():
            await store.register_run(name, f"run-{name}", name.split("-")[0])
            await store.write_journal(name, enumerate(records, 1))
        await store.close()

    def typed(journals: dict[str, list[Record]], *flags: str) -> Result:
        asyncio.run(write(journals))
        return CliRunner().invoke(cli.main, ["stats", "--settings", str(file), *flags])

    return typed


def numbers(stats: Kept, journals: dict[str, list[Record]], *flags: str) -> dict[str, Any]:
    done = stats(journals, "-o", "json", *flags)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_failures_are_told_by_target_and_kind_with_the_share_that_is_the_targets_own(stats):
    found = numbers(
        stats,
        {
            "a-1": [
                attempt(1, kind="rate_limited"),
                attempt(2, kind="rate_limited", backoff_ms=1_000),
                attempt(3, kind="auth", backoff_ms=4_000),
                attempt(4, SECOND),
            ],
            "b-1": [attempt(1, kind="not_sent"), attempt(2, kind="worker_lost"), attempt(3, recovered="1.1.2")],
            "b-2": [attempt(1), attempt(2)],
        },
    )
    first, second = found["targets"]
    assert (first["target"], first["attempts"], first["recovered"]) == ("openai:first", 8, 1)
    assert first["waits_ms"] == 5_000
    assert first["failed"] == {"rate_limited": 2, "auth": 1, "not_sent": 1, "worker_lost": 1}
    assert first["rate"] == pytest.approx(3 / 5)
    assert (second["target"], second["attempts"], second["failed"], second["rate"]) == ("anthropic:second", 1, {}, 0)


def test_a_retrys_wait_is_lost_once_and_other_waits_by_their_reason(stats):
    journal = [attempt(1, kind="timeout"), wait("retry", 9_000), attempt(2, backoff_ms=9_000), wait("patience", 60_000)]
    found = numbers(stats, {"a-1": journal})
    assert found["waits"] == {"retry_ms": 9_000, "patience_ms": 60_000, "not_sent_ms": 0}
    assert found["targets"][0]["waits_ms"] == 69_000


def test_failovers_are_counted_by_reason(stats):
    found = numbers(stats, {"a-1": [failover("at_capacity"), failover("failback"), failover("at_capacity")]})
    assert [(one["reason"], one["count"]) for one in found["failovers"]] == [("at_capacity", 2), ("failback", 1)]


def test_questions_are_counted_by_label_with_how_long_people_took(stats):
    journal = [asked(1, "Paused"), answer(1, "Paused", "resume", 5_000), asked(2, "BudgetSpent"), asked(3, "Paused")]
    deadline = {"type": "deadline", "at": NOW, "intervention": "int-2", "then": "stop"}
    second = [asked(1, "Paused"), answer(1, "Paused", "guide", 1_000), asked(2, "Paused")]
    third = [*second[:-1], asked(2, "Paused"), answer(2, "Paused", "resume", 90_000)]
    found = numbers(stats, {"a-1": [*journal, deadline], "a-2": second, "a-3": third})
    paused, spent = found["interventions"]
    assert (paused["label"], paused["raised"], paused["answered"], paused["timed_out"]) == ("Paused", 6, 4, 0)
    assert (paused["median_ms"], paused["max_ms"], paused["answers"]) == (3_000, 90_000, {"resume": 2, "guide": 2})
    assert (spent["label"], spent["raised"], spent["answered"], spent["timed_out"]) == ("BudgetSpent", 1, 0, 1)
    assert (spent["median_ms"], spent["max_ms"]) == (None, None)


def test_charges_are_counted_by_gate(stats):
    journal = [gate(1, "failing"), gate(2, "failing", charged=True), gate(3, "passed")]
    found = numbers(stats, {"a-1": journal, "a-2": journal})
    assert found["gates"] == [{"gate": "tests", "rounds": 6, "failing": 4, "charges": 2}]


def test_compactions_are_counted_by_how_where_anything_was_freed(stats):
    journal = [compaction(1), compaction(2, after="9/a"), compaction(3, how="summarise")]
    assert numbers(stats, {"a-1": journal})["compactions"] == {"drop_tool_results": 1, "summarise": 1}
    assert re.search(r"CONVERSATIONS COMPACTED BY +TIMES\n", stats({}).stdout)


def test_an_unknown_price_is_counted_and_is_not_nothing(stats):
    journal = [attempt(1), usage(1, 0.25), attempt(2, SECOND), usage(2)]
    found = numbers(stats, {"a-1": journal})
    assert found["cost"] == {"usd": 0.25, "estimated_usd": 0, "estimated": 0, "unpriced": 1}
    assert found["targets"][0]["cost"]["usd"] is None or found["targets"][1]["cost"]["usd"] is None


@pytest.mark.parametrize(
    ("second", "usd", "estimated", "tokens"),
    [
        ([attempt(2, recovered="1.1.1"), usage(2, 0.05)], 0.05, 0, 100),
        ([attempt(2), usage(2, 0.05)], 0.45, 1, 200),
        ([attempt(2, recovered="1.1.1")], 0.4, 1, 100),
        ([attempt(2, recovered="1.1.1", digest=SHAPE), usage(2, 0.05)], 0.45, 1, 200),
    ],
    ids=["the answer turned up", "asked again", "it turned up, and nobody knows what it used", "both were answered"],
)
def test_an_answer_that_turned_up_is_paid_once(stats, second, usd, estimated, tokens):
    first = [attempt(1, kind="worker_lost"), usage(1, 0.4, estimated=True)]
    found = numbers(stats, {"a-1": [*first, *second]})
    assert (found["cost"]["usd"], found["cost"]["estimated"]) == (pytest.approx(usd), estimated)
    assert found["targets"][0]["input_tokens"] == tokens


def test_a_run_is_not_told_apart_by_its_attempts_ids(stats):
    bound = [attempt(1, kind="timeout"), usage(1, 0.4, estimated=True)]
    found = numbers(stats, {"a-1": bound, "a-2": [attempt(2, recovered="1.1.1"), usage(2, 0.05)]})
    assert found["cost"]["usd"] == pytest.approx(0.45)


def test_since_counts_what_happened_since_and_the_usage_of_that(stats):
    old = [run("began", 0), attempt(1, kind="auth", at=1), usage(1, 9.0), asked(1, "Paused", 2), failover("x", 3)]
    new = [answer(1, "Paused", "resume", 7), attempt(2), usage(2, 0.5), run("completed")]
    found = numbers(stats, {"a-1": [*old, *new], "a-2": old}, "--since", "2001-01-01")
    assert found["runs"] == {"seen": 1, "began": 0, "completed": 1, "stopped": 0, "cancelled": 0}
    assert (found["targets"][0]["attempts"], found["cost"]["usd"], found["failovers"]) == (1, 0.5, [])
    assert [(one["raised"], one["answered"]) for one in found["interventions"]] == [(0, 1)]


def test_an_agents_runs_alone_are_counted(stats):
    journals = {"a-1": [attempt(1), run("completed")], "b-1": [attempt(1)], "a-2": [attempt(1), run("stopped")]}
    found = numbers(stats, journals, "--agent", "a")
    assert (found["runs"]["seen"], found["runs"]["completed"], found["runs"]["stopped"]) == (2, 1, 1)
    assert found["targets"][0]["attempts"] == 2
    assert "agent c, all that the store holds: no runs" in (stats({}, "--agent", "c")).stdout


def test_what_was_done_before_a_reset_counts_because_it_happened(stats, tmp_path):
    stats({"a-1": [attempt(1), usage(1, 1.0), run("completed")]})
    found = numbers(stats, {"a-1": [attempt(1, at=NOW + 1), usage(1, 1.5)]})
    assert (found["runs"]["seen"], found["targets"][0]["attempts"], found["cost"]["usd"]) == (1, 2, 2.5)


def test_a_record_of_another_release_is_set_aside_and_told(stats):
    journal = [attempt(1), {"type": "omen", "at": NOW}, attempt(2, at=-5), usage(2, 0.25), run("completed")]
    done = stats({"a-1": journal})
    assert "2 records that this release cannot read: not counted" in done.stdout
    found = numbers(stats, {})
    assert (found["unread"], found["targets"][0]["attempts"], found["cost"]["usd"]) == (2, 1, 0.25)


JOURNAL = [
    run("began"),
    attempt(1, kind="rate_limited"),
    wait("patience", 61_000),
    failover("at_capacity"),
    attempt(2, SECOND, backoff_ms=500),
    usage(2, 0.125),
    attempt(3, SECOND),
    usage(3),
    gate(1, "failing", charged=True),
    asked(1, "BudgetSpent"),
    answer(1, "BudgetSpent", "guide", 90_000),
    run("completed"),
]


def test_people_read_tables_and_that_runs_under_way_count_as_far_as_they_are_written(stats):
    text = (stats({"a-1": JOURNAL})).stdout
    lines = [re.split(r" {2,}", line) for line in text.splitlines()]
    assert text.startswith("all that the store holds: 1 run, 1 began, 1 completed\n")
    assert ["openai:first", "1", "rate_limited 1", "100.0%", "1 min 1 s", "0", "0", "-"] in lines
    assert ["anthropic:second", "2", "-", "0.0%", "500 ms", "200", "20", "0.1250 + 1 of unknown price"] in lines
    assert ["openai:first → anthropic:second", "at_capacity", "1"] in lines
    assert ["BudgetSpent", "1", "1", "0", "1 min 30 s", "1 min 30 s", "guide 1"] in lines
    assert ["tests", "1", "1", "1"] in lines
    assert "lost to waits: 1 min 2 s (retries 500 ms, patience 1 min 1 s)\n" in text
    assert "cost 0.1250 USD, 1 attempt at an unknown price\n" in text
    assert "A run that is under way counts as far as its journal is in the store" in text


@pytest.mark.parametrize("flags", [("--csv",), ("-o", "csv")])
def test_csv_has_one_number_a_row_and_every_number_of_the_json(stats, flags):
    rows = list(csv.reader(io.StringIO((stats({"a-1": JOURNAL}, *flags)).stdout)))
    found = numbers(stats, {})
    assert rows[0] == ["section", "name", "measure", "value"]
    cells = {(section, name, measure): value for section, name, measure, value in rows[1:]}
    assert len(cells) == len(rows) - 1
    assert cells["targets", "openai:first", "failed.rate_limited"] == "1"
    assert cells["targets", "openai:first", "cost.usd"] == ""
    assert cells["failovers", "at_capacity openai:first anthropic:second", "count"] == "1"
    assert cells["interventions", "BudgetSpent", "median_ms"] == "90000"
    assert cells["cost", "", "usd"] == str(found["cost"]["usd"])
    assert {section for section, _, _ in cells} == {*found} - {"since", "agent", "unread"} | {"asked"}


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        ("7d", NOW - 7 * 86_400),
        ("90m", NOW - 5_400),
        ("12h", NOW - 43_200),
        ("2w", NOW - 1_209_600),
        ("999999w", 0),
        ("2026-11-01T10:00:00Z", 1_793_527_200),
        ("2026-11-01", int(datetime(2026, 11, 1).astimezone().timestamp())),
    ],
)
def test_a_time_is_a_length_before_now_or_a_date(since, expected):
    assert moment(since, NOW + 0.5) == expected


@pytest.mark.parametrize("since", ["yesterday", "7", "d", "2026-13-01", "-7d", "9999999d"])
def test_another_time_is_refused_in_one_line(stats, since):
    done = stats({}, f"--since={since}")
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert line == (
        f"endstop: --since {since!r}: expected a length such as 7d, 12h, 30m or 2w, or a date such as 2026-11-01"
    )


async def test_a_long_journal_is_read_a_part_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr("store.journals.AT_ONCE", 10)
    store = await Store.open(f"sqlite:///{tmp_path}/kept.db")
    for name in ("b", "a"):
        await store.write_journal(name, [(seq, {"n": seq}) for seq in range(1, 26)])
    found = [(one.conversation, one.entry["n"]) async for one in store.journal_since(0)]
    later = [one async for one in store.journal_since(NOW * 2)]
    await store.close()
    assert found == [(name, number) for name in ("a", "b") for number in range(1, 26)]
    assert later == []
