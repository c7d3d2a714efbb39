"""A stage's output schema, as JSON Schema 2020-12 reads it: whether it can be used, and whether an answer fits it.

Here: what is refused before a run starts, so that no check of an answer can fetch an address, run for ever or break.
Not here: how a vendor is told the schema (`output_form`). `format` says what is meant and is not checked.
"""

from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final
from urllib.parse import unquote

import pydantic_core
from jsonschema import Draft202012Validator, validators  # type: ignore[import-untyped]
from jsonschema.exceptions import SchemaError, ValidationError  # type: ignore[import-untyped]
from pydantic import JsonValue
from pydantic_core import SchemaValidator, core_schema
from referencing import Registry

from ledger.reading import shown

Place = tuple[str, ...]
"""Where in a schema: its keywords, names and list indexes."""

MAX_REFS: Final = 50_000
"""References that one check of an answer follows: one or two seconds. Nested choices could double with every level."""

_IN_PLACE: Final = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"})
"""Keywords whose schemas are for the same value; the others' are for what is inside it, or for whoever refers."""

_SINGLES: Final = frozenset({"not", "if", "then", "else", "items", "contains", "additionalProperties", "propertyNames"})
_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_BY_NAME: Final = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})

REFUSED: Final = frozenset(
    {"$id", "$dynamicRef", "$recursiveRef", "patternProperties", "unevaluatedProperties", "unevaluatedItems"}
)
"""Keywords that no vendor takes, and that make a check depend on addresses, or cost without bound."""


def refusal(schema: dict[str, JsonValue]) -> str | None:
    """Say why the schema cannot be used: where, and what was expected; None: it can. Only names are shown."""
    try:
        Draft202012Validator.check_schema(schema, format_checker=None)  # patterns are for `_compiles`
    except SchemaError as error:
        return _said(tuple(map(str, error.absolute_path)), "is not what JSON Schema 2020-12 expects there")
    parts = dict(_parts(schema))
    problems = (
        _said((*place, keyword), why) for place, part in parts.items() for keyword, why in _problems(place, part, parts)
    )
    return next(problems, None) or _endless(parts)


def misfit(schema: Mapping[str, JsonValue], text: str) -> str | None:
    """Say why an answer's text is not JSON that fits: where, and which keyword; None: it fits."""
    try:
        value = pydantic_core.from_json(text, allow_inf_nan=False)
    except ValueError:
        return "it is not JSON"
    _refs_left.set(MAX_REFS)
    # The root may name its dialect, which would bring that dialect's own keywords instead of ours.
    known = {name: held for name, held in schema.items() if name != "$schema"}
    try:
        error = next(_VALIDATOR(known, registry=Registry()).iter_errors(value), None)
    except (_TooLongError, RecursionError):
        return "it is nested too deeply to be checked"
    return None if error is None else _unmet(error, tuple(map(str, error.absolute_path)))


def _unmet(error: ValidationError, place: Place) -> str:
    """Where, and which keyword of the schema; a field that is not there is named."""
    if error.validator == "required":
        return _said((*place, next(name for name in error.validator_value if name not in error.instance)), "is missing")
    return _said(place, f"{error.validator} is not met")


class _TooLongError(Exception):
    """The check has followed too many references."""


_refs_left: ContextVar[int] = ContextVar("_refs_left", default=MAX_REFS)


def _counted(validator: Any, ref: str, instance: Any, schema: Any) -> Iterator[ValidationError]:  # noqa: ANN401 - the library's signature
    """`$ref` of the library, up to a number."""
    left = _refs_left.get()
    if not left:
        raise _TooLongError
    _refs_left.set(left - 1)
    yield from Draft202012Validator.VALIDATORS["$ref"](validator, ref, instance, schema)


def _matches(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:  # noqa: ANN401, ARG001 - as above
    """`pattern` by an engine whose time grows with the text's length only: the library's may take for ever."""
    if isinstance(instance, str) and not _regex(pattern).isinstance_python(instance):
        yield ValidationError("does not match the pattern")


_VALIDATOR: Final = validators.extend(Draft202012Validator, {"$ref": _counted, "pattern": _matches})


@lru_cache(256)
def _regex(pattern: str) -> SchemaValidator:
    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))


def _parts(schema: JsonValue, place: Place = ()) -> Iterator[tuple[Place, JsonValue]]:
    """The schema and all schemas in it; not what only looks like one, such as a default."""
    yield place, schema
    for steps, part in _children(schema):
        yield from _parts(part, (*place, *steps))


def _children(schema: JsonValue) -> Iterator[tuple[Place, JsonValue]]:
    """The schemas right below a schema."""
    for keyword, held in schema.items() if isinstance(schema, dict) else ():
        if keyword in _SINGLES:
            yield (keyword,), held
        elif keyword in _LISTS and isinstance(held, list):
            yield from (((keyword, str(index)), part) for index, part in enumerate(held))
        elif keyword in _BY_NAME and isinstance(held, dict):
            yield from (((keyword, name), part) for name, part in held.items())


def _problems(place: Place, part: JsonValue, parts: Mapping[Place, JsonValue]) -> Iterator[tuple[str, str]]:
    """Keywords of one schema that cannot be used, each with the reason."""
    if not isinstance(part, dict):
        return
    for keyword in part.keys() & (REFUSED | ({"$schema"} if place else set())):
        yield keyword, "cannot be used in an output schema; leave it out"
    ref, pattern = part.get("$ref"), part.get("pattern")
    if isinstance(ref, str) and _target(ref) not in parts:
        yield "$ref", "should name a part of this schema, such as #/$defs/NAME"
    if isinstance(pattern, str) and not _compiles(pattern):
        yield "pattern", "should be a regular expression without look-around and back-references"


def _target(ref: str) -> Place | None:
    if ref != "#" and not ref.startswith("#/"):
        return None
    return tuple(unquote(step).replace("~1", "/").replace("~0", "~") for step in ref.split("/")[1:])


def _compiles(pattern: str) -> bool:
    try:
        _regex(pattern)
    except pydantic_core.SchemaError:
        return False
    return True


def _endless(parts: Mapping[Place, JsonValue]) -> str | None:
    """A schema that asks itself about the same value would never answer."""
    asks = TopologicalSorter({place: set(_asked(place, part)) for place, part in parts.items()})
    try:
        asks.prepare()
    except CycleError as error:
        return _said(error.args[1][0], "refers to itself without end; refer from inside properties or items")
    return None


def _asked(place: Place, part: JsonValue) -> Iterator[Place]:
    """The schemas that a schema asks about its own value."""
    ref = part.get("$ref") if isinstance(part, dict) else None
    if isinstance(ref, str) and (target := _target(ref)) is not None:
        yield target
    yield from ((*place, *steps) for steps, _ in _children(part) if steps[0] in _IN_PLACE)


def _said(place: Place, what: str) -> str:
    where = ".".join(shown(step) for step in place[:16])
    return f"{where}: {what}" if where else what
