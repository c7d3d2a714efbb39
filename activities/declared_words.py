"""What may stand in a command or in a path that the operator declares: what the system takes at all.

Here: that alone, so that it is told when the settings are read and not by the first run. Not here: whether the program
or the folder is there (`declared_checks`). A lone surrogate, the other thing that the system refuses, is no TOML.
"""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator


def _a_word(word: str) -> str:
    if "\0" in word:
        raise ValueError("holds a zero byte, which no command can be given; take it out")
    return word


def _a_path(path: Path) -> Path:
    if "\0" in str(path):
        raise ValueError("holds a zero byte, which no path can; take it out")
    return path


CommandWord = Annotated[str, AfterValidator(_a_word)]
"""One argument of a command, its program included."""

PlainPath = Annotated[Path, AfterValidator(_a_path)]
"""A file or a folder of this machine."""
