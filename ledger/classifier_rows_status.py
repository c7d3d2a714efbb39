"""Rows that come last: words of capacity, rate and faults, codes that several causes share, and the status alone.

Here: what is left when nobody said anything better. Not here: anything that decides by itself.
"""

from typing import Final

from ledger.classifier_row import Row
from ledger.failures import FailureKind as K

_RFC: Final = "RFC 9110 section 15"
_EDGE: Final = "https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/"

CAPACITY: Final = (
    Row(
        rule="capacity.words", source="https://github.com/openai/codex/issues/19446", kind=K.OVERLOADED,
        phrases=(
            "overload", "at capacity", "over capacity", "no capacity", "capacity exceeded", "capacity * exceeded",
            "insufficient capacity", "not enough capacity", "lack of capacity", "out of capacity",
            "capacity constraint", "capacity limit", "limited capacity", "capacity is", "resource limits",
            "server is busy",
            "server busy", "service is busy", "service is too busy", "system is busy", "system busy", "service busy",
            "engine is busy", "is busy", "too busy", "high demand", "heavy load", "high load", "high traffic",
            "high volume of requests", "peak load", "maximum pending requests", "queue is full", "queue full",
            "currently loading", "loading model", "model is loading",
            "being loaded", "is loading", "still loading", "warming up",
            "cold start", "not ready", "no available workers", "no workers", "no instances", "maximum capacity",
            "model busy", "scaled to zero", "worker local total request limit", "scaling up", "is starting",
            "starting up", "initializing", "no deployments available", "no healthy deployment", "no healthy upstream",
            "no available server", "no available account", "out of memory", "insufficient system resource",
            "service tier capacity", "resource unavailable", "繁忙", "过载", "拥挤", "访问量过大", "负载", "排队",
        ),
        unless=("rate limited", "exhausted your capacity"),
    ),
)  # fmt: skip

RATES: Final = (
    Row(
        rule="rate.words", source="https://github.com/openai/codex/issues/303", kind=K.RATE_LIMITED,
        phrases=(
            "rate limit", "ratelimit", "rate limited", "rate increased too", "too many requests",
            "too many concurrent", "too many tokens", "concurrency limit", "organization concurrency",
            "concurrent requests", "concurrent connections", "requests per minute", "tokens per minute", "per minute",
            "per second", "requests min", "calls minute", "throttl", "slow down", "request limit", "request rate",
            "max rpm", "max tpm", "tpm limit", "rpm limit", "tpm rpm", "qps", "quota exceeded", "exceeded * quota",
            "exceed quota", "parallel request", "cooling down", "速率", "频率", "并发", "限流", "流控", "过于频繁",
            "请求频繁",
        ),
        statuses=("429", "403", "503", "400", "402", "500", "2xx", "none"),
    ),
    Row(
        rule="rate.code", source="https://platform.openai.com/docs/guides/error-codes", kind=K.RATE_LIMITED,
        codes=(
            "rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests", "RESOURCE_EXHAUSTED",
            "token_quota_exceeded", "request_quota_exceeded",
        ),
    ),
)  # fmt: skip

