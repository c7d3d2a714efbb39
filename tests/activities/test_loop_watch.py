"""A loop that is held up is noticed from beside it, with the function that holds it up, and so is its end."""

import asyncio
import threading
from queue import Queue

import pytest

from activities import loop_watch
from activities.loop_watch import watched

HANG_S = 30
"""Bounds a test that hangs; nothing is measured by it."""


@pytest.fixture
def logged(monkeypatch) -> Queue:
    """What the watch logs, as it logs it."""
    events: Queue = Queue()

    class Log:
        def warning(self, event: str, **facts: object) -> None:
            events.put((event, facts))

    monkeypatch.setattr(loop_watch, "_log", Log())
    return events


@pytest.fixture
def loop():
    """A loop in a thread of its own."""
    made = asyncio.new_event_loop()
    thread = threading.Thread(target=made.run_forever)
    thread.start()
    yield made, thread.ident
    made.call_soon_threadsafe(made.stop)
    thread.join()
    made.close()


def running_threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def deeply(levels: int, until: threading.Event) -> None:
    """Wait as a library does, some calls down."""
    if levels:
        deeply(levels - 1, until)
    else:
        until.wait()


async def a_synchronous_sdk(secret: str, until: threading.Event) -> str:
    deeply(9, until)
    return secret


def test_a_loop_that_is_held_up_is_logged_with_the_functions_that_do_it_and_again_when_it_turns(loop, logged):
    until = threading.Event()
    turning, thread = loop
    with watched(turning, "this one", thread, limit_s=0.05):
        held = asyncio.run_coroutine_threadsafe(a_synchronous_sdk("secret-marker", until), turning)
        event, facts = logged.get(timeout=HANG_S)
        assert (event, facts["loop"]) == ("loop.blocked", "this one")
        until.set()
        assert held.result(HANG_S) == "secret-marker"
        again, ended = logged.get(timeout=HANG_S)
    innermost, *_, outermost = facts["frames"].split(" < ")
    assert innermost.startswith("threading.py:")
    assert outermost.startswith("test_loop_watch.py:")
    assert outermost.endswith(" a_synchronous_sdk")
    assert "..." in facts["frames"]
    assert "secret-marker" not in facts["frames"]
    assert (again, ended["loop"]) == ("loop.turns_again", "this one")
    assert ended["blocked_ms"] > 0


def test_a_watch_ends_with_its_block_and_with_its_loop(logged):
    turning = asyncio.new_event_loop()
    with watched(turning, "held up for ever", threading.get_ident(), limit_s=0.01):
        assert logged.get(timeout=HANG_S)[0] == "loop.blocked"
    for thread in threading.enumerate():
        if thread.name == "watch-held up for ever":
            thread.join(HANG_S)
    assert "watch-held up for ever" not in running_threads()
    turning.close()
    with watched(turning, "closed", threading.get_ident(), limit_s=0.01):
        for thread in threading.enumerate():
            if thread.name == "watch-closed":
                thread.join(HANG_S)
        assert "watch-closed" not in running_threads()
