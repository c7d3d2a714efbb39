"""Kills a worker at a step of a run, starts another, and says what came of the run. Which steps there are: `kills`."""

import asyncio
import json
import shutil
import signal
import sqlite3
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError

from tests.faults.conftest import Stage, eventually, staged
from tests.faults.invariants import invariants_hold, requests_of
from tests.faults.proxy import Proxy

if TYPE_CHECKING:
    from tests.faults.kills import Kill

HERE = Path(__file__).parent
MODELS = {"models": ["openai:gpt-5"]}


@dataclass
class Scene:
    """A run that is brought to a step."""

    stage: Stage
    proxy: Proxy
    run: WorkflowHandle[Any, Any]
    queue: str
    """Of the worker elsewhere."""
    other: Process | None = None
    """The worker elsewhere, once it was started."""
    victim: Process | None = None
    """Who is killed; None: our own worker."""
    drains: list[asyncio.Task[bytes]] = field(default_factory=list)

    async def marked(self, word: str) -> bool:
        """Whether the operator's function, or a command in its workspace, left this word."""
        return word in self.marks()

    def marks(self) -> list[str]:
        found = [self.stage.folder / "marks", *(self.stage.folder / ".endstop" / "workspaces").glob("*/*/marks")]
        return [word for file in found if file.exists() for word in file.read_text().split()]

    def let_go(self) -> None:
        """No function holds still from here on."""
        (self.stage.folder / "go").touch()

    @property
    def store(self) -> Path:
        return self.stage.folder / ".endstop" / "store.db"

    @contextmanager
    def store_locked(self) -> Iterator[None]:
        """Keep every writer out of the store; readers are let in."""
        connection = sqlite3.connect(self.store, isolation_level=None, timeout=30)
        connection.execute("BEGIN EXCLUSIVE")
        try:
            yield
        finally:
            connection.rollback()
            connection.close()

    async def stored(self, which: str) -> bool:
        """Whether the store holds a message of the run of which this is true, in SQL."""
        connection = sqlite3.connect(self.store)
        wanted = f"SELECT count(*) FROM messages WHERE conversation = ? AND {which}"
        (count,) = connection.execute(wanted, (self.run.first_execution_run_id,)).fetchone()
        connection.close()
        return bool(count)

    async def answer_begun(self) -> bool:
        """Whether the worker told the server that bytes of an answer came."""
        described = await self.run.describe()
        return any(
            json.loads(payload.data).get("phase") == "streaming"
            for activity in described.raw_description.pending_activities
            for payload in activity.heartbeat_details.payloads
        )

    async def scheduled(self, activity: str) -> bool:
        described = await self.run.describe()
        return any(each.activity_type.name == activity for each in described.raw_description.pending_activities)

    async def completed(self, activity: str) -> bool:
        events = (await self.run.fetch_history()).events
        named = {
            event.event_id
            for event in events
            if event.activity_task_scheduled_event_attributes.activity_type.name == activity
        }
        return any(event.activity_task_completed_event_attributes.scheduled_event_id in named for event in events)

    async def stop_taking_work(self) -> None:
        """Tell our worker to stop; what is in flight goes on, and nothing new is taken."""
        assert self.stage.process
        self.stage.process.send_signal(signal.SIGTERM)

        async def stopping() -> bool:
            return any(b"worker.stopping" in line for line in self.stage.log)

        await eventually(stopping)

    async def bells(self) -> None:
        """Start the worker elsewhere, and end the one that was there."""
        command = (sys.executable, str(HERE / "bell_worker.py"), self.stage.client.service_client.config.target_host)
        self.other = await asyncio.create_subprocess_exec(
            *command, self.queue, str(self.stage.folder), stdin=DEVNULL, stdout=PIPE
        )
        assert self.other.stdout
        await self.other.stdout.readline()
        self.drains.append(asyncio.create_task(self.other.stdout.read()))

    async def end_bells(self) -> None:
        if self.other and self.other.returncode is None:
            self.other.kill()
            await self.other.wait()
        await asyncio.gather(*self.drains)


