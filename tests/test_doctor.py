"""`endstop doctor` on real setups: a whole one has nothing wrong, and each broken one is told by what is broken.

A real server, a real sandbox, a real store and real sockets; what is broken is broken by the test.
"""

import asyncio
import json
import os
import socket
import sqlite3
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from temporalio import activity, workflow
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, RemoveSearchAttributesRequest
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities.contract import ATTRIBUTE_MODEL, WORKFLOW
from activities.expiry_schedule import schedule_id
from commands.connect import Where
from commands.doctor import MACHINE, checks
from commands.opening import Setup
from commands.server import DevServer, free_port, running
from settings import Settings
from store import Store
from store.schema import SCHEMA, SINCE, metadata
from tests.faults.conftest import eventually
from tests.test_versioning import make_current, released
from tests.test_worker import PATIENCE_S, settings_at, working
from workflows.payloads import data_converter

ROOT = Path(__file__).parent.parent


class Report:
    """What the doctor found."""

    def __init__(self, findings: list[dict[str, Any]]) -> None:
        self.findings = findings

    def of(self, check: str) -> list[tuple[str, str]]:
        """Verdict and words of one check's findings."""
        found = [one for one in self.findings if one["check"] == check]
        return [(one["verdict"], f"{one['found']}; {one['remedy']}") for one in found]

    def one(self, check: str) -> tuple[str, str]:
        (only,) = self.of(check)
        return only

    @property
    def wrong(self) -> list[str]:
        return [one["check"] for one in self.findings if one["verdict"] == "wrong"]


