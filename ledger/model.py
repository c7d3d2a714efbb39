"""The base of every value in Endstop: immutable, closed, and silent about its content in errors.

Only the base class belongs here. `frozen` is shallow, so fields hold tuples and mappings that nobody mutates.
"""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """An immutable value. Unknown fields are refused; a validation error never echoes the input."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As pydantic's own, in a third of its time: a decision makes ten to twenty copies.

        What is left out is for models with extra or private values, which no value of ours has.
        """
        if deep:
            return super().model_copy(update=update, deep=True)
        changes = update or {}
        copied = type(self).__new__(type(self))
        object.__setattr__(copied, "__dict__", {**self.__dict__, **changes})
        object.__setattr__(copied, "__pydantic_fields_set__", {*self.__pydantic_fields_set__, *changes})
        object.__setattr__(copied, "__pydantic_extra__", None)
        object.__setattr__(copied, "__pydantic_private__", None)
        return copied
