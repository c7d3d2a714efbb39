"""Runs by the command line alone: real server, worker process, simulated models over HTTP, pytest as the gate.

One story is played once (start, watch, question, wrong answers, right answer, end) and then looked at from many sides.
"""

import asyncio
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

import pytest
from click.testing import CliRunner
from temporalio.client import Client, WorkflowHandle

import cli
from simulator.log import Received
from simulator.script import Script
from simulator.server import Simulator
from store import Store

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.timeout(600)  # a story takes a while on a busy machine
EXAMPLE = ROOT / "examples" / "fix-tests"
MARKER = "zebra-marker-4711 give one extra cent to some"
STUCK = """
models = ["openai:stuck"]
name = "stuck"
"""
THRIFTY = """
models = ["openai:thrifty"]
name = "thrifty"

[limits]
max_tokens = 500

[policy.spend]
limit_usd = 0.01
unknown_price = "ask"
"""
PRICE = """
[models."openai:thrifty"]
input_usd_per_mtok = 1
output_usd_per_mtok = 10
"""
STEP = {"kind": "tool_calls", "calls": [{"name": "no_such_tool"}]}
USED = {"usage": {"input_tokens": 300, "output_tokens": 400}}
KEYS = {"OPENAI_API_KEY": "key-marker-0815", "ANTHROPIC_API_KEY": "key-marker-0815"}


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Models:
    """The simulated models, in a thread of their own, so that a test may wait for what they received."""

    def __init__(self, script: Script) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._simulator = self._wait(Simulator(script).__aenter__())
        self.url = self._simulator.url

    @property
    def requests(self) -> tuple[Received, ...]:
        """What the models received so far."""
        return self._simulator.requests

    def expect_two_more(self) -> int:
        """The number of requests after the next two: a model that is stuck answers its first."""
        return len(self._simulator.requests) + 2

    def wait_for(self, count: int) -> None:
        self._wait(self._simulator.received(count))

    def close(self) -> None:
        self._wait(self._simulator.__aexit__())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _wait(self, action: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(action, self._loop).result(60)


@dataclass
class Stage:
    """A worker with its settings, and a shell to type commands into."""

    address: str
    folder: Path
    models: Models

    def begin(self, *args: str, stdin: Any = DEVNULL, stdout: Any = PIPE, text: bool = True) -> Popen[Any]:
        """A command as a process of its own, in the background."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("TEMPORAL_", "ENDSTOP_"))}
        command = [sys.executable, str(ROOT / "cli.py"), *args, "--address", self.address]
        return Popen(command, cwd=self.folder, env=clean | KEYS, stdin=stdin, stdout=stdout, stderr=PIPE, text=text)

    def endstop(self, *args: str, settings: str = "endstop.toml") -> Done:
        """A command in this process, to its end."""
        given = [*args, "--address", self.address]
        if args[0] != "watch":
            given += ["--settings", str(self.folder / settings)]
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            done = CliRunner().invoke(cli.main, given, env=KEYS)
        assert isinstance(done.exception, SystemExit | None), done.exception
        return Done(done.exit_code, done.stdout, done.stderr)

    def typed(self, text: str, *args: str) -> Done:
        """A command whose standard input is a terminal at which somebody types."""
        keyboard, terminal = pty.openpty()
        try:
            os.write(keyboard, text.encode())
            process = self.begin(*args, stdin=terminal)
            out, err = process.communicate()
        finally:
            os.close(keyboard)
            os.close(terminal)
        return Done(process.returncode, out, err)

    def ask(self, run: str, action: Any) -> Any:
        """Something that only a client can do to a run."""

        async def asked() -> Any:
            handle: WorkflowHandle[Any, Any] = (await Client.connect(self.address)).get_workflow_handle(run)
            return await action(handle)

        return asyncio.run(asked())


@pytest.fixture(scope="module")
def stage(temporal_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = Path(shutil.copytree(EXAMPLE, tmp_path_factory.mktemp("cli") / "example"))
    (folder / "stuck.toml").write_text(STUCK)
    (folder / "thrifty.toml").write_text(THRIFTY)
    script = Script.load(EXAMPLE / "script.toml").model_dump()
    script["models"] = {
        **script["models"],
        "stuck": [STEP, {"kind": "hang", "repeat": True}],
        "thrifty": [STEP | USED, {"kind": "text", "text": "done", **USED}],
    }
    models = Models(Script.parse(script))
    settings = (folder / "endstop.toml").read_text() + PRICE
    for vendor in ("https://api.openai.com", "https://api.anthropic.com"):
        settings = settings.replace(vendor, models.url)
    (folder / "endstop.toml").write_text('task_queue = "cli"\n' + settings)
    (folder / "away.toml").write_text('task_queue = "nobody"\n' + settings)
    (folder / "more.toml").write_text('task_queue = "cli"\n' + settings.replace("gates.tests", "gates.more"))
    stage = Stage(temporal_server, folder, models)
    worker = stage.begin("worker")
    yield stage
    worker.terminate()
    _, log = worker.communicate()
    models.close()
    assert worker.returncode == 0
    assert "marker" not in log


@dataclass
class Story:
    """What each command said."""

    said: dict[str, Done] = field(default_factory=dict)
    watched: str = ""
    watch_code: int | None = None

    def __getitem__(self, command: str) -> Done:
        return self.said[command]


def read_until(process: Popen[str], words: str) -> str:
    assert process.stdout
    seen = ""
    while words not in seen:
        text = process.stdout.readline()
        assert text, f"the command ended before it said {words!r}; it said:\n{seen}"
        seen += text
    return seen


@pytest.fixture(scope="module")
def story(stage: Stage) -> Story:
    story = Story()

    def note(name: str, *args: str) -> None:
        story.said[name] = stage.endstop(*args)

    note("started", "start", "agent.toml", "--task", "@task.md", "--id", "story", "-o", "json")
    watch = stage.begin("watch", "story")
    story.watched = read_until(watch, "asks a person")
    note("needs human", "ls", "--needs-human", "-o", "json")
    note("asked", "show", "story", "-o", "json")
    note("asked, in words", "show", "story")
    note("unfitting", "answer", "story", "resume")
    note("misspelt", "answer", "story", "giude")
    note("incomplete", "answer", "story", "guide")
    note("stray flag", "answer", "story", "retry", "--text", "x")
    note("stale", "answer", "story", "retry", "--intervention", "int-1", "--digest", "0" * 16)
    story.said["typed"] = stage.typed(f"guide\n{MARKER}\n", "answer", "story")
    assert watch.stdout
    story.watched += watch.stdout.read()
    story.watch_code = watch.wait()
    note("late", "answer", "story", "retry")
    note("duplicate", "start", "agent.toml", "--task", "x", "--id", "story")
    note("journal", "journal", "story")
    note("journal, tail", "journal", "story", "--after", "50", "-o", "json")
    note("journal, json", "journal", "story", "-o", "json")
    note("shown", "show", "story")
    note("transcript", "transcript", "story")
    note("transcript, json", "transcript", "story", "-o", "json")
    note("listed", "ls", "-o", "json")
    note("output", "output", "story")
    note("output of the gate, json", "output", "story", "tests", "-o", "json")
    note("output of no gate", "output", "story", "tets")
    return story


def test_watching_shows_every_attempt_wait_failover_charge_question_and_answer(story: Story) -> None:
    for words in (
        "t1.c1.a1 openai:gpt-5 failed rate_limited",
        "waited 2",
        "t1.c1.a2 openai:gpt-5 answered",
        "failed auth",
        "failover: openai:gpt-5 → anthropic:claude-sonnet-5-5, because auth_failed (auth)",
        "gate tests round 1: 1 failing item",
        "gate tests round 3: 1 failing item",
        "charged (4 so far), stopped by BudgetSpent",
        "endstop answer story guide",
        "answered guide after",
        "gate tests round 7: passed",
        "story  completed",
    ):
        assert words in story.watched
    assert story.watch_code == 0


def test_off_a_terminal_nothing_is_redrawn(story: Story) -> None:
    assert "\r" not in story.watched
    assert "\x1b" not in story.watched


def test_a_run_that_waits_for_a_person_is_listed_as_such_and_only_then(story: Story) -> None:
    (waiting,) = [run for run in story["needs human"].json if run["id"] == "story"]  # the server is shared
    assert waiting["intervention"] == "BudgetSpent"
    (ended,) = [run for run in story["listed"].json if run["id"] == "story"]
    assert (ended["state"], ended["intervention"]) == ("completed", "")


def test_showing_tells_what_is_asked_in_json_and_how_to_answer_in_words(story: Story) -> None:
    asked = story["asked"].json
    assert asked["state"] == "needs_human"
    assert asked["intervention"]["facts"] == {"gate": "tests", "charged": 4, "budget": 3}
    assert [gate["charges"] for gate in asked["gates"]] == [4]
    assert {row["target"]: row["failed"] for row in asked["targets"]} == {
        "openai:gpt-5": {"rate_limited": 1, "auth": 1},
        "anthropic:claude-sonnet-5-5": {},
    }
    assert 'endstop answer story guide --text "…"' in story["asked, in words"].out


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("unfitting", 1, "does not take 'resume'"),
        ("misspelt", 2, 'did you mean "guide"?'),
        ("incomplete", 2, "needs --text"),
        ("stray flag", 2, "--text does not go with 'retry'"),
        ("stale", 1, "stale"),
        ("late", 1, "asks nothing: it is completed"),
        ("duplicate", 1, "a run 'story' exists already"),
    ],
)
def test_what_cannot_be_taken_is_refused_in_one_line(story: Story, name: str, code: int, words: str) -> None:
    done = story[name]
    assert (done.code, done.out) == (code, "")
    (only,) = done.err.splitlines()
    assert words in only


def test_without_a_label_on_a_terminal_the_question_is_shown_and_asked(story: Story) -> None:
    done = story["typed"]
    assert done.code == 0
    assert "int-1 asks a person: BudgetSpent" in done.out
    assert "answered: guide" in done.out


def test_the_journal_explains_where_the_time_went(story: Story) -> None:
    text = story["journal"].out
    assert "retry in 2" in text
    assert "gate tests round 4: 1 failing item" in text
    assert "took " in text
    assert "waits 2" in text


def test_the_journal_in_json_holds_every_record_once_and_in_order(story: Story) -> None:
    records = story["journal, json"].json["records"]
    assert [record["seq"] for record in records] == list(range(1, len(records) + 1))
    assert {"attempt", "usage", "failover", "tools", "gate", "intervention", "answer", "run"} <= {
        record["type"] for record in records
    }
    assert story["journal, tail"].json["records"] == records[50:]


def test_the_transcript_holds_the_whole_conversation(story: Story) -> None:
    text = story["transcript"].out
    assert "Make them pass." in text
    assert "model calls write_file" in text
    assert f"A person says:\n{MARKER}" in text
    messages = story["transcript, json"].json
    assert messages[0]["kind"] == "request"
    assert messages[-1]["kind"] == "response"


def test_neither_task_nor_guidance_nor_key_is_in_history_or_journal(story: Story, stage: Stage) -> None:
    events = stage.ask("story", lambda handle: handle.fetch_history()).events
    history = b"".join(event.SerializeToString() for event in events)  # as JSON its payloads would be base64
    assert b"anthropic:claude-sonnet-5-5" in history
    for words in ("zebra-marker", "Make them pass", "key-marker"):
        assert words.encode() not in history
        assert words not in story["journal, json"].out


def test_history_stays_under_three_kilobytes_a_turn(story: Story, stage: Stage) -> None:
    events = stage.ask("story", lambda handle: handle.fetch_history()).events
    (turns,) = re.findall(r"turn (\d+)", story["shown"].out)[:1]
    assert sum(event.ByteSize() for event in events) / int(turns) <= 3_000


def test_an_attempt_in_flight_at_termination_is_shown_as_unknown(stage: Stage) -> None:
    count = stage.models.expect_two_more()
    stage.endstop("start", "stuck.toml", "--task", "x", "--id", "cut-off")
    stage.models.wait_for(count)
    stage.ask("cut-off", lambda handle: handle.terminate())
    shown = stage.endstop("show", "cut-off", "-o", "json")
    assert shown.json["state"] == "terminated"
    assert shown.json["unfinished"] == [{"id": "2.1.1", "target": "openai:stuck"}]
    journal = stage.endstop("journal", "cut-off")
    assert "t2.c1.a1 openai:stuck was under way and never ended: outcome unknown" in journal.out


def test_leaving_a_watch_leaves_the_run_going_and_a_stop_ends_it_with_who_and_why(stage: Stage) -> None:
    count = stage.models.expect_two_more()
    stage.endstop("start", "stuck.toml", "--task", "x", "--id", "told")
    stage.models.wait_for(count)
    watch = stage.begin("watch", "told")
    read_until(watch, "the run began")
    watch.send_signal(signal.SIGINT)
    _, parting = watch.communicate()
    assert (watch.returncode, parting) == (1, f"endstop: {cli.GOES_ON.format('endstop watch told')}\n")
    told = stage.endstop("tell", "told", "stop", "--reason", "enough", "-o", "json")
    assert told.json == {"id": "told", "directive": "stop", "intervention": ""}
    watched = stage.endstop("watch", "told", "-o", "json")
    *records, end = [json.loads(text) for text in watched.out.splitlines()]
    assert (watched.code, end["state"]) == (1, "stopped")
    assert records[-1]["what"] == "stopped"
    assert records[-1]["why"] == "enough"
    assert "@" in records[-1]["by"]


def test_a_run_stops_before_the_call_that_could_cross_its_limit_and_goes_on_once_it_is_raised(stage: Stage) -> None:
    watch = stage.begin("start", "thrifty.toml", "--task", "x", "--id", "thrifty", "--watch")
    seen = read_until(watch, "USD or more")
    assert "used 300 tokens in, 400 out, 0.0043 USD" in seen
    assert "spend limit: 0.0043 USD spent of 0.0100, and the next call goes to openai:thrifty" in seen
    (needed,) = re.findall(r"this call needs (\S+) USD or more", seen)
    nope = stage.endstop("tell", "thrifty", "model", "openai:nope")
    assert (nope.code, nope.out) == (1, "")
    assert "refused it: openai:nope is not a model of stage main" in nope.err
    guided = stage.endstop("tell", "thrifty", "guide", "be brief").out
    assert guided.startswith(
        "thrifty: told, the model reads it with the next call\nit still waits for a person (SpendLimit)"
    )
    assert "takes a number" in stage.endstop("answer", "thrifty", "raise", "a lot").err
    assert stage.endstop("answer", "thrifty", "raise", needed).code == 0
    rest, _ = watch.communicate()
    assert (watch.returncode, "thrifty  completed" in rest) == (0, True)
    for command in ("show", "journal", "transcript"):
        assert "\ncost 0.0086 USD\n" in stage.endstop(command, "thrifty").out
    (listed,) = [run for run in stage.endstop("ls", "-o", "json").json if run["id"] == "thrifty"]
    assert listed["cost_usd"] == pytest.approx(0.0086)


def test_what_the_worker_refuses_ends_the_run_and_the_watch_with_its_reason(stage: Stage) -> None:
    agent = (stage.folder / "agent.toml").read_text().replace('"tests"', '"more"')
    (stage.folder / "more-agent.toml").write_text(agent)
    start = ("start", "more-agent.toml", "--task", "x", "--id", "refused", "--watch")
    watched = stage.endstop(*start, settings="more.toml")
    assert watched.code == 1
    assert 'refused  failed: agent: stage main: unknown gate "more"; there are: tests' in watched.out
    assert "asks nothing: it is failed" in stage.endstop("answer", "refused", "retry").err


def test_the_output_of_a_failed_gate_can_be_had_whole_and_a_mistyped_gate_is_told(story: Story, stage: Stage) -> None:
    page, newest = story["output"].out, story["output of the gate, json"].json
    assert " failed" in page.splitlines()[-1]
    failed = [record for record in story["journal, json"].json["records"] if record.get("output")]
    assert (newest["gate"], newest["round"], newest["ref"], newest["output"]) == (
        "tests",
        failed[-1]["round"],
        failed[-1]["output"],
        page,
    )
    first = stage.endstop("output", "story", failed[0]["output"])
    assert (first.code, first.out != page) == (0, failed[0]["output"] != newest["ref"])
    refused = story["output of no gate"]
    assert (refused.code, refused.out) == (1, "")
    assert "no gate 'tets' has failed; did you mean \"tests\"?" in refused.err
    assert "content '000000000000000000000000' is not in the store" in stage.endstop("output", "story", "0" * 24).err


def test_an_output_commands_no_terminal_and_is_passed_on_byte_by_byte(story: Story, stage: Stage) -> None:
    hostile = b"\x1b[2J\x9b1m\xff\r\n"

    async def put() -> str:
        store = await Store.open(f"sqlite:///{stage.folder}/.endstop/store.db")
        ref = await store.put(hostile)
        await store.close()
        return ref

    ref = asyncio.run(put())
    screen, terminal = pty.openpty()
    process = stage.begin("output", "story", ref, stdout=terminal)
    process.wait()
    os.close(terminal)
    assert os.read(screen, 1_000) == "\\x1b[2J\ufffd1m\ufffd\\x0d\r\n\r\n".encode()
    os.close(screen)
    process = stage.begin("output", "story", ref, text=False)
    assert process.communicate()[0] == hostile


def test_without_a_worker_a_run_is_shown_from_the_store_and_says_so(stage: Stage) -> None:
    stage.endstop("start", "agent.toml", "--task", "x", "--id", "lonely", settings="away.toml")
    shown = stage.endstop("show", "lonely", settings="away.toml")
    assert shown.code == 0
    assert "no worker answers for this run" in shown.out
    answered = stage.endstop("answer", "lonely", "retry")
    assert answered.code == 1
    assert "no worker is there to ask" in answered.err


@pytest.mark.parametrize(
    ("more", "told"),
    [
        pytest.param({}, "The gate runs in a sandbox", id="in a sandbox"),
        pytest.param(
            {"PATH": "/nowhere"},
            'runs its gate with sandbox = "none"',
            id="on a machine without bubblewrap",
            marks=pytest.mark.full,
        ),
    ],
)
def test_the_tour_plays_to_its_end_without_a_terminal_and_cleans_up(
    tmp_path: Path, more: dict[str, str], told: str
) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path), "TEMPORAL_ADDRESS": "127.0.0.1:1", "ENDSTOP_CONFIG": "/nope"}
    tour = subprocess.run(
        [sys.executable, str(ROOT / "cli.py"), "demo"],
        cwd=tmp_path,
        env=environment | more,
        stdin=DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (tour.returncode, tour.stderr) == (0, "")
    for words in (
        "failover",
        "charged (4 so far)",
        "endstop answer tour guide",
        "round 7: passed",
        "tour  completed",
        told,
    ):
        assert words in tour.stdout
    assert list(tmp_path.iterdir()) == []
