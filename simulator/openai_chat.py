"""OpenAI chat completions (`POST …/chat/completions`): how it asks, answers, streams and fails.

Shapes follow the vendor's API reference and captured traffic; nothing here decides which reply is sent.
"""

import json
import time
from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import JsonValue

from simulator import strict_chat
from simulator.dialect import (
    Ask,
    AskError,
    Envelope,
    Problem,
    calls_of,
    messages_of,
    named_in,
    newest_text,
    pieces,
    text_field,
    usage_of,
)
from simulator.replies import ErrorWord, Text, ToolCall, ToolCalls, Usage
from simulator.signatures import Vendor

QUOTA: Final = "You exceeded your current quota, please check your plan and billing details."

ERRORS: Final[Mapping[ErrorWord, tuple[int, str, str | None, str]]] = {
    "rate_limited": (
        429,
        "requests",
        "rate_limit_exceeded",
        (
            "Rate limit reached for {model} in organization org-simulator on requests per min (RPM): "
            "Limit 3, Used 3, Requested 1.{wait} Visit https://platform.openai.com/account/rate-limits to learn more."
        ),
    ),
    "overloaded": (
        503,
        "service_unavailable_error",
        "server_is_overloaded",
        "The requested model is temporarily overloaded.",
    ),
    "quota_exhausted": (429, "insufficient_quota", "project_spend_limit_exceeded", QUOTA),
    "billing": (429, "insufficient_quota", "insufficient_quota", QUOTA),
    "auth": (
        401,
        "invalid_request_error",
        "invalid_api_key",
        (
            "Incorrect API key provided: sk-****. You can find your API key at "
            "https://platform.openai.com/account/api-keys."
        ),
    ),
    "access_denied": (
        403,
        "request_forbidden",
        "unsupported_country_region_territory",
        "Country, region, or territory not supported",
    ),
    "model_unavailable": (
        404,
        "invalid_request_error",
        "model_not_found",
        "The model `{model}` does not exist or you do not have access to it.",
    ),
    "too_large": (
        400,
        "invalid_request_error",
        "context_length_exceeded",
        (
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 131134 tokens. "
            "Please reduce the length of the messages."
        ),
    ),
    "invalid_request": (400, "invalid_request_error", None, "Invalid value: 'simulated'."),
    "content_refused": (
        400,
        "invalid_request_error",
        "invalid_prompt",
        (
            "Invalid prompt: your prompt was flagged as potentially violating our usage policy. "
            "Please try again with a different prompt."
        ),
    ),
    "file_missing": (404, "invalid_request_error", None, "No such File object: file-simulated"),
    "server_error": (
        500,
        "server_error",
        None,
        "The server had an error while processing your request. Sorry about that!",
    ),
}
"""Word → status, error.type, error.code, error.message, as the vendor words them."""

PARAMS: Final[Mapping[str, str]] = {"too_large": "messages", "file_missing": "id"}


