"""The operator's module of the kill matrix: a function that says how far it came, and stops there once.

Copied beside endstop.toml. `marks` holds one word a line: `checked` when arguments are looked at, `ran` when a function
begins, `ended` when a gate has. What is to be killed holds still the first time; with `go` in the folder nothing holds.
"""

import time
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator

HERE = Path(__file__).parent


def _mark(word: str) -> int:
    """Leave the word, and say how often it is there now."""
    with (HERE / "marks").open("a") as marks:
        marks.write(f"{word}\n")
    return (HERE / "marks").read_text().split().count(word)


def _hold() -> None:
    while not (HERE / "go").exists():
        time.sleep(0.02)


def _checked(hold: str) -> str:
    """Arguments are checked before the function is called."""
    if _mark("checked") == 1 and hold == "before":
        _hold()
    return hold


def ring(hold: Annotated[str, BeforeValidator(_checked)]) -> str:
    """Ring the bell."""
    if _mark("ran") == 1 and hold == "while":
        _hold()
    return "it rang"


def sounds(answer: str) -> bool:
    """Say whether it sounds right; the answer says whether to hold."""
    if _mark("ran") == 1 and "hold" in answer:
        _hold()
    _mark("ended")
    return True
