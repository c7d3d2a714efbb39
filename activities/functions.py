"""Python functions of the operator's, `package.module:function`: importing one, and calling it within its boundary.

Here: what tools and gates share. Not here: what a function is told and what its word means (`function_tools`,
`function_gates`).

- An `async` function runs on the worker's event loop, which it must not hold up; any other in a thread. Nobody can stop
  a thread: a function whose time is up goes on, and what it does then is nobody's result.
"""

import asyncio
import importlib
import inspect
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from activities.tool_unusable import ToolUnusable

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


async def called(function: Callable[..., Any], named: dict[str, Any], threads: Executor) -> Any:  # noqa: ANN401 - whatever it returns
    """Return what the function returns, or what it `Raised`."""
    if inspect.iscoroutinefunction(function):
        return await _awaited(function(**named))
    came = await asyncio.get_running_loop().run_in_executor(threads, _tried, function, named)
    return await _awaited(came) if inspect.isawaitable(came) else came


def _tried(function: Callable[..., Any], named: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
    """The boundary of a function in its thread: from there no exception would find its way in every case."""
    try:
        return function(**named)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the operator's code; whatever it raises is its answer
        return Raised(error)


async def _awaited(call: Awaitable[Any]) -> Any:  # noqa: ANN401 - as above
    """The boundary of an `async` function. A cancellation is none of its answers."""
    try:
        return await call
    except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
        return Raised(error)
