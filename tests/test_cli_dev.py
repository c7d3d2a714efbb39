"""`endstop dev`: what it starts, what it leaves alone, and that stopping it stops all of it."""

import asyncio
import base64
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner
from google.protobuf.json_format import MessageToDict
from temporalio.api.common.v1 import Payloads
from temporalio.client import Client

import cli
from activities.endpoints import has_keys
from commands import connect
from commands.dev import said_by, with_simulator
from commands.server import free_port, taken
from encryption import new_key
from settings import load_settings
from workflows.codec import converter_with

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.timeout(600)

SCRIPT = """
[[models.any]]
kind = "text"
text = "All done."
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [
        name for name in os.environ if name.startswith(("TEMPORAL_", "ENDSTOP_")) or name.endswith("_API_KEY")
    ]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(ui_port: int) -> str:
    """What the Web UI shows of an encrypted payload, by the codec that its server tells it of."""
    endpoint = httpx2.get(f"http://127.0.0.1:{ui_port}/api/v1/settings").json()["Codec"]["Endpoint"]
    (payload,) = asyncio.run(converter_with(load_settings().keys).encode(["shown"]))
    headers = {"origin": f"http://localhost:{ui_port}", "x-namespace": "default"}
    sent = MessageToDict(Payloads(payloads=[payload]))
    (decoded,) = httpx2.post(f"{endpoint}/decode", json=sent, headers=headers).json()["payloads"]
    return base64.b64decode(decoded["data"]).decode()


def test_one_command_runs_everything_and_its_end_is_the_end_of_everything(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEV_KEYS", new_key())
    (folder / "script.toml").write_text(SCRIPT)
    (folder / "agent.toml").write_text('models = ["openai:any"]')
    (folder / "endstop.toml").write_text(
        '[worker]\ndeployment = "d"\nbuild_id = "nobody makes it the current one"\n'
        '[encryption]\nkeys_env = "DEV_KEYS"\n'
    )
    port, ui_port = free_port(), free_port()
    address = ("--address", f"127.0.0.1:{port}")
    command = [
        sys.executable,
        str(ROOT / "cli.py"),
        "dev",
        *address,
        "--ui-port",
        str(ui_port),
        "--script",
        "script.toml",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as dev:
        assert dev.stdout
        told = [dev.stdout.readline() for _ in range(4)]
        ran = CliRunner().invoke(cli.main, ["start", "agent.toml", "--task", "hello", "--watch", *address])
        decoded = shown(ui_port)
        dev.send_signal(signal.SIGINT)
        assert dev.wait() == 0
    assert ran.exit_code == 0, ran.stderr
    assert "t1.c1.a1 openai:any answered" in ran.stdout
    assert decoded == '"shown"'
    assert [f"127.0.0.1:{port}" in told[0], f"127.0.0.1:{ui_port}" in told[0]] == [True, True]
    assert "no key is used, nothing is paid" in told[1]
    assert "script.toml, as it is now; a model that it does not name answers one canned sentence" in told[2]
    assert "the inbox is at http://127.0.0.1:" in told[3]
    assert not taken("127.0.0.1", port)
    assert not taken("127.0.0.1", ui_port)


STARTS = """
import asyncio, pathlib, sys
from commands.server import DevServer, running

async def main(port, folder):
    async with running(DevServer(port=port, log=pathlib.Path(folder) / "log")):
        print("ready", flush=True)
        await asyncio.sleep(600)

asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
"""


def test_the_server_ends_with_a_process_that_is_killed_without_a_word(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-c", STARTS, str(port), str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        process.kill()
    for _ in range(200):
        if not taken("127.0.0.1", port):
            return
        threading.Event().wait(0.1)
    raise AssertionError("the server lives on")


def test_a_port_that_something_else_holds_is_said_in_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del folder
    monkeypatch.setattr(connect, "CONNECT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = CliRunner().invoke(cli.main, ["dev", "--address", f"127.0.0.1:{port}"])
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert f"127.0.0.1:{port} is taken by something that is not a Temporal server" in line


def test_a_server_elsewhere_is_not_replaced_by_one_here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del folder
    monkeypatch.setattr(connect, "CONNECT_S", 0.2)
    done = CliRunner().invoke(cli.main, ["dev", "--address", "192.0.2.1:7233"])
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert "starts one on this machine only" in line


def test_models_are_simulated_only_where_no_key_is_set(folder: Path) -> None:
    del folder
    assert not has_keys(load_settings(environ={}).declared)
    assert has_keys(load_settings(environ={"OPENAI_API_KEY": "k"}).declared)


def test_simulated_models_without_a_script_say_that_they_answer_one_sentence() -> None:
    assert "--script FILE" in said_by(None)


def test_a_provider_that_needs_no_key_is_not_simulated(folder: Path) -> None:
    (folder / "endstop.toml").write_text(
        "[providers.local]\napi = 'openai-chat'\nbase_url = 'http://127.0.0.1:8080/v1'"
    )
    assert has_keys(load_settings(environ={}).declared)


def test_simulated_settings_name_the_same_things_and_send_no_real_key(folder: Path) -> None:
    del folder
    real = load_settings(environ={"OPENAI_API_KEY": "the-real-key"})
    simulated = with_simulator(real, "http://127.0.0.1:9")
    assert set(simulated.declared.providers) == set(real.declared.providers)
    assert (simulated.store_url, simulated.task_queue) == (real.store_url, real.task_queue)
    for provider in simulated.declared.providers.values():
        assert provider.base_url.startswith("http://127.0.0.1:9")
        assert provider.key
        assert provider.key.get_secret_value() != "the-real-key"


def test_the_development_server_knows_the_search_attributes_from_its_start(temporal_server: str) -> None:
    async def query() -> list[str]:
        client = await Client.connect(temporal_server)
        return [run.id async for run in client.list_workflows("EndstopStatus = 'none' AND EndstopSpendUsd > 1000000")]

    assert asyncio.run(query()) == []
