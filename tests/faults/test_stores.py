"""Stores of two kinds, shared by workers, and in trouble in the middle of a run, which waits and loses nothing."""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from temporalio.client import WorkflowHandle

from store import Store
from tests.faults.conftest import TEXT, Stage, eventually
from tests.faults.disks import no_room
from tests.faults.invariants import invariants_hold, requests_of

SHOP = """
def stock(of: int) -> str:
    '''How many are left.'''
    return f"{of} of them"
"""
STOCK = '[tools.stock]\nfunction = "shop:stock"\n'
AGENT = {"models": ["openai:gpt-5"], "tools": ["stock"]}
ROUNDS = 2
ALL_MESSAGES = ["user", *["assistant", "tool"] * ROUNDS, "assistant"]


def script(**of_the_first: Any) -> dict[str, Any]:
    """A model that asks for the stock of one thing after another, then is done."""
    calls = [{"kind": "tool_calls", "calls": [{"name": "stock", "arguments": {"of": n}}]} for n in range(ROUNDS)]
    return {"models": {"gpt-5": [{**calls[0], **of_the_first}, *calls[1:], TEXT]}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(SHOP)
    return tmp_path


@pytest.fixture
def cluster(postgres):
    """The server, running again after the test whatever that did to it."""
    yield postgres
    if not postgres.runs():
        postgres.start()


@pytest.fixture
def url(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store that no worker has as its default."""
    return f"sqlite:///{tmp_path}/kept/shared.db" if kind == "sqlite" else request.getfixturevalue("cluster").database()


both = pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
remote = pytest.mark.parametrize("kind", ["postgresql"])
local = pytest.mark.parametrize("kind", ["sqlite"])


@pytest.fixture
def begun(stage: Callable[..., Any], folder: Path, url: str) -> Callable[..., Any]:
    """Give it a script; it gives a stage whose workers use the store at `url`, and a run whose first call is out."""

    async def begin(told: dict[str, Any]) -> tuple[Stage, WorkflowHandle]:
        act = await stage(told, f'{STOCK}[store]\nurl = "{url}"\n')
        run = await act.start(AGENT)
        await act.simulator.received(1)
        return act, run

    return begin


async def troubled(act: Stage) -> None:
    """Wait until a worker says that its store does not work."""

    async def said() -> bool:
        return any(b"store.troubled" in line for line in act.log)

    await eventually(said)


async def completed_whole(act: Stage, run: WorkflowHandle, url: str) -> list[dict[str, Any]]:
    """The run is done, nothing failed, and the store holds every message and every record once and in order."""
    assert (await run.result())["status"] == "completed"
    journal = await invariants_hold(act, run)
    name = run.first_execution_run_id
    store = await Store.open(url)
    messages = await store.read(await store.latest(name))
    records = await store.read_journal(name)
    assert await store.unused_answers(name) == []
    await store.close()
    assert len(messages) == len(ALL_MESSAGES)
    assert [record["seq"] for record in records] == list(range(1, len(records) + 1))
    assert [record["type"] for record in records] == [record["type"] for record in journal]
    return [record for record in journal if record["type"] == "attempt"]


async def cost_nothing(act: Stage, run: WorkflowHandle, url: str) -> None:
    """Whatever happened, it took one request a turn, and each was answered."""
    attempts = await completed_whole(act, run, url)
    assert [attempt["id"] for attempt in attempts] == [f"{turn}.1.1" for turn in range(1, ROUNDS + 2)]
    assert {attempt["outcome"] for attempt in attempts} == {"succeeded"}
    assert not any(attempt.get("recovered") for attempt in attempts)
    assert len(requests_of(act, run)) == ROUNDS + 1


@both
async def test_a_run_keeps_its_content_in_the_store_that_the_url_names(begun, url, folder):
    act, run = await begun(script())
    await cost_nothing(act, run, url)
    assert not (folder / ".endstop" / "store.db").exists()


@both
@pytest.mark.full
async def test_workers_with_folders_of_their_own_share_the_work_of_every_run(begun, url, folder):
    act, first = await begun(script(held_until="all are here"))
    other = Stage(act.client, act.address, folder / "other", act.simulator, act.queue)
    other.folder.mkdir()
    for name in ("endstop.toml", "shop.py"):
        shutil.copy(folder / name, other.folder)
    try:
        await other.work()
        runs = [first, *[await act.start(AGENT) for _ in range(7)]]
        await act.simulator.received(len(runs))
        act.simulator.release("all are here")
        for run in runs:
            await cost_nothing(act, run, url)
        assert len({worker for run in runs for worker in await workers_of(run)}) == 2
    finally:
        await other.rest()


async def workers_of(run: WorkflowHandle) -> set[str]:
    """Who carried out its calls and tools."""
    events = (await run.fetch_history()).events
    return {e.activity_task_started_event_attributes.identity for e in events} - {""}


@local
async def test_a_file_locked_for_longer_than_a_statement_waits_costs_a_run_nothing(begun, url):
    act, run = await begun(script(held_until="locked"))
    with sqlite3.connect(url.removeprefix("sqlite:///")) as database:
        database.execute("BEGIN IMMEDIATE")
        act.simulator.release("locked")
        await troubled(act)
    await cost_nothing(act, run, url)


@local
async def test_a_disk_that_takes_nothing_for_a_while_costs_a_run_nothing(begun, url):  # FAULTS 15
    act, run = await begun(script(held_until="full"))
    with no_room(act.process.pid):
        act.simulator.release("full")
        await troubled(act)
    await cost_nothing(act, run, url)


@remote
async def test_a_connection_killed_in_the_middle_of_storing_an_answer_costs_a_run_nothing(begun, url, cluster):
    act, run = await begun(script(held_until="locked"))
    with psycopg.connect(url) as database:
        database.execute("LOCK TABLE messages IN ACCESS EXCLUSIVE MODE")
        act.simulator.release("locked")

        async def storing() -> list[int]:
            return cluster.waiting(url)

        cluster.kill(*await eventually(storing))
        await troubled(act)
    await cost_nothing(act, run, url)


@remote
async def test_connections_killed_again_and_again_cost_a_run_nothing(begun, url, cluster):
    act, run = await begun(script())
    ended = asyncio.create_task(run.result())
    while not ended.done():
        cluster.cut(url)
        await asyncio.wait([ended], timeout=0.05)
    await cost_nothing(act, run, url)


@remote
@pytest.mark.parametrize(
    "away_s",
    [
        pytest.param(8, id="longer than a lost worker is waited for and than four attempts take"),
        pytest.param(20, id="20 s", marks=pytest.mark.full),
        pytest.param(75, id="longer than an activity waits", marks=pytest.mark.full),
    ],
)
@pytest.mark.full
async def test_a_server_that_is_away_when_the_answer_comes_costs_a_run_nothing(begun, url, cluster, away_s):
    act, run = await begun(script(held_until="away"))
    cluster.stop()
    act.simulator.release("away")
    await troubled(act)
    await asyncio.sleep(away_s)  # the fault itself
    cluster.start()
    await cost_nothing(act, run, url)


@remote
@pytest.mark.full
async def test_a_server_that_is_away_before_a_call_is_made_delays_it(begun, url, cluster):
    limited = {"kind": "error", "error": "rate_limited", "retry_after_s": 3}
    told = script()
    act, run = await begun({"models": {"gpt-5": [limited, *told["models"]["gpt-5"]]}})

    async def waiting_inside() -> bool:
        flying = (await run.query("ledger"))["in_flight"]
        return bool(flying and flying["id"] == "1.1.2")

    await eventually(waiting_inside)
    cluster.stop()
    await troubled(act)
    assert len(act.simulator.requests) == 1
    cluster.start()
    attempts = await completed_whole(act, run, url)
    assert [attempt["id"] for attempt in attempts] == ["1.1.1", "1.1.2", "2.1.1", "3.1.1"]
    assert [attempt["outcome"] == "succeeded" for attempt in attempts] == [False, True, True, True]


@remote
async def test_a_run_started_while_the_server_is_away_begins_when_it_is_back(begun, url, cluster):
    act, first = await begun(script())
    await cost_nothing(act, first, url)
    cluster.stop()
    second = await act.start(AGENT)
    await troubled(act)
    cluster.start()
    await cost_nothing(act, second, url)
