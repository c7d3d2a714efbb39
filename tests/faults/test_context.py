"""Conversations that outgrow a model's window, in whole runs: compacted by policy, on record, readable as a whole."""

import json
import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, WorkflowHandle

from commands.connect import Where
from commands.opening import Setup
from commands.reading import show_journal, show_run, show_transcript
from commands.removing import redact_transcript
from simulator.script import Script
from store import Store
from tests.faults.conftest import TEXT, Stage, eventually, records, staged
from tests.faults.invariants import invariants_hold, requests_of
from workflows.payloads import data_converter

WINDOW = 8_000
"""Tokens, of 4 bytes each; a page has a thousand and more."""
PAGES = 12
BOOK = '''
def page(number: int) -> str:
    """Read a page."""
    return f"page {number}: " + f"{number} is written here. " * 250
'''
SETTINGS = f"""
[tools.page]
function = "book:page"
idempotent = true

[models."openai:known"]
context_tokens = {WINDOW}

[models."anthropic:thinker"]
context_tokens = {WINDOW}
thinking = "low"
"""
ENDLESS = """
CREATE TRIGGER endless AFTER INSERT ON messages WHEN NEW.key LIKE 'compacted:%' BEGIN
SELECT (WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1e12) SELECT max(x) FROM n);
END
"""
"""The first message of a compacted conversation is written, and the transaction goes on for ever."""
SUMMARY = {"when_contains": "Summarise the conversation", "repeat": True}


def reads(first: int = 1) -> list[dict[str, Any]]:
    """Replies that ask for one page after the other."""
    asked = ({"name": "page", "arguments": {"number": number}} for number in range(first, first + PAGES))
    return [{"kind": "tool_calls", "calls": [call]} for call in asked]


