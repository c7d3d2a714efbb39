"""The command line: what it refuses, with which one line and exit code, before anything is started."""

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import cli
from activities.messages import user_message
from commands.server import free_port
from ledger.conversation import Conversation
from ledger.journal import GateRecord, RunRecord
from settings import load_settings
from store import Store

AGENT = """
models = ["openai:gpt-5"]
workspace = "calc"
tools = ["read_file"]
gates = ["tests"]
"""
SETTINGS = """
[workspaces.calc]
source = "."
[gates.tests]
command = ["true"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an agent and settings, and no server at the default address."""
    for name in ("TEMPORAL_PROFILE", "TEMPORAL_CONFIG_FILE", "ENDSTOP_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TEMPORAL_ADDRESS", f"127.0.0.1:{free_port()}")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.toml").write_text(AGENT)
    (tmp_path / "endstop.toml").write_text(SETTINGS)
    return tmp_path


def endstop(*args: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli.main, args, input=stdin)


def refused(result: Result, code: int) -> str:
    """The one line on stderr; nothing on stdout, no traceback."""
    assert (result.exit_code, result.stdout) == (code, "")
    assert "Traceback" not in result.stderr
    (line,) = result.stderr.splitlines()
    assert line.startswith("endstop: ")
    return line


def test_a_path_that_cannot_be_used_is_not_blamed_on_the_operators_file(folder: Path) -> None:
    (folder / "agent.toml").write_text(AGENT + 'files = ["../x"]\n')
    line = refused(endstop("start", "agent.toml", "--task", "x"), 2)
    assert 'file "../x"' in line
    assert "declared by" not in line


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        pytest.param("modles = ['openai:gpt-5']", ("modles", 'did you mean "models"?'), id="an unknown key"),
        pytest.param("models = []", ("models", "should not be empty"), id="no models"),
        pytest.param("name = 'x'", ("models", "missing"), id="models left out"),
        pytest.param("models = ['gpt-5']", ("models", "provider:model"), id="a model without a provider"),
        pytest.param("models = ['opnai:gpt-5']", ("opnai", 'did you mean "openai"?'), id="an unknown provider"),
        pytest.param(AGENT.replace("read_file", "raed_file"), ("raed_file", '"read_file"'), id="an unknown tool"),
        pytest.param(AGENT.replace('"calc"', '"no"'), ('"no"', "(declared by "), id="which file declares is said"),
        pytest.param(AGENT.replace('"tests"', '"test"'), ('"test"', '"tests"'), id="an unknown gate"),
        pytest.param(AGENT.replace("calc", "clac"), ('"clac"', '"calc"'), id="an unknown workspace"),
        pytest.param(AGENT.replace("workspace", "name"), ("workspace",), id="tools without a workspace"),
        pytest.param(
            AGENT + "[limits]\nturns = -1", ("limits.turns", "greater than or equal to 1"), id="negative limit"
        ),
        pytest.param(AGENT + "[policy.repairs]\nbudget = -1", ("budget", "greater than or equal to 0"), id="budget"),
        pytest.param(AGENT + "[output]\ntype = 'array'", ("output", 'type "object"'), id="output that is no object"),
        pytest.param(
            AGENT + "[output]\ntype = 'object'\nproperties.age.type = 'nmuber'",
            ("output", "properties.age.type", "JSON Schema"),
            id="output that is no schema",
        ),
        pytest.param("models = [", ("not valid TOML",), id="no TOML"),
        pytest.param("models = '\udc80'", ("not UTF-8",), id="no UTF-8"),
    ],
)
def test_an_agent_file_that_cannot_run_is_refused_in_one_line(folder: Path, agent: str, told: tuple[str, ...]) -> None:
    (folder / "agent.toml").write_bytes(agent.encode(errors="surrogateescape"))
    line = refused(endstop("start", "agent.toml", "--task", "x"), 2)
    assert "agent.toml" in line
    assert all(words in line for words in told)
    assert not (folder / ".endstop").exists()


