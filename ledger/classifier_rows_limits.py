"""Rows for limits that a wait of minutes does not lift, in this order: money, allowances, sizes. Words of any provider.

Money comes before rate words, because a 429 is what most vendors answer to an empty account. Not here: limits that pass
within minutes (`classifier_rows_status`), and codes of one vendor.
"""

from typing import Final

from ledger.classifier_row import Row
from ledger.failures import FailureKind as K

_LITELLM: Final = "pypi:litellm 1.110.2 exception_mapping_utils.py"
_RATE_WORDS: Final = (
    "rate limit reached",
    "rate limit exceeded",
    "rate limited",
    "increase your rate limit",
    "higher rate limit",
    "higher limits",
    "too many requests",
    "requests per min",
    "queries per min",
)
"""Beside these, an invitation to buy is an advertisement, not the cause."""

_SPENT: Final = tuple(
    f"{money} {state}"
    for money in ("credit", "credits", "balance", "funds")
    for state in (
        *(f"{verb}{end}" for verb in ("", "is ", "are ", "has been ", "have been ")
          for end in ("depleted", "exhausted", "used up", "insufficient", "not enough", "too low")),
        "expired", "has expired", "have expired", "ran out", "has run out", "have run out", "is below", "are below",
    )
)  # fmt: skip
"""What vendors say of money that is gone, in all its grammar."""

MONEY: Final = (
    Row(
        rule="money.in_flight", source="https://openrouter.ai/docs/use-cases/limits", kind=K.RATE_LIMITED,
        statuses=("402",), wait_within=900,
    ),
    Row(
        rule="money.allowance", source="https://github.com/huggingface/agents-course/issues/386",
        kind=K.QUOTA_EXHAUSTED, phrases=("included credits", "free models per day"),
    ),
    Row(
        rule="money.words", source="https://github.com/continuedev/continue/issues/10373", kind=K.BILLING,
        phrases=(
            "insufficient balance", "insufficient * balance", "insufficient credit", "insufficient funds",
            "insufficient user quota", "insufficient quota", "not enough credit", "not enough balance",
            "not enough funds", "enough balance", *_SPENT, "credit balance", "negative balance", "out of credit",
            "out of funds", "out of money", "no credits", "no usable credits", "no remaining credit",
            "no remaining balance", "no remaining funds", "deposit funds", "outstanding invoice",
            "no active subscription", "subscription payment",
            "no prepaid credits", "have any credits", "used all * credits", "used up your points",
            "requires more credits", "require more credits", "can only afford", "quota is not enough",
            "quota not enough", "payment required", "overdue", "arrear", "unpaid", "in good standing",
            "billing hard limit", "billing not active", "billing is not active", "billing is disabled",
            "account is not active", "enable billing", "billing to be enabled", "inactive subscription",
            "plan does not include", "not included in your plan", "plan doesnt include", "subscription * expired",
            "plan * expired", "package * expired", "requires a paid", "requires a subscription", "requires a pro",
            "active grok subscription", "available on the free tier", "on free tier", "only available for paid",
            "only available to paid", "available on paid plans", "upgrade your plan to access", "upgrade for access",
            "trial has expired", "trial * ended", "payment issue", "billing issue", "余额不足", "欠费", "账户余额",
            "资源包", "额度不足", "额度已用", "预扣费", "请充值", "账户已欠费",
        ),
        unless=("free tier requests",),
    ),
    Row(
        rule="money.current_quota", source="https://github.com/langchain-ai/langchainjs/issues/1929", kind=K.BILLING,
        phrases=("exceeded your current quota", "exceeded current quota"),
        unless=("free tier requests", "per minute", "per day"),
    ),
    Row(
        rule="money.invitation", source="https://github.com/continuedev/continue/issues/10373", kind=K.BILLING,
        phrases=(
            "purchase * credits", "purchase credits", "buy more credits", "buy credits", "add credits",
            "add more credits", "top up", "recharge", "payment method", "billing details", "update your billing",
        ),
        unless=(*_RATE_WORDS, "usage limit", "per day", "daily", "weekly", "monthly"),
    ),
)  # fmt: skip

