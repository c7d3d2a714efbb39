"""Rows for what any provider says in words, in this order: money, allowances, sizes, policy, keys, access, models, files.

Here: sentences, whoever says them. Not here: words of capacity and rate and every coarse code and status
(`classifier_rows_status`), which count only where nothing above them fits.
"""

from typing import Final

from ledger.classifier_row import Row
from ledger.failures import FailureKind as K

_LITELLM: Final = "pypi:litellm 1.110.2 exception_mapping_utils.py"

MONEY: Final = (
    Row(
        rule="money.limit_not_balance", source="https://openrouter.ai/docs/use-cases/limits", kind=K.RATE_LIMITED,
        statuses=("402",), phrases=("in flight", "concurren"), wait_within=900,
    ),
    Row(
        rule="money.allowance", source="https://github.com/Gitlawb/openclaude/issues/936", kind=K.QUOTA_EXHAUSTED,
        phrases=(
            "free models per day", "monthly included credits", "included credits", "monthly quota", "daily quota",
            "weekly quota",
        ),
    ),
    Row(
        rule="money.words", source="https://github.com/continuedev/continue/issues/10373", kind=K.BILLING,
        phrases=(
            "insufficient balance", "insufficient account balance", "insufficient credit", "insufficient funds",
            "insufficient user quota", "insufficient quota", "not enough credit", "not enough balance",
            "not enough funds", "balance is not enough", "balance not enough", "balance is insufficient",
            "balance is too low", "credit balance", "credits exhausted", "out of credit", "out of funds",
            "no credits", "no remaining credit", "no prepaid credits", "used all * credits", "purchase * credits",
            "purchase credits", "buy more credits", "buy credits", "add credits", "add more credits", "top up",
            "requires more credits", "recharge", "quota is not enough", "payment required", "payment method",
            "overdue", "arrear", "unpaid", "in good standing", "billing is not", "billing not active",
            "billing details * account is not active", "account is not active", "enable billing",
            "billing to be enabled", "billing hard limit", "billing account", "exceeded your current quota",
            "exceeded current quota", "plan does not include", "not included in your plan", "subscription * expired",
            "subscription * required", "requires a paid", "requires a subscription", "need a * subscription",
            "upgrade your plan to access", "upgrade to a paid plan to use", "available on paid plans",
            "only available for paid", "negative balance", "credit limit exceeded", "余额不足", "欠费", "充值", "账户余额", "资源包",
            "额度不足", "insufficient tokens balance", "prepaid balance", "spending credit", "payment issue",
            "billing issue",
        ),
        unless=("free tier requests", "you have been rate limited"),
    ),
    Row(rule="money.status", source="RFC 9110 section 15.5.3", kind=K.BILLING, statuses=("402",)),
)  # fmt: skip

ALLOWANCES: Final = (
    Row(
        rule="allowance.rolling", source="https://github.com/continuedev/continue/issues/10920", kind=K.RATE_LIMITED,
        phrases=("limit * used * requested",), unless=("request too large",), over_limit=False, wait_within=900,
    ),
    Row(
        rule="allowance.cap", source="https://www.developersdigest.tech/errors/api/anthropic-api",
        kind=K.QUOTA_EXHAUSTED,
        phrases=(
            "usage limit", "spend limit", "spending limit", "budget has been exceeded", "budget limit exceeded",
            "budget exceeded", "exceeded * budget", "exceeds * budget", "monthly limit", "weekly limit",
            "daily limit", "monthly usage", "daily usage", "weekly usage", "limit * per month", "calls month",
            "requests per day", "tokens per day", "per day", "by day", "per month", "daily request limit",
            "daily * limit reached", "daily free allocation", "quota * will reset", "quota resets",
            "quota has been exhausted", "quota exhausted", "exhausted your capacity", "free quota",
            "free tier of the model has been exhausted", "hour limit", "5 hour", "weekly", "limit will reset at",
            "每日", "每天", "每月", "当日", "限额", "今日",
        ),
        unless=("max tokens per day",), statuses=("4xx", "5xx", "2xx", "none"), over_limit=False,
    ),
    Row(
        rule="allowance.long_wait", source="https://github.com/alex-wolf-ps/dbchatprov2/issues/2",
        kind=K.QUOTA_EXHAUSTED, statuses=("429",), wait_over=900,
    ),
)  # fmt: skip

