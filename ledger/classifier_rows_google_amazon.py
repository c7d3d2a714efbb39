"""Rows for Google (Gemini, Vertex, Cloud Code) and Amazon Bedrock: `google.rpc` details and AWS exception names.

Here: what decides by itself. Not here: RESOURCE_EXHAUSTED, ValidationException and other names that several causes
share.
"""

from typing import Final

from ledger.classifier_row import Row
from ledger.failures import FailureKind as K

_QUOTA: Final = "npm:@google/gemini-cli-core 0.61.0 googleQuotaErrors.js"
_GEMINI: Final = "https://ai.google.dev/gemini-api/docs/troubleshooting"
_REASONS: Final = "https://github.com/googleapis/googleapis/blob/master/google/api/error_reason.proto"
_BEDROCK: Final = "https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html"

GOOGLE: Final = (
    Row(
        rule="google.credits", source=_QUOTA, kind=K.BILLING,
        codes=("INSUFFICIENT_G1_CREDITS_BALANCE", "BILLING_DISABLED"),
    ),
    Row(
        rule="google.no_free_tier", source="https://github.com/ai-christianson/RA.Aid/issues/182", kind=K.BILLING,
        phrases=("doesnt have a free quota tier", "free tier is not available", "limit 0 model"),
    ),
    Row(
        rule="google.capacity", source="https://github.com/google-gemini/gemini-cli/issues/23520", kind=K.OVERLOADED,
        codes=("MODEL_CAPACITY_EXHAUSTED",),
    ),
    Row(
        rule="google.per_day", source="https://github.com/google-gemini/gemini-cli/issues/8437",
        kind=K.QUOTA_EXHAUSTED, codes=("RESOURCE_EXHAUSTED", "QUOTA_EXHAUSTED"),
        phrases=("per day", "daily", "per month"),
    ),
    Row(
        rule="google.per_minute", source=_QUOTA, kind=K.RATE_LIMITED, codes=("RESOURCE_EXHAUSTED",),
        phrases=("per minute", "per second"),
    ),
    Row(rule="google.quota", source=_QUOTA, kind=K.QUOTA_EXHAUSTED, codes=("QUOTA_EXHAUSTED",)),
    Row(
        rule="google.current_quota", source="https://ai.google.dev/gemini-api/docs/rate-limits",
        kind=K.QUOTA_EXHAUSTED, codes=("RESOURCE_EXHAUSTED",), phrases=("exceeded your current quota",),
        wait_unstated=True,
    ),
    Row(
        rule="google.retry_info", source=_QUOTA, kind=K.RATE_LIMITED,
        codes=("RESOURCE_EXHAUSTED", "RATE_LIMIT_EXCEEDED"), wait_within=900,
    ),
    Row(
        rule="google.key", source=_REASONS, kind=K.AUTH,
        codes=(
            "API_KEY_INVALID", "ACCESS_TOKEN_EXPIRED", "ACCESS_TOKEN_TYPE_UNSUPPORTED", "CREDENTIALS_MISSING",
            "SERVICE_ACCOUNT_DISABLED", "UNAUTHENTICATED",
        ),
    ),
    Row(
        rule="google.access", source=_REASONS, kind=K.ACCESS_DENIED,
        codes=(
            "VALIDATION_REQUIRED", "SERVICE_DISABLED", "CONSUMER_INVALID", "CONSUMER_SUSPENDED",
            "IAM_PERMISSION_DENIED", "API_KEY_SERVICE_BLOCKED", "API_KEY_HTTP_REFERRER_BLOCKED",
            "API_KEY_IP_ADDRESS_BLOCKED", "USER_PROJECT_DENIED", "LOCATION_POLICY_VIOLATED",
            "SECURITY_POLICY_VIOLATED", "UNSUPPORTED_LOCATION",
        ),
    ),
    Row(rule="google.deadline", source=_GEMINI, kind=K.TIMEOUT, outcome_unknown=True, codes=("DEADLINE_EXCEEDED",)),
    Row(
        rule="google.file_processing", source="https://ai.google.dev/gemini-api/docs/files", kind=K.FILE_MISSING,
        transient=True, phrases=("not in an active state",),
    ),
    Row(rule="google.caller", source=_GEMINI, kind=K.AUTH, phrases=("unregistered callers",)),
    Row(
        rule="google.input_count", source="pypi:pydantic-ai 2.68 _model_errors.py", kind=K.TOO_LARGE,
        phrases=("input token count * exceeds", "number of tokens allowed", "request payload size exceeds"),
    ),
)  # fmt: skip

