"""Rows for OpenAI (Azure included) and Anthropic: exact machine codes, and sentences that only they say.

Here: what decides by itself, whatever else is said. Not here: codes that several causes share ("rate_limit_exceeded",
"invalid_request_error"), which come last, in `classifier_rows_status`.
"""

from typing import Final

from ledger.classifier_row import Row
from ledger.failures import FailureKind as K

_CODES: Final = "https://platform.openai.com/docs/guides/error-codes"
_SPEND: Final = "https://help.openai.com/en/articles/6614457-troubleshooting-api-usage-and-spend-limits"
_RESPONSE: Final = "pypi:openai 3.57.0 types/responses/response_error.py"
_CLAUDE: Final = "https://platform.claude.com/docs/en/api/errors"
_SHARED: Final = "pypi:anthropic 2.14.0 types/shared/error_details.py"

OPENAI: Final = (
    Row(
        rule="openai.spend_limit", source=_SPEND, kind=K.QUOTA_EXHAUSTED,
        codes=(
            "project_spend_limit_exceeded", "organization_spend_limit_exceeded", "organization_usage_limit_exceeded",
            "project_usage_limit_exceeded",
        ),
    ),
    Row(
        rule="openai.plan_window", source="https://github.com/raine/claude-code-proxy/pull/139",
        kind=K.QUOTA_EXHAUSTED, codes=("usage_limit_reached", "usage_limit_exceeded"),
    ),
    Row(
        rule="openai.no_credit", source=_SPEND, kind=K.BILLING,
        codes=(
            "credit_balance_exhausted", "billing_hard_limit_reached", "billing_not_active", "usage_not_included",
            "insufficient_credits",
        ),
    ),
    Row(
        rule="openai.no_quota", source="https://github.com/langchain-ai/langchainjs/issues/1929", kind=K.BILLING,
        codes=("insufficient_quota",),
        unless=(
            "free quota", "resets at", "reset at", "daily", "weekly", "monthly", "per day", "per month", "per minute",
        ),
    ),
    Row(
        rule="openai.slow_down", source="https://www.developersdigest.tech/errors/api/openai-api/429-slow-down",
        kind=K.RATE_LIMITED, codes=("slow_down",),
    ),
    Row(
        rule="openai.overloaded",
        source="https://www.developersdigest.tech/errors/api/openai-api/503-server-is-overloaded", kind=K.OVERLOADED,
        codes=("server_is_overloaded", "engine_overloaded", "server_overloaded", "resource_unavailable"),
    ),
    Row(
        rule="openai.context", source=_CODES, kind=K.TOO_LARGE,
        codes=(
            "context_length_exceeded", "request_too_large", "tokens_limit_reached", "context_window_exceeded",
        ),
    ),
    Row(
        rule="openai.image_size", source=_RESPONSE, kind=K.TOO_LARGE,
        codes=("image_too_large", "image_file_too_large"),
    ),
    Row(
        rule="openai.policy", source=_RESPONSE, kind=K.CONTENT_REFUSED,
        codes=(
            "bio_policy", "cyber_policy", "misalignment_policy_violation", "image_content_policy_violation",
            "content_policy_violation", "content_filter", "moderation_blocked", "ResponsibleAIPolicyViolation",
            "sensitive_content", "refusal",
        ),
    ),
    Row(rule="openai.dependency_timeout", source=_RESPONSE, kind=K.TIMEOUT, codes=("vector_store_timeout",)),
    Row(
        rule="openai.fetch_timeout", source="https://github.com/riverscuomo/cuomputer/issues/95", kind=K.TIMEOUT,
        codes=("invalid_image_url", "failed_to_download_image", "invalid_request_error"),
        phrases=("timeout while downloading", "timed out while downloading", "timeout while fetching"),
    ),
    Row(
        rule="openai.image", source=_RESPONSE, kind=K.INVALID_REQUEST,
        codes=(
            "invalid_image", "invalid_image_format", "invalid_base64_image", "invalid_image_url", "image_too_small",
            "image_parse_error", "invalid_image_mode", "unsupported_image_media_type", "empty_image_file",
            "failed_to_download_image",
        ),
    ),
    Row(
        rule="openai.image_gone", source=_RESPONSE, kind=K.FILE_MISSING, renew_files=True,
        codes=("image_file_not_found",),
    ),
    Row(
        rule="openai.key", source=_CODES, kind=K.AUTH,
        codes=(
            "invalid_api_key", "invalid_organization", "mismatched_organization", "mismatched_project",
            "token_expired",
        ),
    ),
    Row(
        rule="openai.account", source="https://github.com/home-assistant/core/issues/120072", kind=K.ACCESS_DENIED,
        codes=(
            "unsupported_country_region_territory", "account_deactivated", "access_terminated",
            "organization_restricted", "ip_not_authorized", "data_residency_mismatch",
        ),
    ),
    Row(
        rule="openai.unverified", source="https://help.openai.com/en/articles/10910291-api-organization-verification",
        kind=K.ACCESS_DENIED, phrases=("organization must be verified",),
    ),
    Row(
        rule="openai.model", source="https://github.com/Cinnamon/kotaemon/issues/280", kind=K.MODEL_UNAVAILABLE,
        codes=(
            "model_not_found", "DeploymentNotFound", "model_not_available", "unknown_model", "model_deprecated",
            "unavailable_model", "model_decommissioned", "model_is_deactivated", "invalid_model",
            "model_not_supported", "key_model_access_denied", "team_model_access_denied",
        ),
    ),
    Row(
        rule="openai.invalid_content", source="https://github.com/BerriAI/litellm/issues/8020",
        kind=K.BAD_OUTPUT, phrases=("model produced invalid content",),
    ),
    Row(
        rule="openai.parameter", source="https://platform.openai.com/docs/guides/reasoning", kind=K.INVALID_REQUEST,
        failover=True, codes=("unsupported_parameter", "unsupported_value"),
    ),
)  # fmt: skip