@pytest.mark.parametrize(
    ("task", "stdin", "told"),
    [
        pytest.param("-", b"x" * 10 * 2**20, "--task: is longer than 4,096 kiB", id="10 MB"),
        pytest.param("-", b" \n", "--task: is empty", id="nothing but space"),
        pytest.param("-", b"\xff\xfe", "--task: is not UTF-8", id="no text"),
        pytest.param("@missing.md", None, "--task @missing.md: cannot be read", id="a file that is not there"),
    ],
)
def test_a_task_that_cannot_be_given_to_a_model_is_refused(
    folder: Path, task: str, stdin: bytes | None, told: str
) -> None:
    assert told in refused(endstop("start", "agent.toml", "--task", task, stdin=stdin), 2)
    assert not (folder / ".endstop").exists()


@pytest.mark.parametrize(
    "args",
    [
        ("start", "agent.toml", "--task", "x"),
        ("ls",),
        ("show", "r"),
        ("journal", "r"),
        ("watch", "r"),
        ("answer", "r", "stop"),
    ],
    ids=lambda args: args[0],
)
def test_without_a_server_every_command_names_the_address_and_the_remedy(folder: Path, args: tuple[str, ...]) -> None:
    line = refused(endstop(*args), 1)
    assert "no Temporal server answers at 127.0.0.1:" in line
    assert "endstop dev" in line
    assert not (folder / ".endstop").exists()


@pytest.mark.parametrize(
    ("args", "told"),
    [
        pytest.param(("ls", "--address", "nowhere"), "expected HOST:PORT", id="an address without a port"),
        pytest.param(("ls", "--profile", "nope"), "nope", id="an unknown profile"),
        pytest.param(("ls", "--config-file", "nope.toml"), "nope.toml: no such file", id="no config file"),
        pytest.param(("ls", "--frobnicate"), "--frobnicate", id="an unknown flag"),
        pytest.param(("frobnicate",), "frobnicate", id="an unknown command"),
        pytest.param(("show",), "ID", id="no id"),
        pytest.param(("answer", "r"), "label", id="no label and no terminal"),
        pytest.param(("answer", "r", "stop", "--digest", "x"), "go together", id="half a binding"),
        pytest.param(("tell", "r", "guide"), "needs TEXT", id="guidance without words"),
        pytest.param(("tell", "r", "pause", "x"), "takes no value", id="a pause with a value"),
        pytest.param(("start", "agent.toml", "--task", "x", "--id", "a\nb"), "--id", id="an id that breaks the line"),
        pytest.param(
            ("start", "agent.toml", "--task", "x", "--id=--help"), "begin with a dash", id="an id like a flag"
        ),
        pytest.param(("start", "agent.toml", "--task", "x", "--settings", "no.toml"), "no.toml", id="no settings file"),
        pytest.param(("dev", "--script", "no.toml"), "no.toml", id="no script"),
    ],
)
def test_what_is_not_usable_as_typed_is_refused_with_exit_code_2(
    folder: Path, args: tuple[str, ...], told: str
) -> None:
    del folder
    assert told in refused(endstop(*args), 2)


def test_settings_that_cannot_be_used_are_refused_by_name_before_anything_else(folder: Path) -> None:
    (folder / "endstop.toml").write_text("[gatse.tests]\ncommand = ['true']")
    line = refused(endstop("show", "r"), 2)
    assert "endstop.toml" in line
    assert 'did you mean "gates"?' in line


def test_a_store_that_cannot_be_opened_is_named_and_nothing_is_started(folder: Path, temporal_server: str) -> None:
    (folder / "store.db").mkdir()
    (folder / "endstop.toml").write_text(SETTINGS + '[store]\nurl = "sqlite:///store.db"\n')
    start = ("start", "agent.toml", "--task", "x", "--id", folder.name, "--address", temporal_server)
    line = refused(endstop(*start), 1)
    assert "cannot open the store" in line
    assert "store.db" in line
    (folder / "endstop.toml").write_text(SETTINGS)
    assert "no run" in refused(endstop("show", folder.name, "--address", temporal_server), 1)


def test_a_store_that_somebody_holds_is_told_in_one_line_and_nothing_is_started(
    folder: Path, temporal_server: str
) -> None:
    start = ("start", "agent.toml", "--task", "x", "--id", folder.name, "--address", temporal_server)
    asyncio.run(opened_once(load_settings().store_url))
    with sqlite3.connect(folder / ".endstop" / "store.db") as database:
        database.execute("BEGIN IMMEDIATE")
        assert refused(endstop(*start), 1) == "endstop: the store does not work now: database is locked; try again"
    assert "no run" in refused(endstop("show", folder.name, "--address", temporal_server), 1)