AMAZON: Final = (
    Row(
        rule="bedrock.per_day", source="https://github.com/minorun365/agent-book/issues/29", kind=K.QUOTA_EXHAUSTED,
        phrases=("too many tokens per day", "too many requests per day"),
    ),
    Row(
        rule="bedrock.not_ready",
        source="https://www.developersdigest.tech/errors/api/bedrock/429-modelnotreadyexception", kind=K.OVERLOADED,
        codes=("ModelNotReadyException",),
    ),
    Row(
        rule="bedrock.throttled", source="https://github.com/aws-samples/amazon-bedrock-client-for-mac/issues/99",
        kind=K.RATE_LIMITED,
        codes=(
            "ThrottlingException", "Throttling", "ThrottledException", "RequestThrottled", "TooManyRequestsException",
            "RequestLimitExceeded", "ProvisionedThroughputExceededException",
        ),
        unless=("daily", "per day", "per month", "monthly", "for this month"),
    ),
    Row(
        rule="bedrock.service_quota", source=_BEDROCK, kind=K.QUOTA_EXHAUSTED,
        codes=("ServiceQuotaExceededException", "LimitExceededException"),
    ),
    Row(
        rule="bedrock.unavailable", source="https://github.com/darko-mesaros/bedrust/issues/47", kind=K.OVERLOADED,
        codes=("ServiceUnavailableException", "ServiceUnavailable"),
    ),
    Row(
        rule="bedrock.model_timeout",
        source="https://www.developersdigest.tech/errors/api/bedrock/408-modeltimeoutexception", kind=K.TIMEOUT,
        outcome_unknown=True, codes=("ModelTimeoutException", "RequestTimeout", "RequestTimeoutException"),
    ),
    Row(
        rule="bedrock.subscription_pending", source="https://www.developersdigest.tech/errors/api/bedrock",
        kind=K.ACCESS_DENIED, transient=True,
        phrases=("subscription * still being processed", "agreement * being created", "mp agreement being created"),
    ),
    Row(
        rule="bedrock.use_case_form", source=_BEDROCK, kind=K.ACCESS_DENIED,
        phrases=("use case details have not been submitted", "use case details * form"),
    ),
    Row(
        rule="bedrock.on_demand", source="https://github.com/anthropics/claude-code/issues/1466",
        kind=K.MODEL_UNAVAILABLE,
        phrases=("with on demand throughput isnt supported", "on demand throughput is not supported"),
    ),
    Row(
        rule="bedrock.account", source="https://repost.aws/questions/QUsZ0TtC5cRO-YMFGpXyLNQA", kind=K.ACCESS_DENIED,
        codes=("ValidationException",), phrases=("operation not allowed",),
    ),
    Row(
        rule="bedrock.model_access", source=_BEDROCK, kind=K.ACCESS_DENIED,
        phrases=("dont have access to the model with the specified model id", "unsupported countries"),
    ),
    Row(
        rule="bedrock.model_id", source=_BEDROCK, kind=K.MODEL_UNAVAILABLE,
        phrases=(
            "model identifier is invalid", "could not resolve the foundation model",
            "has reached the end of its life", "model version has reached", "marked by provider as legacy",
        ),
    ),
    Row(
        rule="bedrock.output_budget", source="https://github.com/RooCodeInc/Roo-Code/issues/248",
        kind=K.INVALID_REQUEST, failover=True, phrases=("maximum tokens you requested exceed",),
    ),
    Row(
        rule="bedrock.credentials", source="https://docs.aws.amazon.com/IAM/latest/APIReference/CommonErrors.html",
        kind=K.AUTH,
        codes=(
            "UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException", "ExpiredToken",
            "InvalidClientTokenId", "IncompleteSignature", "MissingAuthenticationToken", "SignatureDoesNotMatch",
            "MissingAuthenticationTokenException", "InvalidAccessKeyId", "NotAuthorized",
        ),
    ),
    Row(
        rule="bedrock.subscription", source=_BEDROCK, kind=K.BILLING, phrases=("invalid payment instrument",),
        codes=("AccessDeniedException",),
    ),
    Row(
        rule="bedrock.opt_in", source=_BEDROCK, kind=K.ACCESS_DENIED,
        codes=("OptInRequired", "SubscriptionRequiredException"),
    ),
)  # fmt: skip
