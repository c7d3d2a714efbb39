"""Rows for gateways, hosts of open models and local servers: codes and sentences the general table would read wrongly.

Here: named codes and the sentences of one product. Not here: what any provider could say (`classifier_rows_words`).
"""

from typing import Final

from ledger.classifier_row import Row
from ledger.failures import FailureKind as K

_OPENROUTER: Final = "https://openrouter.ai/docs/use-cases/limits"

GATEWAYS: Final = (
    Row(rule="openrouter.free_minute", source=_OPENROUTER, kind=K.RATE_LIMITED, phrases=("free models per min",)),
    Row(rule="openrouter.in_flight", source=_OPENROUTER, kind=K.RATE_LIMITED, codes=("in_flight_budget_exhausted",)),
    Row(
        rule="openrouter.weight",
        source="https://www.developersdigest.tech/errors/api/openrouter/402-weight-exceeds-budget", kind=K.BILLING,
        codes=("weight_exceeds_budget",),
    ),
    Row(
        rule="openrouter.budget_window",
        source="https://www.developersdigest.tech/errors/api/openrouter/403-budget-limit-exceeded",
        kind=K.QUOTA_EXHAUSTED,
        codes=("openrouter_workspace_budget", "openrouter_key_limit", "openrouter_guardrail_budget"),
    ),
    Row(
        rule="openrouter.provider", source="https://github.com/anomalyco/opencode/issues/22448", kind=K.SERVER_ERROR,
        codes=("provider_unavailable",),
    ),
    Row(
        rule="together.rate", source="https://github.com/togethercomputer/MoA/issues/27", kind=K.RATE_LIMITED,
        phrases=("you have been rate limited",),
    ),
    Row(
        rule="newapi.balance", source="https://github.com/popjane/free_chatgpt_api/issues/76", kind=K.BILLING,
        codes=("insufficient_user_quota", "pre_consume_token_quota_failed"),
    ),
    Row(
        rule="cerebras.empty",
        source="https://github.com/earendil-works/pi/blob/main/packages/ai/src/utils/overflow.ts", kind=K.TOO_LARGE,
        providers=("cerebras",), statuses=("400",), shapes=("empty",),
    ),
    Row(
        rule="cerebras.queue", source="https://inference-docs.cerebras.ai/support/error", kind=K.OVERLOADED,
        codes=("queue_exceeded",),
    ),
    Row(
        rule="fireworks.suspended", source="https://github.com/pollinations/pollinations/issues/12136",
        kind=K.BILLING, phrases=("failure to pay",),
    ),
    Row(
        rule="databricks.zero", source="https://docs.databricks.com/aws/en/ai-gateway", kind=K.ACCESS_DENIED,
        phrases=("rate limit set to 0", "rate limit of 0"),
    ),
    Row(
        rule="watsonx.allowance", source="https://cloud.ibm.com/apidocs/watsonx-ai", kind=K.QUOTA_EXHAUSTED,
        codes=("token_quota_reached",),
    ),
    Row(
        rule="cliproxy.cooldown", source="https://github.com/router-for-me/CLIProxyAPI", kind=K.RATE_LIMITED,
        codes=("model_cooldown",),
    ),
    Row(
        rule="opengateway.free", source="https://github.com/Gitlawb/openclaude/issues/1554", kind=K.QUOTA_EXHAUSTED,
        codes=("free_quota_exceeded",),
    ),
    Row(
        rule="groq.flex", source="https://console.groq.com/docs/flex-processing", kind=K.OVERLOADED,
        codes=("capacity_exceeded",),
    ),
    Row(
        rule="groq.tool_call", source="https://console.groq.com/docs/errors", kind=K.BAD_OUTPUT,
        codes=("tool_use_failed", "json_validate_failed", "output_parse_failed"),
    ),
    Row(
        rule="groq.spend_limit", source="https://console.groq.com/docs/spend-limits", kind=K.QUOTA_EXHAUSTED,
        codes=("blocked_api_access",),
    ),
    Row(
        rule="mistral.capacity", source="https://github.com/BerriAI/litellm/pull/25078", kind=K.OVERLOADED,
        codes=("service_tier_capacity_exceeded", "3505"),
    ),
    Row(
        rule="moonshot.money", source="https://github.com/MoonshotAI/kimi-code/pull/1857", kind=K.BILLING,
        codes=("exceeded_current_quota_error",),
    ),
    Row(
        rule="moonshot.overloaded", source="https://github.com/MoonshotAI/kimi-cli/issues/2209", kind=K.OVERLOADED,
        codes=("engine_overloaded_error",),
    ),
    Row(
        rule="nvidia.degraded", source="https://github.com/decolua/9router/issues/2527", kind=K.MODEL_UNAVAILABLE,
        phrases=("degraded function",),
    ),
    Row(
        rule="workersai.allowance", source="https://developers.cloudflare.com/workers-ai/platform/errors/",
        kind=K.QUOTA_EXHAUSTED, providers=("cloudflare", "workersai"), codes=("3036", "4006"),
    ),
    Row(
        rule="workersai.capacity", source="https://developers.cloudflare.com/workers-ai/platform/errors/",
        kind=K.OVERLOADED, providers=("cloudflare", "workersai"), codes=("3040",),
    ),
    Row(
        rule="workersai.timeout", source="https://developers.cloudflare.com/workers-ai/platform/errors/",
        kind=K.TIMEOUT, providers=("cloudflare", "workersai"), codes=("3007", "3046"),
    ),
    Row(
        rule="workersai.model", source="https://developers.cloudflare.com/workers-ai/platform/errors/",
        kind=K.MODEL_UNAVAILABLE, providers=("cloudflare", "workersai"), codes=("5007", "3042", "5018"),
    ),
    Row(
        rule="llamacpp.context", source="https://github.com/ggml-org/llama.cpp/pull/16486", kind=K.TOO_LARGE,
        codes=("exceed_context_size_error",),
    ),
    Row(
        rule="llamacpp.loading", source="https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
        kind=K.OVERLOADED, codes=("unavailable_error",),
    ),
    Row(
        rule="llamacpp.path", source="https://github.com/nextcloud/server/issues/40406", kind=K.INVALID_REQUEST,
        failover=True, statuses=("404",), phrases=("| file not found |",),
    ),
    Row(
        rule="ollama.tool_call", source="https://github.com/ollama/ollama/issues/17638", kind=K.BAD_OUTPUT,
        phrases=("error parsing tool call",),
    ),
    Row(
        rule="litellm.no_model", source="https://github.com/BerriAI/litellm/blob/main/litellm/router.py",
        kind=K.MODEL_UNAVAILABLE, statuses=("400",), phrases=("passed in model * no healthy deployments for",),
    ),
    Row(
        rule="tgi.overloaded", source="https://huggingface.co/docs/text-generation-inference", kind=K.OVERLOADED,
        codes=("overloaded",),
    ),
    Row(
        rule="litellm.budget", source="https://docs.litellm.ai/docs/proxy/users", kind=K.QUOTA_EXHAUSTED,
        codes=("budget_exceeded",),
    ),
    Row(
        rule="cloudflare.challenge",
        source="https://developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/detect-response/",
        kind=K.ACCESS_DENIED, codes=("challenge",),
    ),
)  # fmt: skip
