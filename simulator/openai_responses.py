"""OpenAI responses (`POST …/responses`): how it asks, answers, streams and fails.

Shapes follow the vendor's API reference and captured traffic; the items of an answer are in `response_items`, their
events in `response_events`. Errors are those of the vendor's other API, but for a few words.
"""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from pydantic import JsonValue

from simulator import strict_responses
from simulator.dialect import Ask, AskError, Envelope, Problem, flat, named_in, text_field, usage_of
from simulator.openai_chat import OpenAIChat
from simulator.replies import Text, ToolCalls, Usage
from simulator.response_events import item_events
from simulator.response_items import INCOMPLETE, items
from simulator.signatures import Vendor

OWN_WORDS: Final = {
    "too_large": "Your input exceeds the context window of this model. Please adjust your input and try again."
}
"""Where this API words an error otherwise than chat completions does."""

FAILED_CODES: Final = {"server_error": "server_error", "overloaded": "server_error"}
"""`response.error.code` of a response that failed, where the envelope's code is none of this field's values."""

ANSWERED: Final = ("reasoning", "function_call", "item_reference")
"""Items of the input that came from a model."""


class OpenAIResponses:
    """The dialect."""

    name = "openai_responses"
    vendor: Vendor = "openai"
    request_id_header = "x-request-id"
    _errors = OpenAIChat()

    def recognises(self, path: str) -> bool:
        return path.endswith("/responses")

    def key(self, headers: Mapping[str, str]) -> str:
        return self._errors.key(headers)

    def read(self, path: str, body: Mapping[str, JsonValue], size: int) -> Ask:  # noqa: ARG002 - other APIs name the model in the path
        reasoning, include = body.get("reasoning"), body.get("include")
        return Ask(
            model=text_field(body, "model"),
            stream=body.get("stream") is True,
            newest=_newest(body.get("input")),
            size=size,
            thinking=isinstance(reasoning, dict) and bool(reasoning.get("summary")),
            sealed=isinstance(include, list) and "reasoning.encrypted_content" in include,
            stored=body.get("store") is not False,
        )

    def check(self, ask: Ask, body: Mapping[str, JsonValue]) -> None:  # noqa: ARG002 - the rules of this API are the same for all models
        strict_responses.check(body)

    def files(self, body: Mapping[str, JsonValue]) -> Iterator[str]:
        return named_in(body.get("input"), "file_id")

    def missing(self, name: str) -> AskError:
        return self._errors.missing(name)

    def whole(self, ask: Ask, answer: Text | ToolCalls, token: str) -> JsonValue:
        return self._ended(ask, answer, token)

    def events(self, ask: Ask, answer: Text | ToolCalls, token: str) -> Iterator[bytes]:
        for number, event in enumerate(self._events(ask, answer, token)):
            yield _frame({**event, "sequence_number": number})

    def _events(self, ask: Ask, answer: Text | ToolCalls, token: str) -> Iterator[dict[str, JsonValue]]:
        opened = _response(ask.model, token, "in_progress")
        yield {"type": "response.created", "response": opened}
        yield {"type": "response.in_progress", "response": opened}
        for place, item in enumerate(items(ask, answer, token)):
            yield from item_events(item, place, answer.chunks)
        ended = self._ended(ask, answer, token)
        yield {"type": f"response.{ended['status']}", "response": ended}

    def _ended(self, ask: Ask, answer: Text | ToolCalls, token: str) -> dict[str, JsonValue]:
        reason = INCOMPLETE.get(answer.finish_reason)
        output: list[JsonValue] = [*items(ask, answer, token)]
        return {
            **_response(ask.model, token, "incomplete" if reason else "completed"),
            "incomplete_details": {"reason": reason} if reason else None,
            "output": output,
            "store": ask.stored,
            "usage": _usage(usage_of(ask, answer)),
        }

    def error(self, problem: Problem, token: str) -> Envelope:
        message = problem.message or OWN_WORDS.get(problem.error)
        return self._errors.error(replace(problem, message=message), token)

    def error_event(self, problem: Problem, token: str, events_before: int = 0) -> bytes:
        """A response that failed; what its `error.code` may be is a list of this API's own."""
        match self.error(problem, token).body:
            case {"error": {"message": message, "code": code}}:
                error: JsonValue = {"code": FAILED_CODES.get(problem.error, code or problem.error), "message": message}
            case body:
                raise AssertionError(f"an envelope of this vendor has an error: {body}")
        failed = {**_response(problem.model, token, "failed"), "error": error}
        return _frame({"type": "response.failed", "response": failed, "sequence_number": events_before})


def _newest(given: JsonValue) -> str:
    """The text of all items after the model's last one."""
    if isinstance(given, str):
        return given
    if not isinstance(given, list) or not all(isinstance(item, dict) for item in given):
        raise AskError("input: expected text or a list of items")
    tail: list[str] = []
    for item in reversed(given):
        match item:
            case {"role": "assistant"}:
                break
            case {"type": kind} if kind in ANSWERED:
                break
            case {"role": "system" | "developer"}:
                pass
            case _:
                tail.append(flat(item))
    return "\n".join(reversed(tail))


def _frame(event: Mapping[str, JsonValue]) -> bytes:
    data = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    return f"event: {event['type']}\ndata: {data}\n\n".encode()


def _response(model: str, token: str, status: str) -> dict[str, JsonValue]:
    return {
        "id": f"resp_{token}",
        "object": "response",
        "created_at": int(time.time()),
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "model": model,
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None,
        "metadata": {},
    }


def _usage(usage: Usage) -> JsonValue:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }
