"""The base of every value in Endstop: immutable, closed, and silent about its content in errors.

Only the base class belongs here. `frozen` is shallow, so fields hold tuples and mappings that nobody mutates.
"""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """An immutable value. Unknown fields are refused; a validation error never echoes the input."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
