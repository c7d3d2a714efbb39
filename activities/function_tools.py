"""Tools that are Python functions of the operator's: `package.module:function`, imported when the worker starts.

Here: what a signature tells a model, checking the arguments, calling, and wording what came of it. Not here: which
functions there are (`declared_tools`), the time limit and the stored result (`run_tool`).

- The parameters' annotations are the schema, `Annotated[int, Field(description="...")]` says what one means, the
  docstring says when to use the tool. Every parameter is annotated and has a name of its own: no `*args`, no `**more`.
- A parameter `idempotency_key: str` is no argument of the model's: it gets a text that is the same every time that this
  very call is carried out, for the service that the function calls.
- A text is the result as it is, anything else as JSON. An exception is told to the model as "TypeName: message".
- An `async` function runs on the worker's event loop, which it must not hold up; any other in a thread. Nobody can stop
  a thread: a function whose time is up goes on, and what it does then is nobody's result.
"""

import asyncio
import functools
import importlib
import inspect
import sys
import typing
import warnings
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pydantic_core
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from activities.builtin_tools import declaration
from activities.declared_tools import FunctionTool
from activities.tool import Asked, Tool, ToolResult
from activities.tool_declaration import ToolDeclaration
from activities.tool_unusable import ToolUnusable
from ledger.model import Frozen
from ledger.reading import one_line

KEY: Final = "idempotency_key"
"""Name of the parameter that gets the call's key."""

MAX_REASON: Final = 2_000
"""Characters of an exception's own words that the model is told."""

_KEPT: Final = frozenset(name for name in dir(BaseModel) if name.startswith("model_"))
"""Names that no field of a pydantic model can have; all others can."""