@pytest.fixture(scope="module")
async def act(temporal_server: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """One worker for all tests of this module."""
    client = await Client.connect(temporal_server, data_converter=data_converter)
    folder = tmp_path_factory.mktemp("context")
    (folder / "book.py").write_text(BOOK)
    async with staged(client, temporal_server, folder, {}, SETTINGS) as stage:
        yield stage


async def reading(
    act: Stage, target: str, *replies: dict[str, Any], first: int = 1, **context: Any
) -> WorkflowHandle[Any, Any]:
    """A run that reads page after page."""
    model = target.partition(":")[2]
    script = {"strict": True, "windows": {model: WINDOW}, "models": {model: [*replies, *reads(first), TEXT]}}
    act.simulator.use(Script.parse(script))
    policy = {"context": context} if context else {}
    return await act.start({"models": [target], "tools": ["page", "read_output"], "policy": policy})


async def compactions(run: WorkflowHandle[Any, Any]) -> list[dict[str, Any]]:
    return await records(run, "compaction")


def pages_in(request: Any) -> list[str]:
    """What the last request holds of each page that was read, in order."""
    return [message["content"] for message in request.body["messages"] if message["role"] == "tool"]


async def test_a_conversation_that_is_kept_whole_ends_in_front_of_a_person(act):
    run = await reading(act, "openai:known", full="keep")
    asked = await eventually(lambda: run.query("intervention"))
    assert asked["label"] == "ModelsExhausted"
    assert [tried["kind"] for tried in asked["facts"]["tried"]] == ["too_large"]
    assert await compactions(run) == []
    await run.signal("intervene", {"directive": "stop"})


async def test_old_results_are_dropped_by_default_and_can_be_read_again(act):
    run = await reading(act, "openai:known")
    assert (await run.result())["status"] == "completed"
    await invariants_hold(act, run)
    done = await compactions(run)
    assert [one["reason"] for one in done] == ["full"] * len(done)
    assert all(one["tokens_after"] < one["tokens_before"] <= WINDOW for one in done)
    shown = pages_in(requests_of(act, run)[-1])
    dropped = [text for text in shown if "dropped to make room" in text]
    ref = re.findall(r"under ref (\w+)", dropped[0])[0]
    store = await Store.open(f"sqlite:///{act.folder / '.endstop' / 'store.db'}")
    assert (await store.get(ref)).startswith(b"page 1: ")
    await store.close()
    assert shown[len(dropped)].startswith("page ")
    attempts = [one["outcome"] for one in await records(run, "attempt")]
    assert set(attempts) == {"succeeded"}


async def test_people_read_all_of_it_across_compactions_until_it_is_redacted(act, capsys):
    setup = Setup(where=Where(address=act.address), settings=act.folder / "endstop.toml")
    run = await reading(act, "openai:known", first=500)
    await run.result()
    await show_transcript(setup, run.id)
    shown = capsys.readouterr().out
    for number in range(500, 500 + PAGES):
        assert f"\npage {number}: {number} is written here" in shown
    assert shown.count("── compacted: ") == len(await compactions(run)) > 0
    assert "dropped to make room" not in shown
    await show_journal(setup, run.id, 0, with_details=False)
    assert "compact-1: the conversation was compacted for openai:known" in capsys.readouterr().out
    await show_run(setup, run.id)
    assert "the conversation was compacted " in capsys.readouterr().out
    await redact_transcript(setup, run.id, force=False)
    await show_transcript(setup, run.id)
    assert "is written here" not in capsys.readouterr().out
    files = b"".join(path.read_bytes() for path in (act.folder / ".endstop").glob("store.db*"))
    assert b"page 1: 1 is written here" in files  # of the other runs
    assert b"page 500: 500 is written here" not in files


@pytest.mark.full
async def test_a_worker_that_dies_in_the_middle_of_a_compaction_leaves_half_of_none(temporal_server, tmp_path):
    client = await Client.connect(temporal_server, data_converter=data_converter)
    (tmp_path / "book.py").write_text(BOOK)
    path = tmp_path / ".endstop" / "store.db"
    async with staged(client, temporal_server, tmp_path, {}, SETTINGS) as act:
        with closing(sqlite3.connect(path)) as database:
            database.execute(ENDLESS)
        run = await reading(act, "openai:known")

        async def writing() -> bool:
            doing = (await run.query("ledger"))["doing"] or {}
            return doing.get("do") == "compact" and locked(path)

        await eventually(writing)
        await act.kill()
        with closing(sqlite3.connect(path)) as database:
            assert database.execute("SELECT count(*) FROM messages WHERE key LIKE 'compacted:%'").fetchone() == (0,)
            database.execute("DROP TRIGGER endless")
        await act.work()
        assert (await run.result())["status"] == "completed"
        await invariants_hold(act, run)
        done = await compactions(run)
        with closing(sqlite3.connect(path)) as database:
            begun = database.execute("SELECT count(*) FROM messages WHERE key LIKE 'compacted:%'").fetchone()
        assert begun == (len(done),)


def locked(path: Path) -> bool:
    """Whether somebody writes to the store."""
    with closing(sqlite3.connect(path, timeout=0)) as database:
        try:
            database.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        return False


async def test_a_window_that_nobody_knows_is_found_out_by_a_refusal(act):
    run = await reading(act, "openai:unknown")
    assert (await run.result())["status"] == "completed"
    await invariants_hold(act, run)
    done = await compactions(run)
    assert {one["reason"] for one in done} == {"too_large"}
    assert all("window" not in one for one in done)


async def test_a_summary_takes_the_place_of_what_is_old(act):
    told = SUMMARY | {"kind": "text", "text": "Pages were read, and page 1 says 1."}
    run = await reading(act, "openai:known", told, full="summarise")
    assert (await run.result())["status"] == "completed"
    await invariants_hold(act, run)
    (first, *_) = await compactions(run)
    assert (first["how"], first["replaced"] > 2) == ("summarise", True)
    attempts = {one["id"]: one for one in await records(run, "attempt")}
    assert attempts[first["attempt_id"]]["purpose"] == "summary"
    requests = requests_of(act, run)
    asked = next(request for request in requests if request.attempt == first["attempt_id"])
    assert "tools" not in asked.body
    last = requests[-1].body["messages"]
    assert last[0]["content"] == "do it"
    assert "page 1 says 1" in json.dumps(last[1])


async def test_a_run_whose_summary_nobody_gives_drops_old_results_and_says_so(act):
    run = await reading(act, "openai:known", SUMMARY | {"kind": "error", "error": "content_refused"}, full="summarise")
    assert (await run.result())["status"] == "completed"
    await invariants_hold(act, run)
    done = await compactions(run)
    assert {(one["how"], one["fallback"]) for one in done} == {("drop_tool_results", True)}


async def test_a_thought_before_which_something_was_dropped_is_not_sent_back(act):
    thoughtful = [{**reply, "thinking": "which page?"} for reply in reads()]
    script = {"strict": True, "windows": {"thinker": WINDOW}, "models": {"thinker": [*thoughtful, TEXT]}}
    act.simulator.use(Script.parse(script))
    run = await act.start({"models": ["anthropic:thinker"], "tools": ["page"]})
    assert (await run.result())["status"] == "completed"
    await invariants_hold(act, run)
    (first, *_) = await compactions(run)
    assert first["dropped"] > 0
