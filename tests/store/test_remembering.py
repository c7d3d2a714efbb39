"""A store that remembers: what it saw is not read again, and what it remembers is bounded."""

import pytest
from sqlalchemy import text

from ledger.conversation import Conversation
from store import ConversationBroken, RememberingStore


@pytest.fixture
async def remembering(url):
    opened = await RememberingStore.open(url)
    yield opened
    await opened.close()


async def lose_all_messages(url):
    """Whoever reads after this reads from memory, or not at all."""
    other = await RememberingStore.open(url)
    await other._database.writing(lambda connection: connection.execute(text("DELETE FROM messages")))
    await other.close()


async def grown(store, run, *bodies):
    conversation = Conversation(id=run)
    for number, body in enumerate(bodies):
        conversation = (await store.append(conversation, f"k{number}", body)).conversation
        await store.read(conversation)
    return conversation


async def test_a_conversation_that_grew_here_is_not_read_again(remembering, url):
    conversation = await grown(remembering, "run", b"task", b"answer")
    result = await remembering.append_result(conversation, 0, b"result")
    await lose_all_messages(url)
    assert await remembering.read(result.conversation) == [b"task", b"answer", b"result"]


async def test_what_another_worker_added_is_read_on(remembering, store):
    conversation = await grown(remembering, "run", b"task")
    added = await store.append(conversation, "answer", b"answer")
    assert await remembering.read(added.conversation) == [b"task", b"answer"]


async def test_another_branch_of_a_conversation_is_never_mixed_with_the_one_that_is_remembered(remembering):
    task = await grown(remembering, "run", b"task")
    await remembering.append(task, "answer", b"answer")
    other = await remembering.append(task, "after a reset", b"another")
    assert await remembering.read(other.conversation) == [b"task", b"another"]


async def test_what_was_used_longest_ago_is_forgotten_first(url):
    small = await RememberingStore.open(url)
    small._max_bytes = 20
    first, second = await grown(small, "one", b"x" * 8), await grown(small, "two", b"y" * 8)
    await small.read(first)
    third = await grown(small, "three", b"z" * 8)
    await lose_all_messages(url)
    assert await small.read(first) == [b"x" * 8]
    assert await small.read(third) == [b"z" * 8]
    with pytest.raises(ConversationBroken):
        await small.read(second)
    await small.close()


async def test_a_conversation_beyond_the_bound_is_read_each_time_and_drives_nothing_out(url):
    small = await RememberingStore.open(url)
    small._max_bytes = 20
    kept, large = await grown(small, "one", b"x" * 8), await grown(small, "two", b"y" * 80)
    assert await small.read(large) == [b"y" * 80]
    await lose_all_messages(url)
    assert await small.read(kept) == [b"x" * 8]
    await small.close()
