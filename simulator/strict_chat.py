"""What OpenAI's chat completions refuse in a request that can be read.

Sources: platform.openai.com/docs/api-reference/chat/create (fields, roles, parts) and public issue threads for the
wording: agno-agi/agno#5382 (ids over 40), openai/openai-python (answers to `tool_calls`). `reasoning_content` is let
through: OpenAI never sends it, the servers that do (DeepSeek, vLLM) take it back.
"""

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from simulator.dialect import AskError
from simulator.strict import Object, objects, text_of, unknown
from simulator.strict_openai import (
    check_length,
    check_name,
    empty_array,
    invalid_value,
    missing_parameter,
    unknown_parameter,
)
from simulator.strict_output import check_chat

FIELDS: Final = frozenset(
    """
    audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens
    messages metadata modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key
    prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier
    stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity
    web_search_options
    """.split()  # noqa: SIM905 - a paragraph of words, not a column of them
)

ROLES: Final[Mapping[str, frozenset[str]]] = {
    "system": frozenset(),
    "developer": frozenset(),
    "user": frozenset(),
    "assistant": frozenset({"tool_calls", "refusal", "audio", "function_call", "reasoning_content", "annotations"}),
    "tool": frozenset({"tool_call_id"}),
}
"""Role → its fields besides `role`, `content` and `name`."""

PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "system": ("text",),
    "developer": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text",),
}
"""Role → types of parts its content may have."""

ID_LIMIT: Final = 40
UNANSWERED: Final = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages: "
)


def check(body: Object) -> None:
    """AskError for the first rule that the request breaks."""
    if (extra := unknown(body, FIELDS)) is not None:
        raise unknown_parameter(extra)
    for index, tool in objects(body.get("tools")):
        match tool.get("function"):
            case {"name": name}:
                check_name(f"tools[{index}].function.name", str(name))
            case _:
                raise missing_parameter(f"tools[{index}].function.name")
    check_chat(body)
    messages = [message for _, message in objects(body.get("messages"))]
    for index, message in enumerate(messages):
        _message(index, message)
    _rounds(messages)


def _message(index: int, message: Object) -> None:
    role, at = text_of(message, "role"), f"messages[{index}]"
    if role not in ROLES:
        raise invalid_value(f"{at}.role", role, tuple(ROLES))
    if (extra := unknown(message, ROLES[role] | {"role", "content", "name"})) is not None:
        raise unknown_parameter(f"{at}.{extra}")
    _content(index, message, role)
    if role == "tool":
        check_length(f"{at}.tool_call_id", text_of(message, "tool_call_id"), ID_LIMIT)
    if message.get("tool_calls") == []:
        raise empty_array(f"{at}.tool_calls")
    for place, call in objects(message.get("tool_calls")):
        _call(f"{at}.tool_calls[{place}]", call)


def _content(index: int, message: Object, role: str) -> None:
    content = message.get("content")
    if content is None and not message.get("tool_calls"):
        raise AskError("Invalid value for 'content': expected a string, got null.", param=f"messages.[{index}].content")
    if content == []:
        raise empty_array(f"messages[{index}].content")
    for place, part in objects(content):
        if text_of(part, "type") not in PARTS[role]:
            raise invalid_value(f"messages[{index}].content[{place}].type", text_of(part, "type"), PARTS[role])


def _call(at: str, call: Object) -> None:
    check_length(f"{at}.id", text_of(call, "id"), ID_LIMIT)
    if (extra := unknown(call, ("id", "type", "function", "index"))) is not None:
        raise unknown_parameter(f"{at}.{extra}")
    match call.get("function"):
        case {"name": name, "arguments": str()}:
            check_name(f"{at}.function.name", str(name))
        case {"name": _}:
            raise missing_parameter(f"{at}.function.arguments")
        case _:
            raise missing_parameter(f"{at}.function")


def _rounds(messages: list[Object]) -> None:
    """Calls are followed by one tool message for each of them before anything else; nowhere else stands one."""
    asked_at, open_ids = 0, set[str]()
    answered: set[str] = set()
    for index, message in enumerate(messages):
        if message.get("role") == "tool":
            name = text_of(message, "tool_call_id")
            if name not in open_ids | answered:
                raise AskError(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
                    "with 'tool_calls'.",
                    param=f"messages.[{index}].role",
                )
            open_ids, answered = open_ids - {name}, answered | {name}
            continue
        _all_answered(asked_at, open_ids)
        asked_at, open_ids, answered = index, _ids(message.get("tool_calls")), set()
    _all_answered(asked_at, open_ids)


def _ids(calls: JsonValue) -> set[str]:
    return {text_of(call, "id") for _, call in objects(calls)}


def _all_answered(asked_at: int, open_ids: set[str]) -> None:
    if open_ids:
        raise AskError(UNANSWERED + ", ".join(sorted(open_ids)), param=f"messages.[{asked_at}].role")