async def opened_once(url: str) -> None:
    """Make the store's file."""
    await (await Store.open(url)).close()


@pytest.mark.parametrize("command", ["show", "journal", "transcript", "watch"])
def test_a_run_that_nobody_knows_is_said_to_be_unknown(folder: Path, temporal_server: str, command: str) -> None:
    del folder
    assert "run 'nobody'" in refused(endstop(command, "nobody", "--address", temporal_server), 1)


def test_answering_a_run_that_nobody_knows_is_refused(folder: Path, temporal_server: str) -> None:
    del folder
    assert "run 'nobody'" in refused(endstop("answer", "nobody", "retry", "--address", temporal_server), 1)
    assert "run 'nobody'" in refused(endstop("tell", "nobody", "pause", "--address", temporal_server), 1)


def test_help_loads_neither_temporal_nor_sql_nor_a_provider() -> None:
    probe = (
        "import sys, cli\n"
        "try: cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('temporalio', 'sqlalchemy', 'pydantic_ai', 'openai', 'anthropic') if m in sys.modules])"
    )
    root = Path(cli.__file__).parent
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_namespace_that_does_not_exist_is_said_to_be_missing_not_the_run(folder: Path, temporal_server: str) -> None:
    del folder
    line = refused(endstop("show", "r", "--address", temporal_server, "--namespace", "nowhere"), 1)
    assert "nowhere" in line
    assert "--namespace" in line


async def keep() -> None:
    """Have the store know a run, as Temporal does not."""
    store = await Store.open(load_settings().store_url)
    await store.register_run("c1", "kept", "agent")
    output = await store.put("3 failed")
    gate = GateRecord(at=5, gate="tests", report=1, round=1, verdict="failing", output=output, decided="admitted")
    said = (RunRecord(at=1, what="began"), gate, RunRecord(at=9, what="completed"))
    await store.write_journal("c1", [(seq, one.model_dump(mode="json")) for seq, one in enumerate(said, start=1)])
    await store.append(Conversation(id="c1"), "task", user_message("Hello"))
    await store.close()


def test_a_run_that_temporal_no_longer_has_is_read_from_the_store(folder: Path, temporal_server: str) -> None:
    asyncio.run(keep())
    journal = endstop("journal", "kept", "--address", temporal_server)
    assert journal.exit_code == 0
    assert "the run completed" in journal.stdout
    assert "Temporal no longer has this run" in journal.stderr
    shown = endstop("show", "kept", "--address", temporal_server)
    assert shown.stdout.startswith("kept  completed")


@pytest.mark.parametrize(
    ("command", "told"), [("journal", "the run completed"), ("transcript", "Hello"), ("output", "3 failed")]
)
def test_what_the_store_holds_of_a_run_is_told_without_a_server(folder: Path, command: str, told: str) -> None:
    del folder
    asyncio.run(keep())
    done = endstop(command, "kept")
    assert (done.exit_code, told in done.stdout) == (0, True)
    assert "no Temporal server answers at 127.0.0.1:" in done.stderr
    assert done.stderr.rstrip().endswith("what is shown is what the store holds")
    assert "no Temporal server answers at 127.0.0.1:" in refused(endstop(command, "nobody"), 1)


def test_without_a_command_the_help_is_shown_as_it_is() -> None:
    shown = CliRunner().invoke(cli.main, [])
    assert shown.exit_code == 2
    assert "\n  start " in shown.output


def test_the_help_has_the_summary_of_every_command_whole() -> None:
    shown = CliRunner().invoke(cli.main, ["--help"], terminal_width=80).output
    _, _, listed = shown.partition("Commands:\n")
    assert len(listed.splitlines()) == len(cli.main.commands)
    assert [line for line in listed.splitlines() if not line.endswith(".")] == []
    assert "..." not in listed


def test_an_output_that_is_full_is_one_line_on_stderr() -> None:
    command, root = [sys.executable, "-m", "cli", "--help"], Path(cli.__file__).parent
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=root, check=False)
    assert (done.returncode, done.stderr) == (1, "endstop: cannot write its output: No space left on device\n")
