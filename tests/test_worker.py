"""The worker as its operator meets it: it runs with no arguments, says in one line why not, and stops in good order."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from temporalio.client import Client, WorkflowFailureError

from activities import loop_watch
from activities.contract import WORKFLOW
from commands.server import free_port
from encryption import CLEAR
from settings import Settings, load_settings
from simulator import Raw, Script, Simulator, Text, ToolCall, ToolCalls
from worker import CannotRun, connect, main, run_worker

ROOT = Path(__file__).parent.parent
MARKER = "MARKER-5f3c9a"
PATIENCE_S = 60
"""Bounds a test that hangs; nothing is measured by it."""


def variables(folder: Path, **more: str) -> dict[str, str]:
    """A worker's environment: nothing of Temporal's or ours but what the test says."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TEMPORAL_", "ENDSTOP_"))}
    return kept | {"TEMPORAL_CONFIG_FILE": str(folder / "none.toml"), "PYTHONPATH": str(ROOT)} | more


def refused(folder: Path, code: int, *, within: tuple[str, ...] = (), **environ: str) -> str:
    """What a worker that cannot run says: exactly one line on stderr, with this exit code."""
    argv = [*within, sys.executable, str(ROOT / "worker.py")]
    env = variables(folder, **environ)
    done = subprocess.run(argv, check=False, cwd=folder, env=env, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (code, "")
    (line,) = done.stderr.splitlines()
    return line.removeprefix("endstop worker: ")


def test_without_a_server_it_says_where_it_looked_and_what_to_do(tmp_path):
    address = f"127.0.0.1:{free_port()}"
    line = refused(tmp_path, 1, TEMPORAL_ADDRESS=address)
    assert line == (
        f"no Temporal server answers at {address}; start one with `endstop dev`, or name yours in TEMPORAL_ADDRESS"
    )


async def test_a_namespace_that_is_not_there_is_named(temporal_server):
    with pytest.raises(CannotRun, match="has no namespace 'nowhere'; create it or set TEMPORAL_NAMESPACE"):
        await connect({"target_host": temporal_server, "namespace": "nowhere"}, CLEAR)


def test_a_store_that_cannot_be_opened_is_named(tmp_path, temporal_server):
    (tmp_path / "kept").mkdir()
    (tmp_path / "endstop.toml").write_text('[store]\nurl = "sqlite:///kept"\n')
    line = refused(tmp_path, 1, TEMPORAL_ADDRESS=temporal_server)
    assert line.startswith(f"cannot open the store {tmp_path}/kept: ")


def test_a_disk_without_room_keeps_it_from_starting_and_leaves_nothing_half_made(
    tmp_path, temporal_server
):  # FAULTS 15
    line = refused(tmp_path, 1, within=("sh", "-c", 'ulimit -f 0; exec "$@"', "sh"), TEMPORAL_ADDRESS=temporal_server)
    assert line.startswith(f"cannot open the store {tmp_path}/.endstop/store.db: ")
    assert list((tmp_path / ".endstop").iterdir()) == []


GATE = '[gates.tests]\ncommand = ["true"]\n'


def test_with_gates_and_no_sandbox_it_refuses_and_names_the_package_and_the_choice(tmp_path, temporal_server):
    (tmp_path / "endstop.toml").write_text(GATE)
    line = refused(tmp_path, 1, TEMPORAL_ADDRESS=temporal_server, PATH="/nowhere")
    assert "install the package bubblewrap" in line
    assert 'sandbox = "none" in endstop.toml' in line
    assert not (tmp_path / ".endstop").exists()


NO_COMMAND = '[gates.form]\nschema = { type = "object" }\n'


@pytest.mark.parametrize(
    ("text", "warned"),
    [("", 0), (NO_COMMAND, 0), (f'sandbox = "none"\n{GATE}', 1)],
    ids=["no gate", "no command", "the operator chose none"],
)
async def test_without_a_sandbox_it_runs_where_no_command_is_declared_and_with_a_warning_where_the_operator_chose_so(
    tmp_path, temporal_server, text, warned
):
    (tmp_path / "endstop.toml").write_text(text)
    async with started(tmp_path, temporal_server, PATH="/nowhere") as process:
        events = await until_ready(process)
    assert [event["event"] for event in events].count("worker.no_sandbox") == warned


def test_a_gate_that_cannot_be_asked_keeps_it_from_starting_with_one_line(tmp_path, temporal_server):
    (tmp_path / "endstop.toml").write_text('[gates.sums]\nfunction = "no_such_module:sums"\n')
    line = refused(tmp_path, 1, TEMPORAL_ADDRESS=temporal_server)
    assert line.startswith("gate sums: no_such_module:sums cannot be imported (ModuleNotFoundError: ")


@pytest.fixture
def said(tmp_path, monkeypatch, capsys):
    """Run `main` in this process as far as it gets without a connection: its exit code and what it said."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ENDSTOP_CONFIG", raising=False)

    def run() -> tuple[int, str]:
        code = main()
        output = capsys.readouterr()
        assert output.out == ""
        return code, output.err

    return run


def test_settings_that_are_wrong_are_a_mistake_of_usage(tmp_path, said):
    (tmp_path / "endstop.toml").write_text("[gates.tests]\ncomand = ['true']\n")
    kinds = '"command", "activity", "function", "schema" and "judge"'
    line = f"{tmp_path}/endstop.toml: gates.tests: a gate names exactly one of {kinds}"
    assert said() == (2, f"endstop worker: {line}\n")


def test_temporals_own_configuration_is_refused_without_quoting_it(tmp_path, said, monkeypatch):
    broken = tmp_path / "temporal.toml"
    broken.write_text(f'[profile.default]\napi_key = = "{MARKER}"\n')
    monkeypatch.setenv("TEMPORAL_CONFIG_FILE", str(broken))
    code, text = said()
    assert code == 2
    assert text.startswith("endstop worker: Temporal's configuration cannot be used: ")
    assert text.count("\n") == 1
    assert MARKER not in text


@asynccontextmanager
async def started(folder: Path, address: str, **more: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A worker process that polls."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(ROOT / "worker.py"),
        cwd=folder,
        env=variables(folder, TEMPORAL_ADDRESS=address, **more),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def until_ready(process: asyncio.subprocess.Process) -> list[dict]:
    events: list[dict] = []
    async with asyncio.timeout(PATIENCE_S):
        while not events or events[-1]["event"] != "worker.ready":
            events.append(json.loads(await process.stderr.readline()))
    return events


async def test_it_runs_with_no_arguments_logs_json_and_ends_well_on_a_signal(tmp_path, temporal_server):
    (tmp_path / "endstop.toml").write_text('task_queue = "signals"\n')
    async with started(tmp_path, temporal_server) as process:
        events = await until_ready(process)
        process.send_signal(signal.SIGTERM)
        stdout, stderr = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    assert (process.returncode, stdout) == (0, b"")
    events += [json.loads(line) for line in stderr.splitlines()]
    assert [event["event"] for event in events if event["level"] == "info"][-2:] == ["worker.ready", "worker.stopping"]
    assert events[-2]["task_queue"] == "signals"


async def test_a_worker_whose_event_loop_is_held_up_says_by_what(tmp_path, client, monkeypatch):
    told = []
    log = SimpleNamespace(warning=lambda event, **facts: told.append((event, facts)))
    monkeypatch.setattr(loop_watch, "_log", log)

    def hold_up() -> None:
        for _ in range(PATIENCE_S * 100):
            if told:
                return
            time.sleep(0.01)

    async with working(settings_at(tmp_path, "http://127.0.0.1:1"), client):
        hold_up()
    event, facts = told[0]
    assert (event, facts["loop"]) == ("loop.blocked", "worker")
    assert " hold_up < " in facts["frames"]


@asynccontextmanager
async def working(settings: Settings, client: Client) -> AsyncIterator[asyncio.Event]:
    """A worker in this process, until the end of the block or until the event it yields is set."""
    ready, stop = asyncio.Event(), asyncio.Event()
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        group.create_task(run_worker(settings, client, ready=ready, stop=stop))
        await ready.wait()
        yield stop
        stop.set()


def settings_at(folder: Path, url: str) -> Settings:
    (folder / "project").mkdir(exist_ok=True)
    (folder / "project" / "notes.txt").write_text("hello")
    file = folder / "endstop.toml"
    file.write_text(
        f"""
        task_queue = "worker-{uuid.uuid4().hex}"
        [providers.sim]
        api = "openai-chat"
        base_url = "{url}/v1"
        key_env = "SIM_KEY"
        [workspaces.notes]
        source = "project"
        [gates.kept]
        command = ["grep", "-q", "hello", "notes.txt"]
        """
    )
    return load_settings(file, {"SIM_KEY": "sk-sim"})


async def start(client: Client, settings: Settings, name: str = "run", **agent):
    spec = {"agent": {"models": ["sim:m"], **agent}, "task": "Say hello."}
    queue = settings.task_queue
    return await client.start_workflow(WORKFLOW, spec, id=f"{queue}-{name}", task_queue=queue)


async def test_a_run_goes_from_json_to_its_answer(tmp_path, client):
    async with Simulator(Script(models={"m": (Text(text="Hello."),)})) as sim:
        settings = settings_at(tmp_path, sim.url)
        async with working(settings, client):
            result = await (await start(client, settings)).result()
    assert (result["status"], result["answer"]) == ("completed", "Hello.")
    assert len(sim.requests) == 1


async def test_tools_and_gates_run_on_the_queue_of_the_worker_that_holds_the_workspace(tmp_path, client):
    read = ToolCalls(calls=(ToolCall(name="read_file", arguments={"path": "notes.txt"}),))
    async with Simulator(Script(models={"m": (read, Text(text="It says hello."))})) as sim:
        settings = settings_at(tmp_path, sim.url)
        async with working(settings, client):
            run = await start(client, settings, workspace="notes", tools=["read_file"], gates=["kept"])
            result = await run.result()
        history = await run.fetch_history()
    assert result["status"] == "completed"
    queues = {
        event.activity_task_scheduled_event_attributes.activity_type.name: (
            event.activity_task_scheduled_event_attributes.task_queue.name
        )
        for event in history.events
        if event.HasField("activity_task_scheduled_event_attributes")
    }
    assert queues["call_model"] == settings.task_queue
    assert queues["run_tool"] == queues["run_gate"]
    assert queues["run_tool"].startswith(f"{settings.task_queue}-")


async def test_an_operators_own_row_decides_whether_a_refusal_is_tried_again(tmp_path, client):
    closed = Raw(status=403, headers={"retry-after": "0"}, body="Closed on Sundays.")
    async with Simulator(Script(models={"m": (closed, Text(text="Hello."))})) as sim:
        file = settings_at(tmp_path, sim.url).source
        own = '[[classify]]\nrule = "own.sunday"\nkind = "overloaded"\nphrases = ["closed on sundays"]\n'
        file.write_text(file.read_text() + own)
        settings = load_settings(file, {"SIM_KEY": "sk-sim"})
        async with working(settings, client):
            result = await (await start(client, settings)).result()
    assert (result["status"], len(sim.requests)) == ("completed", 2)


async def test_an_agent_that_names_what_nobody_declared_ends_in_one_line(tmp_path, client):
    async with Simulator() as sim:
        settings = settings_at(tmp_path, sim.url)
        async with working(settings, client):
            run = await start(client, settings, workspace="notes", gates=["kpet"])
            with pytest.raises(WorkflowFailureError) as caught:
                await run.result()
    cause = caught.value.cause
    assert (cause.type, cause.message) == (
        "InvalidSpec",
        'agent: stage main: unknown gate "kpet"; did you mean "kept"?',
    )
    assert sim.requests == ()


async def test_a_worker_that_stops_lets_its_call_finish_while_another_takes_the_new_work(tmp_path, client):
    held = Text(text="Hello.", held_until="told")
    async with Simulator(Script(models={"m": (held,), "other": (Text(text="Hi."),)})) as sim:
        settings = settings_at(tmp_path, sim.url)
        async with working(settings, client) as stop:
            run = await start(client, settings)
            await sim.received(1)
            stop.set()
            async with working(settings, client):
                later = await start(client, settings, "later", models=["sim:other"])
                assert (await later.result())["answer"] == "Hi."
                sim.release("told")
                assert (await run.result())["answer"] == "Hello."
    assert [request.model for request in sim.requests] == ["m", "other"]
