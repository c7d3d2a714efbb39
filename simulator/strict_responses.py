"""What OpenAI's responses API refuses in a request that can be read: fields, ids, calls without results.

What it refuses about items it must know again is in `strict_items`. Sources:
platform.openai.com/docs/api-reference/responses/create (fields, parts) and public issue threads for the wording:
AnswerDotAI/fastllm#45 (ids over 64), openai/openai-agents-python (results without calls and calls without results).
"""

from collections.abc import Mapping
from typing import Final

from simulator.dialect import AskError
from simulator.strict import Object, objects, text_of, unknown
from simulator.strict_items import check_known
from simulator.strict_openai import (
    check_length,
    check_name,
    empty_array,
    invalid_value,
    missing_parameter,
    unknown_parameter,
)
from simulator.strict_output import check_responses

FIELDS: Final = frozenset(
    """
    background context_management conversation include input instructions max_output_tokens max_tool_calls metadata
    model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options
    prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text
    tool_choice tools top_logprobs top_p truncation user
    """.split()  # noqa: SIM905 - a paragraph of words, not a column of them
)

ITEMS: Final[Mapping[str, frozenset[str]]] = {
    "message": frozenset({"role", "content", "status", "phase"}),
    "function_call": frozenset({"call_id", "name", "arguments", "status", "namespace", "caller"}),
    "function_call_output": frozenset({"call_id", "output", "status", "caller"}),
    "reasoning": frozenset({"summary", "content", "encrypted_content", "status"}),
    "item_reference": frozenset(),
}
"""Type of item → its fields besides `type` and `id`. Items of the vendor's own tools are not told apart."""

ROLES: Final = ("assistant", "system", "developer", "user")
PARTS: Final = ("input_text", "input_image", "input_file")
SAID: Final = ("output_text", "refusal")
ID_LIMIT: Final = 64


def check(body: Object) -> None:
    """AskError for the first rule that the request breaks."""
    if (extra := unknown(body, FIELDS)) is not None:
        raise unknown_parameter(extra)
    if previous := text_of(body, "previous_response_id"):
        raise AskError(
            f"Previous response with id '{previous}' not found.",
            param="previous_response_id",
            code="previous_response_not_found",
        )
    for index, tool in objects(body.get("tools")):
        if tool.get("type") == "function":
            check_name(f"tools[{index}].name", text_of(tool, "name"))
    check_responses(body)
    if body.get("input") == []:
        raise empty_array("input")
    items = [item for _, item in objects(body.get("input"))]
    for index, item in enumerate(items):
        _item(index, item)
    check_known(items)
    _rounds(items)


def _item(index: int, item: Object) -> None:
    at, kind = f"input[{index}]", text_of(item, "type") or "message"
    if kind not in ITEMS:
        raise invalid_value(f"{at}.type", kind, tuple(ITEMS))
    if (extra := unknown(item, ITEMS[kind] | {"type", "id"})) is not None:
        raise unknown_parameter(f"{at}.{extra}")
    match kind:
        case "message":
            _message(at, item)
        case "function_call":
            check_length(f"{at}.call_id", text_of(item, "call_id"), ID_LIMIT)
            check_name(f"{at}.name", text_of(item, "name"))
            if "arguments" not in item:
                raise missing_parameter(f"{at}.arguments")
        case "function_call_output":
            check_length(f"{at}.call_id", text_of(item, "call_id"), ID_LIMIT)
            if not isinstance(item.get("output"), str | list):
                raise missing_parameter(f"{at}.output")
        case "reasoning":
            if "summary" not in item:
                raise missing_parameter(f"{at}.summary")


def _message(at: str, item: Object) -> None:
    role, content = text_of(item, "role"), item.get("content")
    if role not in ROLES:
        raise invalid_value(f"{at}.role", role, ROLES)
    if content is None:
        raise missing_parameter(f"{at}.content")
    if content == []:
        raise empty_array(f"{at}.content")
    supported = SAID if role == "assistant" else PARTS
    for place, part in objects(content):
        if text_of(part, "type") not in supported:
            raise invalid_value(f"{at}.content[{place}]", text_of(part, "type"), supported)


def _rounds(items: list[Object]) -> None:
    """Each call has its result somewhere after it, each result its call before it."""
    asked: set[str] = set()
    answered: set[str] = set()
    for item in items:
        name = text_of(item, "call_id")
        match item.get("type"):
            case "function_call":
                asked.add(name)
            case "function_call_output" if name not in asked:
                raise AskError(f"No tool call found for function call output with call_id {name}.", param="input")
            case "function_call_output":
                answered.add(name)
    if missing := sorted(asked - answered):
        raise AskError(f"No tool output found for function call {missing[0]}.", param="input")
