"""A branch of a conversation: written whole, once, and never mixed with what it was made of."""

import pytest

from ledger.conversation import Conversation, Link
from store import RememberingStore, Store

RUN = Conversation(id="run-1")
SHORT = [Link("task", b"task"), Link("answer", b"answer", "1.1.1"), Link("tool:0", b"-"), Link("tool:1", b"two")]


async def long(store: Store, run: Conversation = RUN) -> Conversation:
    """A task, an answer with two calls, their results in the other order, a note."""
    task = (await store.append(run, "task", b"task")).conversation
    answer = (await store.append(task, "answer", b"answer", "1.1.1")).conversation
    await store.append_result(answer, 1, b"two")
    first = await store.append_result(answer, 0, b"one")
    return (
        Conversation(id=run.id, length=4, head=(await store.find_result(answer, 1)).conversation.head) if first else run
    )


async def test_a_branch_is_read_as_what_it_holds_and_its_origin_as_it_was(store):
    origin = await long(store)
    branch = await store.branch(origin, SHORT)
    assert branch.length == 4
    assert await store.read(branch) == [b"task", b"answer", b"-", b"two"]
    assert await store.read(origin) == [b"task", b"answer", b"one", b"two"]
    assert [(one.key, one.attempt) for one in await store.read_kept(branch)][1:] == [
        ("answer", "1.1.1"),
        ("tool:0", ""),
        ("tool:1", ""),
    ]


async def test_a_branch_that_is_written_again_is_the_one_that_is_there(store, sql):
    origin = await long(store)
    assert await store.branch(origin, SHORT) == await store.branch(origin, SHORT)
    assert sql("SELECT count(*) FROM messages")[0][0] == 8


async def test_two_branches_of_the_same_conversation_share_no_message(store):
    origin = await long(store)
    other = [*SHORT[:2], Link("tool:0", b"+"), SHORT[3]]
    first, second = await store.branch(origin, SHORT), await store.branch(origin, other)
    assert await store.read(first) == [b"task", b"answer", b"-", b"two"]
    assert await store.read(second) == [b"task", b"answer", b"+", b"two"]


async def test_a_branch_goes_on_like_any_conversation(store):
    branch = await store.branch(await long(store), SHORT)
    answer = (await store.append(branch, "next", b"next", "2.1.1")).conversation
    result = await store.append_result(answer, 0, b"result")
    assert (await store.read(result.conversation))[-2:] == [b"next", b"result"]
    assert await store.latest("run-1") == result.conversation


async def test_results_that_follow_no_answer_are_refused(store):
    origin = await long(store)
    with pytest.raises(ValueError, match="result of call 1 of no answer"):
        await store.branch(origin, [SHORT[0], SHORT[1], SHORT[3]])


async def test_contents_beside_a_branch_are_kept_with_it(store):
    await store.branch(await long(store), SHORT, ["dropped"])
    assert await store.get(await store.put("dropped")) == b"dropped"


async def test_a_conversation_is_followed_back_through_all_that_it_was_made_of(store):
    origin = await long(store)
    branch = await store.branch(origin, SHORT)
    grown = (await store.append(branch, "note", b"note")).conversation
    last = await store.branch(grown, [SHORT[0], Link("summary", b"all")])
    first, second, third = await store.read_whole(last)
    assert [one.body for one in first.messages] == [b"task", b"answer", b"one", b"two"]
    assert (first.made, second.made, third.made) == (0, 4, 2)
    assert [one.body for one in second.messages[second.made :]] == [b"note"]
    assert [one.body for one in third.messages] == [b"task", b"all"]


async def test_a_redacted_transcript_takes_all_branches_along(store, sql):
    origin = await long(store)
    branch = await store.branch(origin, SHORT, ["one"])
    other = await long(store, Conversation(id="run-2"))
    removed = await store.redact_transcript("run-1", [await store.put("one")], by="ann")
    assert (removed.messages, removed.contents) == (8, 1)
    assert {row.body for row in sql("SELECT body FROM messages WHERE conversation = 'run-1'")} == {b""}
    assert all(one.removed is not None for stretch in await store.read_whole(branch) for one in stretch.messages)
    assert await store.read(other) == [b"task", b"answer", b"one", b"two"]


async def test_a_store_that_remembers_reads_the_branch_and_then_goes_on_from_memory(url):
    remembering = await RememberingStore.open(url)
    origin = await long(remembering)
    assert len(await remembering.read(origin)) == 4
    branch = await remembering.branch(origin, SHORT)
    assert await remembering.read(branch) == [b"task", b"answer", b"-", b"two"]
    assert await remembering.read(origin) == [b"task", b"answer", b"one", b"two"]
    grown = (await remembering.append(branch, "next", b"next")).conversation
    assert await remembering.read(grown) == [b"task", b"answer", b"-", b"two", b"next"]
    longer = (await remembering.append(origin, "next", b"other")).conversation
    assert await remembering.read(longer) == [b"task", b"answer", b"one", b"two", b"other"]
    await remembering.close()
