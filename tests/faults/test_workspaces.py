"""Workspaces where there are several workers: one holds a run's, and nobody else ever stands in for it (issue 4)."""

import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, WorkflowHandle

from tests.faults.conftest import TEXT, Stage, eventually, records, staged
from tests.faults.invariants import invariants_hold
from tests.faults.test_tools_elsewhere import answer, asked_for

CHECK = "from pathlib import Path\nassert Path('before.txt').exists() and Path('after.txt').exists()\n"
AGENT = {
    "models": ["openai:gpt-5"],
    "workspace": "app",
    "tools": ["write_file", "ask_person"],
    "gates": ["check"],
    "policy": {"calls": {"pickup_s": 2}},
}


def calls(name: str, **arguments: str) -> dict[str, Any]:
    return {"kind": "tool_calls", "calls": [{"name": name, "arguments": arguments}]}


def writes(path: str) -> dict[str, Any]:
    return calls("write_file", path=path, content="x")


ASKS = calls("ask_person", question="Go on?")


@asynccontextmanager
async def two_machines(client: Client, address: str, folder: Path, script: list[Any]) -> AsyncIterator[Any]:
    """Two workers of one task queue and one store, each with workspaces of its own."""
    settings = (
        f'[store]\nurl = "sqlite:///{folder}/store.db"\n[workspaces.app]\nsource = "{folder}/project"\n'
        '[gates.check]\ncommand = ["python", "check.py"]\n'
    )
    one, two = folder / "one", folder / "two"
    for made in (one, two, folder / "project"):
        made.mkdir()
    (folder / "project" / "check.py").write_text(CHECK)
    async with staged(client, address, one, {"models": {"gpt-5": script}}, settings) as first:
        (two / "endstop.toml").write_text((one / "endstop.toml").read_text())
        second = Stage(client, address, two, first.simulator, first.queue)
        try:
            await second.work()
            yield first, second
        finally:
            await second.rest()


def claimed(machine: Stage, run: WorkflowHandle) -> Path:
    assert run.first_execution_run_id
    return machine.folder / ".endstop" / "workspaces" / run.first_execution_run_id / "app"


async def where_it_worked(run: WorkflowHandle) -> set[str]:
    """The task queues on which the run's workspace was worked in."""
    events = (await run.fetch_history()).events
    scheduled = [e.activity_task_scheduled_event_attributes for e in events]
    return {
        one.task_queue.name
        for one in scheduled
        if one.activity_type.name == "run_gate" or (one.activity_type.name == "run_tool" and "write" in one.activity_id)
    }


LOST = {
    "a tool": ([writes("before.txt"), ASKS, writes("after.txt"), TEXT], "", ["passed"]),
    "a gate": ([writes("before.txt"), writes("after.txt"), ASKS, TEXT], "check", ["broken", "passed"]),
}


@pytest.mark.timeout(400)  # three workers start one after the other
@pytest.mark.parametrize(("script", "gate", "verdicts"), LOST.values(), ids=LOST)
@pytest.mark.full
async def test_with_its_worker_gone_a_run_asks_and_goes_on_in_the_same_folder_when_it_is_back(
    temporal_server, client, tmp_path, script, gate, verdicts
):
    async with two_machines(client, temporal_server, tmp_path, script) as machines:
        run = await machines[0].start(AGENT)
        question = await asked_for(run, "Question")
        holder, other = sorted(machines, key=lambda machine: not claimed(machine, run).exists())
        await holder.kill()
        await answer(run, question, "reply", text="yes")
        asked = await asked_for(run, "WorkspaceLost", 2)
        assert (asked["facts"]["workspace"], asked["facts"]["gate"]) == ("app", gate)
        await holder.work()
        await answer(run, asked, "retry")
        assert (await run.result())["status"] == "completed"
        assert [record["verdict"] for record in await records(run, "gate")] == verdicts
        assert {path.name for path in claimed(holder, run).iterdir()} >= {"before.txt", "after.txt"}
        assert not claimed(other, run).exists()
        assert await where_it_worked(run) == {asked["facts"]["worker"]}
        assert asked["facts"]["worker"].encode() in b"".join(holder.log)
        assert asked["facts"]["worker"].encode() not in b"".join(other.log)
        await invariants_hold(machines[0], run)


def repository(folder: Path) -> str:
    """A repository with one commit; its id."""
    folder.mkdir()
    (folder / "app.py").write_text("x = 1\n")
    ada = ("git", "-c", "user.name=ada", "-c", "user.email=ada@x")
    for words in ("init -q", "add .", "commit -q -m one"):
        subprocess.run([*ada, *words.split()], cwd=folder, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
    return head.stdout.strip()


@pytest.mark.full
async def test_a_worker_killed_while_git_fetches_leaves_nothing_half_made_and_the_run_goes_on(
    temporal_server, client, tmp_path, monkeypatch
):
    commit = repository(tmp_path / "repo")
    git, begun, go_on = tmp_path / "bin" / "git", tmp_path / "begun", tmp_path / "go-on"
    git.parent.mkdir()
    os.mkfifo(go_on)
    hangs_once = f'case "$*" in *" fetch "*) if mkdir {begun} 2>/dev/null; then read word < {go_on}; fi ;; esac'
    git.write_text(f'#!/bin/sh\n{hangs_once}\nPATH={os.environ["PATH"]} exec git "$@"\n')
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{git.parent}:{os.environ['PATH']}")
    script, settings = {"models": {"gpt-5": [TEXT]}}, f'[workspaces.app]\ngit = "{tmp_path}/repo"\n'
    async with staged(client, temporal_server, tmp_path, script, settings) as act:
        run = await act.start({"models": ["openai:gpt-5"], "workspace": "app", "tools": ["read_file"]})

        async def fetching() -> bool:
            return begun.exists()

        await eventually(fetching)
        await act.kill()
        await act.work()
        assert (await run.result())["status"] == "completed"
        with go_on.open("w") as word:  # the git of the killed worker writes its share now, too late
            word.write("\n")
        began, *_ = await records(run, "run")
        assert began["revision"] == f"git:{commit}"
        assert {path.name for path in claimed(act, run).iterdir()} == {".git", "app.py"}
        await invariants_hold(act, run)