SIZES: Final = (
    Row(
        rule="size.output_budget", source="https://github.com/RooCodeInc/Roo-Code/issues/248", kind=K.INVALID_REQUEST,
        failover=True,
        phrases=(
            "max tokens is too large", "max tokens * must be less than", "max tokens * less than or equal",
            "max tokens * exceeds the maximum", "max output tokens * exceeds", "max new tokens * must be",
            "max tokens must be at least", "range of max tokens", "max completion tokens is too large",
            "max completion tokens * supports at most", "max tokens * supports at most",
            "supports at most * completion tokens",
        ),
        unless=("input", "prompt", "context"),
    ),
    Row(
        rule="size.words", source=_LITELLM, kind=K.TOO_LARGE,
        phrases=(
            "context length", "context window", "maximum context", "context size", "context limit", "max context",
            "prompt is too long", "prompt too long", "prompt contains * tokens", "input is too long",
            "input too long", "input length", "input tokens exceed", "inputs tokens", "too many input tokens",
            "input token count", "input tokens * exceed", "request too large", "request is too large",
            "request entity too large", "payload too large", "body too large", "content too large",
            "request size exceeds", "request exceeds the maximum size", "exceeds the maximum * tokens",
            "exceeds maximum * tokens", "exceed the maximum * tokens", "maximum prompt length",
            "maximum input length", "token limit exceeded", "tokens exceed", "too many tokens * maximum",
            "too many tokens * limit of", "longer than the maximum", "exceeds the limit of * tokens",
            "exceeds * token limit", "reduce the length", "reduce your prompt", "reduce the prompt", "shorten",
            "too many total text bytes", "string too long", "range of input length", "image exceeds",
            "file too large", "file is too large", "too large * bytes", "keep the first * tokens",
            "larger than the model", "上下文长度", "超过最大", "输入过长", "tokens超", "total message token length exceed",
            "length of * exceeds", "max bytes", "maximum allowed size", "exceeds * bytes", "token count * exceeds",
            "exceeds the available context",
        ),
        unless=("rate limit reached", "please wait before", "too many tokens please wait", "deadline", "per minute"),
    ),
    Row(
        rule="size.arithmetic", source="https://github.com/TheR1D/shell_gpt/issues/653", kind=K.TOO_LARGE,
        over_limit=True,
    ),
    Row(
        rule="size.request_above_rate", source="https://github.com/TheR1D/shell_gpt/issues/653", kind=K.TOO_LARGE,
        phrases=("request too large for", "request body too large for"),
    ),
    Row(rule="size.status", source="RFC 9110 section 15.5.14", kind=K.TOO_LARGE, statuses=("413", "414", "431")),
)  # fmt: skip

POLICY: Final = (
    Row(
        rule="policy.words", source="https://github.com/browser-use/browser-use/issues/262", kind=K.CONTENT_REFUSED,
        phrases=(
            "content management policy", "content policy", "usage policy", "usage policies", "usage guidelines",
            "safety system", "safety filter", "safety reasons", "content filter", "content moderation", "moderation",
            "flagged", "blocked by * policy", "violates * policy", "violating * policy", "violate * policy",
            "violates * guidelines", "responsible ai", "prohibited content", "prohibited use", "blocked due to",
            "blocked by guardrail", "guardrail", "inappropriate content", "output blocked", "sensitive content",
            "sensitive words", "unsafe content", "unsafe or sensitive", "considered high risk", "content exists risk",
            "high risk", "data inspection", "safety check", "cybersecurity risk", "sexual", "recitation", "敏感", "违规",
            "不安全", "violation of * policy", "input new sensitive", "output new sensitive", "new sensitive",
        ),
        unless=("key has been flagged", "account has been flagged", "rate limit"),
    ),
)  # fmt: skip

