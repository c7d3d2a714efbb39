"""Expiry removes all that is old, in batches, and does not call itself done while a file still holds it."""

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.expiring import BATCH, DAY_S, SCRUBS, Expirer
from store import Removed, Store


class ReadStore:
    """A store with nothing old in it, whose files others read for so many tries."""

    def __init__(self, busy: int) -> None:
        self.busy = busy

    async def expire(self, before: int, *, by: str, limit: int) -> Removed:
        return Removed()

    async def scrub(self) -> bool:
        self.busy -= 1
        return self.busy < 0


async def test_all_that_is_old_goes_however_much_it_is(tmp_path):
    store = await Store.open(f"sqlite:///{tmp_path / 'store.db'}")
    for number in range(BATCH + 1):
        await store.keep_request("run-1", f"{number}.1.1", b"body")
    (newest, *_) = reversed(await store.captured("run-1"))
    after_a_day = Expirer(store, now=lambda: newest.at + DAY_S + 1)
    within_a_day = Expirer(store, now=lambda: newest.at + DAY_S - 60)

    assert await ActivityEnvironment().run(within_a_day.expire, 1) == {"requests": 0, "details": 0}
    assert await ActivityEnvironment().run(after_a_day.expire, 1) == {"requests": BATCH + 1, "details": 0}
    await store.close()


async def test_a_try_that_removes_nothing_still_brings_out_what_the_one_before_removed():
    store = ReadStore(busy=SCRUBS - 1)

    await ActivityEnvironment().run(Expirer(store).expire, 1)

    assert store.busy == -1


async def test_while_a_file_is_read_it_is_tried_again_later():
    with pytest.raises(ApplicationError, match="still stands in a file that others read") as failed:
        await ActivityEnvironment().run(Expirer(ReadStore(busy=SCRUBS)).expire, 1)
    assert not failed.value.non_retryable