@dataclass(frozen=True, kw_only=True)
class Survived:
    """What came of a run whose worker was killed."""

    attempts: list[str]
    requests: int
    ran: int
    asked: str
    ran_after: int
    """After the person's word, where it asked."""
    polled_s: float
    """From the start of the new worker process until it takes work."""
    resumed_s: float
    """From the start of the new worker process to the first task of the run that was taken, as history has it."""
    went_on_s: float
    """From the start of the new worker process to the end of the run, or to its question."""

    def fits(self, kill: "Kill") -> bool:
        """Whether it is what the matrix says."""
        ran_after = kill.ran if kill.ran_after is None else kill.ran_after
        expected = (kill.attempts, kill.requests, kill.ran, kill.asks, ran_after)
        return (self.attempts, self.requests, self.ran, self.asked, self.ran_after) == expected


async def killed(kill: "Kill", client: Client, address: str, folder: Path) -> Survived:
    """Play one row of the matrix; all invariants are checked."""
    queue = f"bells-{folder.name}-{time.monotonic_ns()}"
    _furnish(folder)
    settings = kill.settings.replace("BELLS", queue)
    script = {"models": {"gpt-5": kill.script}}
    async with Proxy(address) as proxy, staged(client, proxy.address, folder, script, settings) as stage:
        run = await stage.start(MODELS | kill.agent)
        scene = Scene(stage, proxy, run, queue)
        async with _cleared(scene):
            async with kill.reach(scene):
                await _kill(scene)
            began, restarted = time.monotonic(), time.time()
            await (scene.bells() if scene.victim else stage.work())
            polled_s = time.monotonic() - began
            asked = await eventually(lambda: _settled(run))
            went_on_s = time.monotonic() - began
            ran = scene.marks().count("ran")
            label = asked.get("label", "")
            if label == kill.asks:  # another question stays open, and is what came of the run
                await _answered(run, asked, kill)
            journal = await invariants_hold(stage, run)
            resumed_s = await _resumed_at(run, restarted) - restarted
            return Survived(
                attempts=_attempts(journal),
                requests=len(requests_of(stage, run)),
                ran=ran,
                asked=label,
                ran_after=scene.marks().count("ran"),
                polled_s=polled_s,
                resumed_s=resumed_s,
                went_on_s=went_on_s,
            )


def _furnish(folder: Path) -> None:
    from tests.faults.kills import COMMAND

    shutil.copy(HERE / "bells.py", folder)
    (folder / "project").mkdir()
    (folder / "project" / "check.py").write_text(COMMAND)


@asynccontextmanager
async def _cleared(scene: Scene) -> AsyncIterator[None]:
    try:
        yield
    finally:
        scene.let_go()
        await scene.end_bells()


async def _kill(scene: Scene) -> None:
    if scene.victim is None:
        await scene.stage.kill()
    else:
        scene.victim.kill()
        await scene.victim.wait()


async def _answered(run: WorkflowHandle[Any, Any], asked: dict[str, Any], kill: "Kill") -> None:
    if kill.asks:
        bound = {"intervention": asked["id"], "digest": asked["digest"]}
        await run.execute_update("answer", kill.word | bound)
    await run.result()


async def _resumed_at(run: WorkflowHandle[Any, Any], restarted: float) -> float:
    """When a worker first took a task of the run after this moment; both in unix seconds, on one machine."""
    started = (EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED, EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED)
    events = (await run.fetch_history()).events
    times = (event.event_time.ToNanoseconds() / 1e9 for event in events if event.event_type in started)
    return min(at for at in times if at > restarted)


async def _settled(run: WorkflowHandle[Any, Any]) -> dict[str, Any] | None:
    """The open question, or the status where the run has ended; None where neither, or where nobody polls yet."""
    with suppress(RPCError):
        if asked := await run.query("intervention"):
            return dict(asked)
        status = await run.query("status")
        return {"ended": status["status"]} if status["status"] in ("completed", "stopped") else None
    return None


def _attempts(journal: list[dict[str, Any]]) -> list[str]:
    return [_attempt(record) for record in journal if record["type"] == "attempt"]


def _attempt(record: dict[str, Any]) -> str:
    if record["outcome"] == "succeeded":
        return f"ok from {record['recovered']}" if record.get("recovered") else "ok"
    return record["outcome"]["failed"]["kind"] + ("?" if record.get("outcome_unknown") else "")
