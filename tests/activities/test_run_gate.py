import ast
import asyncio
import os
import sys

import pytest
from temporalio.testing import ActivityEnvironment

from activities.contract import GateDone, RunGate
from activities.declared_gates import CommandGate
from activities.declared_workspaces import FolderWorkspace
from activities.run_gate import GateRunner
from activities.sandbox import found
from activities.workspace import Workspaces
from ledger.outcomes import Broken, Failing, Passed

BROKEN_TEST = """
def test_sum():
    assert 1 + 1 == 3, "MARKER"
"""


@pytest.fixture
def workspaces(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "test_app.py").write_text(BROKEN_TEST)
    return Workspaces(tmp_path / "root", {"app": FolderWorkspace(name="app", source=source)})


@pytest.fixture(params=["in a sandbox", "without one"])
def sandbox(request):
    """Whatever holds of a gate holds in both."""
    return found() if request.param == "in a sandbox" else None


@pytest.fixture
def run(store, workspaces, sandbox):
    """Run a gate with the given command once, in the workspace of the given run."""

    async def run_gate(*command, run="run-1", environment=None, **limits):
        gate = CommandGate(name="tests", command=command, **limits)
        request = RunGate(gate="tests", seq=7, workspace="app", run=run)
        runner = GateRunner(store, {"tests": gate}, workspaces, sandbox=sandbox)
        done = await (environment or ActivityEnvironment()).run(runner.run_gate, request)
        return GateDone.model_validate(done).verdict

    return run_gate


async def output_of(store, verdict):
    assert isinstance(verdict, Failing)
    return (await store.get(verdict.output)).decode()


PYTEST = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--disable-plugin-autoload")


async def test_exit_code_0_passes(workspaces, run):
    workspaces.claim("run-1", "app")
    assert await run("python", "-c", "print('noise on a pass')") == Passed()


async def test_a_real_test_run_fails_with_its_items_and_its_output_in_the_store(store, workspaces, run):
    workspaces.claim("run-1", "app")
    verdict = await run(*PYTEST)
    assert "test_app.py::test_sum" in await output_of(store, verdict)
    assert verdict.items == 1


async def test_the_same_failure_in_two_runs_has_one_identity_although_paths_and_times_differ(store, workspaces, run):
    verdicts = []
    for name in ("run-1", "run-2"):
        workspaces.claim(name, "app")
        verdicts.append(await run(*PYTEST, run=name))
    assert verdicts[0].exact == verdicts[1].exact


async def test_a_failure_is_the_same_whether_its_tool_prints_absolute_paths_or_relative_ones(workspaces, run):
    workspaces.claim("run-1", "app")
    told = "import os; print({!r} + 'app.py:3: error: no such name'); raise SystemExit(1)"
    relative = await run("python", "-c", told.format(""))
    absolute = await run("python", "-c", told.replace("{!r}", "os.getcwd() + '/'"))
    assert relative.exact == absolute.exact


async def test_another_failure_has_another_identity(workspaces, run):
    folder = workspaces.claim("run-1", "app")
    before = await run(*PYTEST)
    (folder / "test_app.py").write_text(BROKEN_TEST.replace("== 3", "== 4"))
    assert (await run(*PYTEST)).exact != before.exact


async def test_what_the_workflow_gets_holds_no_content(workspaces, run, store):
    workspaces.claim("run-1", "app")
    verdict = await run(*PYTEST)
    assert "MARKER" in await output_of(store, verdict)
    assert "MARKER" not in verdict.model_dump_json()
    assert len(verdict.model_dump_json()) < 250


async def test_every_hang_of_a_gate_is_the_same_failure_whatever_it_printed_before(store, workspaces, run):
    workspaces.claim("run-1", "app")
    hang = "import signal; print({!r}, flush=True); signal.pause()"
    one = await run("python", "-c", hang.format("collected 3 items"), timeout_s=2)
    other = await run("python", "-c", hang.format("KeyError: 'b'"), timeout_s=2)
    assert one.exact == other.exact
    assert "collected 3 items\nerror: tests timed out after 2 s\n" in await output_of(store, one)


