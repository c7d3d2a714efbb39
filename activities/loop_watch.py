"""Notices an event loop that is held up, and says by what: a synchronous call in an `async` function, mostly.

While the worker's loop does not turn, no heartbeat leaves and no answer is read: calls that are fine become ones of
unknown outcome. Nothing in the loop can say so, hence a thread beside it. Not here: what runs on which loop.
"""

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

import structlog

from activities.heartbeat import EVERY_S

ROUSE_S: Final = 0.2
"""Seconds that a loop gets on top, so that a process that was stopped as a whole is not taken for a loop held up."""

INNERMOST: Final = 2
"""Frames that are named from where the loop is held up: a library's own, mostly."""
OUTERMOST: Final = 3
"""And of those that called it, from what the loop runs: the function that should not have done so is among them."""

_frames: Final = sys._current_frames  # noqa: SLF001 - documented for just this

_log: Final = structlog.stdlib.get_logger()


@contextmanager
def watched(loop: asyncio.AbstractEventLoop, name: str, thread: int, limit_s: float = EVERY_S) -> Iterator[None]:
    """Within this block, log when the loop, which runs in this thread, does not turn for longer than the limit."""
    over = threading.Event()
    watch = threading.Thread(target=_watch, args=(loop, name, thread, limit_s, over), name=f"watch-{name}", daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()


def _watch(loop: asyncio.AbstractEventLoop, name: str, thread: int, limit_s: float, over: threading.Event) -> None:
    while not over.wait(limit_s):
        turned, asked = threading.Event(), time.monotonic()
        try:
            loop.call_soon_threadsafe(turned.set)
        except RuntimeError:  # the loop is closed
            return
        if turned.wait(limit_s) or turned.wait(ROUSE_S):
            continue
        _log.warning("loop.blocked", loop=name, frames=_named(_frames().get(thread)))
        while not turned.wait(limit_s):
            if over.is_set():
                return
        _log.warning("loop.turns_again", loop=name, blocked_ms=round((time.monotonic() - asked) * 1_000))


def _named(frame: FrameType | None) -> str:
    """Where the thread is, the innermost first: file, line and function, no value of any variable."""
    places = []
    while frame and not _is_the_loops(frame):
        file = frame.f_code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
        places.append(f"{file}:{frame.f_lineno} {frame.f_code.co_name}")
        frame = frame.f_back
    if len(places) > INNERMOST + OUTERMOST:
        places[INNERMOST:-OUTERMOST] = ["..."]
    return " < ".join(places)


def _is_the_loops(frame: FrameType) -> bool:
    """Whether it is where asyncio runs what is due."""
    return frame.f_code is asyncio.Handle._run.__code__  # noqa: SLF001 - all that a loop runs is below it
