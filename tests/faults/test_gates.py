"""Gates whose command is what a model wrote: it tries to get out, hangs, forks, floods, is killed (FAULTS S6, issue 4).

Whole runs on a real worker, in real bubblewrap. What the model writes is a test that pytest, the gate, then runs.
"""

import asyncio
import fcntl
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, WorkflowHandle

from simulator.script import Script
from tests.faults.conftest import TEXT, Stage, eventually, records, staged
from tests.faults.invariants import invariants_hold, requests_of
from workflows.payloads import data_converter

PYTEST = json.dumps(["python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--disable-plugin-autoload"])
SETTINGS = f"""
[workspaces.app]
source = "project"
[gates.tests]
command = {PYTEST}
protected = ["test_kept.py", "conftest.py"]
timeout_s = 60
[gates.short]
command = ["python", "written.py"]
timeout_s = 2
output_bytes = 1024
"""
MODELS = ["openai:gpt-5"]
IMPATIENT = {"policy": {"repairs": {"repeat": 1}}}
"""The second time is one too many."""
AGENT = {"models": MODELS, "tools": ["write_file", "read_file"], "workspace": "app"}


def writes(path: str, content: str) -> dict[str, Any]:
    return {"name": "write_file", "arguments": {"path": path, "content": content}}


def answers(act: Stage, *calls: dict[str, Any]) -> None:
    """From here on a model makes these calls, and then says that it is done as often as it is asked."""
    says = [{"kind": "tool_calls", "calls": [*calls]}, TEXT | {"repeat": True}]
    act.simulator.use(Script.parse({"models": {"gpt-5": says}}))


@asynccontextmanager
async def working(address: str, folder: Path, top: str = "") -> AsyncIterator[Stage]:
    (folder / "project").mkdir()
    (folder / "project" / "test_kept.py").write_text("from app import x\n\n\ndef test_x():\n    assert x == 2\n")
    (folder / "project" / "app.py").write_text("x = 1\n")
    client = await Client.connect(address, data_converter=data_converter)
    async with staged(client, address, folder, {}, SETTINGS, top) as stage:
        yield stage


