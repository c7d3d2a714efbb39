"""What Anthropic refuses about thinking: settings that contradict it, and blocks that are foreign, altered or missing.

Sources: platform.claude.com/docs/en/build-with-claude/extended-thinking (and …/adaptive-thinking: there a turn need not
start with thinking); wording: anthropics/claude-code#63284, anthropics/anthropic-sdk-python#1598 (signatures are
checked wherever a block stands, and do not expire), ding113/claude-code-hub#518, lbjlaq/Antigravity-Manager#139.
"""

from typing import Final

from simulator.dialect import AskError
from simulator.signatures import fits, issued
from simulator.strict import Object, objects, text_of

THOUGHTS: Final = ("thinking", "redacted_thinking")
LEAST_BUDGET: Final = 1024
DOCS: Final = "Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"


def check_thinking(body: Object, messages: list[Object]) -> None:
    """AskError for the first rule about thinking that the request breaks."""
    newest = max((index for index, message in enumerate(messages) if message.get("role") == "assistant"), default=-1)
    for index, message in enumerate(messages):
        for place, block in objects(message.get("content")):
            _signed(f"messages.{index}.content.{place}", block, in_newest=index == newest)
        _ends_well(index, message)
    match body.get("thinking"):
        case {"type": "enabled", "budget_tokens": int(budget)}:
            _settings(body, budget)
            _round_starts_with_thinking(messages)
        case {"type": "enabled"}:
            raise AskError("thinking.enabled.budget_tokens: Field required")


def _signed(at: str, block: Object, *, in_newest: bool) -> None:
    if block.get("type") != "thinking":
        return
    signature = text_of(block, "signature")
    known = issued("anthropic", signature)
    if known and fits(signature, text_of(block, "thinking")):
        return
    if known and in_newest:
        raise AskError(
            f"{at}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
            "These blocks must remain as they were in the original response."
        )
    raise AskError(f"{at}: Invalid `signature` in `thinking` block")


def _ends_well(index: int, message: Object) -> None:
    blocks = [block for _, block in objects(message.get("content"))]
    if blocks and blocks[-1].get("type") in THOUGHTS:
        raise AskError(f"messages.{index}: The final block in an assistant message cannot be `thinking`.")


def _settings(body: Object, budget: int) -> None:
    limit = body.get("max_tokens")
    if budget < LEAST_BUDGET:
        raise AskError(f"thinking.enabled.budget_tokens: Input should be greater than or equal to {LEAST_BUDGET}")
    if not isinstance(limit, int) or limit <= budget:
        raise AskError(
            f"`max_tokens` must be greater than `thinking.budget_tokens`. {DOCS}#max-tokens-and-context-window-size"
        )
    if body.get("temperature", 1) != 1:
        raise AskError(f"`temperature` may only be set to 1 when thinking is enabled. {DOCS}#important-considerations")
    match body.get("tool_choice"):
        case {"type": "any" | "tool"}:
            raise AskError("Thinking may not be enabled when tool_choice forces tool use.")


def _round_starts_with_thinking(messages: list[Object]) -> None:
    """In a tool round the model's turn, from its first message after a person's, must start with a thought."""
    if not _results(messages[-1]):
        return
    persons = [i for i, message in enumerate(messages) if message.get("role") == "user" and not _results(message)]
    start = persons[-1] + 1 if persons else 0
    first = next((block for _, block in objects(messages[start].get("content"))), {})
    if first.get("type") not in THOUGHTS:
        raise AskError(
            f"messages.{start}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{text_of(first, 'type')}`. When `thinking` is enabled, a final `assistant` message must start with a "
            "thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you "
            f"include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. {DOCS}"
        )


def _results(message: Object) -> bool:
    return any(block.get("type") == "tool_result" for _, block in objects(message.get("content")))
