"""The page about scripts of simulated models, from the classes and docstrings that read them."""

import inspect
import json
from typing import Any, Final, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from simulator import script
from simulator.replies import Answer, ErrorWord, Reply, ReplyBase, ToolCall, Usage

_KINDS: Final = get_args(get_args(Reply)[0])


def layout() -> str:
    """An annotated script, and how replies are chosen, as `simulator/script.py` tells it."""
    _, _, told = _doc(script).split("\n\n", 2)
    return told


def kinds() -> str:
    """One row a kind of reply, as `simulator/replies.py` has it; fields that are common to several are told once."""
    head = ["| `kind` | what the simulator does | its own fields |", "|---|---|---|"]
    return "\n".join([*head, *map(_row, _KINDS)])


def common() -> str:
    """The fields that all replies have, and all good answers, and what stands in `calls`, `usage` and `error`."""
    return "\n\n".join(
        (
            f"Every reply: {_fields_told(ReplyBase)}",
            f"`text` and `tool_calls`, and the `answer` of others: {_fields_told(Answer)}",
            f"Each of `calls`: {_listed(ToolCall, frozenset())}. `usage`: {_listed(Usage, frozenset())}.",
            f"`error` is one of {', '.join(f'`{word}`' for word in get_args(ErrorWord))}.",
        )
    )


def _row(reply: type[ReplyBase]) -> str:
    shared = Answer if issubclass(reply, Answer) else ReplyBase
    own = _listed(reply, frozenset(shared.model_fields))
    return f"| `{reply.model_fields['kind'].default}` | {_flat(_doc(reply))} | {own or '-'} |"


def _listed(values: Any, without: frozenset[str]) -> str:  # noqa: ANN401 - a class of values
    fields = {name: one for name, one in values.model_fields.items() if name not in without and name != "kind"}
    return ", ".join(f"`{name}`{_said(one)}" for name, one in fields.items())


def _said(field: FieldInfo) -> str:
    """Whether a field is required, else its default, where that is not nothing, and other words that it takes."""
    if field.is_required():
        return " (required)"
    if get_origin(field.annotation) is Literal:
        others = "".join(f", or `{word}`" for word in get_args(field.annotation) if word != field.default)
        return f" (`{field.default}`{others})"
    plain = isinstance(field.default, int | float | str) and field.default
    return f" ({json.dumps(field.default)})" if plain else ""


def _fields_told(values: type[ReplyBase]) -> str:
    """The part of a docstring that tells its fields."""
    return _flat(_doc(values).partition("\n\n")[2])


def _doc(told: Any) -> str:  # noqa: ANN401 - a module or a class
    return inspect.cleandoc(told.__doc__)


def _flat(text: str) -> str:
    return " ".join(text.split())
