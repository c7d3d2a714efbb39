"""Each example plays as its README says: its own settings on a real server, real gates, simulated models and person.

The workers are in this process, one at a time, since starting one costs seconds; `endstop demo` itself is played once.
The tour, `examples/fix-tests`, is played in `test_cli_run`.
"""

import asyncio
import os
import pty
import subprocess
import sys
import sysconfig
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from click.testing import CliRunner
from temporalio.client import Client

import cli
from commands.connect import Where
from commands.demo import Person, Scripted, perform, visitor
from commands.examples import Example, example, names
from commands.opening import Setup, opened
from commands.runs import View, look
from commands.stage import sandbox_here, working
from ledger.journal import AnswerRecord, FailoverRecord, GateRecord, InterventionRecord, ToolBatchRecord
from settings import load_settings
from simulator.script import Script
from simulator.server import Simulator
from worker import run_worker

ROOT = Path(__file__).parent.parent
KEYS = {"OPENAI_API_KEY": "simulated", "ANTHROPIC_API_KEY": "simulated"}
pytestmark = pytest.mark.timeout(300)  # a whole run takes a while on a busy machine


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a README promises, as the journal has it and as the models were told."""

    ended: str = "completed"
    rounds: str = ""
    """Of the gate, in order: - a failure that was free, C one that was charged, p a pass."""
    items: tuple[int, ...] | None = None
    """Failing items of each round, where the example is about them."""
    asked: tuple[tuple[str, str], ...] = ()
    """Interventions and their answers."""
    moves: tuple[str, ...] = ()
    """Why other targets were taken."""
    calls: tuple[tuple[str, str], ...] = ()
    """Of the tools that the operator declared, and what became of them."""
    told: tuple[str, ...] = ()
    """What stood in the last request to a model."""


OUTCOMES = {
    "whack-a-mole": Outcome(
        ended="stopped",
        rounds="--CCCC",
        items=(1,) * 6,
        asked=(("BudgetSpent", "stop"),),
        moves=("escalated",),
        told=("test_an_order_of_50_ships_free", "test_only_an_order_above_50_ships_free"),
    ),
    "grind-down": Outcome(rounds="----p", items=(12, 9, 5, 1, 0)),
    "unmasking": Outcome(rounds="---p", told=("SyntaxError", "ImportError", "AssertionError")),
    "flaky-gate": Outcome(rounds="-pCp", told=("somebody else is at work",)),
    "approval": Outcome(
        asked=(("ApprovalNeeded", "approve"),),
        calls=(("refund", "ok"), ("refund", "ok")),
        told=("A-17-490", "A-18-4900"),
    ),
    "question": Outcome(
        asked=(("Question", "reply"),),
        calls=(("find_customer", "ok"), ("ask_person", "ok")),
        told=("Mary, she called this morning.",),
    ),
    "mcp": Outcome(calls=(("shop_stock", "ok"), ("shop_stock", "ok")), told=("'12'", "'1'")),
    "other-worker": Outcome(calls=(("refund", "ok"),), told=("R-A-18",)),
    "sub-agents": Outcome(
        calls=(("translate", "ok"), ("translate", "ok")),
        told=("Nous sommes fermés lundi.", "Am Montag haben wir geschlossen."),
    ),
}


@asynccontextmanager
async def working_here(played: Example, client: Client) -> AsyncIterator[None]:
    """A worker by the example's own settings, in this process; and the other team's, which is a process."""
    ready, stop = asyncio.Event(), asyncio.Event()
    settings = load_settings(played.settings, KEYS)
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        if played.worker:
            variables = os.environ | {"TEMPORAL_ADDRESS": client.service_client.config.target_host}
            await stack.enter_async_context(working(played.worker, variables, played.folder / "other.log"))
        group.create_task(run_worker(settings, client, ready=ready, stop=stop))
        await ready.wait()
        try:
            yield
        finally:
            stop.set()


def outcome(view: View, last_request: Any, expected: Outcome) -> Outcome:
    """What became of the run, in the words of `Outcome`."""
    records = [entry.record for entry in view.entries]
    gates = [record for record in records if isinstance(record, GateRecord)]
    asked = [record.label for record in records if isinstance(record, InterventionRecord)]
    answered = [record.answer for record in records if isinstance(record, AnswerRecord)]
    batches = [record for record in records if isinstance(record, ToolBatchRecord)]
    calls = [(call.name, call.status) for batch in batches for call in batch.calls]
    return Outcome(
        ended=view.state,
        rounds="".join("p" if gate.verdict == "passed" else "C" if gate.charged else "-" for gate in gates),
        items=tuple(gate.items for gate in gates) if expected.items else None,
        asked=tuple(zip(asked, answered, strict=True)),
        moves=tuple(record.reason for record in records if isinstance(record, FailoverRecord)),
        calls=tuple(call for call in calls if not call[0].endswith("_file")),
        told=tuple(words for words in expected.told if words in str(last_request)),
    )


@dataclass(frozen=True, kw_only=True)
class Played:
    """A play that is over: its exit code, the run, and the last request to its models."""

    code: int
    view: View
    last_request: Any


@pytest.fixture
async def play(
    tmp_path: Path, temporal_server: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, Person], Awaitable[Played]]:
    """Play an example with this person."""
    scripts = sysconfig.get_path("scripts")  # `python` is then ours, as where the environment is active
    monkeypatch.setenv("PATH", os.pathsep.join((scripts, os.environ["PATH"])))

    async def play(name: str, person: Person) -> Played:
        found, run = example(name), f"example-{name}-{uuid4().hex[:8]}"
        async with Simulator(Script.load(found.script)) as simulator:
            sandbox = await sandbox_here() if found.has_project else None
            copy = found.copied(tmp_path, models=simulator.url, sandbox=sandbox)
            copy.settings.write_text(f'task_queue = "{run}"\n{copy.settings.read_text()}')
            setup = Setup(where=Where(address=temporal_server), settings=copy.settings)
            async with working_here(copy, client), opened(setup) as things:
                code = await perform(setup, things, copy, run, person)
                view = await look(things.client, things.store, run)
            return Played(code=code, view=view, last_request=simulator.requests[-1].body)

    return play


@pytest.mark.parametrize("name", OUTCOMES)
async def test_an_example_plays_as_its_readme_says(name, play):
    played = await play(name, Scripted(example(name).answers, pause_s=0))
    expected = OUTCOMES[name]
    assert outcome(played.view, played.last_request, expected) == expected
    assert played.code == 0


async def test_on_a_terminal_the_visitor_answers_and_is_asked_again_after_what_cannot_be_taken(
    play, monkeypatch, capsys
):
    keyboard, terminal = pty.openpty()
    os.write(keyboard, b"edit\nfifty\nreject\nWe sent a new box.\n")
    with os.fdopen(keyboard, "wb"), os.fdopen(terminal) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        played = await play("approval", visitor)
    assert "the arguments should be one JSON object" in capsys.readouterr().out
    calls = (("refund", "ok"), ("refund", "rejected"))
    expected = Outcome(asked=(("ApprovalNeeded", "reject"),), calls=calls, told=("We sent a new box.",))
    assert outcome(played.view, played.last_request, expected) == expected


def test_every_example_is_played_and_told_of_in_the_readme():
    assert set(names()) == {"fix-tests", *OUTCOMES}
    readme = (ROOT / "README.md").read_text()
    for name in OUTCOMES:
        assert f"endstop demo {name}\n" in (example(name).folder / "README.md").read_text()
        assert f"endstop demo {name} " in readme


def test_the_demo_of_an_example_starts_the_other_teams_worker_too_and_cleans_up(tmp_path):
    visitors_own = {"TMPDIR": str(tmp_path), "TEMPORAL_ADDRESS": "127.0.0.1:1", "ENDSTOP_CONFIG": "/nope"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "cli.py"), "demo", "other-worker"],
        cwd=tmp_path,
        env=os.environ | visitors_own,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "tools: refund ok" in done.stdout
    assert "other-worker  completed" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_an_example_that_is_not_there_is_refused_in_one_line():
    done = CliRunner().invoke(cli.main, ["demo", "aproval"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "endstop: no example 'aproval'; did you mean \"approval\"?\n"