ALLOWANCES: Final = (
    Row(
        rule="allowance.rolling", source="https://github.com/continuedev/continue/issues/10920", kind=K.RATE_LIMITED,
        phrases=("limit * used * requested",), over_limit=False, wait_within=900,
    ),
    Row(
        rule="allowance.cap", source="https://www.developersdigest.tech/errors/api/anthropic-api",
        kind=K.QUOTA_EXHAUSTED,
        phrases=(
            "usage limit", "usage cap", "usage threshold", "spend limit", "spending limit", "spend cap",
            "spending cap", "budget has been exceeded", "budget limit", "budget exceeded", "reached * budget",
            "exceeded * budget", "exceeds * budget", "over budget", "exceededbudget", "exceeded your monthly",
            "exceeded your daily", "monthly limit", "weekly limit", "daily limit", "hourly limit", "hour limit",
            "monthly quota", "weekly quota", "daily quota", "hour quota", "monthly usage", "daily usage",
            "weekly usage", "monthly request", "monthly token", "daily request", "daily token", "daily free",
            "weekly rate limited", "limit * per month", "per month", "calls month", "requests month", "per day",
            "by day", "per week", "limit for today", "limit for this month", "reached for this month",
            "budget full", "tpd", "rpd", "daily * limit reached",
            "quota * will reset", "quota will be refreshed", "quota resets", "quota has been exhausted",
            "quota exhausted", "quota is exhausted", "quota used", "exhausted your capacity", "exhausted your quota",
            "free quota", "have no quota", "premium request allowance", "key limit exceeded", "limit will reset at",
            "limit resets at", "billing cycle", "billing period", "fair use", "try again tomorrow",
            "come back tomorrow", "日流控", "每日", "每天", "每月", "当日", "今日", "限额将在", "使用上限", "已用完",
        ),
        over_limit=False,
    ),
    Row(
        rule="allowance.quota",
        source="https://github.com/diegosouzapw/OmniRoute/blob/main/open-sse/config/errorConfig.ts",
        kind=K.QUOTA_EXHAUSTED,
        phrases=(
            "quota exceeded", "quota is exceeded", "exceeded * quota", "exceeds * quota", "quota limit exceeded",
            "call volume quota", "quota has been exceeded", "quota reached",
        ),
        unless=(
            *_RATE_WORDS, "rate limit", "per minute", "per second", "throttl", "concurren", "aiplatform",
            "free tier requests", "resource exhausted",
        ),
        statuses=("400", "402", "403", "429"), wait_unstated=True,
    ),
    Row(
        rule="allowance.quota_refused", source="https://learn.microsoft.com/azure/api-management/quota-policy",
        kind=K.QUOTA_EXHAUSTED, unless=("rate limit",), statuses=("403",),
        phrases=("quota exceeded", "quota is exceeded", "quota has been exceeded", "call volume quota"),
    ),
    Row(
        rule="allowance.long_wait", source="https://github.com/alex-wolf-ps/dbchatprov2/issues/2",
        kind=K.QUOTA_EXHAUSTED, statuses=("429",), wait_over=900,
    ),
    Row(rule="money.status", source="RFC 9110 section 15.5.3", kind=K.BILLING, statuses=("402",)),
)  # fmt: skip

_PASSING: Final = (
    "rate limit",
    "please wait",
    "too many requests",
    "per minute",
    "per second",
    "throttl",
    "deadline",
    "too large for the queue",
)
"""Beside these a size is one of a window of time, and the next window may have room."""

