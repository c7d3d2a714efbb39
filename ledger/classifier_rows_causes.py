"""Rows for causes that lie with the request, the key or the target, in this order: policy, access, keys, files, models.

Here: sentences, whoever says them; what a 403 or 404 names. Not here: limits (`classifier_rows_limits`), and codes of
one vendor. A key's words come after access words: a refused account's message often speaks of its key as well.
"""

from typing import Final

from ledger.classifier_row import Row
from ledger.failures import FailureKind as K

_REQUEST: Final = ("400", "401", "403", "404", "406", "410", "412", "418", "422", "451", "498", "2xx", "none")
"""Not 429 and not a server's fault: there, such words are an aside."""
_FEATURES: Final = tuple(
    f"{feature} * {refusal}"
    for feature in (
        "parameter", "tool", "function call", "image", "vision", "temperature", "response format", "json", "stream",
        "reasoning", "thinking", "system", "audio", "top p", "logprobs", "cache", "instruction", "modality", "schema",
        "penalty", "effort", "argument",
    )
    for refusal in ("not support", "unsupported", "not enabled for", "isnt supported")
)  # fmt: skip

POLICY: Final = (
    Row(
        rule="policy.unread", source="https://help.aliyun.com/zh/model-studio/error-code", kind=K.INVALID_REQUEST,
        phrases=(
            "unable to download", "unable to fetch", "cannot fetch", "could not fetch", "failed to download",
            "could not download", "cannot download",
        ),
        unless=("timed out", "timeout"), statuses=("400", "422"),
    ),
    Row(
        rule="policy.words", source="https://github.com/browser-use/browser-use/issues/262", kind=K.CONTENT_REFUSED,
        phrases=(
            "content management policy", "content policy", "content policies",
            "contentpolicyviolation", "usage policy", "usage policies",
            "usage guidelines", "safety system", "safety filter", "safety reasons", "safety polic", "safety check",
            "content filter", "content moderation", "moderation", "input was flagged", "prompt was flagged",
            "request was flagged", "flagged as", "flagged for", "flagged by", "blocked by * policy",
            "violates * policy", "violating * policy", "violate * policy", "policy violation",
            "violates * guidelines", "violates * terms", "responsible ai", "prohibited content", "prohibited use",
            "blocked due to safety", "blocked due to security", "blocked by safety", "prompt was blocked",
            "response was blocked", "blocked by guardrail", "guardrail intervened", "blocked by * guardrail",
            "inappropriate content", "output blocked", "sensitive content", "sensitive words",
            "sensitive information", "unsafe content", "unsafe or sensitive", "considered high risk",
            "content exists risk", "data inspection", "censorship", "content * is blocked", "cybersecurity risk",
            "sexual content", "recitation",
            "copyrighted", "new sensitive", "input sensitive", "output sensitive", "敏感", "违规", "不安全",
            "内容安全", "不合规",
        ),
        unless=(
            "account has been", "account was", "access was", "key has been flagged", "organization has been",
            "rate limit",
        ),
        statuses=(*_REQUEST, "424", "500"),
    ),
)  # fmt: skip

ACCESS: Final = (
    Row(
        rule="access.region", source="https://ai.google.dev/gemini-api/docs/troubleshooting", kind=K.ACCESS_DENIED,
        phrases=(
            "location is not supported", "country region or territory", "not available in your region",
            "not available in your country", "not available in your location", "unsupported country",
            "unsupported region", "region is not supported", "not supported in your region",
            "not supported in your country", "country not supported", "unavailable in your", "restricted region",
            "地区",
        ),
    ),
    Row(
        rule="access.account", source="pypi:anthropic 2.14.0 types/shared/organization_on_hold_error.py",
        kind=K.ACCESS_DENIED,
        phrases=(
            "organization has been disabled", "organization has been restricted", "organization is disabled",
            "account has been disabled", "account is disabled", "account has been suspended", "account is suspended",
            "account suspended", "account has been flagged", "key has been flagged", "account * deactivated",
            "account * banned", "account * terminated", "access was terminated", "account * locked",
            "account * on hold", "verify your account", "identity verification", "verification required",
            "terms of service", "accept the terms", "agree to the terms", "accept the license", "gated repo",
            "is restricted", "restricted access",
        ),
        statuses=_REQUEST,
    ),
    Row(
        rule="access.permission", source="https://platform.openai.com/docs/guides/error-codes", kind=K.ACCESS_DENIED,
        phrases=(
            "insufficient permission", "not have sufficient permission", "missing scopes", "missing permission",
            "insufficient scope", "insufficient authentication scopes", "scope requirement", "ip * not allowed",
            "ip address * not", "ip not authorized", "not whitelisted", "not on the allow",
            "has not been used in project", "not authorized to perform", "not authorized to access this",
            "not authorized to invoke", "explicit deny", "does not have permission",
            "do not have permission to perform", "request not allowed", "virtual network firewall", "data policy",
            "guardrail restrictions", "sorry you have been blocked", "just a moment", "attention required",
            "enable javascript and cookies", "verify you are human", "web application firewall", "cf mitigated",
            "endpoint is forbidden", "fill out", "access denied * error 1020",
        ),
        statuses=(*_REQUEST, "503"), unless=("file",),
    ),
)  # fmt: skip

