"""What may stand in a command or in a path that the operator declares: what the system takes at all.

Here: that alone, so that it is told when the settings are read and not by the first run. Not here: whether the program
or the folder is there (`declared_checks`). A lone surrogate, the other thing that the system refuses, is no TOML.
"""

from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import AfterValidator

W = TypeVar("W", str, Path)


def without_zero(given: W) -> W:
    """Refuse a zero byte: it ends what the system reads."""
    if "\0" in str(given):
        raise ValueError("holds a zero byte, which the system takes in no command and no path; take it out")
    return given


CommandWord = Annotated[str, AfterValidator(without_zero)]
"""One argument of a command, its program included."""

PlainPath = Annotated[Path, AfterValidator(without_zero)]
"""A file or a folder of this machine."""
