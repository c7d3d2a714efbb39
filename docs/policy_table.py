"""The table of `[policy]`: every key that an agent's file may set, its default, and what its docstring says.

Not here: the other tables of our pages (`tables`).
"""

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from types import UnionType
from typing import Any, Final, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from ledger.model import Frozen
from ledger.policy import Policy

_RULE: Final = re.compile(r" \((?:[A-Z]+\d|RULES|DESIGN|docs/)[^)]*\)")
"""Where a rule comes from is for those who read the code."""


def rows() -> str:
    """One row a key, in the order of `ledger/policy.py`."""
    return "\n".join(["| key | default, or else | meaning |", "|---|---|---|", *_rows("", Policy)])


def _rows(place: str, policy: type[Frozen]) -> Iterator[str]:
    told = docstrings(policy)
    for name, field in policy.model_fields.items():
        inner = _policy_of(field.annotation)
        if inner is not None:
            yield from _rows(f"{place}{name}.", inner)
        else:
            words = [_written(field.default), *(_written(word) for word in _others(field))]
            yield f"| `{place}{name}` | {', '.join(words)} | {told[name]} |"


def _policy_of(annotation: Any) -> type[Frozen] | None:  # noqa: ANN401 - any annotation
    """The table that a field is, where it is one."""
    arms = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    return next((arm for arm in arms if isinstance(arm, type) and issubclass(arm, Frozen)), None)


def docstrings(policy: type[Frozen]) -> dict[str, str]:
    """What stands under each field, on one line. A KeyError of the caller's: nothing stands there."""
    (parsed,) = ast.parse(textwrap.dedent(inspect.getsource(policy))).body
    body = parsed.body if isinstance(parsed, ast.ClassDef) else []
    told = {}
    for field, under in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(under, ast.Expr):
            text = ast.literal_eval(under.value)
            told[field.target.id] = _RULE.sub("", re.sub(r"\s+", " ", text)).rstrip(".")
    return told


def _others(field: FieldInfo) -> list[str]:
    """The words that may stand in the default's place."""
    words = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    return [word for word in words if word != field.default]


def _written(default: Any) -> str:  # noqa: ANN401 - whatever a field has
    return "none" if default is None else f"`{json.dumps(default)}`"
