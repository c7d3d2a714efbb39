"""A trip without a network, which leaves nothing of a first use to the first call: imports, types, prices.

Here: what a vendor of each protocol would answer to "hello" in the shortest way, and the connection that is refused.
Not here: asking (`pydantic_ai_client`). What a model would say is of no matter; that it is read to its end is.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import httpx2

from activities.declared import Api

_CHAT: Final = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "warm-up"}
_RESPONSE: Final = {"id": "resp_1", "object": "response", "created_at": 1, "model": "warm-up", "output": []} | {
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}
_MESSAGE: Final = {"id": "msg_1", "type": "message", "role": "assistant", "model": "warm-up", "content": []}
_CALL: Final = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "a", "arguments": "{}"}

ANSWERS: Final[Mapping[Api, tuple[dict[str, Any], ...]]] = {
    "openai-chat": (
        {**_CHAT, "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": None}]},
        {
            **_CHAT,
            "choices": [
                {
                    "index": 0,
                    "delta": {
                        "tool_calls": [
                            {
                                "index": 0,
                                "id": "call_1",
                                "type": "function",
                                "function": {"name": "a", "arguments": "{}"},
                            }
                        ]
                    },
                    "finish_reason": "tool_calls",
                }
            ],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        },
    ),
    "openai-responses": (
        {"type": "response.created", "sequence_number": 0, "response": {**_RESPONSE, "status": "in_progress"}},
        {"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": _CALL},
        {"type": "response.output_item.done", "sequence_number": 2, "output_index": 0, "item": _CALL},
        {
            "type": "response.output_text.delta",
            "sequence_number": 3,
            "output_index": 1,
            "content_index": 0,
            "item_id": "msg_1",
            "delta": "Hi",
            "logprobs": [],
        },
        {"type": "response.completed", "sequence_number": 4, "response": {**_RESPONSE, "status": "completed"}},
    ),
    "anthropic-messages": (
        {"type": "message_start", "message": {**_MESSAGE, "usage": {"input_tokens": 1, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": "t", "name": "a", "input": {}},
        },
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ),
    "google": (
        {
            "candidates": [
                {
                    "index": 0,
                    "finishReason": "STOP",
                    "content": {
                        "role": "model",
                        "parts": [{"text": "Hi"}, {"functionCall": {"name": "a", "args": {}}}],
                    },
                }
            ],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        },
    ),
}
"""The events of a whole answer with words and a tool call."""


def offline(api: Api, status: int) -> httpx2.AsyncClient:
    """An HTTP client that is answered at once, by nobody."""
    events = (f"event: {event.get('type', '')}\ndata: {json.dumps(event)}\n\n" for event in ANSWERS[api])
    body = "".join(events).replace("event: \n", "").encode()
    headers = {"content-type": "text/event-stream"}
    return httpx2.AsyncClient(
        transport=httpx2.MockTransport(lambda _: httpx2.Response(status, headers=headers, content=body))
    )


async def refused_connection() -> None:
    """The first connection of a process loads what talks to sockets. Port 9 of this machine refuses, or is silent."""
    async with httpx2.AsyncClient(trust_env=False, timeout=0.5) as client:
        with suppress(httpx2.TransportError):
            await client.get("http://127.0.0.1:9")
