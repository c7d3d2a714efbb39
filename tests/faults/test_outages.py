"""The server killed and the network cut while a call is in flight or under load (FAULTS 10-15; I1-I8).

What a provider answered while nobody could be told is in the store: it is used, and asked for once.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, WorkflowHandle
from temporalio.common import WorkflowIDReusePolicy
from temporalio.service import RPCError

from tests.faults.conftest import TEXT, Stage, staged
from tests.faults.disks import no_room
from tests.faults.invariants import invariants_hold, requests_of
from tests.faults.mortal import MortalServer
from tests.faults.proxy import Proxy
from workflows.payloads import data_converter

AGENT = {"models": ["openai:gpt-5"]}
HELD = {"models": {"gpt-5": [TEXT | {"held_until": "away"}]}}


async def answered_once(act: Stage, run: WorkflowHandle[Any, Any]) -> None:
    """The run has its answer, and one request was paid for it."""
    result = await run.result()
    assert (result["status"], result["answer"]) == ("completed", "done")
    journal = await invariants_hold(act, run)
    assert len(requests_of(act, run)) == 1
    *lost, won = (record for record in journal if record["type"] == "attempt")
    assert won["outcome"] == "succeeded"
    assert won.get("recovered", "") == (lost[0]["id"] if lost else "")
    assert all(attempt["outcome_unknown"] for attempt in lost)


# ---- the server is killed


@asynccontextmanager
async def mortal(
    folder: Path, script: dict[str, Any], log: Path | None = None
) -> AsyncIterator[tuple[MortalServer, Stage]]:
    async with MortalServer(folder, log=log) as server:
        client = await Client.connect(server.address, data_converter=data_converter)
        async with staged(client, server.address, folder, script) as act:
            yield server, act


@pytest.mark.parametrize("away_s", [5, pytest.param(25, marks=pytest.mark.full)])
async def test_an_answer_that_comes_while_the_server_is_dead_is_used_and_paid_once(tmp_path, away_s):  # FAULTS 10, 11
    async with mortal(tmp_path, HELD) as (server, act):
        run = await act.start(AGENT)
        await act.simulator.received(1)
        await server.kill()
        act.simulator.release("away")
        assert (await act.simulator.finished(1)).outcome == "sent"
        await asyncio.sleep(away_s)  # the length of the outage is the fault
        await server.start()
        await answered_once(act, run)


@pytest.mark.full
async def test_a_server_without_room_refuses_a_start_whole_and_loses_no_answer(tmp_path):  # FAULTS 15
    script = {"models": {"gpt-5": [TEXT | {"held_until": "full"}], "gpt-5-mini": [TEXT]}}
    async with mortal(tmp_path, script, log=Path(os.devnull)) as (server, act):  # where it says so takes room too
        run = await act.start(AGENT)
        await act.simulator.received(1)
        begin = partial(
            act.client.start_workflow,
            "AgentWorkflow",
            {"agent": {"models": ["openai:gpt-5-mini"]}, "task": "do it"},
            id="refused",
            task_queue=act.queue,
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
        )
        with no_room(server.pid):
            with pytest.raises(RPCError):
                await begin(rpc_timeout=timedelta(seconds=1))
            act.simulator.release("full")
            assert (await act.simulator.finished(1)).outcome == "sent"
        await answered_once(act, run)
        again = await begin()
        assert (await again.result())["status"] == "completed"
        await invariants_hold(act, again)


LOAD, ROUNDS = 12, 4
_SOON = timedelta(seconds=2)


@pytest.mark.full
async def test_no_start_and_no_signal_that_the_server_took_is_lost_when_it_is_killed_under_load(tmp_path):  # FAULTS 14
    slow = {"models": {"gpt-5": [TEXT | {"delay_s": 2, "when_contains": "begin"}, TEXT | {"repeat": True}]}}
    async with mortal(tmp_path, slow) as (server, act):
        runs: list[WorkflowHandle[Any, Any]] = []
        told: list[str] = []

        async def load() -> None:
            """Start runs and tell each something, noting what the server acknowledged."""
            while len(runs) < LOAD:
                try:
                    run = await act.start(AGENT, "begin", rpc_timeout=_SOON)
                    runs.append(run)
                    await run.signal("intervene", {"directive": "guide", "text": "more"}, rpc_timeout=_SOON)
                    told.append(run.id)
                except RPCError:
                    continue  # not acknowledged: the server is away

        loading = asyncio.create_task(load())
        for _ in range(ROUNDS):
            await asyncio.sleep(1.5)
            await server.kill()
            await server.start()
        await loading
        for run in runs:
            assert (await run.result())["status"] == "completed"
            journal = await invariants_hold(act, run)
            heard = [record for record in journal if record["type"] == "directive"]
            assert len(heard) >= (run.id in told)


# ---- the network is cut


@pytest.mark.full
@pytest.mark.parametrize("outage", ["cut", "swallow"])
@pytest.mark.parametrize("away_s", [8, 12, 45])
async def test_an_answer_that_comes_while_the_server_is_out_of_reach_is_used_and_paid_once(
    client, temporal_server, tmp_path, outage, away_s
):  # FAULTS 12, 13
    async with Proxy(temporal_server) as proxy, staged(client, proxy.address, tmp_path, HELD) as act:
        run = await act.start(AGENT)
        await act.simulator.received(1)
        getattr(proxy, outage)()
        act.simulator.release("away")
        assert (await act.simulator.finished(1)).outcome == "sent"
        await asyncio.sleep(away_s)  # as above
        proxy.mend()
        await answered_once(act, run)
