"""How an answer ended and whether anything of it came, in the words of any of the protocols.

Here: finish reasons and the presence of output. Not here: error objects (`unwrapping`), or what a reason means (the
rows).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ledger.phrases import squeezed

MAX_DEPTH: Final = 8

_FINISH_KEYS: Final = frozenset({"finish_reason", "finishReason", "stop_reason", "stopReason", "done_reason"})
_BLOCK_KEYS: Final = ("blockReason", "block_reason")
"""Google refused the prompt before any answer, whatever the reason."""
_OUTPUT_KEYS: Final = frozenset(
    {"text", "content", "refusal", "arguments", "partial_json", "generated_text", "response", "output_text", "delta"}
)
_CALL_KEYS: Final = frozenset({"tool_calls", "functionCall", "function_call", "toolUse"})


def finishes(parts: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Every reason the answer gives for its end, squeezed."""
    return frozenset(squeezed(reason) for part in parts for reason in _reasons(part, MAX_DEPTH))


def has_output(parts: Iterable[Mapping[str, Any]]) -> bool:
    """Whether any text or tool call came."""
    return any(_outputs(part, MAX_DEPTH) for part in parts)


def _reasons(value: Any, depth: int) -> Iterator[str]:  # noqa: ANN401 - JSON
    if isinstance(value, Mapping) and depth:
        for key, inner in value.items():
            if key in _FINISH_KEYS and isinstance(inner, str):
                yield inner
            elif key in _BLOCK_KEYS and inner:
                yield "blocked"
            elif key == "incomplete_details" and isinstance(inner, Mapping):
                yield str(inner.get("reason"))
            elif (key == "type" and inner == "refusal") or (key == "refusal" and isinstance(inner, str) and inner):
                yield "refusal"
            else:
                yield from _reasons(inner, depth - 1)
    elif isinstance(value, list) and depth:
        for inner in value:
            yield from _reasons(inner, depth - 1)


def _outputs(value: Any, depth: int) -> bool:  # noqa: ANN401 - JSON
    if not depth:
        return False
    if isinstance(value, list):
        return any(_outputs(inner, depth - 1) for inner in value)
    if not isinstance(value, Mapping):
        return False
    return any(
        (key in _OUTPUT_KEYS and isinstance(inner, str) and bool(inner.strip()))
        or (key in _CALL_KEYS and bool(inner))
        or _outputs(inner, depth - 1)
        for key, inner in value.items()
    )
