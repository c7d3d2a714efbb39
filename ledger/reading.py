"""Turns a validation error into the one line a person gets: what, where, what was expected.

Here: words about input that does not fit, and which known name was probably meant. Not here: reading files, and what
to do with the line. The input itself is never echoed; keys and names are, because a person must find them.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError
from pydantic_core import ErrorDetails

Place = tuple[int | str, ...]
"""Where in the input: keys and list indexes (from 0), as pydantic writes `loc`."""

SHOWN_NAME: Final = 64
"""Characters of a key or name that are shown; a longer one is cut."""

SHOWN_CHOICES: Final = 12
"""Known names that are listed where none is close."""

ALIKE: Final = 0.65
"""How alike a known name has to be to be meant, from 0 to 1 (difflib): "opnai" and "openai" are 0.9, "nope" is 0.6."""

_EXPECTED: Final = {
    # pydantic's words, where ours are plainer
    "missing": "is missing",
    "model_type": "should be a table of keys and values",
    "dict_type": "should be a table of keys and values",
    "model_attributes_type": "should be a table of keys and values",
    "tuple_type": "should be a list",
    "list_type": "should be a list",
    "string_type": "should be text",
    "too_short": "should not be empty",
    "json_invalid": "is not valid JSON",
}

_SUBJECT: Final = re.compile(r"^(Value error, |(Input|String|Value|List|Tuple|Dictionary) (?=should ))")
"""What opens pydantic's messages; our line has named the subject already."""


def one_line(error: ValidationError, subject: str, shape: type[BaseModel] | None = None, hidden: Place = ()) -> str:
    """`subject: where: expected`, for the first error; unknown keys come first, since they explain a missing one.

    `shape` is the model that was validated, for suggestions. `hidden` is a place that the person did not write (the
    single stage of a flat agent): it is left out, and its keys are known at the top as well.
    """
    problems = _causes(error.errors(include_url=False, include_input=False))
    problems.sort(key=lambda problem: problem["type"] != "extra_forbidden")
    first = problems[0]
    where = _written(_without_tags(first["loc"], shape), hidden)
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return ": ".join(part for part in (subject, where, _expected(first, shape, hidden)) if part) + more


def suggestion(name: str, known: Iterable[str]) -> str:
    """Which known name was probably meant, else which there are: the second half of a line about an unknown one."""
    names = sorted(set(known))
    close = get_close_matches(name, names, n=1, cutoff=ALIKE)
    if close:
        return f'did you mean "{shown(close[0])}"?'
    if not names:
        return "there are none"
    rest = ", ..." if len(names) > SHOWN_CHOICES else ""
    return "there are: " + ", ".join(shown(known_name) for known_name in names[:SHOWN_CHOICES]) + rest


def shown(name: str) -> str:
    """A name as it may stand in a line: control characters escaped, cut at `SHOWN_NAME` characters."""
    plain = "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in name[: SHOWN_NAME + 1])
    return plain if len(plain) <= SHOWN_NAME else plain[:SHOWN_NAME] + "..."


def _causes(problems: list[ErrorDetails]) -> list[ErrorDetails]:
    """Without what only follows from another: a list whose item is wrong is reported as too short as well."""
    places = {problem["loc"] for problem in problems}
    outer = {place[:depth] for place in places for depth in range(len(place))}
    return [problem for problem in problems if problem["type"] != "too_short" or problem["loc"] not in outer]


def _expected(problem: ErrorDetails, shape: type[BaseModel] | None, hidden: Place) -> str:
    if problem["type"] == "extra_forbidden":
        known = _keys_at(shape, problem["loc"][:-1])
        if len(problem["loc"]) == 1 and hidden:
            known |= _keys_at(shape, hidden)
        return "unknown key" + (f", {suggestion(str(problem['loc'][-1]), known)}" if known else "")
    if problem["type"] == "union_tag_invalid":  # its message repeats the tag that was given
        return f"should have {problem['ctx']['discriminator']} one of {problem['ctx']['expected_tags']}"
    return _EXPECTED.get(problem["type"]) or _SUBJECT.sub("", problem["msg"], count=1)


def _written(loc: Place, hidden: Place) -> str:
    """The place as a person writes it: `stages[0].limits.turns`."""
    if hidden and loc[: len(hidden)] == hidden:
        loc = loc[len(hidden) :]
    text = ""
    for step in loc:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step != "[key]":  # pydantic's mark for "the key itself", which precedes it
            text += f".{shown(step)}"
    return text.removeprefix(".")


def _without_tags(loc: Place, shape: Any) -> Place:  # noqa: ANN401 - any annotation
    """The place without the steps that only say which arm of a union was taken, and that nobody wrote."""
    written: list[int | str] = []
    for step in loc:
        if not any(_wears(arm, step) for arm in get_args(shape)):
            written.append(step)
        shape = _bare(_inside(shape, step))
    return tuple(written)


def _keys_at(shape: Any, loc: Place) -> set[str]:  # noqa: ANN401 - any annotation
    for step in loc:
        shape = _bare(_inside(shape, step))
    return {field.alias or name for name, field in shape.model_fields.items()} if _is_model(shape) else set()


def _inside(shape: Any, step: int | str) -> Any:  # noqa: ANN401 - any annotation
    """The annotation one step further in; None where that is not known."""
    if _is_model(shape):
        field = next((field for name, field in shape.model_fields.items() if (field.alias or name) == step), None)
        return field.annotation if field else None
    arms = get_args(shape)
    origin = get_origin(shape)
    if origin in (Union, UnionType):
        return next((arm for arm in arms if _is_tagged(arm, step)), None)
    if origin is dict:
        return arms[1]
    return arms[0] if origin in (tuple, list) else None


def _bare(shape: Any) -> Any:  # noqa: ANN401 - any annotation
    """`X` of `Annotated[X, ...]` and of `X | None`."""
    arms = [arm for arm in get_args(shape) if arm is not type(None)]
    if get_origin(shape) is Annotated or (get_origin(shape) in (Union, UnionType) and len(arms) == 1):
        return _bare(arms[0])
    return shape


def _is_model(shape: Any) -> bool:  # noqa: ANN401 - any annotation
    return isinstance(shape, type) and issubclass(shape, BaseModel)


def _is_tagged(arm: Any, tag: int | str) -> bool:  # noqa: ANN401 - any annotation
    """Whether this arm of a discriminated union carries the tag; pydantic puts the tag into the place."""
    if _wears(arm, tag):
        return True
    return _is_model(arm) and any(field.default == tag for field in arm.model_fields.values())


def _wears(arm: Any, tag: int | str) -> bool:  # noqa: ANN401 - any annotation
    """Whether the tag is a name of ours for this arm, which is in no input."""
    return get_origin(arm) is Annotated and any(isinstance(m, Tag) and m.tag == tag for m in arm.__metadata__)
