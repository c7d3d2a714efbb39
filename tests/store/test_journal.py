"""The journal keeps every entry once, in order, and tells the branches of a run that was reset apart."""

import pytest

WAIT = {"type": "wait", "asked_ms": 1000}


def entries(first: int, last: int, **fields: object) -> list[tuple[int, dict]]:
    return [(seq, {"type": "run", "what": "stage", **fields}) for seq in range(first, last + 1)]


def seqs(read: list[dict]) -> list[int]:
    return [entry["seq"] for entry in read]


async def test_entries_are_read_as_they_were_written_each_with_its_number(store):
    facts = {"type": "wait", "facts": {"b": [1, None, True], "a": "Größe"}, "system_hash": 2**64 - 1, "usd": 0.25}
    await store.write_journal("run-1", [(1, WAIT), (2, facts)])

    assert await store.read_journal("run-1") == [{**WAIT, "seq": 1}, {**facts, "seq": 2}]


async def test_a_run_without_entries_has_an_empty_journal(store):
    await store.write_journal("run-1", [])

    assert await store.read_journal("run-1") == []


async def test_writing_entries_again_changes_nothing(store):
    await store.write_journal("run-1", entries(1, 4))
    await store.write_journal("run-1", entries(1, 4))
    await store.write_journal("run-1", entries(3, 6))

    assert seqs(await store.read_journal("run-1")) == [1, 2, 3, 4, 5, 6]


async def test_the_same_entry_with_its_keys_in_another_order_is_the_same_entry(store):
    await store.write_journal("run-1", [(1, {"type": "wait", "asked_ms": 1}), (2, WAIT)])
    await store.write_journal("run-1", [(1, {"asked_ms": 1, "type": "wait"})])

    assert seqs(await store.read_journal("run-1")) == [1, 2]


async def test_entries_are_in_order_of_their_numbers_whenever_they_came(store):
    await store.write_journal("run-1", entries(11, 12))
    await store.write_journal("run-1", entries(1, 10))

    assert seqs(await store.read_journal("run-1")) == list(range(1, 13))


async def test_entries_of_another_run_do_not_leak(store):
    await store.write_journal("run-1", entries(1, 2))
    await store.write_journal("run-2", entries(1, 9))

    assert seqs(await store.read_journal("run-1")) == [1, 2]


@pytest.mark.parametrize(
    ("after", "limit", "expected"),
    [(0, None, [1, 2, 3, 4, 5]), (3, None, [4, 5]), (1, 2, [2, 3]), (5, None, []), (0, 0, [])],
)
async def test_a_reader_goes_on_after_a_number_with_so_many_at_a_time(store, after, limit, expected):
    await store.write_journal("run-1", entries(1, 5))

    assert seqs(await store.read_journal("run-1", after=after, limit=limit)) == expected


async def test_after_a_reset_the_journal_is_that_of_the_new_branch(store):
    await store.write_journal("run-1", entries(1, 9, branch="old"))
    await store.write_journal("run-1", entries(5, 6, branch="new"))

    read = await store.read_journal("run-1")

    assert [(entry["seq"], entry["branch"]) for entry in read] == [
        *((seq, "old") for seq in (1, 2, 3, 4)),
        *((seq, "new") for seq in (5, 6)),
    ]
    assert seqs(await store.read_journal("run-1", after=4, limit=1)) == [5]
    assert seqs(await store.read_journal("run-1", after=6)) == []


async def test_a_second_reset_leaves_the_first_new_branch(store):
    await store.write_journal("run-1", entries(1, 9, branch="a"))
    await store.write_journal("run-1", entries(5, 8, branch="b"))
    await store.write_journal("run-1", entries(3, 4, branch="c"))
    await store.write_journal("run-1", entries(5, 6, branch="c"))

    assert "".join(entry["branch"] for entry in await store.read_journal("run-1")) == "aacccc"


async def test_a_batch_is_written_whole_or_not_at_all(store):
    unwritable = {"cost": float("nan")}

    with pytest.raises(ValueError, match="JSON compliant"):
        await store.write_journal("run-1", [(1, WAIT), (2, unwritable)])

    assert await store.read_journal("run-1") == []
