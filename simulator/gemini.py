"""Gemini generateContent (`POST …/models/MODEL:generateContent` and `:streamGenerateContent?alt=sse`).

How it answers and streams; what it is asked is read in `gemini_request`, its errors are in `gemini_errors`. Shapes
follow the vendor's API reference. Only the `alt=sse` form of streaming is spoken: the other one is a JSON array that no
client of ours asks for.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote

from pydantic import JsonValue

from simulator import strict_gemini
from simulator.dialect import Ask, AskError, Envelope, Problem, arguments_of, calls_of, pieces, usage_of
from simulator.gemini_errors import ERRORS, envelope
from simulator.gemini_request import files_of, newest, turns_of, wants_thoughts
from simulator.replies import Text, ToolCall, ToolCalls, Usage
from simulator.signatures import Vendor, seal

PATH: Final = re.compile(r".*/models/(?P<model>[^/:]+):(?P<method>generateContent|streamGenerateContent)")

SIGNS: Final = re.compile(r"gemini-([3-9]|\d\d)")
"""Models from Gemini 3 on sign the first call of every answer and want it back, and give their calls an id.

Source: ai.google.dev/gemini-api/docs/thought-signatures.
"""

FINISHES: Final[Mapping[str, str]] = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "tool_calls": "STOP",
    "content_filter": "SAFETY",
}

Part = dict[str, JsonValue]


class Gemini:
    """The dialect. It names no request in a header; `responseId` in the body does."""

    name = "gemini"
    vendor: Vendor = "google"
    request_id_header = ""

    def recognises(self, path: str) -> bool:
        return PATH.fullmatch(path) is not None

    def key(self, headers: Mapping[str, str]) -> str:
        return headers.get("x-goog-api-key") or headers.get("authorization", "").removeprefix("Bearer ")

    def read(self, path: str, body: Mapping[str, JsonValue], size: int) -> Ask:
        named = PATH.fullmatch(path)
        if named is None:
            raise AssertionError(f"read is asked for recognised paths only, not for {path}")
        return Ask(
            model=unquote(named["model"]),
            stream=named["method"] == "streamGenerateContent",
            newest=newest(turns_of(body)),
            size=size,
            thinking=wants_thoughts(body),
        )

    def check(self, ask: Ask, body: Mapping[str, JsonValue]) -> None:
        strict_gemini.check(body, model=ask.model, signs=SIGNS.match(ask.model) is not None)

    def files(self, body: Mapping[str, JsonValue]) -> Iterator[str]:
        return files_of(body)

    def missing(self, name: str) -> AskError:
        return AskError(f"You do not have permission to access the File {name} or it may not exist.", "file_missing")

    def whole(self, ask: Ask, answer: Text | ToolCalls, token: str) -> JsonValue:
        parts: list[JsonValue] = [*_parts(ask, answer, token, chunks=1)]
        return _chunk(ask, token, _candidate(parts, _finish(answer)), _usage(usage_of(ask, answer)))

    def events(self, ask: Ask, answer: Text | ToolCalls, token: str) -> Iterator[bytes]:
        parts: list[JsonValue] = [*_parts(ask, answer, token, answer.chunks)]
        usage = usage_of(ask, answer)
        for part in parts[:-1]:
            yield _data(_chunk(ask, token, _candidate([part], None), _usage(_begun(usage))))
        yield _data(_chunk(ask, token, _candidate(parts[-1:], _finish(answer)), _usage(usage)))

    def error(self, problem: Problem, token: str) -> Envelope:  # noqa: ARG002 - this vendor's errors hold no request id
        return Envelope(status=ERRORS[problem.error].http, body=envelope(problem))

    def error_event(self, problem: Problem, token: str, events_before: int = 0) -> bytes:  # noqa: ARG002 - events of this API have no number
        return _data(self.error(problem, token).body)


def _data(body: JsonValue) -> bytes:
    return b"data: " + json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() + b"\r\n\r\n"


def _parts(ask: Ask, answer: Text | ToolCalls, token: str, chunks: int) -> Iterator[Part]:
    """Thoughts where they are asked for, text, calls. A signature hangs on the first call, else on the last part."""
    if _malformed(answer):
        return
    signature: Part = {"thoughtSignature": seal("google", answer.thinking)}
    for thought in pieces(answer.thinking if ask.thinking else "", chunks):
        yield {"text": thought, "thought": True}
    calls = calls_of(answer)
    texts = [*pieces(answer.text, chunks)]
    signed_text = bool(answer.thinking) and not calls
    for number, text in enumerate(texts, start=1):
        yield {"text": text, **(signature if signed_text and number == len(texts) else {})}
    for index, call in enumerate(calls):
        signed = index == 0 and (answer.thinking or SIGNS.match(ask.model))
        yield {"functionCall": _call(ask, call, f"{token}_{index}"), **(signature if signed else {})}


def _call(ask: Ask, call: ToolCall, named: str) -> JsonValue:
    with_id = call.id or (f"fc_{named}" if SIGNS.match(ask.model) else None)
    return {**({"id": with_id} if with_id else {}), "name": call.name, "args": arguments_of(call)}


def _malformed(answer: Text | ToolCalls) -> bool:
    """Arguments that are no object never leave this vendor: it answers nothing and says why it finished."""
    return not all(isinstance(arguments_of(call), dict) for call in calls_of(answer))


def _finish(answer: Text | ToolCalls) -> str:
    if _malformed(answer):
        return "MALFORMED_FUNCTION_CALL"
    word = answer.finish_reason or "stop"
    return FINISHES.get(word, word)


def _candidate(parts: list[JsonValue], finish: str | None) -> JsonValue:
    content: JsonValue = {**({"parts": parts} if parts else {}), "role": "model"}
    return {"content": content, **({"finishReason": finish} if finish else {}), "index": 0}


def _chunk(ask: Ask, token: str, candidate: JsonValue, usage: JsonValue) -> JsonValue:
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": ask.model, "responseId": token}


def _begun(usage: Usage) -> Usage:
    return Usage(input_tokens=usage.input_tokens, output_tokens=0, cached_tokens=usage.cached_tokens)


def _usage(usage: Usage) -> JsonValue:
    """This vendor counts thoughts beside the candidates' tokens, not inside; counts of nothing are left out."""
    counts: dict[str, JsonValue] = {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": usage.output_tokens - usage.reasoning_tokens,
        "totalTokenCount": usage.input_tokens + usage.output_tokens,
        "cachedContentTokenCount": usage.cached_tokens,
        "thoughtsTokenCount": usage.reasoning_tokens,
    }
    by_kind: JsonValue = [{"modality": "TEXT", "tokenCount": usage.input_tokens}]
    return {**{name: count for name, count in counts.items() if count}, "promptTokensDetails": by_kind}