async def test_a_flood_is_a_failure_of_its_own(store, workspaces, run):
    workspaces.claim("run-1", "app")
    flood = await run("python", "-c", "while True: print('x' * 1000)", output_bytes=1_024)
    assert (await output_of(store, flood)).endswith("\nerror: tests was stopped after 65536 bytes of output\n")
    assert flood.exact != (await run("python", "-c", "raise SystemExit(1)")).exact


async def test_a_command_that_is_killed_fails(workspaces, run):
    workspaces.claim("run-1", "app")
    assert isinstance(await run("python", "-c", "import os; os.kill(os.getpid(), 9)"), Failing)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        pytest.param(("no-such-tool",), "no-such-tool: no such file or directory", id="not found"),
        pytest.param(("./test_app.py",), "./test_app.py: permission denied", id="not executable"),
    ],
)
async def test_a_command_that_cannot_be_started_breaks_the_gate_and_people_find_the_reason(
    store, workspaces, run, command, reason
):
    workspaces.claim("run-1", "app")
    assert await run(*command) == Broken()
    details = await store.get_details("run-1")
    assert details == {"gate:tests:7": f"gate tests cannot be started: {reason}"}


async def test_a_missing_workspace_breaks_the_gate(store, run):
    assert await run("true") == Broken()
    assert await store.get_details("run-1") == {"gate:tests:7": "workspace app of run run-1 is not on this worker"}


async def test_an_undeclared_gate_is_broken(store, workspaces):
    workspaces.claim("run-1", "app")
    request = RunGate(gate="gone", seq=1, workspace="app", run="run-1")
    done = await ActivityEnvironment().run(GateRunner(store, {}, workspaces, sandbox=None).run_gate, request)
    assert GateDone.model_validate(done).verdict == Broken()


async def test_a_gate_sees_none_of_the_workers_variables(store, workspaces, run, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "MARKER")
    folder = workspaces.claim("run-1", "app")
    shown = await output_of(store, await run("python", "-c", "import os; print(dict(os.environ)); raise SystemExit(1)"))
    assert "MARKER" not in shown
    variables = ast.literal_eval(shown)
    assert variables.pop("PWD", str(folder)) == str(folder)  # bubblewrap sets it
    assert set(variables) == {"PATH", "HOME", "TMPDIR", "LANG", "TERM", "NO_COLOR", "PYTHONDONTWRITEBYTECODE"}
    assert variables["HOME"] == str(folder.parent / ".scratch" / "tests")


async def test_a_gate_finds_an_empty_home_and_the_workspace_as_its_folder(store, workspaces, run):
    folder = workspaces.claim("run-1", "app")
    code = "import os; print(os.getcwd(), os.listdir(os.environ['HOME'])); open(os.environ['HOME'] + '/x', 'w'); 1 / 0"
    for _ in range(2):
        assert f"{folder} []\n" in await output_of(store, await run("python", "-c", code))


async def test_python_means_the_interpreter_of_the_worker(store, workspaces, run):
    workspaces.claim("run-1", "app")
    shown = await output_of(store, await run("python", "-c", "import sys; print(sys.prefix); raise SystemExit(1)"))
    assert shown == f"{sys.prefix}\n"


async def test_a_gate_sends_heartbeats_without_content(workspaces, run):
    workspaces.claim("run-1", "app")
    environment = ActivityEnvironment()
    beats = []
    environment.on_heartbeat = lambda *details: beats.append(details)
    await run("true", environment=environment)
    assert beats[0] == ({"phase": "gate"},)


async def test_a_cancelled_gate_ends_its_command(workspaces, run):
    folder = workspaces.claim("run-1", "app")
    os.mkfifo(folder / "alive")
    stream = asyncio.StreamReader()
    pipe = os.fdopen(os.open(folder / "alive", os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), pipe
    )
    environment = ActivityEnvironment()
    code = "import os, signal; os.write(os.open('alive', os.O_WRONLY), b'1'); os.fork(); signal.pause()"
    running = asyncio.create_task(run("python", "-c", code, environment=environment))
    async with asyncio.timeout(30):
        await stream.readexactly(1)
        environment.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await stream.read()  # ends when nobody holds the pipe any more
    transport.close()