SIZES: Final = (
    Row(
        rule="size.rate_window", source="https://github.com/TheR1D/shell_gpt/issues/653", kind=K.TOO_LARGE,
        over_limit=True,
    ),
    Row(
        rule="size.output_budget", source="https://github.com/RooCodeInc/Roo-Code/issues/248", kind=K.INVALID_REQUEST,
        failover=True,
        phrases=(
            "max tokens is too large", "max tokens * must be less than", "max tokens * less than or equal",
            "max tokens * exceeds the maximum", "max output tokens * exceeds", "max output tokens * must be",
            "max tokens must be", "max tokens should be", "max tokens * cannot exceed",
            "length of max output tokens", "range of max tokens", "max completion tokens is too large",
            "max completion tokens * must be", "supports at most * completion tokens",
            "max tokens * supports at most", "unsupported parameter",
        ),
        unless=("inputs", "input tokens", "prompt", "context"), statuses=("400", "422", "500"),
    ),
    Row(
        rule="size.field", source="https://platform.openai.com/docs/guides/error-codes", kind=K.TOO_LARGE,
        phrases=tuple(
            f"{field} {sort} too long"
            for field in (
                "content", "text", "input", "prompt", "instructions", "arguments", "output", "messages", "url",
                "data",
            )
            for sort in ("string", "array")
        ),
    ),
    Row(
        rule="size.identifier", source="https://github.com/langmanus/langmanus/issues/119", kind=K.INVALID_REQUEST,
        failover=True, phrases=("string too long", "array too long"),
    ),
    Row(
        rule="size.count", source="https://github.com/HunorLaczko/ha-groq-cloud-api/issues/25", kind=K.INVALID_REQUEST,
        failover=True, statuses=("400", "422"),
        phrases=(
            "maximum number of items", "maximum tools limit", "tools limit", "too many tools", "too many functions",
            "at most * tools", "maximum of * tools", "at most * image", "at most * images", "only one image",
            "at most * items", "maximum * tools",
        ),
        unless=_PASSING,
    ),
    Row(
        rule="size.words", source=_LITELLM, kind=K.TOO_LARGE,
        phrases=(
            "context length", "context window", "maximum context", "context size", "context limit", "max context",
            "model context", "context budget", "context overflow", "supports only * context", "prompt is too long",
            "prompt too long", "prompt too large", "prompt is too large", "prompt exceeds",
            "prompt contains * tokens", "prompt token count", "prompt tokens limit", "maximum prompt length",
            "input is too long", "input too long", "input length", "input tokens exceed", "inputs tokens",
            "input token count", "input tokens * exceed", "too many input tokens", "input exceeds",
            "maximum input length", "max input length", "max input token", "maximum number of input tokens",
            "maximum number of tokens", "max model len", "maximum model length", "model length limit",
            "request too large", "request is too large", "request entity too large", "payload too large",
            "payload is too large", "body too large", "body is too large", "content too large", "message too large",
            "message larger than",
            "request size exceeds", "exceeds the maximum size", "exceeds the maximum * tokens",
            "exceeds maximum * tokens", "exceed the maximum * tokens", "tokens exceeds the",
            "number of tokens * exceed", "model token limit", "length of prompt * must be less than",
            "must have less than * tokens", "too many tokens in", "too many tokens total",
            "too many tokens per request", "longer than the maximum", "longer than the model", "exceeds the limit of",
            "more than max tokens", "larger than the model", "reduce the length", "reduce your prompt",
            "reduce the prompt", "shorten your", "shorten the", "too long for requested model",
            "keep the first * tokens", "tokens to keep", "n keep * n ctx", "exceeds n ctx", "truncate prompt",
            "length of * exceeds", "exceeds max length",
            "maximum allowed size", "exceeds * bytes", "image exceeds", "image is too large", "image too large",
            "dimensions exceed", "file too large", "file is too large", "file size exceeds", "too many images",
            "too many pages", "maximum of * pages", "range of input length", "exceed max * tokens",
            "tokens * exceed max", "exceeds max * tokens", "上下文", "超过最大长度", "超过最大", "输入过长", "超出最大",
            "长度超",
        ),
        unless=_PASSING,
    ),
    # On a 429 the same words speak of tokens a minute.
    Row(
        rule="size.token_limit", source="https://novita.ai/docs/guides/error", kind=K.TOO_LARGE,
        phrases=("exceeds the token limit", "exceeds * token limit", "token limit exceeded"),
        statuses=("400", "413", "422", "500", "2xx", "none"), unless=_PASSING,
    ),
    Row(
        rule="size.request_above_rate", source="https://github.com/TheR1D/shell_gpt/issues/653", kind=K.TOO_LARGE,
        phrases=("request too large for", "request body too large for"),
    ),
    Row(rule="size.status", source="RFC 9110 section 15.5.14", kind=K.TOO_LARGE, statuses=("413", "414", "431")),
)  # fmt: skip
