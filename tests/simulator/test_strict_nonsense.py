"""Strict mode refuses nonsense in words: whatever JSON a request holds, it never breaks the simulator."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.dialect import AskError
from simulator.routing import DIALECTS

WORDS = st.sampled_from(
    [
        "user",
        "assistant",
        "model",
        "tool",
        "text",
        "tool_use",
        "tool_result",
        "thinking",
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "item_reference",
        "rs_1",
        "a",
        "",
    ]
)
FIELDS = st.sampled_from(
    [
        "role",
        "content",
        "parts",
        "type",
        "text",
        "id",
        "call_id",
        "tool_use_id",
        "tool_call_id",
        "tool_calls",
        "input",
        "function",
        "name",
        "arguments",
        "functionCall",
        "functionResponse",
        "thoughtSignature",
        "signature",
        "summary",
        "output",
        "encrypted_content",
        "source",
        "fileData",
        "thinking",
    ]
)
LEAVES = st.none() | st.booleans() | st.integers() | WORDS
NONSENSE = st.recursive(
    LEAVES, lambda held: st.lists(held, max_size=4) | st.dictionaries(FIELDS, held, max_size=5), max_leaves=20
)
TURNS = st.lists(st.dictionaries(FIELDS, NONSENSE, max_size=5), min_size=1, max_size=4)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@settings(max_examples=200, deadline=None)
@given(turns=TURNS, tools=NONSENSE, thinking=NONSENSE)
def test_nonsense_is_refused_in_words_or_taken(dialect, turns, tools, thinking):
    conversation = {"openai_responses": "input", "gemini": "contents"}.get(dialect.name, "messages")
    body = {"model": "gemini-3", conversation: turns, "tools": tools, "max_tokens": 9, "thinking": thinking}
    if dialect.name != "anthropic_messages":
        del body["max_tokens"], body["thinking"]
    if dialect.name == "gemini":
        del body["model"]
    with contextlib.suppress(AskError):
        ask = dialect.read("/v1beta/models/gemini-3:generateContent", body, 1)
        dialect.check(ask, body)
        list(dialect.files(body))