FAULTS: Final = (
    Row(
        rule="fault.timeout_words", source="https://github.com/ollama/ollama/issues/3694", kind=K.TIMEOUT,
        outcome_unknown=True,
        phrases=(
            "timed out", "timeout", "deadline exceeded", "took too long", "time out", "a timeout occurred",
            "timing out", "operation was cancelled",
        ),
        statuses=("408", "499", "5xx", "2xx", "none"),
    ),
    Row(
        rule="fault.fetch_timeout", source="https://github.com/riverscuomo/cuomputer/issues/95", kind=K.TIMEOUT,
        phrases=("timed out while", "timeout while", "download * timed out", "fetch * timed out"),
        statuses=("400", "422"),
    ),
    Row(
        rule="fault.key", source="https://github.com/FerroxLabs/wayland-core/pull/284", kind=K.AUTH,
        codes=("auth_error", "authentication_error", "invalid_api_key"), statuses=("500", "502"),
    ),
    Row(
        rule="fault.request",
        source="https://github.com/NousResearch/hermes-agent/blob/main/agent/error_classifier.py",
        kind=K.INVALID_REQUEST, failover=True,
        phrases=(
            "unknown parameter", "unsupported parameter", "unrecognized request argument", "is not supported",
            "not support", "failed to parse grammar", "requires jinja", "chat template", "invalid parameter",
            "not a multimodal model", "not a vision model", "stop sequence", "unknown field", "field required",
            "failed to parse tool call arguments", "failed to parse messages", "failed to parse tools",
            "at row * column", "must alternate", "must be followed by", "must be a response to",
            "unexpected role", "raise exception", "input should be", "extra inputs are not", "image input",
        ),
        statuses=("5xx",),
    ),
    Row(
        rule="fault.invalid_request", source="https://github.com/yym68686/uni-api/issues/6", kind=K.INVALID_REQUEST,
        failover=True, statuses=("5xx", "2xx", "none"), phrases=("invalid request",),
        unless=(
            "internal error", "internal server error", "server error", "had an error", "try again", "retry",
            "temporarily", "timed out", "timeout",
        ),
    ),
    Row(
        rule="fault.request_code", source="https://github.com/continuedev/continue/issues/9767",
        kind=K.INVALID_REQUEST, codes=("ValidationException", "INVALID_ARGUMENT"), statuses=("5xx",),
    ),
    Row(
        rule="fault.crashed", source="https://github.com/lmstudio-ai/lmstudio-bug-tracker", kind=K.SERVER_ERROR,
        phrases=(
            "model has crashed", "model crashed", "model unloaded", "engine crashed", "runner process has terminated",
        ),
    ),
    Row(
        rule="fault.words", source="https://github.com/vllm-project/vllm/issues/5060", kind=K.SERVER_ERROR,
        phrases=(
            "internal error", "internal server error", "server had an error", "server error", "upstream",
            "bad gateway", "service unavailable", "temporarily unavailable", "provider returned error",
            "provider disconnected", "connection lost", "connection reset", "connection error", "network error",
            "fetch failed", "unexpected error", "unexpected eof", "error was encountered", "unknown error",
            "something went wrong", "you can retry", "please retry", "try again", "interrupted",
            "an error occurred", "engine", "cuda", "inference error",
            "内部错误", "系统错误", "服务异常", "服务不可用",
        ),
        statuses=("2xx", "none"),
    ),
    Row(
        rule="fault.code", source="https://platform.openai.com/docs/guides/error-codes", kind=K.SERVER_ERROR,
        codes=(
            "server_error", "api_error", "internal_error", "internal_server_error", "INTERNAL", "UNAVAILABLE",
            "service_unavailable", "service_unavailable_error", "upstream_error", "InternalServerException",
            "InternalFailure", "ModelErrorException", "ModelStreamErrorException", "ServiceException",
        ),
        statuses=("424", "5xx", "2xx", "none"),
    ),
    Row(
        rule="fault.lock", source="pypi:openai 3.57.0 _base_client.py _should_retry", kind=K.SERVER_ERROR,
        statuses=("409", "423"),
    ),
)  # fmt: skip

