"""Text of a provider, made comparable, and phrases looked up in it.

Here: how words are normalised and what a phrase matches. Not here: which phrases mean what (the classifier's rows).
No regular expression: a phrase is plain pieces, found one after the other, so the cost is linear in the text.
"""

from collections.abc import Iterable
from functools import cache
from typing import Final

GAP: Final = 90
"""Characters that a ` * ` in a phrase may stand for: a model's name or a clause, not another sentence."""

_DROPPED: Final = str.maketrans("", "", "'`\u2018\u2019\u00b4")


def words(text: str) -> str:
    """Lower case, every run of other than letters and digits one space, apostrophes dropped: "isn't" is "isnt"."""
    kept = "".join(mark if mark.isalnum() else " " for mark in text.lower().translate(_DROPPED))
    return " ".join(kept.split())


def code_words(code: str) -> str:
    """Split a code into words: "GenerateRequestsPerDay" and "generate_requests_per_day" are the same."""
    split = (
        f" {mark}" if mark.isupper() and index and not code[index - 1].isupper() else mark
        for index, mark in enumerate(code)
    )
    return words("".join(split))


@cache
def row_code(code: str) -> str:
    """`squeezed`, remembered: for the codes of rows, a bounded number."""
    return squeezed(code)


def squeezed(code: str) -> str:
    """Letters and digits of a code in lower case: `RateLimitExceeded` and `rate_limit_exceeded` are the same."""
    return "".join(mark for mark in code.lower() if mark.isalnum())


def matches_any(text: str, phrases: Iterable[str]) -> bool:
    """Whether normalised `text` holds one of `phrases`.

    A phrase begins at the start of a word and may end within one ("rate limit" is in "rate limited"). ` * ` stands for
    up to `GAP` characters. Scripts without spaces match anywhere. `clues` parts messages by ` | `: "| gone |" is a
    message that says nothing else.
    """
    haystack = f" {text}"
    return any(_holds(haystack, phrase) for phrase in phrases)


def _holds(haystack: str, phrase: str) -> bool:
    first, *rest = _pieces(phrase)
    start = haystack.find(first)
    while start >= 0:
        if not rest or _follow(haystack, start + len(first), rest):
            return True
        start = haystack.find(first, start + 1)
    return False


def _follow(haystack: str, at: int, pieces: list[str]) -> bool:
    for piece in pieces:
        found = haystack.find(piece, at, at + GAP + len(piece))
        if found < 0:
            return False
        at = found + len(piece)
    return True


@cache
def _pieces(phrase: str) -> tuple[str, ...]:
    """Return the phrase's parts, each with the space that begins a word. Phrases come from rows: a bounded number."""
    return tuple(f" {piece}" if piece.isascii() else piece for piece in phrase.split(" * "))
