"""Runs that are under way survive a deploy: stored histories replay, and a ledger that decides otherwise is noticed."""

import asyncio
import dataclasses
from pathlib import Path
from types import SimpleNamespace

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer
from temporalio.workflow import NondeterminismError

from ledger import calling_tools, calls, turning
from ledger.failures import FailureKind
from tests.workflows.scripted import refused
from workflows import carrying_out, running_gates
from workflows.agent import AgentWorkflow
from workflows.payloads import data_converter

HISTORIES = sorted((Path(__file__).parent.parent / "histories").glob("*.json"))


def history(path: Path) -> WorkflowHistory:
    stored = WorkflowHistory.from_json(path.stem, path.read_text())
    began = stored.events[0].workflow_execution_started_event_attributes
    return dataclasses.replace(stored, workflow_id=began.workflow_id or path.stem)


async def replay(path: Path) -> None:
    replayer = Replayer(workflows=[AgentWorkflow], data_converter=data_converter)
    await replayer.replay_workflow(history(path))


def stored(name: str) -> Path:
    return next(path for path in HISTORIES if path.stem == name)


def test_no_history_names_a_folder_of_the_machine_that_recorded_it():
    assert not [path.stem for path in HISTORIES if 'File \\"/' in path.read_text()]


def test_there_is_a_history_of_every_kind_of_run():
    assert {path.stem for path in HISTORIES} >= {
        "plain",
        "tools",
        "failover",
        "escalated",
        "guided",
        "paused",
        "stages",
        "stopped",
        "cancelled",
        "elsewhere",
        "approvals",
        "replies",
        "lost",
        "parent",
        "child",
        "continued",
        "carried",
        "compacted",
        "summarised",
        "checked",
        "odd",
    }


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
async def test_a_stored_history_replays(path):
    await replay(path)


async def test_a_ledger_that_moves_to_another_target_is_noticed(monkeypatch):  # FAULTS 38
    monkeypatch.setattr(calls.Chain, "first", lambda chain, turn: chain.targets[0])
    with pytest.raises(NondeterminismError):
        await replay(stored("failover"))


async def test_a_ledger_that_retries_what_it_gave_up_is_noticed(monkeypatch):
    monkeypatch.setattr(calls, "_retry", lambda *_: None)
    with pytest.raises(NondeterminismError):
        await replay(stored("failover"))


async def test_a_ledger_that_does_not_ask_before_a_tool_is_noticed(monkeypatch):
    monkeypatch.setattr(calling_tools, "_asked_about", lambda *_: None)
    with pytest.raises((NondeterminismError, RuntimeError)):  # a local activity gets what another one answered
        await replay(stored("approvals"))


async def test_a_ledger_that_compacts_otherwise_is_noticed(monkeypatch):
    monkeypatch.setattr(turning, "is_full", lambda *_: False)
    with pytest.raises(NondeterminismError):
        await replay(stored("compacted"))


async def test_gates_that_are_asked_in_another_order_are_noticed(monkeypatch):
    backwards = SimpleNamespace(gather=lambda *gates: asyncio.gather(*reversed(gates)))
    monkeypatch.setattr(running_gates, "asyncio", backwards)
    with pytest.raises(NondeterminismError):
        await replay(stored("checked"))


async def test_what_a_judge_is_to_do_is_asked_for_before_it_begins_or_that_is_noticed(monkeypatch):
    async def begun_at_once(about, asked, route, share):
        return await about.children.run(f"gate.{asked.seq}", asked.gate, route, "task", None)

    monkeypatch.setattr(running_gates, "judged", begun_at_once)
    with pytest.raises((NondeterminismError, RuntimeError)):  # a local activity gets what another one answered
        await replay(stored("checked"))


async def test_an_attempt_that_was_lost_and_is_taken_for_a_refusal_is_noticed(monkeypatch):
    monkeypatch.setattr(carrying_out, "_lost_trip", lambda *_: refused(FailureKind.AUTH))
    with pytest.raises(NondeterminismError):
        await replay(stored("odd"))


@pytest.mark.parametrize("name", ["plain", "carried"])
async def test_records_of_another_version_are_noticed(monkeypatch, name):
    monkeypatch.setattr(carrying_out, "RECORD_VERSION", "0")
    with pytest.raises(NondeterminismError):
        await replay(stored(name))
