"""Python functions of the operator's, `package.module:function`: importing one, and calling it within its boundary.

Here: what tools and gates share. Not here: what a function is told and what its word means (`function_tools`,
`function_gates`).

- An `async` function runs on an event loop that all of them share, any other in a thread. None can hold up the worker.
- Nobody can stop a thread: a function whose time is up goes on, and what it does then is nobody's result.
"""

import asyncio
import importlib
import inspect
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from activities.loop_watch import watched
from activities.tool_unusable import ToolUnusable

MAX_THREADS: Final = 200
"""Functions that run in threads at the same time: as many as a worker has activities. Idle ones are not started."""

FUNCTIONS: Final = "functions"
"""The loop of `async` functions, as logs name it."""

MAX_REASON: Final = 2_000
"""Characters of an exception's own words that are passed on."""


@dataclass(frozen=True)
class Raised:
    """What a function raised; whatever that is, it is an answer of the operator's code."""

    error: BaseException

    def __str__(self) -> str:
        return f"{type(self.error).__name__}: {self.error}"[:MAX_REASON]


def make_importable(folder: Path) -> None:
    """Let functions be in modules beside endstop.toml; whatever is installed goes before them."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def imported(what: str, function: str) -> Callable[..., Any]:
    """Return the function. `what` needs it, such as "tool refund". Raises `ToolUnusable`."""
    module_name, _, name = function.partition(":")
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the operator's code; whatever it raises ends the worker
        why = f"cannot be imported ({Raised(error)}); it is looked for beside endstop.toml too"
        raise unusable(what, function, why) from None
    found = getattr(module, name, None)
    if found is None:
        raise unusable(what, function, f"is not there: {module.__file__ or module_name} has no {name}")
    if not callable(found):
        raise unusable(what, function, f"is no function but of type {type(found).__name__}")
    checked: Callable[..., Any] = found
    return checked


def unusable(what: str, function: str, why: str) -> ToolUnusable:
    """One line: which function of what cannot be used, and why."""
    return ToolUnusable(f"{what}: {function} {' '.join(why.split())}")


class FunctionThreads:
    """Where functions run: plain ones in threads, all `async` ones on one loop in a thread of its own.

    Not on the worker's loop: one that held that up would stop the heartbeats of every call. Threads begin with their
    first use.
    """

    def __init__(self) -> None:
        self._plain = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="function")
        self._closing = ExitStack()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def call(self, function: Callable[..., Any], named: dict[str, Any]) -> Any:  # noqa: ANN401 - whatever it returns
        """Return what the function returns, or what it `Raised`.

        Where this is cancelled, an `async` function is cancelled too, and not waited for.
        """
        if inspect.iscoroutinefunction(function):
            return await self._awaited(function(**named))
        came = await asyncio.get_running_loop().run_in_executor(self._plain, _tried, function, named)
        return await self._awaited(came) if inspect.isawaitable(came) else came

    def close(self) -> None:
        """Take no more calls. A plain function that still runs is left alone, an `async` one is cancelled."""
        self._closing.close()
        self._plain.shutdown(wait=False, cancel_futures=True)

    async def _awaited(self, call: Awaitable[Any]) -> Any:  # noqa: ANN401 - as above
        self._loop = self._loop or self._started()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_ended(call), self._loop))

    def _started(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=_turn, args=(loop,), name=FUNCTIONS, daemon=True)
        thread.start()
        self._closing.callback(loop.call_soon_threadsafe, loop.stop)
        self._closing.enter_context(watched(loop, FUNCTIONS, thread.ident or 0))
        return loop


def _turn(loop: asyncio.AbstractEventLoop) -> None:
    """The loop's life. What still waits when it is stopped is cancelled, and ends before the loop is closed."""
    asyncio.set_event_loop(loop)
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.get_loop().run_forever()


def _tried(function: Callable[..., Any], named: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
    """The boundary of a function in its thread: from there no exception would find its way in every case."""
    try:
        return function(**named)
    except BaseException as error:  # noqa: BLE001 - the operator's code; whatever it raises is its answer
        return Raised(error)


async def _ended(call: Awaitable[Any]) -> Any:  # noqa: ANN401 - as above
    """The boundary of an `async` function. Being cancelled is none of its answers; to raise as if it were is one."""
    try:
        return await call
    except BaseException as error:
        task = asyncio.current_task()
        if task and task.cancelling():
            raise
        return Raised(error)