class OpenAIChat:
    """The dialect. Finish reasons need no table: the neutral words are this vendor's own. Azure's key is `api-key`."""

    name = "openai_chat"
    vendor: Vendor = "openai"
    request_id_header = "x-request-id"

    def recognises(self, path: str) -> bool:
        return path.endswith("/chat/completions")

    def key(self, headers: Mapping[str, str]) -> str:
        return headers.get("api-key") or headers.get("authorization", "").removeprefix("Bearer ")

    def read(self, path: str, body: Mapping[str, JsonValue], size: int) -> Ask:  # noqa: ARG002 - other APIs name the model in the path
        options = body.get("stream_options")
        return Ask(
            model=text_field(body, "model"),
            stream=body.get("stream") is True,
            newest=newest_text(messages_of(body)),
            size=size,
            usage_in_stream=isinstance(options, dict) and options.get("include_usage") is True,
        )

    def check(self, ask: Ask, body: Mapping[str, JsonValue]) -> None:  # noqa: ARG002 - the rules of this API are the same for all models
        strict_chat.check(body)

    def files(self, body: Mapping[str, JsonValue]) -> Iterator[str]:
        return named_in(body.get("messages"), "file_id")

    def missing(self, name: str) -> AskError:
        return AskError(f"No such File object: {name}", "file_missing")

    def whole(self, ask: Ask, answer: Text | ToolCalls, token: str) -> JsonValue:
        message: dict[str, JsonValue] = {
            "role": "assistant",
            "content": answer.text or (None if isinstance(answer, ToolCalls) else ""),
            "refusal": None,
            "annotations": [],
            **({"reasoning_content": answer.thinking} if answer.thinking else {}),
        }
        if isinstance(answer, ToolCalls):
            message["tool_calls"] = [_call(call, token, i) for i, call in enumerate(answer.calls)]
        choice: JsonValue = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": _finish(answer),
        }
        return {
            **_envelope(ask, token, "chat.completion"),
            "choices": [choice],
            "usage": _usage(usage_of(ask, answer)),
        }

    def events(self, ask: Ask, answer: Text | ToolCalls, token: str) -> Iterator[bytes]:
        shared = _envelope(ask, token, "chat.completion.chunk")
        no_usage: dict[str, JsonValue] = {"usage": None} if ask.usage_in_stream else {}
        for delta in _deltas(answer, token):
            yield _data({**shared, "choices": [_chunk(delta, None)], **no_usage})
        yield _data({**shared, "choices": [_chunk({}, _finish(answer))], **no_usage})
        if ask.usage_in_stream:
            yield _data({**shared, "choices": [], "usage": _usage(usage_of(ask, answer))})
        yield b"data: [DONE]\n\n"

    def error(self, problem: Problem, token: str) -> Envelope:  # noqa: ARG002 - this vendor's body holds no request id
        status, kind, code, words = ERRORS[problem.error]
        wait = "" if problem.retry_after_s is None else f" Please try again in {problem.retry_after_s:g}s."
        message = problem.message or words.format(model=problem.model, wait=wait)
        error: JsonValue = {
            "message": message,
            "type": kind,
            "param": problem.param or PARAMS.get(problem.error),
            "code": problem.code or code,
        }
        return Envelope(status=status, body={"error": error})

    def error_event(self, problem: Problem, token: str, events_before: int = 0) -> bytes:  # noqa: ARG002 - events of this API have no number
        return _data(self.error(problem, token).body)


def _data(body: JsonValue) -> bytes:
    return b"data: " + json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def _envelope(ask: Ask, token: str, kind: str) -> dict[str, JsonValue]:
    return {
        "id": f"chatcmpl-{token}",
        "object": kind,
        "created": int(time.time()),
        "model": ask.model,
        "service_tier": "default",
        "system_fingerprint": "fp_simulator",
    }


def _finish(answer: Text | ToolCalls) -> str:
    return answer.finish_reason or ("tool_calls" if isinstance(answer, ToolCalls) else "stop")


def _call(call: ToolCall, token: str, index: int) -> dict[str, JsonValue]:
    function: JsonValue = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id or f"call_{token}_{index}", "type": "function", "function": function}


def _chunk(delta: JsonValue, finish: str | None) -> JsonValue:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _deltas(answer: Text | ToolCalls, token: str) -> Iterator[JsonValue]:
    has_text = bool(answer.text) or isinstance(answer, Text)
    yield {"role": "assistant", "content": "" if has_text else None, "refusal": None}
    for piece in pieces(answer.thinking, answer.chunks):
        yield {"reasoning_content": piece}
    for piece in pieces(answer.text, answer.chunks):
        yield {"content": piece}
    for index, call in enumerate(calls_of(answer)):
        opened = ToolCall(name=call.name, arguments="", id=call.id)
        yield {"tool_calls": [{"index": index, **_call(opened, token, index)}]}
        for piece in pieces(call.arguments, answer.chunks):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _usage(usage: Usage) -> JsonValue:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
