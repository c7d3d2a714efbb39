"""Messages are appended once, found again, and read back as exactly the chain that a reference names."""

import itertools

import pytest

from ledger.conversation import Conversation
from store import ConversationBroken, Store

RUN = Conversation(id="run-1")


async def conversation_of(store: Store, *bodies: bytes, after: Conversation = RUN) -> Conversation:
    """A conversation with these messages, each under its number as key."""
    for number, body in enumerate(bodies):
        after = (await store.append(after, f"message {number}", body)).conversation
    return after


async def test_messages_are_read_back_in_the_order_in_which_they_were_appended(store):
    conversation = await conversation_of(store, b"task", b"answer", b"guidance")

    assert conversation.length == 3
    assert await store.read(conversation) == [b"task", b"answer", b"guidance"]


async def test_an_empty_conversation_has_no_messages(store):
    assert await store.read(RUN) == []


async def test_a_shorter_reference_reads_no_later_message(store):
    two = await conversation_of(store, b"task", b"answer")
    await store.append(two, "guide", b"guidance")

    assert await store.read(two) == [b"task", b"answer"]


async def test_appending_the_same_message_again_changes_nothing(store):
    first = await store.append(RUN, "task", b"task", attempt="1.1.1")
    again = await store.append(RUN, "task", b"task", attempt="1.1.1")

    assert (first.recovered, again.recovered) == (False, True)
    assert again.conversation == first.conversation
    assert await store.read(again.conversation) == [b"task"]
    assert await store.unused_answers(RUN.id) == []


async def test_a_second_answer_to_the_same_request_gets_the_first_and_is_kept_as_unused(store):
    first = await store.append(RUN, "request", b"paid first", attempt="1.1.1")
    second = await store.append(RUN, "request", b"paid too", attempt="1.1.2")

    assert (second.body, second.attempt, second.recovered) == (b"paid first", "1.1.1", True)
    assert second.conversation == first.conversation
    assert await store.read(second.conversation) == [b"paid first"]
    (unused,) = await store.unused_answers(RUN.id)
    assert (unused.body, unused.attempt, unused.position, unused.key) == (b"paid too", "1.1.2", 0, "request")


async def test_a_late_answer_that_comes_again_is_counted_once(store):
    await store.append(RUN, "request", b"paid first", attempt="1.1.1")
    for _ in range(2):
        await store.append(RUN, "request", b"paid too", attempt="1.1.2")

    assert len(await store.unused_answers(RUN.id)) == 1


async def test_every_attempt_that_was_paid_in_vain_is_kept(store):
    await store.append(RUN, "request", b"paid first", attempt="1.1.1")
    for attempt in ("1.1.2", "1.1.3"):
        await store.append(RUN, "request", b"the same words", attempt=attempt)

    assert [unused.attempt for unused in await store.unused_answers(RUN.id)] == ["1.1.2", "1.1.3"]


async def test_the_next_attempt_finds_the_answer_that_a_lost_one_stored(store):
    task = await conversation_of(store, b"task")
    assert await store.find(task, "request") is None
    stored = await store.append(task, "request", b"answer", attempt="1.1.1")

    found = await store.find(task, "request")

    assert found is not None
    assert (found.body, found.attempt, found.recovered) == (b"answer", "1.1.1", True)
    assert found.conversation == stored.conversation


async def test_an_answer_to_another_branch_is_not_found(store):
    task = (await store.append(RUN, "task", b"task")).conversation
    await store.append(task, "request", b"answer")

    branch = (await store.append(RUN, "another task", b"task")).conversation

    assert branch.length == task.length
    assert await store.find(branch, "request") is None


async def test_an_answer_to_another_request_is_not_found(store):
    await store.append(RUN, "request", b"answer")

    assert await store.find(RUN, "another request") is None