@pytest.fixture(scope="module")
async def act(temporal_server: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with working(temporal_server, tmp_path_factory.mktemp("gates")) as stage:
        yield stage


@asynccontextmanager
async def listening() -> AsyncIterator[int]:
    """A port of this machine, as the inbox has one."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


ESCAPES = """
import os, pathlib, socket
import pytest

def test_the_environment_of_the_worker():
    for environ in pathlib.Path("/proc").glob("[0-9]*/environ"):
        assert b"key-marker-0815" not in environ.read_bytes()

@pytest.mark.parametrize("path", PATHS)
def test_reading_what_is_the_operators(path):
    with pytest.raises(OSError): open(path, "rb").read()

@pytest.mark.parametrize("path", PATHS)
def test_writing_it(path):
    with pytest.raises(OSError): open(path, "r+")

@pytest.mark.parametrize("port", PORTS)
def test_a_server_on_this_machine(port):
    with pytest.raises(OSError): socket.create_connection(("127.0.0.1", port), 5)

def test_a_signal_to_the_worker():
    with pytest.raises(OSError): os.kill(WORKER, 0)

@pytest.mark.parametrize("path", ["/", "/usr", "/etc", "/proc/sys/kernel/core_pattern", "test_kept.py"])
def test_writing_to_the_machine_and_to_what_checks_it(path):
    assert not os.access(path, os.W_OK)
"""
SUCCEED_OUTSIDE = 10
"""So many of them fail without a sandbox, also where the worker is not root."""


async def escaping(act: Stage, port: int) -> WorkflowHandle:
    """A run whose model writes tests that pass where each escape fails, and mends the work besides."""
    assert act.process
    other = act.folder / ".endstop" / "workspaces" / "another-run" / "app"
    other.mkdir(parents=True)
    (other / "secret").write_text("MARKER")
    paths = [str(act.folder / name) for name in ("endstop.toml", ".endstop/store.db")] + [str(other / "secret")]
    facts = {"PATHS": paths, "PORTS": [port, int(act.address.rpartition(":")[2])], "WORKER": act.process.pid}
    given = "".join(f"{name} = {value!r}\n" for name, value in facts.items())
    answers(act, writes("test_escape.py", given + ESCAPES), writes("app.py", "x = 2\n"))
    run = await act.start(AGENT | {"gates": ["tests"]} | IMPATIENT)
    await eventually(lambda: over(run))
    await invariants_hold(act, run)
    return run


async def over(run: WorkflowHandle) -> bool:
    return (await run.query("status"))["status"] in {"completed", "needs_human"}


async def test_what_a_model_writes_gets_out_of_no_sandbox(act):
    async with listening() as port:
        run = await escaping(act, port)
    assert [gate["verdict"] for gate in await records(run, "gate")] == ["passed"]
    assert (await run.result())["status"] == "completed"


async def test_the_same_gets_out_where_the_operator_chose_none_and_the_worker_warned(temporal_server, tmp_path):
    async with working(temporal_server, tmp_path, 'sandbox = "none"') as act, listening() as port:
        run = await escaping(act, port)
        first = (await records(run, "gate"))[0]
        assert first["items"] >= SUCCEED_OUTSIDE
        (warning,) = [json.loads(line) for line in act.log if b"worker.no_sandbox" in line]
        assert (warning["level"], warning["gates"]) == ("warning", 2)
        await run.terminate()


# ---- what it is checked by


async def test_a_model_that_rewrites_its_tests_is_told_no_and_is_judged_by_them_as_they_were(act):
    cheat = "def test_x():\n    pass\n"
    calls = [writes(path, cheat) for path in ("test_kept.py", "./test_kept.py", "conftest.py", "test_kept.py/x")]
    answers(act, *calls)
    run = await act.start(AGENT | {"gates": ["tests"]} | IMPATIENT)
    await eventually(lambda: over(run))
    journal = await invariants_hold(act, run)
    (batch,) = [record for record in journal if record["type"] == "tools"]
    assert [call["status"] for call in batch["calls"]] == ["error"] * 4
    told = str(requests_of(act, run)[1].body)
    assert "test_kept.py is protected: gate tests checks the work by it; change the work instead" in told
    assert (await run.query("intervention"))["label"] == "NoProgress"
    await run.terminate()


# ---- it hangs, forks, floods, is killed

HELD = "import fcntl, os, signal, time\nheld = open('held', 'w')\nfcntl.flock(held, fcntl.LOCK_SH)\n"
"""A lock that is held as long as one of its processes lives."""
DAEMON = HELD + "if os.fork() == 0:\n    os.setsid()\n    signal.pause()\n"
ALONE = "assert sum(name.isdigit() for name in os.listdir('/proc')) < 9\n"
"""Before a signal to all: where the sandbox is broken, it would reach the whole machine."""

FAULTS = {
    "it hangs": HELD + "signal.pause()",
    "it leaves a daemon behind": DAEMON + "raise SystemExit(1)",
    "it forks without end": HELD
    + "while True:\n    try: os.fork() or os.setsid()\n    except OSError: signal.pause()\n"
    "    if len(os.listdir('/proc')) > 300: signal.pause()",
    "it floods": DAEMON + "while True: print('x' * 1000)",
    "it is killed": DAEMON + "os.kill(os.getpid(), 9)",
    "it kills whatever it finds": DAEMON + ALONE + "os.kill(-1, 9)\nraise SystemExit(1)",
    "it fills its output with what is no text": HELD + "os.write(1, bytes(range(256)) * 99)\nraise SystemExit(1)",
}


def free(path) -> bool:
    """Whether nobody holds the lock any more."""
    with path.open() as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


@pytest.mark.parametrize("code", FAULTS.values(), ids=FAULTS)
async def test_a_gate_that_misbehaves_is_the_works_failure_each_time_the_same_and_nothing_of_it_is_left(act, code):
    answers(act, writes("written.py", code))
    run = await act.start(AGENT | {"gates": ["short"]} | IMPATIENT)
    await eventually(lambda: over(run))
    await invariants_hold(act, run)
    assert (await run.query("intervention"))["label"] == "NoProgress"
    first, second = await records(run, "gate")
    assert first["verdict"] == second["verdict"] == "failing"
    assert first["exact"] == second["exact"]
    claimed = act.folder / ".endstop" / "workspaces" / run.first_execution_run_id / "app"

    async def released() -> bool:
        return free(claimed / "held")

    await eventually(released)
    assert act.process.returncode is None
    await run.terminate()
