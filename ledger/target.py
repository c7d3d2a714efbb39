"""A target: one `provider:model`, written as that string everywhere outside the program."""

import re
from typing import Any, Self

from pydantic import model_serializer, model_validator

from ledger.model import Frozen

# A model's name stands in the path of some requests: no ".." may lead out of it.
_TARGET = re.compile(r"(?P<provider>[a-z0-9][a-z0-9_.-]{0,63}):(?P<model>(?!.*\.\.)[\w./:@+-]{1,200})", re.ASCII)


class Target(Frozen):
    """One model at one declared provider. Read from and written as `provider:model`."""

    provider: str
    model: str

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:  # noqa: ANN401 - whatever the wire holds
        if not isinstance(value, str):
            return value
        found = _TARGET.fullmatch(value)
        if not found:
            raise ValueError('a target is "provider:model", such as "openai:gpt-5"')
        return found.groupdict()

    @model_serializer
    def _as_text(self) -> str:
        return str(self)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `provider:model`. Raises pydantic's ValidationError with one clear line."""
        return cls.model_validate(text)

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"