@pytest.fixture
def doctor(tmp_path, temporal_server, monkeypatch):
    """Ask the doctor about the folder's settings and the session's server, or another."""
    for name in ("TEMPORAL_PROFILE", "TEMPORAL_CONFIG_FILE", "ENDSTOP_CONFIG", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    async def ask(text: str | None = None, address: str = temporal_server, namespace: str | None = None) -> Report:
        file = tmp_path / "endstop.toml"
        if text is not None:
            file.write_text(text)
        where = Where(address=address, namespace=namespace)
        setup = Setup(where=where, settings=file)
        return Report([found.model_dump() async for found in checks(setup)])

    return ask


async def typed(folder: Path, address: str, *args: str, **environ: str) -> tuple[int, str]:
    """What the command prints in a folder, and its exit code; nothing goes to stderr."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(ROOT / "cli.py"), "doctor", "--address", address, *args),
        cwd=folder,
        env={"PATH": os.environ["PATH"], **environ},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    stdout, stderr = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    assert stderr == b""
    return process.returncode, stdout.decode()


@asynccontextmanager
async def an_endpoint() -> AsyncIterator[str]:
    """An address that takes connections and says nothing; no doctor may send it anything."""
    heard = bytearray()
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)  # noqa: FBT003 - the standard library's own signature
    with listener:
        host, port = listener.getsockname()
        yield f"http://{host}:{port}"
        while True:
            try:
                taken, _ = listener.accept()
            except BlockingIOError:
                break
            with taken:
                heard += taken.recv(1)
    assert not heard


async def test_a_whole_setup_has_nothing_wrong_and_every_part_is_told(tmp_path, client, temporal_server):
    async with an_endpoint() as url:
        settings = settings_at(tmp_path, url)
        async with working(settings, client):
            await client.get_schedule_handle(schedule_id(settings.task_queue)).pause()
            code, printed = await typed(tmp_path, temporal_server, "-o", "json", SIM_KEY="sk-secret-marker")
    told = json.loads(printed)
    report = Report(told["findings"])
    assert (code, told["healthy"], report.wrong) == (0, True, [])
    assert report.one("settings")[1].startswith(str(tmp_path / "endstop.toml"))
    assert report.one("key of sim") == ("ok", "in SIM_KEY; ")
    assert report.one("address of sim") == ("ok", f"{url} answers; ")
    assert report.one("store")[0] == "ok"
    assert f"version {SCHEMA}" in report.one("store")[1]
    assert report.one("sandbox") == ("ok", "bubblewrap works, for 1 command; ")
    assert report.one("workspace notes")[0] == "ok"
    assert report.one("namespace")[1].startswith("default keeps a run for 1 days after its end")
    assert report.one("search attributes") == ("ok", "all 4 are registered; ")
    assert report.one("worker")[1].startswith(f"1 worker on task queue {settings.task_queue}: ")
    assert report.one("expiry")[0] == "warning"
    assert report.one("expiry")[1].startswith(f"schedule {schedule_id(settings.task_queue)} is paused")
    assert "sk-secret-marker" not in printed


BROKEN = """
task_queue = "nobody polls this one"
[providers.closed]
api = "openai-chat"
base_url = "http://127.0.0.1:{port}/v1"
key_env = "NO_SUCH_KEY"
[providers.unknown]
api = "openai-chat"
base_url = "https://no-such-host.invalid/v1"
[tools.stock]
function = "no_such_module:stock"
[tools.refund]
activity = "Refund"
task_queue = "billing-nobody"
description = "Pay money back."
approval = {{ sum = "1" }}
[gates.tests]
command = ["no-such-program"]
[gates.form]
schema = {{ type = "objekt" }}
[mcp.gone]
command = ["no-such-program"]
env = ["NO_SUCH_TOKEN"]
tools = ["look"]
[mcp.away]
url = "http://127.0.0.1:{port}/mcp"
key_env = "NO_SUCH_TOKEN"
tools = ["look"]
[workspaces.folder]
source = "nowhere"
[workspaces.archive]
archive = "nothing.tar.gz"
[workspaces.repository]
git = "nor this"
[workspaces.remote]
git = "https://example.com/project.git"
[store]
url = "sqlite:///taken"
"""


async def test_one_broken_setup_is_told_by_everything_that_is_broken_in_it(tmp_path, doctor):
    (tmp_path / "taken").mkdir()
    port = free_port()
    report = await doctor(BROKEN.format(port=port))
    told = {check: report.of(check)[0][1] for check in report.wrong}
    expected = {
        "key of closed": "NO_SUCH_KEY is not set here; set it where the worker runs",
        "address of closed": f"127.0.0.1:{port}: nothing answers at its address; look at host and port of base_url",
        "address of unknown": "no-such-host.invalid:443: its host is not known here; look at the host of base_url",
        "store": f"cannot open the store {tmp_path}/taken: unable to open database file",
        "tool stock": "no_such_module:stock cannot be imported (ModuleNotFoundError",
        "tool refund": 'approval: it has no argument "sum"; there are none',
        "gate tests": "there is no program no-such-program in ",
        "gate form": "schema: ",
        "MCP server gone": "there is no program no-such-program; install it",
        "MCP server away": f"127.0.0.1:{port}: nothing answers at its address",
        "workspace folder": f"there is no folder {tmp_path}/nowhere",
        "workspace archive": f"there is no file {tmp_path}/nothing.tar.gz",
        "workspace repository": f"there is no repository {tmp_path}/nor this",
        "worker": "none polls task queue nobody polls this one: no run begins or goes on; start `endstop worker`",
        "task queue billing-nobody": "nobody polls it, and tool refund is there",
    }
    assert set(told) == set(expected)
    assert {check: words for check, words in told.items() if not words.startswith(expected[check])} == {}
    unset = ("warning", "NO_SUCH_TOKEN is not set here; set it where the worker runs")
    assert unset in report.of("MCP server gone")
    assert unset in report.of("MCP server away")
    assert report.one("workspace remote") == ("ok", "https://example.com/project.git at HEAD; it was not asked; ")
    assert report.one("expiry")[0] == "warning"
    assert not (tmp_path / ".endstop").exists()


async def test_settings_that_cannot_be_read_are_told_and_temporal_is_looked_at_all_the_same(tmp_path, doctor):
    report = await doctor("[gates.tests]\ncomand = ['true']\n")
    assert report.wrong == ["settings"]
    assert report.one("settings")[1].startswith(f"{tmp_path}/endstop.toml: gates.tests: a gate names exactly one of")
    assert report.one("namespace")[0] == "ok"
    assert report.of("store") == report.of("worker") == []


async def test_a_server_or_a_namespace_that_is_not_there_is_told_and_the_machine_is_looked_at_all_the_same(
    tmp_path, doctor
):
    address = f"127.0.0.1:{free_port()}"
    report = await doctor('[capture]\nexpires_days = "never"\n', address=address)
    assert report.one("Temporal")[1].startswith(f"no Temporal server answers at {address}")
    assert report.of("namespace") == []
    assert report.one("store")[0] == "ok"
    assert not (tmp_path / ".endstop").exists()
    report = await doctor(namespace="nowhere")
    assert "Name an existing namespace" in report.one("namespace")[1]
    assert "Temporal" not in report.wrong


async def test_a_default_provider_may_lack_its_key_while_another_has_one(doctor, monkeypatch):
    report = await doctor("")
    assert [report.one(f"key of {name}")[0] for name in ("openai", "anthropic", "google")] == ["wrong"] * 3
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{free_port()}")
    report = await doctor("")
    assert [report.one(f"key of {name}")[0] for name in ("openai", "anthropic", "google")] == ["ok", *["warning"] * 2]
    verdict, words = report.one("address of openai")
    assert verdict == "wrong"
    assert "the proxy did not pass the request on" in words
    assert report.of("address of google") == []


COMMAND = '[gates.tests]\ncommand = ["true"]\n'


async def test_a_machine_without_a_sandbox_is_wrong_and_going_without_one_is_a_warning(tmp_path, doctor, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    verdict, words = (await doctor(COMMAND)).one("sandbox")
    assert (verdict, "install the package bubblewrap" in words) == ("wrong", True)
    verdict, words = (await doctor(f'sandbox = "none"\n{COMMAND}')).one("sandbox")
    assert verdict == "warning"
    assert words.startswith('sandbox = "none": 1 command may do what the worker may')
    assert (await doctor("")).one("sandbox") == ("ok", "no gate and no tool runs a command; ")
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'No permissions to create new namespace'; exit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    verdict, words = (await doctor(COMMAND)).one("sandbox")
    assert (verdict, "can make no sandbox here (No permissions to create new namespace)" in words) == ("wrong", True)


async def test_the_tables_of_a_store_are_looked_at_and_left_as_they_are(tmp_path, doctor):
    file = tmp_path / "kept.db"
    await (await Store.open(f"sqlite:///{file}")).close()

    def version(wanted: int, *without: str) -> None:
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("UPDATE endstop_schema SET version = ?", (wanted,))
            for table in without:
                connection.execute(f"DROP TABLE {table}")

    newer = [table.name for table in metadata.sorted_tables if table.info.get(SINCE, 1) > 2]
    text = '[store]\nurl = "sqlite:///kept.db"\n'
    version(2, *newer)
    verdict, words = (await doctor(text)).one("store")
    assert (verdict, "version 2, of an older release" in words) == ("warning", True)
    assert "version 2, of an older release" in (await doctor(text)).one("store")[1]
    version(SCHEMA + 1)
    verdict, words = (await doctor(text)).one("store")
    refused = f"its schema is version {SCHEMA + 1}, this release reads up to {SCHEMA}; upgrade endstop"
    assert (verdict, refused in words) == ("wrong", True)


async def test_a_store_on_postgresql_is_looked_at_without_making_its_tables(doctor, postgres):
    url = postgres.database()
    text = f'[store]\nurl = "{url}"\n'
    for _ in range(2):
        verdict, words = (await doctor(text)).one("store")
        assert (verdict, "(PostgreSQL): not there yet" in words) == ("ok", True)
    await (await Store.open(url)).close()
    assert f"version {SCHEMA}" in (await doctor(text)).one("store")[1]
    postgres.tell(f"ALTER DATABASE {url.rpartition('/')[2]} SET default_transaction_read_only = on")
    verdict, words = (await doctor(text)).one("store")
    assert (verdict, "it is read-only; name the server that takes writes" in words) == ("wrong", True)
    verdict, words = (await doctor(f'[store]\nurl = "postgresql://endstop@127.0.0.1:{free_port()}/x"\n')).one("store")
    assert (verdict, "check that its server runs" in words) == ("wrong", True)


async def test_a_release_that_nobody_made_the_current_one_is_told(tmp_path, client, doctor):
    settings = released(settings_at(tmp_path, "http://127.0.0.1:1"), "r1", "pinned")
    check = f"deployment {settings.task_queue}"
    text = (tmp_path / "endstop.toml").read_text()
    text = f'{text}\n[worker]\ndeployment = "{settings.task_queue}"\nbuild_id = "r1"\n'
    async with working(settings, client):
        await eventually(lambda: _told_of(doctor, check, text, "no version is the current one"))
        await make_current(client, settings)
        report = await doctor()
        assert report.one(check) == ("ok", "r1 is the current version; ")
        assert f"({settings.task_queue}:r1)" in report.one("worker")[1]


ELSEWHERE = """
[gates.audit]
activity = "Audit"
task_queue = "{queue}"
"""


async def test_workers_of_one_sqlite_store_on_two_machines_are_wrong_and_a_worker_elsewhere_is_named(
    tmp_path, temporal_server, doctor
):
    queue = f"machines-{uuid.uuid4().hex}"
    text = f'task_queue = "{queue}"\n{ELSEWHERE.format(queue=queue)}'
    async with AsyncExitStack() as stack:
        for identity in ("1@here", "2@there"):
            client = await Client.connect(temporal_server, identity=identity)
            worker = Worker(
                client,
                task_queue=queue,
                workflows=[Polled],
                activities=[audit],
                workflow_runner=UnsandboxedWorkflowRunner(),
            )
            await stack.enter_async_context(worker)
        await eventually(lambda: _told_of(doctor, "worker", text, f"2 workers on task queue {queue}"))
        report = await doctor()
    verdict, words = report.of("worker")[1]
    assert verdict == "wrong"
    assert words.startswith("workers on 2 machines (here, there) and a store on SQLite; use PostgreSQL")
    assert report.one(f"task queue {queue}") == ("ok", "2 workers for gate audit: 1@here, 2@there; ")


@activity.defn(name="Audit")
async def audit() -> None:
    """Never called: it is polled for."""


async def _told_of(doctor, check: str, text: str, words: str) -> bool:
    """Whether the doctor says this; the server hears of a worker's release a moment after its first poll."""
    return any(words in told for _, told in (await doctor(text)).of(check))


@workflow.defn(name=WORKFLOW)
class Polled:
    """Never started: it is polled for."""

    @workflow.run
    async def run(self) -> None: ...


async def test_search_attributes_that_are_not_there_or_of_another_type_are_told(tmp_path, doctor):
    async with running(DevServer(port=free_port(), log=tmp_path / "server.log")) as server:
        client = await Client.connect(server.address, data_converter=data_converter)
        remove = RemoveSearchAttributesRequest(namespace="default", search_attributes=[ATTRIBUTE_MODEL])
        await client.operator_service.remove_search_attributes(remove)
        verdict, words = (await doctor("", server.address)).one("search attributes")
        assert (verdict, "create --name EndstopModel --type Keyword" in words) == ("warning", True)
        number = {ATTRIBUTE_MODEL: IndexedValueType.INDEXED_VALUE_TYPE_INT}
        add = AddSearchAttributesRequest(namespace="default", search_attributes=number)
        await client.operator_service.add_search_attributes(add)
        verdict, words = (await doctor("", server.address)).one("search attributes")
        assert verdict == "wrong"
        assert words.startswith("EndstopModel has the type Int here, not Keyword: runs do without it")
        assert (await doctor("", server.address)).one("runs")[0] == "ok"


async def test_a_person_reads_one_line_a_finding_with_what_to_do_below_it_and_the_sum(tmp_path):
    keys = {"OPENAI_API_KEY": "sk-secret-marker", "HTTPS_PROXY": "http://127.0.0.1:1"}
    code, printed = await typed(tmp_path, f"127.0.0.1:{free_port()}", **keys)
    assert code == 1
    lines = printed.splitlines()
    assert lines[:4] == [
        "ok       settings: no endstop.toml: the defaults",
        "ok       key of openai: in OPENAI_API_KEY",
        "warning  key of anthropic: ANTHROPIC_API_KEY is not set here",
        "         set it, or leave the provider out of agents",
    ]
    assert lines[-1] == "2 wrong, 2 warnings, 4 ok"
    assert "sk-secret-marker" not in printed


async def test_a_check_that_breaks_is_a_finding_and_the_others_are_made(doctor, monkeypatch):
    async def breaks(_: Settings) -> None:
        raise KeyError("what")

    monkeypatch.setitem(MACHINE, "sandbox", breaks)
    report = await doctor("")
    assert report.one("sandbox")[1].startswith("the check itself broke (KeyError: 'what')")
    assert report.one("namespace")[0] == "ok"
