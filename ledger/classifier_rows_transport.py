"""Rows that come first: how a connection or a stream broke off, and how a whole answer ended.

Here: what needs no error object. Not here: errors that somebody named (the other tables).
"""

from typing import Final

from ledger.classifier_row import Row
from ledger.failures import FailureKind as K

_OURS: Final = "ledger.observation.Ended"
_HTTPX: Final = "pypi:httpx exceptions, https://www.python-httpx.org/exceptions/"
_CODES: Final = "npm:@google/gemini-cli-core 0.61.0 retry.js RETRYABLE_NETWORK_CODES"
_UNTRUSTED: Final = "https://github.com/sidhq/Multi-GPT/issues/14"

TRANSPORT: Final = (
    Row(rule="transport.cancelled", source=_OURS, kind=K.CANCELLED, ended=("cancel",), outcome_unknown=True),
    Row(
        rule="transport.certificate", source=_UNTRUSTED, kind=K.NETWORK, transient=False, failover=False,
        ended=(
            "tls verify", "ssl verify", "cert", "self signed", "hostname", "unable to verify", "unable to get",
            "unknown authority", "unknown issuer", "untrusted", "unverified", "pkix",
        ),
    ),
    Row(
        rule="transport.certificate_words", source=_UNTRUSTED, kind=K.NETWORK, transient=False, failover=False,
        ended=("tls", "ssl", "connect", "handshake"),
        phrases=(
            "certificate verify failed", "self signed certificate", "certificate has expired",
            "unable to get local issuer", "unable to verify the first certificate", "hostname mismatch",
            "unknown authority", "unknown issuer", "pkix path", "certificate is not trusted", "untrusted certificate",
        ),
    ),
    Row(
        rule="transport.address", source=_HTTPX, kind=K.INVALID_REQUEST, failover=True,
        ended=("bad address", "unsupported protocol", "invalid url"),
    ),
    Row(
        rule="transport.proxy_key", source="https://requests.readthedocs.io/en/latest/user/advanced/#proxies",
        kind=K.NETWORK, transient=False, failover=False, ended=("proxy key",),
    ),
    Row(
        rule="transport.proxy_key_words", source="https://requests.readthedocs.io/en/latest/user/advanced/#proxies",
        kind=K.NETWORK, transient=False, failover=False, ended=("proxy", "connect", "tunnel"),
        phrases=("proxy authentication required", "407 proxy", "tunnel * 407"),
    ),
    Row(
        rule="transport.no_such_host", source=_CODES, kind=K.NETWORK,
        ended=("dns", "name resolution", "eai again", "enotfound", "getaddrinfo", "gaierror"),
    ),
    Row(rule="transport.proxy", source=_HTTPX, kind=K.NETWORK, ended=("proxy", "tunnel")),
    Row(rule="transport.handshake", source=_CODES, kind=K.NETWORK, ended=("tls", "ssl", "handshake")),
    Row(
        rule="transport.not_connected", source=_CODES, kind=K.NETWORK,
        ended=(
            "connect timeout", "connection timeout", "connect error", "connection refused", "connrefused", "unreach",
            "pool timeout",
        ),
    ),
    Row(rule="transport.token_limit", source=_OURS, kind=K.OUTPUT_TRUNCATED, ended=("token limit",)),
    Row(rule="answer.schema", source=_OURS, kind=K.BAD_OUTPUT, ended=("misfit",)),
    Row(rule="transport.refused", source=_OURS, kind=K.CONTENT_REFUSED, ended=("refused", "refusal")),
    Row(
        rule="transport.oversize", source=_OURS, kind=K.BAD_OUTPUT, transient=False, outcome_unknown=True,
        ended=("oversize",),
    ),
    Row(
        rule="transport.timeout", source=_HTTPX, kind=K.TIMEOUT, outcome_unknown=True,
        ended=("timeout", "timed out", "timedout", "deadline", "stall", "idle"),
    ),
)  # fmt: skip

ANSWERS: Final = (
    Row(
        rule="answer.overflow", source="pypi:anthropic 2.14.0 types/stop_reason.py", kind=K.TOO_LARGE,
        finishes=("model_context_window_exceeded", "error_limit"),
    ),
    Row(
        rule="answer.refused",
        source="https://ai.google.dev/api/generate-content#FinishReason; pypi:anthropic types/stop_reason.py; "
        "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html; https://docs.z.ai/api-reference",
        kind=K.CONTENT_REFUSED,
        finishes=(
            "content_filter", "content_filtered", "blocked", "guardrail_intervened", "refusal", "safety",
            "recitation", "blocklist", "prohibited_content", "spii", "image_safety", "image_prohibited_content",
            "image_recitation", "language", "model_armor", "jailbreak", "sensitive", "error_toxic",
        ),
    ),
    Row(
        rule="answer.token_limit",
        source="https://platform.openai.com/docs/api-reference/chat/object; https://ai.google.dev/api/generate-content",
        kind=K.OUTPUT_TRUNCATED,
        finishes=("length", "max_tokens", "max_output_tokens", "model_length", "token_limit", "max_length"),
    ),
    Row(
        rule="answer.malformed", source="https://github.com/vercel/ai/pull/5039", kind=K.BAD_OUTPUT,
        finishes=(
            "malformed_function_call", "unexpected_tool_call", "too_many_tool_calls", "malformed_response",
            "malformed_model_output", "malformed_tool_use", "missing_thought_signature", "no_image",
        ),
    ),
    Row(
        rule="answer.no_room", source="https://api-docs.deepseek.com/api/create-chat-completion", kind=K.OVERLOADED,
        finishes=("insufficient_system_resource",),
    ),
    Row(
        rule="answer.timeout", source="https://docs.cohere.com/reference/chat", kind=K.TIMEOUT,
        finishes=("timeout",),
    ),
    Row(
        rule="answer.failed", source="https://docs.z.ai/api-reference/llm/chat-completion", kind=K.SERVER_ERROR,
        finishes=("error", "network_error", "failed", "abort"),
    ),
    Row(
        rule="transport.broken", source="https://github.com/openai/openai-python/issues/2065", kind=K.NETWORK,
        outcome_unknown=True, ended=("",),
    ),
)  # fmt: skip
"""Only where no error is named. `transport.broken` is last: a stream that was cut may have said why before. It takes
any word for how a trip broke off, for every client has its own."""