KEYS: Final = (
    Row(
        rule="access.words", source="https://ai.google.dev/gemini-api/docs/troubleshooting", kind=K.ACCESS_DENIED,
        phrases=(
            "location is not supported", "country region or territory", "not available in your region",
            "not available in your country", "unsupported country", "region is not supported",
            "not supported in your region", "not available in your location", "your account * disabled",
            "organization has been disabled", "account has been disabled", "account * suspended",
            "account has been flagged", "key has been flagged", "account * deactivated", "account * banned",
            "insufficient permission", "missing scopes", "missing permissions", "insufficient scope",
            "ip * not allowed", "ip address * not", "verify your account", "identity verification",
            "verification required", "terms of service", "accept the terms", "accept the license",
            "agree to the terms", "gated repo", "is restricted", "has not been used in project", "it is disabled",
            "not authorized to perform", "not authorized to access this", "not authorized to invoke", "explicit deny",
            "access to this resource is forbidden", "attention required", "sorry you have been blocked",
            "just a moment", "unable to access", "enable javascript and cookies", "data policy", "privacy",
            "not allowed from your", "challenge",
        ),
        statuses=("400", "401", "403", "404", "429", "451", "503", "2xx", "none"),
        unless=("api key", "model not found"),
    ),
    Row(
        rule="key.words", source="https://github.com/continuedev/continue/issues/9634", kind=K.AUTH,
        phrases=(
            "invalid api key", "incorrect api key", "invalid x api key", "api key not valid", "api key is invalid",
            "api key is not valid", "api key expired", "api key has expired", "expired api key", "invalid key",
            "api key is missing", "missing api key", "no api key", "api key not found", "invalid authentication",
            "authentication fail", "invalid token", "token has expired", "token expired", "token is expired",
            "expired token", "invalid bearer", "missing authentication", "missing authorization",
            "authorization header", "no auth credentials", "no cookie auth", "invalid credentials", "wrong api key",
            "authentication credentials", "invalid username or password", "unauthorized", "unauthenticated",
            "no authentication", "user not found", "could not validate credentials", "didnt provide an api key",
            "did not provide an api key", "please provide * api key", "api key was reported as leaked",
            "api key * leaked", "api key * revoked", "api key * disabled", "access token", "令牌", "身份验证", "无效的api",
            "密钥", "api key you provided", "oauth token", "security token included in the request",
            "verify your api key", "authentication error", "invalid iam", "apikey",
        ),
        statuses=("400", "401", "403", "404", "498", "500", "2xx", "none"),
    ),
)  # fmt: skip

NAMED: Final = (
    Row(
        rule="named.file", source="https://platform.claude.com/docs/en/api/errors", kind=K.FILE_MISSING,
        renew_files=True,
        phrases=(
            "file not found", "file * not found", "files * not found", "no such file", "file * does not exist",
            "file * do not exist", "file * expired", "file id * not", "files * expired",
            "do not have permission to access the file", "file * may not exist", "not * access the file",
            "document not found", "attachment not found", "cached content not found", "cachedcontent not found",
            "file * not in an active state", "file * no longer", "file * deleted", "could not find file",
        ),
        statuses=("400", "403", "404", "410", "422", "2xx", "none"),
        unless=("model file", "no such file or directory"),
    ),
    Row(
        rule="named.model", source="https://github.com/Cinnamon/kotaemon/issues/280", kind=K.MODEL_UNAVAILABLE,
        phrases=(
            "model * not found", "model * not exist", "models * not found", "model not found", "no such model",
            "unknown model", "invalid model", "model * does not exist", "model * doesnt exist",
            "model * not available", "model * is not supported", "model * unavailable for", "model * not supported",
            "model is not supported", "model * deprecated", "model * retired", "model * decommissioned",
            "model * no longer", "model * discontinued", "unsupported model", "not a valid model",
            "model * not valid", "model * not loaded", "no endpoints found", "no allowed providers",
            "no available channel", "no healthy deployments", "no deployments available", "no access to model",
            "access to the model", "access to this model", "access to model", "access model",
            "allowed to access model", "not have access to", "deployment * does not exist", "deployment * not found",
            "try pulling", "pull the model", "model id * invalid", "there are no healthy", "is not a chat model",
            "model * not allowed", "model * not enabled", "model * not activated", "model * not been enabled",
            "model * has been removed", "model * end of life", "model * is disabled",
            "model * requires more system memory", "model * offline", "model identifier", "could not find model",
            "模型不存在", "模型不", "无可用渠道", "endpoint * not found or", "inaccessible", "publisher model", "model_name",
            "model * could not be found", "resource not found * model", "no model", "provider * not found",
            "model * not deployed",
        ),
        statuses=("400", "401", "403", "404", "410", "422", "500", "501", "503", "2xx", "none"),
        unless=(
            "overload", "at capacity", "loading", "temporarily", "currently loading", "does not support",
            "doesnt support",
        ),
    ),
    Row(
        rule="named.model_404", source="https://platform.claude.com/docs/en/api/errors", kind=K.MODEL_UNAVAILABLE,
        statuses=("404", "410"), phrases=("model", "deployment", "engine", "inference profile"),
    ),
)  # fmt: skip
