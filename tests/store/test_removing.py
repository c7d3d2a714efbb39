"""What is removed leaves what identifies it, says by whom, and is in no file of the database any more."""

import random
import sqlite3

import pytest
from sqlalchemy import event

from ledger.conversation import Conversation, digest
from ledger.records import CaptureStatus
from store import ConversationBroken, ConversationRedacted, Removal, Removed

MARKER = b"MARKER-4f2a9c"


def everywhere(path) -> bytes:
    """All that the database's files hold."""
    return b"".join(file.read_bytes() for file in path.parent.iterdir())


async def test_a_captured_request_is_kept_byte_for_byte_with_its_size_and_digest(store):
    body = b'{ "a":1, "b" : "\xc3\xa9"}'
    await store.keep_request("run-1", "1.1.1", body)

    assert await store.captured_body("run-1", "1.1.1") == body
    (kept,) = await store.captured("run-1")
    assert (kept.attempt, kept.status, kept.bytes, kept.digest) == ("1.1.1", "retained", len(body), digest(body))
    assert await store.captured_body("run-1", "1.1.2") is None
    assert await store.captured("run-2") == []


async def test_a_redacted_request_leaves_status_bytes_and_digest_and_who_did_it(store):
    await store.keep_request("run-1", "1.1.1", MARKER)
    await store.keep_request("run-1", "2.1.1", b"another")

    assert await store.redact("run-1", "1.1.1", by="ann") == Removed(requests=1)

    redacted, other = await store.captured("run-1")
    assert (redacted.status, redacted.bytes, redacted.digest) == ("redacted", len(MARKER), digest(MARKER))
    assert other.status == "retained"
    assert await store.captured_body("run-1", "1.1.1") is None
    assert await store.captured_body("run-1", "2.1.1") == b"another"
    (told,) = await store.removals("run-1")
    assert told == Removal(what="request", attempt="1.1.1", status=CaptureStatus.REDACTED, by="ann", at=told.at)


async def test_a_run_is_redacted_without_its_neighbours(store):
    for run in ("run-1", "run-2"):
        await store.keep_request(run, "1.1.1", MARKER)
        await store.put_detail(run, "1.1.1", "no such model")

    assert await store.redact("run-1", None, by="ann") == Removed(requests=1, details=1)

    assert [one.status for one in await store.captured("run-2")] == ["retained"]
    assert await store.get_details("run-2") == {"1.1.1": "no such model"}
    assert await store.get_details("run-1") == {}
    assert await store.removals("run-2") == []


async def test_nothing_comes_back_and_nothing_is_removed_twice(store):
    await store.keep_request("run-1", "1.1.1", MARKER)
    await store.put_detail("run-1", "1.1.1", "slow down")
    await store.redact("run-1", None, by="ann")

    await store.keep_request("run-1", "1.1.1", MARKER)
    await store.put_detail("run-1", "1.1.1", "slow down")

    assert (await store.redact("run-1", None, by="bob")).nothing
    assert (await store.expire(2**40, by="expiry", limit=10)).nothing
    assert [one.status for one in await store.captured("run-1")] == ["redacted"]
    assert [(one.what, one.by) for one in await store.removals("run-1")] == [("request", "ann"), ("detail", "ann")]
    assert await store.captured_body("run-1", "1.1.1") is None


async def test_expiry_takes_what_is_older_than_the_limit_and_leaves_what_is_not(store, path):
    for attempt in ("1.1.1", "2.1.1", "3.1.1"):
        await store.keep_request("run-1", attempt, MARKER + attempt.encode())
        await store.put_detail("run-1", attempt, "slow down")
    with sqlite3.connect(path) as database:
        for table in ("captures", "details"):
            database.execute(f"UPDATE {table} SET at = 1000 WHERE attempt != '3.1.1'")

    first = await store.expire(1001, by="expiry", limit=1)
    second = await store.expire(1001, by="expiry", limit=10)
    third = await store.expire(1001, by="expiry", limit=10)

    assert (first, second, third) == (Removed(requests=1, details=1), Removed(requests=1, details=1), Removed())
    assert [one.status for one in await store.captured("run-1")] == ["expired", "expired", "retained"]
    assert list(await store.get_details("run-1")) == ["3.1.1"]
    assert {(one.status, one.by) for one in await store.removals("run-1")} == {("expired", "expiry")}


async def test_what_came_at_the_very_limit_stays(store, path):
    await store.keep_request("run-1", "1.1.1", MARKER)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE captures SET at = 1000")

    assert (await store.expire(1000, by="expiry", limit=10)).nothing


async def spoken(store, run: str = "run-1") -> Conversation:
    told = (await store.append(Conversation(id=run), "task", MARKER + b" task")).conversation
    answer = (await store.append(told, "a-key", MARKER + b" answer", "1.1.1")).conversation
    await store.append(told, "a-key", MARKER + b" late", "1.1.2")
    return (await store.append_result(answer, 0, b"result")).conversation


