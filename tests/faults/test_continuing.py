"""Long runs with real activities: they go on in new executions, stay flat, and are whole from outside (FAULTS 30)."""

import pytest
from temporalio.client import Client

from benchmarks.history import events_of
from ledger.conversation import Conversation
from store import Store
from tests.faults.conftest import TEXT, staged
from tests.faults.invariants import its_history_replays, requests_of
from tests.faults.mortal import MortalServer
from workflows.payloads import data_converter

TURNS = 60
SUGGESTED = 200
"""Events after which this server suggests to continue as new; by default it is about 4,100."""
CARRIED = 128 * 1024
READS = [
    {"kind": "tool_calls", "calls": [{"name": "read_file", "arguments": {"path": "notes.txt", "start_line": turn + 1}}]}
    for turn in range(TURNS)
]


@pytest.mark.full
async def test_a_run_over_many_executions_stays_flat_and_loses_nothing(tmp_path):  # FAULTS 30
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "notes.txt").write_text("".join(f"line {n} {'x' * 80}\n" for n in range(TURNS + 24)))
    early = ("--dynamic-config-value", f"limit.historyCount.suggestContinueAsNew={SUGGESTED}")
    async with MortalServer(tmp_path, *early) as server:
        client = await Client.connect(server.address, data_converter=data_converter)
        script = {"models": {"gpt-5": [*READS, TEXT]}}
        async with staged(client, server.address, tmp_path, script, '[workspaces.notes]\nsource = "notes"\n') as act:
            run = await act.start({"models": ["openai:gpt-5"], "tools": ["read_file"], "workspace": "notes"})
            result = await run.result()
            events = await events_of(client, run)
            await its_history_replays(run)
            store = await Store.open(f"sqlite:///{tmp_path / '.endstop' / 'store.db'}")
            journal = await store.read_journal(run.first_execution_run_id)
            messages = await store.read(Conversation.model_validate(result["conversation"]))
            await store.close()
    assert (result["status"], result["turns"], len(messages)) == ("completed", TURNS + 1, 2 * TURNS + 2)
    assert [entry["seq"] for entry in journal] == list(range(1, len(journal) + 1))
    kinds = [entry["type"] for entry in journal]
    assert (kinds.count("attempt"), kinds.count("tools")) == (TURNS + 1, TURNS)
    assert len(requests_of(act, run)) == TURNS + 1
    continued = [event.workflow_execution_continued_as_new_event_attributes for event in events]
    carried = [each.input.ByteSize() for each in continued if each.new_execution_run_id]
    assert len(carried) >= 3
    assert max(carried) <= CARRIED
    assert sum(event.ByteSize() for event in events) / result["turns"] <= 3_000
