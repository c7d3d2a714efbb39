"""A store with keys holds no clear text, gives back what it was given, and goes on when its keys change."""

from functools import partial

import pytest

from encryption import Keys, new_key
from ledger.conversation import Conversation, digest
from store import ContentMissing, ConversationBroken, Store, StoreTroubled, rekeying
from store.schema import captures
from store.sealed import MARK

CANARY = "CANARY-71ad"
OLD, NEW = new_key(), new_key()


@pytest.fixture
async def opened(url):
    """Open the store with these keys; all of them are closed at the end."""
    stores = []

    async def with_keys(*keys: str) -> Store:
        stores.append(await Store.open(url, keys=Keys.parse(",".join(keys)) if keys else Keys()))
        return stores[-1]

    yield with_keys
    for store in stores:
        await store.close()


@pytest.fixture
def rows(sql):
    """All that the database has, behind the store's back."""
    tables = ("contents", "messages", "unused_answers", "journal", "details", "captures", "removals", "runs", "uploads")

    def read() -> bytes:
        found = [value for table in tables for row in sql(f"SELECT * FROM {table}") for value in row]
        return b"|".join(bytes(v) if isinstance(v, bytes | memoryview) else str(v).encode() for v in found)

    return read


async def fill(store: Store) -> tuple[Conversation, str]:
    """Something of everything that a run keeps; each holds the canary."""
    ref = await store.put(f"{CANARY} output")
    told = (await store.append(Conversation(id="run-1"), "task", f"{CANARY} task".encode())).conversation
    answer = (await store.append(told, "a-key", f"{CANARY} answer".encode(), "1.1.1")).conversation
    await store.append(told, "a-key", f"{CANARY} late".encode(), "1.1.2")
    whole = (await store.append_result(answer, 0, f"{CANARY} result".encode())).conversation
    await store.write_journal("run-1", [(1, {"question": f"{CANARY}?", "output": ref})])
    await store.put_detail("run-1", "1.1.1", f"{CANARY} is no model")
    await store.keep_request("run-1", "1.1.1", f"{CANARY} request".encode())
    return whole, ref


async def contents(store: Store, whole: Conversation, ref: str) -> list[object]:
    late = [answer.body for answer in await store.unused_answers("run-1")]
    request = await store.captured_body("run-1", "1.1.1")
    details = await store.get_details("run-1")
    return [await store.get(ref), *await store.read(whole), *late, await store.read_journal("run-1"), details, request]


async def test_what_a_store_with_keys_is_given_stands_nowhere_in_the_database_and_comes_back_as_it_was(opened, rows):
    plain, sealed = await opened(), await opened(NEW)
    whole, ref = await fill(sealed)

    assert rows()
    assert CANARY.encode() not in rows()
    found = await contents(sealed, whole, ref)
    assert len(found) == 8
    assert all(CANARY in str(one) for one in found)

    await plain.put(f"{CANARY} in clear")
    assert CANARY.encode() in rows()


async def test_the_files_of_a_store_with_keys_hold_no_clear_text(opened, path):
    await fill(await opened(NEW))

    files = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert len(files) > 10_000
    assert CANARY.encode() not in files


async def test_what_was_written_before_there_were_keys_stays_readable_and_is_found_again(opened):
    plain, sealed = await opened(), await opened(NEW)
    whole, ref = await fill(plain)

    assert await contents(sealed, whole, ref) == await contents(plain, whole, ref)
    again = await sealed.append(Conversation(id="run-1"), "task", f"{CANARY} task".encode())
    assert again.recovered
    await fill(sealed)
    assert len(await sealed.read_journal("run-1")) == len(await sealed.unused_answers("run-1")) == 1


async def test_the_newest_key_encrypts_and_the_older_ones_decrypt(opened):
    before, between, after = await opened(OLD), await opened(NEW, OLD), await opened(NEW)
    old = await before.put("old")
    new = await between.put("new")

    assert await between.get(old) == b"old"
    assert await after.get(new) == b"new"
    with pytest.raises(StoreTroubled):
        await before.get(new)


async def test_without_its_key_content_is_trouble_that_passes_and_names_the_key(opened):
    whole, ref = await fill(await opened(OLD))
    (name,) = Keys.parse(OLD).names
    for store in (await opened(NEW), await opened()):
        for asked in (
            store.get(ref),
            store.read(whole),
            store.read_journal("run-1"),
            store.get_details("run-1"),
            store.captured_body("run-1", "1.1.1"),
            store.unused_answers("run-1"),
            store.find(Conversation(id="run-1"), "task"),
        ):
            with pytest.raises(StoreTroubled, match=f"the key {name} is needed"):
                await asked

    assert len(await contents(await opened(NEW, OLD), whole, ref)) == 8