STATUSES: Final = (
    Row(
        rule="request.parameter", source="https://github.com/can1357/oh-my-pi/issues/9415", kind=K.INVALID_REQUEST,
        failover=True, statuses=("400", "404", "422", "501"),
        phrases=(
            "does not support", "doesnt support", "is not supported", "not supported", "unsupported", "is mandatory",
            "cannot be disabled", "must be enabled", "only supports", "accessible via", "not support",
            "no endpoints found that support",
        ),
    ),
    Row(
        rule="request.code", source="https://platform.openai.com/docs/guides/error-codes", kind=K.INVALID_REQUEST,
        statuses=("2xx", "none"),
        codes=(
            "invalid_request_error", "INVALID_ARGUMENT", "bad_request", "invalid_prompt", "ValidationException",
            "invalid_request",
        ),
    ),
    Row(
        rule="key.code", source=_RFC, kind=K.AUTH, statuses=("2xx", "none"),
        codes=("authentication_error", "unauthorized", "UNAUTHENTICATED"),
    ),
    Row(
        rule="access.code", source=_RFC, kind=K.ACCESS_DENIED, statuses=("2xx", "none"),
        codes=("permission_error", "PERMISSION_DENIED", "AccessDeniedException", "forbidden"),
    ),
    Row(
        rule="model.code", source=_RFC, kind=K.MODEL_UNAVAILABLE, statuses=("2xx", "none"),
        codes=("not_found_error", "NOT_FOUND", "ResourceNotFoundException"),
    ),
    Row(
        rule="status.guardrail", source="https://portkey.ai/docs/product/guardrails", kind=K.CONTENT_REFUSED,
        statuses=("446",),
    ),
    Row(rule="status.request", source=_RFC, kind=K.INVALID_REQUEST, statuses=("400", "422")),
    Row(rule="status.key", source=_RFC, kind=K.AUTH, statuses=("401",)),
    Row(rule="status.proxy_key", source="RFC 9110 section 15.5.8", kind=K.AUTH, statuses=("407",)),
    Row(
        rule="access.page", source="https://help.zscaler.com/zia/configuring-browser-based-end-user-notifications",
        kind=K.ACCESS_DENIED, statuses=("403", "511"), shapes=("html",),
    ),
    Row(rule="status.access", source=_RFC, kind=K.ACCESS_DENIED, statuses=("403", "451", "511")),
    Row(
        rule="status.path", source=_RFC, kind=K.INVALID_REQUEST, failover=True,
        statuses=("3xx", "404", "405", "406", "415", "501", "505"),
    ),
    Row(rule="status.gone", source=_RFC, kind=K.MODEL_UNAVAILABLE, statuses=("410",)),
    Row(
        rule="status.timeout", source=_EDGE, kind=K.TIMEOUT, outcome_unknown=True,
        statuses=("408", "499", "504", "522", "524", "598", "599"),
    ),
    Row(rule="status.rate", source=_RFC, kind=K.RATE_LIMITED, statuses=("429",)),
    Row(rule="status.early", source=_RFC, kind=K.SERVER_ERROR, statuses=("424", "425")),
    Row(
        rule="status.overloaded", source="https://platform.claude.com/docs/en/api/errors", kind=K.OVERLOADED,
        statuses=("498", "529"),
    ),
    Row(rule="status.edge_certificate", source=_EDGE, kind=K.SERVER_ERROR, transient=False, statuses=("526",)),
    Row(rule="status.server", source=_EDGE, kind=K.SERVER_ERROR, statuses=("5xx",)),
    Row(rule="status.request_other", source=_RFC, kind=K.INVALID_REQUEST, statuses=("4xx",)),
    Row(
        rule="answer.error_page",
        source="https://developers.cloudflare.com/support/troubleshooting/http-status-codes/", kind=K.BAD_OUTPUT,
        statuses=("2xx",), shapes=("html",),
        phrases=("error", "unavailable", "bad gateway", "try again", "maintenance", "overload", "refresh"),
    ),
    Row(
        rule="answer.web_page", source="https://github.com/anomalyco/opencode/issues/37735", kind=K.BAD_OUTPUT,
        transient=False, statuses=("2xx",), shapes=("html",),
    ),
    Row(
        rule="answer.page", source="https://github.com/anomalyco/opencode/issues/37735", kind=K.BAD_OUTPUT,
        statuses=("2xx",), shapes=("text",),
    ),
    Row(
        rule="answer.empty", source="https://github.com/anomalyco/opencode/issues/37735", kind=K.BAD_OUTPUT,
        statuses=("2xx",), named=False,
    ),
    Row(
        rule="transport.other", source="ledger.observation.Ended", kind=K.NETWORK, outcome_unknown=True,
        statuses=("none",), named=False,
    ),
)  # fmt: skip