async def test_a_branch_left_by_a_reset_does_not_leak_into_the_new_one(store):
    task = await conversation_of(store, b"task")
    left = await conversation_of(store, b"old answer", b"old result", b"old end", after=task)
    taken = (await store.append(task, "another request", b"new answer")).conversation
    taken = (await store.append(taken, "message 1", b"new result")).conversation

    assert await store.read(taken) == [b"task", b"new answer", b"new result"]
    assert await store.read(left) == [b"task", b"old answer", b"old result", b"old end"]


async def test_a_run_that_reuses_a_workflow_id_reads_only_its_own_messages(store):
    for run in ("run-1", "run-2"):
        await store.register_run(run, "nightly", "fix-tests")
    first = await conversation_of(store, b"task", b"answer of the first run")
    task = await conversation_of(store, b"task", after=Conversation(id="run-2"))

    assert await store.find(task, "message 1") is None
    assert await store.read(task) == [b"task"]
    assert first.head != ""
    with pytest.raises(ConversationBroken):
        await store.read(Conversation(id="run-2", length=first.length, head=first.head))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
async def test_parallel_tool_results_read_the_same_in_whatever_order_they_end(store, order):
    answer = await conversation_of(store, b"task", b"answer with three tool calls")
    done = {ordinal: await store.append_result(answer, ordinal, b"result %d" % ordinal) for ordinal in order}

    end = done[2].conversation
    after = (await store.append(end, "request", b"next answer")).conversation

    results = [b"result 0", b"result 1", b"result 2"]
    assert end.length == answer.length + 3
    assert await store.read(end) == [b"task", b"answer with three tool calls", *results]
    assert await store.read(after) == [b"task", b"answer with three tool calls", *results, b"next answer"]
    assert await store.read(done[1].conversation) == [b"task", b"answer with three tool calls", *results[:2]]


async def test_a_tool_that_ran_twice_has_the_result_of_its_first_run(store):
    answer = await conversation_of(store, b"answer")
    assert await store.find_result(answer, 0) is None
    await store.append_result(answer, 0, b"first", attempt="1.tool.0")

    again = await store.append_result(answer, 0, b"second", attempt="1.tool.0")
    found = await store.find_result(answer, 0)

    assert again.body == b"first"
    assert found is not None
    assert found.body == b"first"
    assert [unused.body for unused in await store.unused_answers(RUN.id)] == [b"second"]


async def test_tool_results_of_another_branch_do_not_leak(store):
    task = await conversation_of(store, b"task")
    left = (await store.append(task, "request", b"old answer")).conversation
    taken = (await store.append(task, "another request", b"new answer")).conversation
    for ordinal in range(3):
        await store.append_result(left, ordinal, b"old %d" % ordinal)
    await store.append_result(taken, 1, b"new 1")
    end = (await store.append_result(taken, 0, b"new 0")).conversation

    assert await store.read(end) == [b"task", b"new answer", b"new 0"]
    assert await store.find_result(taken, 2) is None


async def test_a_conversation_whose_parallel_result_is_still_missing_is_refused(store):
    answer = await conversation_of(store, b"answer")
    done = await store.append_result(answer, 1, b"result 1")

    with pytest.raises(ConversationBroken, match=r"^conversation 'run-1' is broken at position 1: .*\?$"):
        await store.read(done.conversation)


async def test_a_key_of_a_tool_result_is_refused_for_another_message(store):
    with pytest.raises(ValueError, match="use append_result"):
        await store.append(RUN, "tool:0", b"message")


async def test_a_negative_ordinal_is_refused(store):
    with pytest.raises(ValueError, match="numbered from 0"):
        await store.append_result(RUN, -1, b"result")


