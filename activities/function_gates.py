"""Gates that are Python functions of the operator's: what one may ask for, and what its word means for the work.

Here: reading the signature, calling, telling a failure of the work from one of the function. Not here: importing
(`functions`), the verdict that is kept (`verdicts`).

- It gets `answer`, the text of the stage's last answer, and `workspace`, the folder of the run's workspace as a Path,
  where it has parameters of these names. Any other parameter needs a default.
- None and True pass. False, or a text that says why, fails. An AssertionError fails with its message.
- Any other exception, any other value and a function that takes too long are trouble of the function's own: it is
  broken, which is no failure of the work.
"""

import asyncio
import inspect
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from activities.declared_gates import FunctionGate
from activities.functions import FunctionThreads, Raised, imported, unusable
from ledger.model import Frozen

ANSWER: Final = "answer"
WORKSPACE: Final = "workspace"
"""Names of the parameters that a function may have."""


class Fails(Frozen):
    """The work does not pass."""

    text: str
    """Why, for the model."""


class Breaks(Frozen):
    """The gate itself could not tell."""

    reason: str
    """For people."""


Found = Fails | Breaks | None
"""What a gate of ours found; None: the work passes."""


@dataclass(frozen=True, kw_only=True)
class GateFunction:
    """A function that this worker has imported."""

    declared: FunctionGate
    call: Callable[..., Any]
    parameters: frozenset[str]
    """Those of `answer` and `workspace` that it has."""
    needs_workspace: bool
    """It has no default to go without one."""
    threads: FunctionThreads

    @classmethod
    def of(cls, declared: FunctionGate, threads: FunctionThreads) -> "GateFunction":
        """Import the function and read its signature. Raises `ToolUnusable`."""
        what = f"gate {declared.name}"
        call = imported(what, declared.function)
        try:
            parameters = inspect.signature(call).parameters
        except (TypeError, ValueError) as error:
            raise unusable(what, declared.function, f"has a signature that cannot be read ({error})") from None
        for parameter in parameters.values():
            if _cannot_be_given(parameter):
                why = f"takes {parameter}, and a gate is given {ANSWER} and {WORKSPACE} by name"
                raise unusable(what, declared.function, f"{why}; give it a default or leave it out")
        return cls(
            declared=declared,
            call=call,
            parameters=frozenset(parameters.keys() & {ANSWER, WORKSPACE}),
            needs_workspace=WORKSPACE in parameters and parameters[WORKSPACE].default is inspect.Parameter.empty,
            threads=threads,
        )

    @property
    def in_workspace(self) -> bool:
        """Whether it can use the run's workspace, where there is one."""
        return WORKSPACE in self.parameters

    async def found(self, answer: str, workspace: Path | None) -> Found:
        """Ask it once."""
        given: dict[str, Any] = {ANSWER: answer} | ({WORKSPACE: workspace} if workspace else {})
        named = {name: value for name, value in given.items() if name in self.parameters}
        limit = self.declared.timeout_s
        try:
            async with asyncio.timeout(limit):
                return self._meant(await self.threads.call(self.call, named))
        except TimeoutError:
            return Breaks(reason=f"{self.declared.function} was called off after {limit:g} s, its time limit")

    def _meant(self, came: Any) -> Found:  # noqa: ANN401 - whatever the function returned
        function = self.declared.function
        match came:
            case None | True:
                return None
            case False:
                return Fails(text=f"error: {self.declared.name}: the check is not met")
            case str() if came.strip():
                return Fails(text=came)
            case Raised(error=AssertionError() as error):
                return Fails(text=_asserted(error))
            case Raised(error=error):
                return Breaks(reason=f"{function} raised {type(error).__name__}{_where(error)}")
            case _:
                returned = "an empty text" if isinstance(came, str) else f"a value of type {type(came).__name__}"
                return Breaks(
                    reason=f"{function} returned {returned}; a gate returns None, True, False or why it fails"
                )


def _cannot_be_given(parameter: inspect.Parameter) -> bool:
    match parameter.kind:
        case inspect.Parameter.VAR_POSITIONAL | inspect.Parameter.VAR_KEYWORD:
            return False
        case inspect.Parameter.POSITIONAL_ONLY:
            return parameter.default is inspect.Parameter.empty or parameter.name in (ANSWER, WORKSPACE)
        case _:
            return parameter.default is inspect.Parameter.empty and parameter.name not in (ANSWER, WORKSPACE)


def _asserted(error: AssertionError) -> str:
    """Its message; without one, the line that asserts."""
    last = _last(error)
    line = f": {last.line}" if last and last.line else ""
    return str(error).strip() or f"AssertionError{line}"


def _where(error: BaseException) -> str:
    """The innermost place of an exception; its message may quote what the work says, and is not kept."""
    last = _last(error)
    return f" in {Path(last.filename).name}, line {last.lineno}" if last else ""


def _last(error: BaseException) -> traceback.FrameSummary | None:
    return next(reversed(traceback.extract_tb(error.__traceback__)), None)
