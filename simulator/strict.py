"""What the strict checks of all vendors share: one way to refuse, and to look at a request that may hold anything.

The rules are in `strict_anthropic`, `strict_chat`, `strict_responses` and `strict_gemini`; each says where it is
known from. A rule refuses by AskError, whose words reach the client in the vendor's own envelope.
"""

from collections.abc import Iterable, Iterator, Mapping

from pydantic import JsonValue

Object = Mapping[str, JsonValue]


def objects(value: JsonValue) -> Iterator[tuple[int, Object]]:
    """The objects of a list with their places from 0; nothing for what is no list."""
    for place, held in enumerate(value if isinstance(value, list) else []):
        if isinstance(held, dict):
            yield place, held


def unknown(given: Object, allowed: Iterable[str]) -> str | None:
    """The first field this vendor does not know; None when it knows all."""
    return next((name for name in given if name not in set(allowed)), None)


def text_of(given: Object, name: str) -> str:
    """A field that should hold text, or nothing."""
    value = given.get(name)
    return value if isinstance(value, str) else ""