async def test_a_redacted_transcript_keeps_positions_keys_heads_and_lengths(store):
    whole = await spoken(store)
    before = await store.read_kept(whole)

    removed = await store.redact_transcript("run-1", [], by="ann")

    assert removed == Removed(messages=4)
    after = await store.read_kept(whole)
    assert [message[:4] for message in after] == [message[:4] for message in before]
    assert [message.removed for message in after] == [len(message.body) for message in before]
    assert {message.body for message in after} == {b""}
    assert await store.unused_answers("run-1") == []
    assert [(one.what, one.attempt, one.by) for one in await store.removals("run-1")] == [("transcript", "", "ann")]
    assert (await store.redact_transcript("run-1", [], by="bob")).nothing


async def test_whoever_needs_a_redacted_message_is_told_so_instead_of_getting_nothing(store):
    whole = await spoken(store)
    await store.redact_transcript("run-1", [], by="ann")

    with pytest.raises(ConversationRedacted, match="conversation 'run-1' was redacted: message 0"):
        await store.read(whole)
    with pytest.raises(ConversationRedacted):
        await store.find(Conversation(id="run-1"), "task")
    with pytest.raises(ConversationRedacted):
        await store.append(Conversation(id="run-1"), "task", b"other words")


async def test_an_emptied_message_is_not_taken_for_a_redacted_one(store, path):
    whole = await spoken(store)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE messages SET body = x'' WHERE position = 1")

    with pytest.raises(ConversationBroken, match="was altered"):
        await store.read_kept(whole)


async def test_a_run_that_goes_on_beside_a_redacted_one_loses_nothing(store):
    await spoken(store, "run-1")
    other = await spoken(store, "run-2")
    shared, own = await store.put("a shared output"), await store.put("an output of its own")
    await store.write_journal("run-1", [(1, {"output": shared}), (2, {"output": own})])
    await store.write_journal("run-2", [(1, {"output": shared})])
    told = await store.put("told to another run")
    other = (await store.append(other, "notes", b"the whole result is stored as " + told.encode())).conversation

    removed = await store.redact_transcript("run-1", [shared, own, told], by="ann")

    assert removed.contents == 1
    assert (await store.get(shared), await store.get(told)) == (b"a shared output", b"told to another run")
    assert len(await store.read(other)) == 4


async def test_the_store_is_read_as_often_for_many_contents_as_for_one(store):
    """It is read under the lock that every run's next message waits for."""
    read: list[str] = []
    event.listen(store._database.engine, "before_cursor_execute", lambda *told: read.append(told[2]))
    reads = []
    for run, count in (("run-1", 1), ("run-2", 90)):
        await spoken(store, run)
        refs = [await store.put(f"{run} {number}") for number in range(count)]
        read.clear()
        removed = await store.redact_transcript(run, [*refs, *(f"{number:024}" for number in range(9))], by="ann")
        assert removed.contents == count
        reads.append(len(read))
    assert reads[0] == reads[1]


async def remove_all(store, run: str) -> None:
    await store.redact(run, None, by="ann")


async def expire_all(store, _run: str) -> None:
    await store.expire(2**40, by="expiry", limit=10_000)


@pytest.mark.parametrize("remove", [remove_all, expire_all], ids=["redacted", "expired"])
async def test_removed_bodies_are_in_no_file_of_the_database(store, path, remove):
    for number in range(60):
        await store.keep_request("run-1", f"{number}.1.1", MARKER * (1 + number * number))
        await store.put_detail("run-1", f"{number}.1.1", MARKER.decode() * (1 + number))
    assert MARKER in everywhere(path)

    await remove(store, "run-1")

    assert await store.scrub()
    assert MARKER not in everywhere(path)


async def test_a_redacted_transcript_is_in_no_file_of_the_database(store, path):
    await spoken(store)
    await store.keep_request("run-1", "1.1.1", MARKER * 1_000)
    await store.put_detail("run-1", "1.1.1", MARKER.decode())
    ref = await store.put(MARKER * 300)

    await store.redact_transcript("run-1", [ref], by="ann")

    assert await store.scrub()
    assert MARKER not in everywhere(path)


@pytest.mark.parametrize("seed", range(12))
async def test_whatever_order_bodies_come_and_go_in_none_is_left_behind(store, path, seed):
    """Small bodies share pages, and pages are merged and moved when their neighbours go."""
    chance = random.Random(seed)
    here: set[int] = set()
    for number in range(120):
        if here and chance.random() < 0.35:
            gone = chance.choice(sorted(here))
            await store.redact("run-1", str(gone), by="ann")
            here.discard(gone)
        await store.keep_request("run-1", str(number), b"<%04d>" % number * chance.choice([2, 30, 300, 3_000]))
        here.add(number)

    assert await store.scrub()

    found = everywhere(path)
    assert [number for number in range(120) if (b"<%04d>" % number in found) != (number in here)] == []


async def test_while_somebody_reads_what_was_there_before_it_is_said_that_it_is_not_gone_yet(store, path):
    await store.keep_request("run-1", "1.1.1", MARKER)
    reader = sqlite3.connect(path, isolation_level=None)
    try:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM captures").fetchone()
        await store.redact("run-1", None, by="ann")
        assert not await store.scrub()
    finally:
        reader.close()

    assert await store.scrub()
    assert MARKER not in everywhere(path)