KEYS: Final = (
    Row(
        rule="key.words", source="https://github.com/continuedev/continue/issues/9634", kind=K.AUTH,
        phrases=(
            "invalid api key", "incorrect api key", "invalid x api key", "wrong api key", "api key not valid",
            "api key is invalid", "api key is not valid", "api key * is invalid", "api key invalid",
            "api key expired", "api key has expired", "api key is expired", "expired api key", "invalid key",
            "api key is missing", "missing api key", "no api key", "api key not found", "api key is required",
            "api key required", "api key was reported as leaked", "api key * leaked", "api key * revoked",
            "key has been revoked", "key has been disabled", "key is disabled", "api key * disabled",
            "api key * deleted", "provide an api key", "provide * api key", "make sure your api key",
            "check your api key", "verify your api key", "api key you provided", "api key format",
            "signature we calculated", "signature does not match",
            "invalid api token", "invalid token", "invalid access token", "token has expired", "token expired",
            "token is expired", "expired token", "token * revoked", "token is invalid", "invalid bearer",
            "bearer token", "security token included in the request", "access token could not",
            "invalid authentication", "authentication fail", "authorization fail", "authentication error",
            "authentication credentials", "missing authentication", "missing authorization", "authorization header",
            "no auth credentials", "no cookie auth", "no credentials", "invalid credentials", "bad credentials",
            "validate credentials", "invalid username or password", "user not found", "unauthenticated",
            "no authentication", "invalid subscription key", "missing subscription key", "invalid iam",
            "failed to auth", "could not authenticate", "unable to authenticate", "signature cannot be verified",
            "credentials could not be validated", "oauth token", "re authenticate", "令牌",
            "身份验证", "鉴权", "密钥", "api key不", "apikey",
        ),
        statuses=(*_REQUEST, "500"),
    ),
    Row(
        rule="key.unset", source="https://github.com/Alishahryar1/free-claude-code/issues/91", kind=K.AUTH,
        phrases=(
            "api key is not set", "api key not set", "api key is not configured", "api key not configured",
            "no api key", "missing api key", "api key is missing", "api key is required", "reauthenticat",
        ),
        statuses=("424", "5xx"),
    ),
)  # fmt: skip

NAMED: Final = (
    Row(
        rule="named.file", source="https://platform.claude.com/docs/en/api/errors", kind=K.FILE_MISSING,
        renew_files=True,
        phrases=(
            "file not found", "file * not found", "file * cannot be found", "file * can not be found",
            "file * not exist", "files * not found", "no such file object", "no such file",
            "file * does not exist", "file with id", "file * expired", "files * expired",
            "file * no longer", "file * deleted", "file * may not exist", "not * access the file",
            "could not find file", "file id * not", "invalid file id", "container * expired", "document not found",
            "attachment not found", "cached content not found", "cachedcontent not found", "文件不存在", "文件已过期",
        ),
        unless=(
            "no such file or directory", "model file", "format is not supported", "unsupported", "mime type",
            "file type", "extension",
        ),
        statuses=_REQUEST,
    ),
    Row(
        rule="named.feature", source="https://github.com/can1357/oh-my-pi/issues/9415", kind=K.INVALID_REQUEST,
        failover=True,
        phrases=(
            *_FEATURES, "not support tool", "not support function", "not support image", "not support system",
            "not support response", "unsupported parameter", "unsupported value", "only works in",
            "not supported with this model", "response format type is unavailable", "tool choice requires",
            "chat template",
        ),
        statuses=(*_REQUEST, "500", "501"), unless=("support for tool use",),
    ),
    Row(
        rule="named.model", source="https://github.com/Cinnamon/kotaemon/issues/280", kind=K.MODEL_UNAVAILABLE,
        phrases=(
            "model * not found", "models * not found", "not found the model", "model * not exist",
            "model * doesnt exist", "no such model", "unknown model", "invalid model", "unsupported model",
            "unavailable model", "not a valid model", "model name * not valid", "model name * invalid",
            "model * not available", "model not available", "model * is not supported", "model is not supported",
            "model * deprecated", "model * retired", "model * decommissioned", "model * sunset",
            "model * discontinued", "model * no longer", "model * has been removed", "model * been deactivated",
            "model * end of life", "model * not loaded", "no models loaded", "failed to load model",
            "unable to load model", "model failed to load", "no available model provider",
            "model * not deployed",
            "model * not servable", "model * not enabled", "model * not been enabled", "model * not activated",
            "model * not open", "model * is disabled", "model * not allowed", "model * could not be found",
            "model * requires more system memory", "model requires more system memory", "model id * invalid",
            "model identifier", "no endpoints found", "no endpoints available", "no available model endpoints",
            "no allowed providers", "no available channel",
            "no provider available", "no providers available", "no access to model", "access to the model",
            "access to this model", "access to model",
            "access the model", "access model", "allowed to use publisher model", "deployment * does not exist",
            "deployment * not found", "try pulling", "pull the model", "endpoint is paused", "is not a chat model",
            "does not work with the specified model", "could not find model", "function * not found for account",
            "supported by provider", "模型不存在", "模型不支持", "模型未", "模型已下线", "无可用渠道",
        ),
        statuses=("400", "401", "403", "404", "406", "410", "422", "500", "501", "503", "2xx", "none"),
        unless=(
            "overload", "at capacity", "loading", "temporarily", "not support tool", "not support image",
            "not support function", "support for tool",
        ),
    ),
    Row(
        rule="named.model_404", source="https://platform.claude.com/docs/en/api/errors", kind=K.MODEL_UNAVAILABLE,
        statuses=("404", "410"), phrases=("model", "deployment", "inference profile"),
    ),
)  # fmt: skip