ANTHROPIC: Final = (
    Row(
        rule="anthropic.spend_limit", source=_SHARED, kind=K.QUOTA_EXHAUSTED,
        codes=(
            "enforced_spend_limit_reached", "contract_spend_limit_reached", "linked_organization_spend_limit_reached",
        ),
    ),
    Row(
        rule="anthropic.billing", source=_CLAUDE, kind=K.BILLING,
        codes=("billing_error", "linked_organization_billing_unavailable"),
    ),
    Row(rule="anthropic.ramp", source=_SHARED, kind=K.RATE_LIMITED, codes=("ramp_limit_exceeded",)),
    Row(rule="anthropic.overloaded", source=_CLAUDE, kind=K.OVERLOADED, codes=("overloaded_error",)),
    Row(
        rule="anthropic.account", source=_SHARED, kind=K.ACCESS_DENIED,
        codes=(
            "organization_on_hold", "organization_type_not_supported", "parent_organization_required",
            "sandbox_egress_restricted", "workspace_human_review_disabled", "claude_code_key_creator_not_member",
            "claude_code_version_too_old",
        ),
    ),
    Row(
        rule="anthropic.encryption_key", source=_SHARED, kind=K.ACCESS_DENIED,
        codes=("cmek_key_disabled", "cmek_key_network_blocked"),
    ),
    Row(
        rule="anthropic.encryption_service", source=_SHARED, kind=K.SERVER_ERROR,
        codes=("cmek_key_unreachable", "cmek_context_unavailable"),
    ),
    Row(
        rule="anthropic.bytes", source="https://github.com/anthropics/anthropic-sdk-python/issues/938",
        kind=K.TOO_LARGE, codes=("request_too_large", "request_body_too_large_after_decoding"),
    ),
    Row(
        rule="anthropic.encoding", source=_SHARED, kind=K.INVALID_REQUEST,
        codes=("request_body_encoding_invalid", "request_body_encoding_unsupported"),
    ),
    Row(
        rule="anthropic.output_budget", source="https://platform.claude.com/docs/en/api/messages",
        kind=K.INVALID_REQUEST, failover=True, phrases=("maximum allowed number of output tokens",),
    ),
    Row(
        rule="anthropic.extra_usage",
        source="https://github.com/NousResearch/hermes-agent/blob/main/agent/error_classifier.py", kind=K.BILLING,
        phrases=(
            "extra usage is required", "long context beta is not yet available", "out of extra usage",
            "from your extra usage",
        ),
    ),
    Row(
        rule="anthropic.credential_scope", source="https://github.com/anthropics/claude-code/issues/66314",
        kind=K.ACCESS_DENIED, phrases=("only authorized for use with",),
    ),
    Row(rule="anthropic.timeout", source=_CLAUDE, kind=K.TIMEOUT, outcome_unknown=True, codes=("timeout_error",)),
)  # fmt: skip
