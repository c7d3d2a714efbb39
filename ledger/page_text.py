"""The words of an HTML or XML page: what a proxy or an edge says instead of an API.

Here: dropping markup, in one pass. Not here: what the words mean.
"""

import html
from typing import Final

MAX_WORDS: Final = 8_000
"""Characters kept: an error page names its error in the title and the first lines."""

_SILENT: Final = ("script", "style", "svg", "!--")


def page_text(page: str) -> str:
    """Text between the tags, entities resolved; scripts, styles and comments left out."""
    kept: list[str] = []
    at = 0
    while at < len(page):
        opening = page.find("<", at)
        if opening < 0:
            kept.append(page[at:])
            break
        kept.append(page[at:opening])
        at = _after_tag(page, opening)
    return " ".join(html.unescape(" ".join(kept)).split())[:MAX_WORDS]


def _after_tag(page: str, opening: int) -> int:
    """Return the position after the tag, or after the whole element where its content is not for people."""
    head = page[opening + 1 : opening + 8].lower()
    silent = next((name for name in _SILENT if head.startswith(name)), None)
    closing = ">" if silent is None else "-->" if silent == "!--" else f"</{silent}>"
    found = page.find(closing, opening)
    if found < 0:
        found = page.find(">", opening) if silent else -1
        closing = ">"
    return len(page) if found < 0 else found + len(closing)
