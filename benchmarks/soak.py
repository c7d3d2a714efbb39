"""Runs under constant faults: `python -m benchmarks.soak --minutes N [--seed S]`.

Several runs at once with gates, tools and approvals, answered by a scripted person; meanwhile workers and the server
are killed, workers are stopped, and the network is cut. Then everything is mended, the runs are brought to their end,
and what must hold of each is checked. Prints what happened and the seed; exit code 1 on a violation.
"""

import argparse
import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from temporalio.client import (
    Client,
    WorkflowHandle,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.runtime import LoggingConfig, Runtime, TelemetryConfig
from temporalio.service import RPCError
from temporalio.worker import Worker

from benchmarks import soak_cast
from benchmarks.rig import table
from tests.faults.conftest import Stage, staged
from tests.faults.invariants import invariants_hold, requests_of
from tests.faults.mortal import MortalServer
from tests.faults.proxy import Proxy
from workflows.payloads import data_converter

AT_ONCE: Final = 6
"""Runs that are open at the same time."""
PAUSE_S: Final = (1.0, 6.0)
"""Between two faults."""
OUTAGE_S: Final = (1.0, 14.0)
DRAIN_S: Final = 900.0
"""In which all runs must have ended once everything is mended; a guard against hangs."""
SOON: Final = timedelta(seconds=5)
NOBODY_THERE: Final = (RPCError, WorkflowQueryFailedError, WorkflowUpdateRPCTimeoutOrCancelledError)
"""What asking and answering come to while the server or all workers are away."""

QUIET: Final = Runtime(telemetry=TelemetryConfig(logging=LoggingConfig(filter="ERROR")))
"""A server that is away is what we are here for: the SDK need not warn of it in between."""

Run = WorkflowHandle[Any, Any]


@dataclass
class Soak:
    """What is going on."""

    lots: random.Random
    server: MortalServer
    proxy: Proxy
    workers: list[Stage]
    runs: list[Run] = field(default_factory=list)
    ended: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def stage(self) -> Stage:
        return self.workers[0]

    @property
    def open(self) -> list[Run]:
        return [run for run in self.runs if run.id not in self.ended]

    # ---- load

    async def keep_starting(self, until: float) -> None:
        """Keep so many runs open."""
        while time.monotonic() < until:
            if len(self.open) < AT_ONCE:
                with suppress(RPCError):  # the server is away: nothing was promised
                    agent = soak_cast.agent(self.lots)
                    self.runs.append(await self.stage.start(agent, rpc_timeout=SOON))
            await asyncio.sleep(0.2)

    async def keep_answering(self) -> None:
        """Answer whoever asks, and note who ended."""
        while True:
            for run in self.open:
                with suppress(*NOBODY_THERE):
                    await self._look_after(run)
            await asyncio.sleep(0.3)

    async def _look_after(self, run: Run) -> None:
        status = await run.query("status", rpc_timeout=SOON)
        if status["status"] in ("completed", "stopped"):
            self.ended.add(run.id)
            self.counts[f"runs {status['status']}"] += 1
        elif asked := await run.query("intervention", rpc_timeout=SOON):
            with suppress(WorkflowUpdateFailedError):  # taken already, and its answer was lost on the way
                await run.execute_update("answer", soak_cast.word(self.lots, asked), rpc_timeout=SOON)

    # ---- faults

    async def keep_breaking(self, until: float) -> None:
        """One fault after the other."""
        faults = [self._kill_worker, self._kill_worker, self._stop_worker, self._kill_server, self._cut, self._swallow]
        while time.monotonic() < until:
            await asyncio.sleep(self.lots.uniform(*PAUSE_S))
            await self.lots.choice(faults)()

    async def _kill_worker(self) -> None:
        worker = self.lots.choice(self.workers)
        await worker.kill()
        self.counts["workers killed"] += 1
        await worker.work()

    async def _stop_worker(self) -> None:
        worker = self.lots.choice(self.workers)
        await worker.rest()
        self.counts["workers stopped"] += 1
        await worker.work()

    async def _kill_server(self) -> None:
        await self.server.kill()
        self.counts["servers killed"] += 1
        await asyncio.sleep(self.lots.uniform(0, OUTAGE_S[1] / 2))
        await self.server.start()

    async def _cut(self) -> None:
        self.proxy.cut()
        self.counts["networks cut"] += 1
        await asyncio.sleep(self.lots.uniform(*OUTAGE_S))
        self.proxy.mend()

    async def _swallow(self) -> None:
        self.proxy.swallow()
        self.counts["networks congested"] += 1
        await asyncio.sleep(self.lots.uniform(*OUTAGE_S))
        self.proxy.mend()

    async def drain(self) -> list[str]:
        """Wait until all runs have ended; returns what is open in the end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                while self.open:  # noqa: ASYNC110 - the person notes who ended
                    await asyncio.sleep(0.5)
        return [f"{run.id} is still {(await run.query('status'))['status']}" for run in self.open]


async def soaked(minutes: float, seed: int) -> tuple[Soak, list[str]]:
    """Soak, drain and check. Returns what happened and what is violated."""
    with TemporaryDirectory() as kept:
        folder = Path(kept)
        soak_cast.furnish(folder)
        async with _begun(folder, random.Random(seed)) as (soak, shop):
            until = time.monotonic() + minutes * 60
            async with asyncio.TaskGroup() as group:  # a person who is no more fails the soak at once
                person = group.create_task(soak.keep_answering())
                await asyncio.gather(soak.keep_starting(until), soak.keep_breaking(until))
                violations = await soak.drain()
                person.cancel()
            for run in soak.runs:
                violations += await checked(soak, run, shop, folder)
    return soak, violations


@asynccontextmanager
async def _begun(folder: Path, lots: random.Random) -> AsyncIterator[tuple[Soak, soak_cast.Shop]]:
    async with AsyncExitStack() as closing:
        server = await closing.enter_async_context(MortalServer(folder))
        proxy = await closing.enter_async_context(Proxy(server.address))
        client = await Client.connect(server.address, data_converter=data_converter, runtime=QUIET)
        shop = soak_cast.Shop()
        settings = soak_cast.SETTINGS.replace("ELSEWHERE", "soak-shop")
        script = soak_cast.script(lots)
        staging = staged(client, proxy.address, folder, script, settings)
        first = await closing.enter_async_context(staging)
        second = replace(first, log=[], process=None, reading=None)
        await second.work()
        closing.push_async_callback(second.rest)
        await closing.enter_async_context(Worker(client, task_queue="soak-shop", activities=[shop.refund, shop.charge]))
        yield Soak(lots=lots, server=server, proxy=proxy, workers=[first, second]), shop


async def checked(soak: Soak, run: Run, shop: soak_cast.Shop, folder: Path) -> list[str]:
    """The invariants of one run, counting what it went through. Returns what is violated."""
    try:
        journal = await invariants_hold(soak.stage, run)
    except (AssertionError, RPCError, RuntimeError) as violated:
        return [f"{run.id}: {type(violated).__name__} {violated}"]
    await _count(soak, run, journal)
    retried = sum(1 for record in journal if (record["type"], record.get("label")) == ("answer", "OutcomeUnknown"))
    shipped = Counter(line for line in (folder / "marks").read_text().split() if _of(run, line))
    called = Counter({activity: times for (workflow, activity), times in shop.ran.items() if workflow == run.id})
    twice = sum(times - 1 for times in (*shipped.values(), *called.values()))
    return [f"{run.id}: {twice} calls ran again, a person allowed {retried}"] if twice > retried else []


def _of(run: Run, key: str) -> bool:
    return key.startswith(f"{run.first_execution_run_id}/")


async def _count(soak: Soak, run: Run, journal: list[dict[str, Any]]) -> None:
    requests = requests_of(soak.stage, run)
    soak.counts["requests"] += len(requests)
    charged = {record["attempt_id"] for record in journal if record["type"] == "usage"}
    recovered = {record.get("recovered") for record in journal}
    for request in requests:
        answer = await soak.stage.simulator.finished(request.seq)
        if (answer.reply, answer.outcome) in (("text", "sent"), ("tool_calls", "sent")):
            soak.counts["answers"] += 1
            soak.counts["answers not charged"] += not {request.attempt} & (charged | recovered)
    for record in journal:
        match record["type"]:
            case "attempt":
                soak.counts["attempts"] += 1
                soak.counts["attempts of unknown outcome"] += record.get("outcome_unknown", False)
                soak.counts["answers recovered"] += bool(record.get("recovered"))
            case "intervention":
                soak.counts[f"asked {record['label']}"] += 1
            case "failover" | "gate" as kind:
                soak.counts[f"{kind} records"] += 1


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--seed", type=int, default=None, help="a number that draws the same lots again")
    given = parser.parse_args()
    seed = random.randrange(2**32) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    soak, violations = asyncio.run(soaked(given.minutes, seed))
    table(("what", "how often"), [("runs", len(soak.runs)), *sorted(soak.counts.items())])
    for violation in violations:
        print(f"VIOLATED {violation}")
    print(f"seed {seed}: {len(violations)} violations")
    return int(bool(violations))


if __name__ == "__main__":
    sys.exit(main())
