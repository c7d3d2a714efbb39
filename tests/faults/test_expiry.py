"""What is old is removed by a schedule that the worker keeps, and every state of a captured request is reached."""

import sqlite3

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.service import RPCError

from activities.expiry_schedule import keep_schedule, schedule_id
from tests.faults.conftest import TEXT, eventually, records

MARKER = "MARKER-9b1f"
AGENT = {"models": ["openai:gpt-5"], "policy": {"capture": True, "calls": {"attempts": 1}}}
REFUSED = {"kind": "raw", "status": 401, "body": {"error": {"message": f"{MARKER} bad key"}}}
LONG_AGO = 1_000_000


async def schedule_of(client: Client, queue: str):
    return (await client.get_schedule_handle(schedule_id(queue)).describe()).schedule


def files(act) -> bytes:
    return b"".join(path.read_bytes() for path in (act.folder / ".endstop").glob("store.db*"))


def store_of(act) -> sqlite3.Connection:
    return sqlite3.connect(act.folder / ".endstop" / "store.db")


async def test_the_schedule_removes_old_requests_and_error_details_from_the_file_and_says_so(stage, client):
    act = await stage({"models": {"gpt-5": [REFUSED, TEXT]}}, "[capture]\nexpires_days = 7\n")
    run = await act.start(AGENT, f"{MARKER} do it")
    await eventually(lambda: run.query("intervention"))
    with store_of(act) as database:
        assert database.execute("SELECT attempt, status FROM captures").fetchall() == [("1.1.1", "retained")]
        database.execute(f"UPDATE captures SET at = {LONG_AGO}")
        database.execute(f"UPDATE details SET at = {LONG_AGO}")
    await run.execute_update("answer", "retry")
    await run.result()

    await client.get_schedule_handle(schedule_id(act.queue)).trigger()

    async def expired():
        described = await client.get_schedule_handle(schedule_id(act.queue)).describe()
        if not described.info.recent_actions:
            return None
        action = described.info.recent_actions[0].action
        return await client.get_workflow_handle(action.workflow_id, run_id=action.first_execution_run_id).result()

    assert await eventually(expired) == {"requests": 1, "details": 1}
    with store_of(act) as database:
        kept = database.execute("SELECT attempt, status, length(body), bytes > 0 FROM captures ORDER BY number")
        (first, second) = kept.fetchall()
        assert first == ("1.1.1", "expired", 0, 1)
        assert (second[1], second[3]) == ("retained", 1)
        assert second[2] > 0
        told = database.execute("SELECT what, attempt, status, by FROM removals ORDER BY number").fetchall()
        assert told == [("request", "1.1.1", "expired", "expiry"), ("detail", "1.1.1", "expired", "expiry")]
        assert database.execute("SELECT length(body), removed > 0 FROM details").fetchall() == [(0, 1)]
    assert b"bad key" not in files(act)


async def test_the_record_of_a_captured_request_names_it_and_holds_no_body(stage):
    act = await stage({"models": {"gpt-5": [TEXT]}})
    run = await act.start(AGENT, f"{MARKER} do it")
    await run.result()

    (attempt,) = await records(run, "attempt")
    shown = attempt["model_input"]
    with store_of(act) as database:
        ((digest, size),) = database.execute("SELECT digest, bytes FROM captures").fetchall()
    assert (shown["capture_status"], shown["bytes"], shown["request"]) == ("retained", size, {"ref": digest})
    assert shown["source_context_digest"]
    history = b"".join(event.SerializeToString() for event in (await run.fetch_history()).events)
    assert history.count(MARKER.encode()) == 1  # the task, which came inline


async def test_the_worker_keeps_one_daily_schedule_with_the_operators_days(stage, client):
    act = await stage({"models": {"gpt-5": [TEXT]}}, "[capture]\nexpires_days = 7\n")
    schedule = await schedule_of(client, act.queue)
    assert [interval.every.days for interval in schedule.spec.intervals] == [1]
    assert await client.data_converter.decode(schedule.action.args) == [{"days": 7}]
    assert schedule.action.task_queue == act.queue


async def test_without_a_word_it_is_thirty_days_and_never_means_no_schedule(stage, client):
    act = await stage({"models": {"gpt-5": [TEXT]}})
    schedule = await schedule_of(client, act.queue)
    assert await client.data_converter.decode(schedule.action.args) == [{"days": 30}]

    await act.rest()
    with (act.folder / "endstop.toml").open("a") as settings:
        settings.write('\n[capture]\nexpires_days = "never"\n')
    await act.work()

    with pytest.raises(RPCError, match="not found"):
        await schedule_of(client, act.queue)


async def test_keeping_the_schedule_again_brings_it_up_to_date_and_leaves_it_paused(client):
    handle = client.get_schedule_handle(schedule_id("kept-twice"))
    await keep_schedule(client, "kept-twice", 30)
    await handle.pause(note="we look at something")
    await keep_schedule(client, "kept-twice", 5)

    schedule = await schedule_of(client, "kept-twice")
    assert await client.data_converter.decode(schedule.action.args) == [{"days": 5}]
    assert (schedule.state.paused, schedule.state.note) == (True, "we look at something")
    await keep_schedule(client, "kept-twice", None)
    await keep_schedule(client, "kept-twice", None)
    with pytest.raises(RPCError, match="not found"):
        await schedule_of(client, "kept-twice")


async def test_an_expiry_that_is_started_with_nonsense_ends_and_removes_nothing(stage, client):
    act = await stage({"models": {"gpt-5": [TEXT]}})
    for sent in ({"days": 0}, {"days": "7"}, "7"):
        with pytest.raises(WorkflowFailureError) as failed:
            await client.execute_workflow("ExpiryWorkflow", sent, id=f"odd-{act.queue}", task_queue=act.queue)
        assert failed.value.cause.message == 'input: should be {"days": N}, N from 1'