_BY_NAME: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def make_importable(folder: Path) -> None:
    """Let functions be in modules beside endstop.toml; whatever is installed goes before them."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def function_tool(declared: FunctionTool, threads: Executor) -> Tool:
    """Import the function and read its signature. `ToolUnusable`: it cannot be a tool."""
    function = _Function.of(declared, threads)
    return Tool(declaration=function.declaration, run=function.run)


@dataclass(frozen=True, kw_only=True)
class _Function:
    declaration: ToolDeclaration
    call: Callable[..., Any]
    arguments: type[Frozen]
    """What the model may give: the signature, as a model whose defaults are never used."""
    wants_key: bool
    threads: Executor

    @classmethod
    def of(cls, declared: FunctionTool, threads: Executor) -> "_Function":
        call = _imported(declared)
        described = inspect.getdoc(call)
        if not described:
            raise _unusable(declared, "has no docstring, which is what a model is told of it; write one")
        parameters = _parameters(declared, call)
        wants_key = parameters.pop(KEY, None) is not None
        arguments = _arguments(declared, parameters, described)
        told = _declaration(declared, arguments)
        return cls(declaration=told, call=call, arguments=arguments, wants_key=wants_key, threads=threads)

    async def run(self, asked: Asked) -> ToolResult:
        name = self.declaration.name
        try:
            given = self.arguments.model_validate_json(asked.arguments or "{}")
        except ValidationError as error:
            return ToolResult(text=one_line(error, f"arguments of {name}", self.arguments), failed=True)
        # Of what was not given the function has its own defaults.
        named = {field: getattr(given, field) for field in given.model_fields_set}
        key = {KEY: asked.key} if self.wants_key else {}
        return await self._called(functools.partial(self.call, **named, **key))

    async def _called(self, call: Callable[[], Any]) -> ToolResult:
        if inspect.iscoroutinefunction(self.call):
            return await _awaited(call())
        came = await asyncio.get_running_loop().run_in_executor(self.threads, _tried, call)
        return await _awaited(came) if inspect.isawaitable(came) else _worded(came)


def _tried(call: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever the function returns
    """The boundary of a function in its thread: from there no exception would find its way in every case."""
    try:
        return call()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the operator's code; whatever it raises is its answer
        return _told(error)


async def _awaited(call: Awaitable[Any]) -> ToolResult:
    """The boundary of an `async` function. A cancellation is none of its answers."""
    try:
        return _worded(await call)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
        return _told(error)


def _told(error: BaseException) -> ToolResult:
    return ToolResult(text=f"{type(error).__name__}: {error}"[:MAX_REASON], failed=True)


def _worded(came: Any) -> ToolResult:  # noqa: ANN401 - whatever the function returned
    match came:
        case ToolResult():
            return came
        case str():
            return ToolResult(text=came)
        case _:
            try:
                return ToolResult(text=pydantic_core.to_json(came).decode())
            except (ValueError, RecursionError) as error:
                return _told(error)


def _unusable(declared: FunctionTool, what: str) -> ToolUnusable:
    return ToolUnusable(f"tool {declared.name}: {declared.function} {' '.join(what.split())}")


def _imported(declared: FunctionTool) -> Callable[..., Any]:
    module_name, _, name = declared.function.partition(":")
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the operator's code; whatever it raises ends the worker
        reason = f"{type(error).__name__}: {error}"[:MAX_REASON]
        raise _unusable(declared, f"cannot be imported ({reason}); it is looked for beside endstop.toml too") from None
    found = getattr(module, name, None)
    if found is None:
        raise _unusable(declared, f"is not there: {module.__file__ or module_name} has no {name}")
    if not callable(found):
        raise _unusable(declared, f"is no function but of type {type(found).__name__}")
    checked: Callable[..., Any] = found
    return checked


def _parameters(declared: FunctionTool, call: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters by name, each with its annotation as a type."""
    try:
        signature = inspect.signature(call)
        types = typing.get_type_hints(call, include_extras=True)
    except (TypeError, ValueError, NameError) as error:
        raise _unusable(declared, f"has a signature that cannot be read ({error}); annotate with types") from None
    for parameter in signature.parameters.values():
        if parameter.kind not in _BY_NAME:
            raise _unusable(declared, f"takes {_written(parameter)}, and a model gives arguments by name only")
        if parameter.name.startswith("_") or parameter.name in _KEPT:
            raise _unusable(declared, f"has a parameter {parameter.name}, a name that pydantic keeps; give it another")
        if parameter.name not in types:
            raise _unusable(declared, f"has a parameter {parameter.name} without a type; annotate it")
    if types.get(KEY, str) is not str:
        raise _unusable(declared, f"has a parameter {KEY} that is no str")
    return {name: one.replace(annotation=types[name]) for name, one in signature.parameters.items()}


def _written(parameter: inspect.Parameter) -> str:
    match parameter.kind:
        case inspect.Parameter.VAR_POSITIONAL:
            return f"*{parameter.name}"
        case inspect.Parameter.VAR_KEYWORD:
            return f"**{parameter.name}"
        case _:
            return f"{parameter.name} by position"


def _arguments(declared: FunctionTool, parameters: dict[str, inspect.Parameter], described: str) -> type[Frozen]:
    fields: dict[str, Any] = {name: (one.annotation, _default(one)) for name, one in parameters.items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a parameter may well be called `copy` or `json`
            return create_model(declared.name, __base__=_Given, __doc__=described, **fields)
    except (TypeError, ValueError, NameError, RuntimeError) as error:  # pydantic's own are among these
        raise _unusable(declared, f"has a parameter that no JSON can be ({_first_line(error)})") from None


class _Given(Frozen):
    """What a model gave."""

    model_config = ConfigDict(protected_namespaces=())


def _default(parameter: inspect.Parameter) -> Any:  # noqa: ANN401 - any default
    return ... if parameter.default is inspect.Parameter.empty else Field(default=parameter.default)


def _declaration(declared: FunctionTool, arguments: type[Frozen]) -> ToolDeclaration:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a default that JSON cannot say is left out
            told = declaration(declared.name, arguments)
    except (TypeError, ValueError, NameError, RuntimeError) as error:
        raise _unusable(declared, f"has a parameter that no JSON can be ({_first_line(error)})") from None
    return told.model_copy(update={"handling": declared.handling})


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
