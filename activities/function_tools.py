"""Tools that are Python functions of the operator's: `package.module:function`, imported when the worker starts.

Here: what a signature tells a model, checking the arguments, and wording what came of a call. Not here: importing and
calling (`functions`), which functions there are (`declared_tools`), the time limit and the stored result (`run_tool`).

- The parameters' annotations are the schema, `Annotated[int, Field(description="...")]` says what one means, the
  docstring says when to use the tool. Every parameter is annotated and has a name of its own: no `*args`, no `**more`.
- A parameter `idempotency_key: str` is no argument of the model's: it gets a text that is the same every time that this
  very call is carried out, for the service that the function calls.
- A text is the result as it is, anything else as JSON. An exception is told to the model as "TypeName: message".
"""

import inspect
import typing
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import pydantic_core
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from activities.builtin_tools import declaration
from activities.declared_tools import FunctionTool
from activities.functions import FunctionThreads, Raised, imported, unusable
from activities.tool import Asked, Tool, ToolResult
from activities.tool_declaration import ToolDeclaration
from activities.tool_unusable import ToolUnusable
from ledger.model import Frozen
from ledger.reading import one_line

KEY: Final = "idempotency_key"
"""Name of the parameter that gets the call's key."""

_KEPT: Final = frozenset(name for name in dir(BaseModel) if name.startswith("model_"))
"""Names that no field of a pydantic model can have; all others can."""

_BY_NAME: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def function_tool(declared: FunctionTool, threads: FunctionThreads) -> Tool:
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
    threads: FunctionThreads

    @classmethod
    def of(cls, declared: FunctionTool, threads: FunctionThreads) -> "_Function":
        call = imported(f"tool {declared.name}", declared.function)
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
        came = await self.threads.call(self.call, {**named, **key})
        return ToolResult(text=str(came), failed=True) if isinstance(came, Raised) else _worded(came)


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
                return ToolResult(text=str(Raised(error)), failed=True)


def _unusable(declared: FunctionTool, what: str) -> ToolUnusable:
    return unusable(f"tool {declared.name}", declared.function, what)


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
