"""Contents by digest, runs by workflow id, error details by attempt; and what an SQL error gives away."""

import pytest
from sqlalchemy.exc import DBAPIError

from ledger.conversation import Conversation, digest
from store import ContentMissing


async def test_content_is_got_back_by_its_digest(store):
    ref = await store.put(b"\x00output\xff")

    assert ref == digest(b"\x00output\xff")
    assert await store.get(ref) == b"\x00output\xff"


async def test_text_is_kept_as_utf_8(store):
    assert await store.get(await store.put("Größe")) == "Größe".encode()


async def test_the_same_content_is_kept_once(store, sql):
    refs = {await store.put("task"), await store.put("task"), await store.put(b"task")}

    assert len(refs) == 1
    assert sql("SELECT count(*) FROM contents") == [(1,)]


async def test_content_of_ten_megabytes_is_kept_whole(store):
    large = bytes(range(256)) * 40_000

    assert await store.get(await store.put(large)) == large


async def test_a_reference_to_nothing_is_refused_by_its_name(store):
    with pytest.raises(ContentMissing, match=r"^content 'abc' is not in the store; .*\?$"):
        await store.get("abc")


async def test_altered_content_is_refused(store, sql):
    ref = await store.put("task")
    sql("UPDATE contents SET body = :body", body=b"another")

    with pytest.raises(ContentMissing, match="was altered"):
        await store.get(ref)


async def test_runs_of_a_workflow_id_are_listed_newest_first_each_once(store):
    for run in ("run-1", "run-2", "run-1"):
        await store.register_run(run, "nightly", "fix-tests")
    await store.register_run("run-3", "other", "fix-tests")

    runs = await store.runs_of("nightly")

    assert [run.conversation for run in runs] == ["run-2", "run-1"]
    assert {(run.workflow_id, run.agent) for run in runs} == {("nightly", "fix-tests")}
    assert await store.runs_of("unknown") == []


async def test_details_of_a_run_are_listed_oldest_first_and_the_first_of_an_attempt_stays(store):
    for attempt, body in [("9.1.1", "slow down"), ("10.1.1", "no key"), ("9.1.1", "something else")]:
        await store.put_detail("run-1", attempt, body)
    await store.put_detail("run-2", "9.1.1", "of another run")

    assert list((await store.get_details("run-1")).items()) == [("9.1.1", "slow down"), ("10.1.1", "no key")]
    assert await store.get_details("run-3") == {}


async def test_a_detail_may_hold_any_character_and_a_broken_one_is_replaced(store):
    await store.put_detail("run-1", "1.1.1", "zero \0, half \ud800, whole 🧭")

    assert await store.get_details("run-1") == {"1.1.1": "zero \0, half ?, whole 🧭"}


async def test_an_sql_error_tells_nothing_of_the_content(store, sql):
    for table in ("messages", "contents", "details", "journal"):
        sql(f"DROP TABLE {table}")
    marker = "marker-7f3a"
    calls = [
        store.append(Conversation(id="run-1"), "task", marker.encode()),
        store.put(marker),
        store.put_detail("run-1", "1.1.1", marker),
        store.write_journal("run-1", [(1, {"text": marker})]),
    ]
    for call in calls:
        with pytest.raises(DBAPIError) as failed:
            await call
        assert marker not in str(failed.value)