async def test_a_rotation_brings_everything_under_the_newest_key_what_was_in_clear_too(opened, rows):
    plain, before, between = await opened(), await opened(OLD), await opened(NEW, OLD)
    ref = await plain.put("in clear")
    for number in range(120):  # more than are rewritten at once
        await plain.put(f"{CANARY} {number}")
    whole, output = await fill(before)
    new, old = between.keys_in_use, Keys.parse(OLD).newest
    assert await new() == {"": 121, old: 8}

    assert await between.rekey() == 129

    assert await new() == {Keys.parse(NEW).newest: 129}
    assert CANARY.encode() not in rows()
    after = await opened(NEW)
    assert await after.get(ref) == b"in clear"
    assert len(await contents(after, whole, output)) == 8
    assert await after.rekey() == 0


async def test_a_rotation_brings_nothing_back_that_was_removed(opened):
    before, between = await opened(OLD), await opened(NEW, OLD)
    whole, _ = await fill(before)
    await before.redact_transcript("run-1", [], by="ann")

    await between.rekey()

    assert await between.captured_body("run-1", "1.1.1") is None
    assert await between.get_details("run-1") == {}
    assert {message.body for message in await between.read_kept(whole)} == {b""}


async def test_a_removal_that_comes_while_a_row_is_encrypted_again_wins(opened):
    before, between = await opened(OLD), await opened(NEW, OLD)
    await before.keep_request("run-1", "1.1.1", CANARY.encode())
    body, newest = captures.c.body, Keys.parse(NEW).newest
    read = await between._database.reading(partial(rekeying._stale, column=body, newest=newest, after=None))
    assert len(read) == 1
    await before.redact("run-1", None, by="ann")

    done = await between._database.writing(partial(rekeying._write_again, column=body, rows=read))

    assert done == 0
    assert await between.keys_in_use() == {}


async def test_what_is_removed_has_the_length_that_people_know(opened):
    store = await opened(NEW)
    whole, _ = await fill(store)
    before = await store.read_kept(whole)

    await store.redact_transcript("run-1", [], by="ann")

    assert [one.removed for one in await store.read_kept(whole)] == [len(message.body) for message in before]
    assert [one.bytes for one in await store.captured("run-1")] == [len(f"{CANARY} request")]


async def test_content_that_another_run_names_stays_although_the_database_cannot_read_who_does(opened):
    store = await opened(NEW)
    noted, told, own = await store.put("noted"), await store.put("told"), await store.put("own")
    await store.write_journal("run-2", [(1, {"output": noted})])
    await store.append(Conversation(id="run-2"), "notes", b"the whole of it is " + told.encode())

    removed = await store.redact_transcript("run-1", [noted, told, own], by="ann")

    assert removed.contents == 1
    assert (await store.get(noted), await store.get(told)) == (b"noted", b"told")
    with pytest.raises(ContentMissing):
        await store.get(own)


async def test_altered_content_is_noticed_as_it_is_without_keys(opened, sql, url):
    store = await opened(NEW)
    whole, ref = await fill(store)
    other = await store.put("other")
    sql(
        "UPDATE contents SET body = (SELECT body FROM contents WHERE ref = :other) WHERE ref = :ref",
        ref=ref,
        other=other,
    )
    sql(
        "UPDATE messages SET body = :body WHERE position = 1",
        body=MARK + bytes.fromhex(Keys.parse(NEW).newest) + b"x" * 40,
    )

    with pytest.raises(ContentMissing, match="altered"):
        await store.get(ref)
    with pytest.raises(ConversationBroken, match="altered"):
        await store.read(whole)


async def test_content_that_looks_encrypted_is_kept_as_it_is_with_keys_and_without(opened):
    tricky = MARK + bytes.fromhex(Keys.parse(OLD).newest) + b"x" * 40
    for store in (await opened(), await opened(NEW)):
        conversation = (await store.append(Conversation(id=digest(tricky)), "task", tricky)).conversation
        assert await store.get(await store.put(tricky)) == tricky
        assert await store.read(conversation) == [tricky]
    assert await (await opened()).keys_in_use() == {"": 2}
