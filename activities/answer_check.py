"""Whether an answer that came can be used, how it ended, and what it used: from the stored message alone.

So an answer found in the store is judged exactly as a fresh one. Not here: what an unusable answer means for the run
(`ledger.classify`).
"""

import json
import re
from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

from activities.messages import parse, text_of
from activities.output_schema import misfit
from activities.pricing import Tariff
from activities.tool_declaration import Handling
from activities.tool_requests import tool_requests
from ledger.model import Frozen
from ledger.observation import Ended
from ledger.outcomes import Answered, Usage

MAX_CALLS: Final = 128
"""Tool calls of one answer; OpenAI allows as many tools in a request. More would swell the history."""

FINISH: Final[Mapping[str, str]] = {
    # the vendor's word: ours (A9)
    "stop": "complete",  # OpenAI; a stop sequence ends so too
    "end_turn": "complete",  # Anthropic
    "stop_sequence": "stop",  # Anthropic
    "tool_calls": "tool_call",  # OpenAI
    "function_call": "tool_call",  # OpenAI, before tools
    "tool_use": "tool_call",  # Anthropic
    "completed": "complete",  # OpenAI's responses, with and without tool calls
    "STOP": "complete",  # Gemini, with and without tool calls, and for a stop sequence too
}

_WORD: Final = re.compile(r"[\w.-]{1,64}", re.ASCII)


class Usable(Frozen):
    answered: Answered
    usage: Usage | None = None


class Useless(Frozen):
    ended: Ended
    usage: Usage | None = None
    why: str = ""
    """For people, where the answer itself does not tell."""


def check(
    message: bytes, tools: Mapping[str, Handling], tariff: Tariff, output: Mapping[str, JsonValue] | None = None
) -> Usable | Useless:
    """Judge a stored answer. `tools` are the stage's: a call of another is no failure, it goes back to the model.

    `tariff` is that of the target which gave it, `output` the schema that an answer without calls must fit.
    """
    response = parse(message)
    if not isinstance(response, ModelResponse):
        raise TypeError("the stored message is no answer of a model")
    usage = tariff.used(response)
    word = _vendors_word(response)
    fault = _fault(response, word)
    if fault is not None:
        return Useless(ended=fault, usage=usage)
    if output is not None and not response.tool_calls and (why := misfit(output, text_of(message))):
        return Useless(ended=Ended.MISFIT, usage=usage, why=f"the answer does not fit the output schema: {why}")
    return Usable(answered=_answered(response, word, tools), usage=usage)


def _fault(response: ModelResponse, word: str) -> Ended | None:
    match response.finish_reason:
        case "content_filter":
            return Ended.REFUSED
        case "length":
            return Ended.TOKEN_LIMIT
        case _ if not word:
            return Ended.TRUNCATED  # an answer that does not say how it ended has not ended
        case "error":
            return Ended.UNUSABLE
    calls = response.tool_calls
    if len(calls) > MAX_CALLS or not all(_is_wellformed(call) for call in calls):
        return Ended.UNUSABLE
    if calls:
        return None
    has_text = any(part.content.strip() for part in response.parts if isinstance(part, TextPart))
    return None if has_text and FINISH.get(word) != "tool_call" else Ended.UNUSABLE


def _answered(response: ModelResponse, word: str, tools: Mapping[str, Handling]) -> Answered:
    reason = FINISH.get(word, "unknown")
    calls = tool_requests(response.tool_calls, tools)
    if calls and reason == "complete":
        reason = "tool_call"  # some servers say `stop` whatever they answer
    stopped_for = (word if _WORD.fullmatch(word) else "other") if reason == "unknown" else None
    return Answered(finish_reason=reason, stopped_for=stopped_for, tool_calls=calls)


def _vendors_word(response: ModelResponse) -> str:
    word = (response.provider_details or {}).get("finish_reason")
    return word if isinstance(word, str) else ""


def _is_wellformed(call: ToolCallPart) -> bool:
    """Arguments are a JSON object; none at all counts as an empty one."""
    if not isinstance(call.args, str):
        return True
    try:
        return isinstance(json.loads(call.args or "{}"), dict)
    except (ValueError, RecursionError):
        return False
