"""Whether a request alone is larger than the limit it ran into: then no wait lets it pass.

Here: the few sentence forms in which providers state both numbers. Not here: limits of the answer ("max_tokens: 9 >
8"), which are rows, because shrinking the prompt does nothing for them.
"""

import re
from typing import Final

_NUMBER: Final = r"[~≈]?\s?(\d[\d,_]{0,14})"
_FORMS: Final = (
    # (pattern, index of the requested number, index of the limit); source: OpenAI and Groq rate limit sentences
    (re.compile(rf"\blimit:? {_NUMBER}(?:[^\n\d]{{1,20}}used:? {_NUMBER})?[^\n\d]{{1,20}}requested:? {_NUMBER}"), 3, 1),
    # Anthropic "215000 tokens > 200000 maximum"; OpenRouter "69120 > 36608"
    (re.compile(rf"{_NUMBER} ?(?:tokens|bytes|characters)? > {_NUMBER}"), 1, 2),
    # OpenAI, DeepSeek, vLLM "maximum context length is 8192 tokens. however, you requested 8300 tokens"
    (re.compile(rf"maximum context length (?:is|of) {_NUMBER} tokens[^\d]{{1,60}}{_NUMBER} "), 2, 1),
)


def over_limit(said: str) -> bool:
    """Whether a sentence in `said` (lower case) names a requested number above its limit."""
    return any(
        _count(found[requested]) > _count(found[limit])
        for pattern, requested, limit in _FORMS
        for found in pattern.finditer(said)
    )


def _count(text: str) -> int:
    return int(text.replace(",", "").replace("_", ""))
