"""What Anthropic's messages API refuses in a request that can be read: shape, roles and tools.

Words as reported from the vendor. Sources: platform.claude.com/docs/en/api/messages (fields, patterns) and
…/build-with-claude/tool-use (order of results), and public issue threads for the wording: BerriAI/litellm,
anthropics/claude-code, cline. What it refuses about thinking is in `strict_thinking`.
"""

import re
from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from simulator.dialect import AskError
from simulator.strict import Object, objects, text_of, unknown
from simulator.strict_output import check_claude
from simulator.strict_thinking import check_thinking

FIELDS: Final = frozenset(
    """
    cache_control container context_management inference_geo max_tokens mcp_servers messages metadata model
    output_config output_format service_tier speed stop_sequences stream system temperature thinking tool_choice
    tools top_k top_p
    """.split()  # noqa: SIM905 - a paragraph of words, not a column of them
)

BLOCKS: Final[Mapping[str, frozenset[str]]] = {
    "text": frozenset({"text", "citations"}),
    "image": frozenset({"source"}),
    "document": frozenset({"source", "title", "context", "citations"}),
    "tool_use": frozenset({"id", "name", "input", "caller"}),
    "tool_result": frozenset({"tool_use_id", "content", "is_error"}),
    "thinking": frozenset({"thinking", "signature"}),
    "redacted_thinking": frozenset({"data"}),
}
"""Type of block → its fields besides `type` and `cache_control`. Blocks of the vendor's own tools are left out."""

BY_ASSISTANT: Final = frozenset({"tool_use", "thinking", "redacted_thinking"})
BY_USER: Final = frozenset({"tool_result", "image", "document"})
TOOL_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
CALLED_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,200}")
MEDIA: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")


def check(body: Object) -> None:
    """AskError for the first rule that the request breaks."""
    if (extra := unknown(body, FIELDS)) is not None:
        raise AskError(f"{extra}: Extra inputs are not permitted")
    if not isinstance(body.get("max_tokens"), int):
        raise AskError("max_tokens: Field required")
    check_claude(body)
    _tools(body)
    _system(body.get("system"))
    messages = [message for _, message in objects(body.get("messages"))]
    for index, message in enumerate(messages):
        _message(index, message, last=index == len(messages) - 1)
    _order(messages)
    _rounds(messages)
    check_thinking(body, messages)


def _tools(body: Object) -> None:
    for index, tool in objects(body.get("tools")):
        if not TOOL_NAME.fullmatch(text_of(tool, "name")):
            raise AskError(f"tools.{index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")


def _system(system: JsonValue) -> None:
    if any(not text_of(block, "text") for _, block in objects(system)):
        raise AskError("system: text content blocks must be non-empty")


def _message(index: int, message: Object, *, last: bool) -> None:
    role, content = message.get("role"), message.get("content")
    if role == "system":
        raise AskError(
            'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, '
            'not "system" as an input message role.'
        )
    if role not in ("user", "assistant"):
        raise AskError(f"messages.{index}.role: Input should be 'user' or 'assistant'")
    if (extra := unknown(message, ("role", "content"))) is not None:
        raise AskError(f"messages.{index}.{extra}: Extra inputs are not permitted")
    if not content and not (last and role == "assistant"):
        raise AskError(
            f"messages.{index}: all messages must have non-empty content "
            "except for the optional final assistant message"
        )
    if isinstance(content, str) and not content.strip():
        raise AskError("messages: text content blocks must contain non-whitespace text")
    for place, block in objects(content):
        _block(f"messages.{index}", place, block, role)


