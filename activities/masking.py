"""Hides secrets in text that people will read: the known ones, and whatever looks like one.

Errs on the side of hiding. Every pattern is linear: each has one repetition over a fixed set of characters.
"""

import re
from collections.abc import Iterable
from typing import Final

MASK: Final = "***"

SHORTEST: Final = 6
"""Characters of a known secret below which it is left alone: it would hide ordinary words."""

_SHAPES: Final = (
    # vendors' key prefixes: OpenAI, Anthropic, Groq, xAI, Hugging Face, Replicate, GitHub; Google, AWS, Google OAuth
    re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|r8|ghp|gho|ghs|github_pat)[-_][-_.A-Za-z0-9*]{6,}"),
    re.compile(r"\b(?:AIza|AKIA|ASIA|ya29|eyJ)[-_.A-Za-z0-9*]{12,}"),
    re.compile(
        r"(?i)\b(?:api.?key|authorization|password|secret|access.?token)\"?\s?[:=]\s?\"?(?:\w{5,6} )?[^\s\",;}]{4,}"
    ),
)

_LONG_WORDS: Final = (
    re.compile(r"(?i)\b(?:bearer|basic) [-._~+/=A-Za-z0-9*]{8,}"),
    re.compile(r"[-_+/=A-Za-z0-9]{32,}"),
)


def masked(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` with every secret replaced by `***`."""
    for secret in sorted((s for s in secrets if len(s) >= SHORTEST), key=len, reverse=True):
        text = text.replace(secret, MASK)
    for shape in _SHAPES:
        text = shape.sub(MASK, text)
    for words in _LONG_WORDS:
        text = words.sub(_unless_plain, text)
    return text


def _unless_plain(found: re.Match[str]) -> str:
    """A word without a digit is a word; so is a path in lower case."""
    word = found[0]
    plain = not any(char.isdigit() for char in word) or ("/" in word and word == word.lower())
    return word if plain else MASK
