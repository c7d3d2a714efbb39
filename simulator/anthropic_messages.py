"""Anthropic messages (`POST …/messages`): how it asks, answers, streams and fails.

Shapes follow the vendor's API reference and captured traffic; nothing here decides which reply is sent.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import JsonValue

from simulator import strict_anthropic
from simulator.dialect import (
    Ask,
    AskError,
    Envelope,
    Problem,
    arguments_of,
    calls_of,
    messages_of,
    named_in,
    newest_text,
    pieces,
    text_field,
    usage_of,
)
from simulator.replies import ErrorWord, Text, ToolCall, ToolCalls, Usage
from simulator.signatures import Vendor, seal

ERRORS: Final[Mapping[ErrorWord, tuple[int, str, str]]] = {
    "rate_limited": (
        429,
        "rate_limit_error",
        "This request would exceed the rate limit for your organization of 50 requests per minute.",
    ),
    "overloaded": (529, "overloaded_error", "Overloaded"),
    "quota_exhausted": (
        400,
        "invalid_request_error",
        "You have reached your specified API usage limits. You will regain access on 2099-01-01 at 00:00 UTC.",
    ),
    "billing": (
        400,
        "invalid_request_error",
        (
            "Your credit balance is too low to access the Anthropic API. "
            "Please go to Plans & Billing to upgrade or purchase credits."
        ),
    ),
    "auth": (401, "authentication_error", "invalid x-api-key"),
    "access_denied": (
        403,
        "permission_error",
        "Your API key does not have permission to use the specified resource.",
    ),
    "model_unavailable": (404, "not_found_error", "model: {model}"),
    "too_large": (400, "invalid_request_error", "prompt is too long: 215000 tokens > 200000 maximum"),
    "invalid_request": (400, "invalid_request_error", "messages.0.content: Input should be a valid list"),
    "content_refused": (400, "invalid_request_error", "Output blocked by content filtering policy"),
    "file_missing": (404, "not_found_error", "File not found: file_simulated"),
    "server_error": (500, "api_error", "Internal server error"),
}
"""Word → status, error.type, error.message, as the vendor words them."""

STOP_REASONS: Final[Mapping[str, str]] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
}


class AnthropicMessages:
    """The dialect."""

    name = "anthropic_messages"
    vendor: Vendor = "anthropic"
    request_id_header = "request-id"

    def recognises(self, path: str) -> bool:
        return path.endswith("/messages")

    def key(self, headers: Mapping[str, str]) -> str:
        return headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")

    def read(self, path: str, body: Mapping[str, JsonValue], size: int) -> Ask:  # noqa: ARG002 - other APIs name the model in the path
        thinking = body.get("thinking")
        return Ask(
            model=text_field(body, "model"),
            stream=body.get("stream") is True,
            newest=newest_text(messages_of(body)),
            size=size,
            thinking=isinstance(thinking, dict) and thinking.get("type") in ("enabled", "adaptive"),
        )

    def check(self, ask: Ask, body: Mapping[str, JsonValue]) -> None:  # noqa: ARG002 - the rules of this API are the same for all models
        strict_anthropic.check(body)

    def files(self, body: Mapping[str, JsonValue]) -> Iterator[str]:
        return named_in(body.get("messages"), "file_id")

    def missing(self, name: str) -> AskError:
        return AskError(f"File not found: {name}", "file_missing")

    def whole(self, ask: Ask, answer: Text | ToolCalls, token: str) -> JsonValue:
        content: list[JsonValue] = [_thinking(answer.thinking)] if answer.thinking and ask.thinking else []
        content += [{"type": "text", "text": answer.text}] if answer.text else []
        content += [
            {**_tool_use(call, token, i), "input": arguments_of(call)} for i, call in enumerate(calls_of(answer))
        ]
        return {
            **_message(ask, token),
            "content": content,
            "stop_reason": _stop_reason(answer),
            "usage": {**_counts(usage_of(ask, answer)), "service_tier": "standard"},
        }

    def events(self, ask: Ask, answer: Text | ToolCalls, token: str) -> Iterator[bytes]:
        usage = usage_of(ask, answer)
        started = Usage(input_tokens=usage.input_tokens, output_tokens=1, cached_tokens=usage.cached_tokens)
        yield _event(
            "message_start", message={**_message(ask, token), "usage": {**_counts(started), "service_tier": "standard"}}
        )
        for index, (block, deltas) in enumerate(_blocks(ask, answer, token)):
            yield _event("content_block_start", index=index, content_block=block)
            if index == 0:
                yield _event("ping")
            for delta in deltas:
                yield _event("content_block_delta", index=index, delta=delta)
            yield _event("content_block_stop", index=index)
        ended: JsonValue = {"stop_reason": _stop_reason(answer), "stop_sequence": None}
        yield _event("message_delta", delta=ended, usage=_counts(usage))
        yield _event("message_stop")

    def error(self, problem: Problem, token: str) -> Envelope:
        status, kind, words = ERRORS[problem.error]
        message = problem.message or words.format(model=problem.model)
        error: JsonValue = {"type": kind, "message": message}
        return Envelope(
            status=status,
            body={"type": "error", "error": error, "request_id": f"req_{token}"},
        )

    def error_event(self, problem: Problem, token: str, events_before: int = 0) -> bytes:  # noqa: ARG002 - events of this API have no number
        return _frame("error", self.error(problem, token).body)


def _frame(name: str, body: JsonValue) -> bytes:
    data = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return f"event: {name}\ndata: {data}\n\n".encode()


def _event(name: str, **fields: JsonValue) -> bytes:
    return _frame(name, {"type": name, **fields})


def _message(ask: Ask, token: str) -> dict[str, JsonValue]:
    return {
        "id": f"msg_{token}",
        "type": "message",
        "role": "assistant",
        "model": ask.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _stop_reason(answer: Text | ToolCalls) -> str:
    word = answer.finish_reason or ("tool_calls" if isinstance(answer, ToolCalls) else "stop")
    return STOP_REASONS.get(word, word)


def _tool_use(call: ToolCall, token: str, index: int) -> dict[str, JsonValue]:
    return {"type": "tool_use", "id": call.id or f"toolu_{token}_{index}", "name": call.name, "input": {}}


def _thinking(thought: str) -> JsonValue:
    return {"type": "thinking", "thinking": thought, "signature": seal("anthropic", thought)}


def _blocks(ask: Ask, answer: Text | ToolCalls, token: str) -> Iterator[tuple[JsonValue, list[JsonValue]]]:
    if answer.thinking and ask.thinking:
        yield {"type": "thinking", "thinking": "", "signature": ""}, _thinking_deltas(answer)
    if answer.text:
        texts: list[JsonValue] = [{"type": "text_delta", "text": piece} for piece in pieces(answer.text, answer.chunks)]
        yield {"type": "text", "text": ""}, texts
    for index, call in enumerate(calls_of(answer)):
        parts = ["", *pieces(call.arguments, answer.chunks)]
        deltas: list[JsonValue] = [{"type": "input_json_delta", "partial_json": part} for part in parts]
        yield _tool_use(call, token, index), deltas


def _thinking_deltas(answer: Text | ToolCalls) -> list[JsonValue]:
    thoughts: list[JsonValue] = [
        {"type": "thinking_delta", "thinking": piece} for piece in pieces(answer.thinking, answer.chunks)
    ]
    return [*thoughts, {"type": "signature_delta", "signature": seal("anthropic", answer.thinking)}]


def _counts(usage: Usage) -> dict[str, JsonValue]:
    """This vendor counts cached input beside `input_tokens`, not inside."""
    return {
        "input_tokens": usage.input_tokens - usage.cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
    }