def _block(where: str, place: int, block: Object, role: str) -> None:
    kind = text_of(block, "type")
    at = f"{where}.content.{place}"
    if kind not in BLOCKS:
        expected = ", ".join(f"'{name}'" for name in sorted(BLOCKS))
        raise AskError(
            f"{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {expected}"
        )
    if (extra := unknown(block, BLOCKS[kind] | {"type", "cache_control"})) is not None:
        raise AskError(f"{at}.{kind}.{extra}: Extra inputs are not permitted")
    owner = "assistant" if kind in BY_ASSISTANT else "user" if kind in BY_USER else role
    if owner != role:
        raise AskError(f"{where}: `{kind}` blocks can only be in `{owner}` messages")
    match kind:
        case "text":
            _text(block)
        case "image":
            _image(at, block)
        case "tool_use":
            _tool_use(at, block)
        case "tool_result":
            _tool_result(at, block)


def _text(block: Object) -> None:
    if not text_of(block, "text"):
        raise AskError("messages: text content blocks must be non-empty")
    if not text_of(block, "text").strip():
        raise AskError("messages: text content blocks must contain non-whitespace text")


def _image(at: str, block: Object) -> None:
    match block.get("source"):
        case {"type": "base64", "media_type": media} if media not in MEDIA:
            words = "'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
            raise AskError(f"{at}.image.source.base64.media_type: Input should be {words}")


def _tool_use(at: str, block: Object) -> None:
    if not TOOL_ID.fullmatch(text_of(block, "id")):
        raise AskError(f"{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if not CALLED_NAME.fullmatch(text_of(block, "name")):
        raise AskError(f"{at}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,200}}$'")
    if not isinstance(block.get("input"), dict):
        raise AskError(f"{at}.tool_use.input: Input should be a valid dictionary")


def _tool_result(at: str, block: Object) -> None:
    if not TOOL_ID.fullmatch(text_of(block, "tool_use_id")):
        raise AskError(f"{at}.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    for place, inner in objects(block.get("content")):
        if text_of(inner, "type") not in ("text", "image", "document", "search_result", "tool_reference"):
            raise AskError(f"{at}.tool_result.content.{place}: Input tag '{text_of(inner, 'type')}' is not expected")
        if text_of(inner, "type") == "text":
            _text(inner)
        if text_of(inner, "type") == "image":
            _image(f"{at}.tool_result.content.{place}", inner)


def _order(messages: list[Object]) -> None:
    if messages[0].get("role") != "user":
        raise AskError('messages: first message must use the "user" role')
    if messages[-1].get("role") == "assistant":
        raise AskError(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )


def _rounds(messages: list[Object]) -> None:
    """Each turn that uses tools is followed at once by all their results, which come before anything else."""
    seen: set[str] = set()
    for index, message in enumerate(messages):
        asked = _tool_ids(message)
        if len(set(asked)) < len(asked) or seen & set(asked):
            raise AskError(f"messages.{index}: `tool_use` ids must be unique")
        seen |= set(asked)
        after = messages[index + 1] if index + 1 < len(messages) else {}
        _answered(index, asked, after)
        before = messages[index - 1] if index else {}
        _asked_for(index, message, before)


def _tool_ids(message: Object) -> list[str]:
    blocks = (block for _, block in objects(message.get("content")))
    return [text_of(block, "id") for block in blocks if block.get("type") == "tool_use"]


def _answered(index: int, asked: list[str], after: Object) -> None:
    leading: list[str] = []
    for _, block in objects(after.get("content")):
        if block.get("type") != "tool_result":
            break
        leading.append(text_of(block, "tool_use_id"))
    if missing := [name for name in asked if name not in leading]:
        raise AskError(
            f"messages.{index + 1}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
            "message."
        )


def _asked_for(index: int, message: Object, before: Object) -> None:
    asked = _tool_ids(before)
    had: set[str] = set()
    for place, block in objects(message.get("content")):
        if block.get("type") != "tool_result":
            continue
        name = text_of(block, "tool_use_id")
        if name not in asked:
            raise AskError(
                f"messages.{index}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {name}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
        if name in had:
            raise AskError(
                f"messages.{index}.content.{place}: each tool_use must have a single result. "
                f"Found multiple `tool_result` blocks with id: {name}"
            )
        had.add(name)
