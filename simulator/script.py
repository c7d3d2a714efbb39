"""The script: which model answers what, request by request.

Here: loading and checking. Not here: choosing (`lanes`), the kinds of reply and their fields (`replies`).

A script is a TOML or JSON file, or the same as Python values:

    keys = ["sim-key"]                      # optional: any other key gets the vendor's 401
    strict = true                           # optional: refuse what the real vendor refuses
    files_expire_after = 3                  # optional: an uploaded file is gone after so many requests to models
    windows = { gpt-5 = 8000 }              # optional: windows in tokens; a longer request is refused as too large
    uploads = ["server_error"]              # optional: the first uploads fail like this, the later ones succeed

    [default]                               # optional: for models that have no list of their own
    kind = "text"
    text = "Hello."

    [[models.gpt-5]]                        # request 1 for gpt-5
    kind = "error"
    error = "rate_limited"
    retry_after_s = 1

    [[models.gpt-5]]                        # request 2
    kind = "tool_calls"
    calls = [{ name = "write_file", arguments = { path = "a.py", content = "x = 1" } }]

    [[models.gpt-5]]                        # whenever the newest input says so, once
    when_contains = "round half to even"
    kind = "text"
    text = "Understood."

    [[models.gpt-5]]                        # request 3 and all after it
    kind = "text"
    text = "Done."
    repeat = true

Requests are numbered from 1 for each model and lane. A lane is the value of the request's header `x-endstop-run`,
or "", so that several runs can share one simulator and each starts at the top of the list. The first reply that is
not used up and whose `when_contains` (if any) fits is sent and used up, unless it repeats. When none is left the
answer is a status 500 that says so.
"""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Self

from pydantic import AfterValidator, Field, PlainSerializer, PositiveInt, ValidationError, model_validator

from simulator.model import Frozen
from simulator.replies import ErrorWord, Reply, Text

CANNED = Text(text="This is a canned answer of the provider simulator.", repeat=True)

ModelLists = Annotated[
    Mapping[str, tuple[Reply, ...]],
    AfterValidator(MappingProxyType),
    PlainSerializer(dict),
]


class ScriptError(ValueError):
    """A script that cannot be used; the message is one line that names the place and what was expected."""


class Script(Frozen):
    """What the simulator answers. Without a list of its own a model gets `default`, every time."""

    keys: tuple[str, ...] = Field(default=(), repr=False)
    strict: bool = False
    files_expire_after: int | None = Field(default=None, ge=0)
    windows: Annotated[Mapping[str, PositiveInt], AfterValidator(MappingProxyType), PlainSerializer(dict)] = Field(
        default={}, validate_default=True
    )
    """Tokens by model, one for each 4 bytes of a request; a model that is not named has no limit."""
    uploads: tuple[ErrorWord, ...] = ()
    default: Reply = CANNED
    models: ModelLists = Field(default={}, validate_default=True)

    @model_validator(mode="after")
    def _default_always_fits(self) -> Self:
        if self.default.when_contains is not None:
            raise ValueError("default: it answers every request, so when_contains has no meaning; leave it out")
        return self

    @model_validator(mode="after")
    def _every_reply_can_be_reached(self) -> Self:
        for model, replies in self.models.items():
            for number, reply in enumerate(replies[:-1], start=1):
                if reply.repeat and reply.when_contains is None:
                    raise ValueError(
                        f"models.{model}: reply {number} repeats for ever, so those after it are never sent; "
                        "make it the last one or give it when_contains"
                    )
        return self

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read a `.toml` or `.json` file; raises ScriptError with one line when it cannot be used."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
            data = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        except (OSError, ValueError, RecursionError) as problem:
            raise ScriptError(f"script {path}: cannot be read: {problem}") from problem
        return cls.parse(data, name=str(path))

    @classmethod
    def parse(cls, data: object, name: str = "given") -> Self:
        """Check what a file or a request held; raises ScriptError with one line for the first thing wrong."""
        try:
            return cls.model_validate(data)
        except ValidationError as problem:
            first = problem.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(step) for step in first["loc"]) or "script"
            tag = first["type"] == "union_tag_invalid"  # pydantic's words are about tags and discriminators
            said = "kind '{tag}' is none; it is one of {expected_tags}".format(**first["ctx"]) if tag else first["msg"]
            raise ScriptError(f"script {name}: {where}: {said}") from problem
