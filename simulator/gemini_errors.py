"""How Gemini says that something went wrong: google.rpc statuses with their details, and the one refusal that is a 200.

Words and shapes as reported from the vendor; which error is sent is the script's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from simulator.dialect import Problem
from simulator.replies import ErrorWord

Details = list[JsonValue]
TYPE: Final = "type.googleapis.com/google.rpc."
DOMAIN: Final = "googleapis.com"
FREE_TIER: Final = "generativelanguage.googleapis.com/generate_content_free_tier_requests"
QUOTA: Final = (
    "You exceeded your current quota, please check your plan and billing details. For more information on this error, "
    "head to: https://ai.google.dev/gemini-api/docs/rate-limits."
)


def _reason(reason: str) -> Callable[[Problem], Details]:
    def details(problem: Problem) -> Details:  # noqa: ARG001 - every maker of details is asked the same way
        return [
            {
                "@type": f"{TYPE}ErrorInfo",
                "reason": reason,
                "domain": DOMAIN,
                "metadata": {"service": "generativelanguage.googleapis.com"},
            }
        ]

    return details


def _quota(quota_id: str) -> Callable[[Problem], Details]:
    def details(problem: Problem) -> Details:
        violation: JsonValue = {
            "quotaMetric": FREE_TIER,
            "quotaId": quota_id,
            "quotaDimensions": {"location": "global", "model": problem.model},
            "quotaValue": "10",
        }
        wait = problem.retry_after_s
        retry: Details = [] if wait is None else [{"@type": f"{TYPE}RetryInfo", "retryDelay": f"{wait:g}s"}]
        return [{"@type": f"{TYPE}QuotaFailure", "violations": [violation]}, *retry]

    return details


def _nothing(problem: Problem) -> Details:  # noqa: ARG001 - every maker of details is asked the same way
    return []


@dataclass(frozen=True)
class Row:
    """One error as this vendor words it."""

    http: int
    status: str
    words: str
    details: Callable[[Problem], Details] = _nothing


ERRORS: Final[Mapping[ErrorWord, Row]] = {
    "rate_limited": Row(
        429, "RESOURCE_EXHAUSTED", QUOTA, _quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier")
    ),
    "overloaded": Row(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    "quota_exhausted": Row(
        429, "RESOURCE_EXHAUSTED", QUOTA, _quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier")
    ),
    "billing": Row(
        403,
        "PERMISSION_DENIED",
        "This API method requires billing to be enabled. Please enable billing on project #000000000000, then retry.",
        _reason("BILLING_DISABLED"),
    ),
    "auth": Row(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", _reason("API_KEY_INVALID")),
    "access_denied": Row(400, "FAILED_PRECONDITION", "User location is not supported for the API use."),
    "model_unavailable": Row(
        404,
        "NOT_FOUND",
        "models/{model} is not found for API version v1beta, or is not supported for generateContent. "
        "Call ListModels to see the list of available models and their supported methods.",
    ),
    "too_large": Row(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1131134) exceeds the maximum number of tokens allowed (1048576).",
    ),
    "invalid_request": Row(400, "INVALID_ARGUMENT", "Request contains an invalid argument."),
    "content_refused": Row(200, "PROHIBITED_CONTENT", ""),
    "file_missing": Row(
        403, "PERMISSION_DENIED", "You do not have permission to access the File simulated or it may not exist."
    ),
    "server_error": Row(
        500,
        "INTERNAL",
        "An internal error has occurred. Please retry or report in "
        "https://developers.generativeai.google/guide/troubleshooting",
    ),
}
"""Word → HTTP status, google.rpc code, message, details. `content_refused` is an answer: its code is a block reason."""


def status_error(http: int, status: str, message: str, details: Details) -> JsonValue:
    """The envelope; details are left out when there are none."""
    return {"error": {"code": http, "message": message, "status": status, **({"details": details} if details else {})}}


def envelope(problem: Problem) -> JsonValue:
    """A prompt that was blocked is no error to this vendor: the answer has feedback instead of candidates."""
    row = ERRORS[problem.error]
    if problem.error == "content_refused":
        return {"promptFeedback": {"blockReason": row.status}, "modelVersion": problem.model}
    message = problem.message or row.words.format(model=problem.model)
    return status_error(row.http, row.status, message, row.details(problem))