@pytest.mark.parametrize(
    ("change", "position"),
    [
        pytest.param({"head": "0" * 32}, 2, id="a head that no message has"),
        pytest.param({"length": 2}, 1, id="shorter than its head"),
        pytest.param({"length": 4}, 3, id="longer than its head"),
        pytest.param({"length": 0}, 0, id="empty with a head"),
        pytest.param({"head": ""}, 2, id="messages without a head"),
        pytest.param({"id": "run-2"}, 2, id="another run's head"),
    ],
)
async def test_a_reference_that_names_no_chain_is_refused_with_its_place(store, change, position):
    conversation = await conversation_of(store, b"task", b"answer", b"guidance")
    wrong = Conversation.model_validate({**dict(conversation), **change})

    with pytest.raises(ConversationBroken) as refused:
        await store.read(wrong)

    assert (refused.value.conversation, refused.value.position) == (wrong.id, position)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("damage", "position"),
    [
        pytest.param("DELETE FROM messages WHERE position = 1", 1, id="lost"),
        pytest.param("UPDATE messages SET body = :body WHERE position = 1", 1, id="altered"),
        pytest.param("DELETE FROM messages WHERE position = 0", 0, id="its first is lost"),
    ],
)
async def test_a_lost_or_altered_message_is_noticed_never_skipped(store, sql, damage, position):
    conversation = await conversation_of(store, b"task", b"answer", b"guidance")
    sql(damage, **({"body": b"another"} if ":body" in damage else {}))

    with pytest.raises(ConversationBroken) as refused:
        await store.read(conversation)

    assert refused.value.position == position


async def test_only_what_is_new_is_read_after_a_known_prefix(store, sql):
    task = await conversation_of(store, b"task")
    answer = (await store.append(task, "request", b"answer")).conversation
    results = [(await store.append_result(answer, ordinal, b"result %d" % ordinal)).conversation for ordinal in (0, 1)]
    end = (await store.append(results[1], "guide", b"guidance")).conversation
    sql("DELETE FROM messages WHERE position = 0")

    assert await store.read_since(end, answer) == [b"result 0", b"result 1", b"guidance"]
    assert await store.read_since(end, results[0]) == [b"result 1", b"guidance"]
    assert await store.read_since(end, end) == []


async def test_a_prefix_of_another_branch_is_refused(store):
    task = await conversation_of(store, b"task")
    left = await conversation_of(store, b"old answer", after=task)
    taken = (await store.append(task, "another request", b"new answer")).conversation
    taken = (await store.append(taken, "guide", b"guidance")).conversation

    with pytest.raises(ConversationBroken):
        await store.read_since(taken, left)


async def test_a_known_prefix_longer_than_the_conversation_is_refused(store):
    task = await conversation_of(store, b"task")
    longer = await conversation_of(store, b"answer", after=task)

    with pytest.raises(ConversationBroken):
        await store.read_since(task, longer)


async def test_a_message_of_ten_megabytes_is_kept_whole(store):
    large = bytes(range(256)) * 40_000
    conversation = await conversation_of(store, b"task", large, b"guidance")

    assert await store.read(conversation) == [b"task", large, b"guidance"]


async def test_a_message_of_no_bytes_is_kept(store):
    conversation = await conversation_of(store, b"task", b"", b"guidance")

    assert await store.read(conversation) == [b"task", b"", b"guidance"]


async def test_the_latest_conversation_is_where_the_run_stands(store):
    assert await store.latest(RUN.id) is None
    conversation = await conversation_of(store, b"task", b"answer")

    assert await store.latest(RUN.id) == conversation


async def test_the_latest_conversation_is_on_the_branch_written_last_though_it_is_shorter(store):
    task = await conversation_of(store, b"task")
    await conversation_of(store, b"old answer", b"old result", b"old end", after=task)
    taken = (await store.append(task, "another request", b"new answer")).conversation

    assert await store.latest(RUN.id) == taken


async def test_the_latest_conversation_ends_before_the_first_tool_result_that_is_missing(store):
    answer = await conversation_of(store, b"answer")
    await store.append_result(answer, 2, b"result 2")
    assert await store.latest(RUN.id) == answer

    first = (await store.append_result(answer, 0, b"result 0")).conversation
    assert await store.latest(RUN.id) == first

    await store.append_result(answer, 1, b"result 1")
    latest = await store.latest(RUN.id)
    assert latest is not None
    assert await store.read(latest) == [b"answer", b"result 0", b"result 1", b"result 2"]
