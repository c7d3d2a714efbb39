"""A wait that a provider states is read wherever it stands, and trusted only as far as the kind allows."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.classify import classify
from ledger.durations import duration, moment
from ledger.failures import FailureKind
from ledger.observation import Observation
from ledger.waits import MAX_WAIT_S, judged_wait, stated_wait

NOON = 1_767_268_800.0
"""2026-01-01 12:00:00 UTC."""
K = FailureKind


def seen(body: Any = "", **headers: str) -> Observation:
    text = body if isinstance(body, str) else json.dumps(body)
    return Observation(status=429, body=text, headers={n.replace("_", "-"): v for n, v in headers.items()}, at=NOON)


def said(message: str) -> Observation:
    return seen({"error": {"message": message}})


def retry_info(delay: Any) -> Observation:
    return seen({"error": {"details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]}})


STATED = {
    "milliseconds win over seconds": (seen(retry_after_ms="1500", retry_after="2"), 1.5),
    "seconds": (seen(retry_after="20"), 20),
    "zero": (seen(retry_after="0"), 0),
    "fraction": (seen(retry_after="0.75"), 0.75),
    "date against the Date header": (
        seen(retry_after="Wed, 21 Oct 2026 07:28:00 GMT", date="Wed, 21 Oct 2026 07:27:30 GMT"),
        30,
    ),
    "date against our clock": (seen(retry_after="Thu, 01 Jan 2026 12:01:30 GMT"), 90),
    "date that has passed": (seen(retry_after="Thu, 01 Jan 2026 11:00:00 GMT"), 0),
    "no sense": (seen(retry_after="soon"), None),
    "negative": (seen(retry_after="-5"), None),
    "not a number": (seen(retry_after="nan"), None),
    "RetryInfo": (retry_info("45.123s"), 45.123),
    "RetryInfo as an object": (retry_info({"seconds": 12, "nanos": 0}), 12),
    "field in seconds": (seen({"error": {"resets_in_seconds": 9568, "resets_at": 1788879437}}), 9568),
    "field in milliseconds": (seen({"error": {"retry_after_ms": 2500}}), 2.5),
    "field as an epoch": (seen({"error": {"resets_at": NOON + 60}}), 60),
    "field as a date": (seen({"error": {"metadata": {"resets_at": "2026-01-01T13:00:00Z"}}}), 3600),
    "field beside the error": (seen({"error": "Model is loading", "estimated_time": 20.0}), 20),
    "headers inside the body": (seen({"error": {"metadata": {"headers": {"Retry-After": "7"}}}}), 7),
    "minutes and seconds": (said("Please try again in 9m38.016s. Need more?"), 578.016),
    "words": (said("Rate limit is exceeded. Try again in 17 seconds."), 17),
    "milliseconds in words": (said("Please try again in 20ms."), 0.02),
    "hours, minutes, seconds": (said("Your quota will reset after 3h22m10s."), 12_130),
    "clock form": (said("Quota will be replenished in 01:12:30."), 4_350),
    "about": (said("Please wait about 5 minutes before retrying"), 300),
    "date in words": (said("You will regain access on 2026-01-02 at 00:00 UTC."), 43_200),
    "date in words without whose clock": (said("Your limit will reset at 2026-01-02 00:00:00"), None),
    "advice without a number": (said("Too many tokens, please wait before trying again."), None),
    "number of something else": (said("Try again in 5 models"), None),
    "limit that is used up": (seen(x_ratelimit_remaining_tokens="0", x_ratelimit_reset_tokens="7.66s"), 7.66),
    "limit that is not used up": (seen(x_ratelimit_remaining_tokens="9", x_ratelimit_reset_tokens="7.66s"), None),
    "latest of two used up": (
        seen(
            x_ratelimit_remaining_tokens="0",
            x_ratelimit_reset_tokens="6s",
            x_ratelimit_remaining_requests="0",
            x_ratelimit_reset_requests="2m",
        ),
        120,
    ),
    "reset as a date": (
        seen(anthropic_ratelimit_requests_remaining="0", anthropic_ratelimit_requests_reset="2026-01-01T12:00:05Z"),
        5,
    ),
    "reset as an epoch": (seen(x_ratelimit_remaining="0", x_ratelimit_reset=str(int(NOON) + 9)), 9),
    "reset as an epoch in milliseconds": (
        seen(x_ratelimit_remaining="0", x_ratelimit_reset=str(int(NOON + 9) * 1_000)),
        9,
    ),
    "window that is rejected": (
        seen(anthropic_ratelimit_unified_status="rejected", anthropic_ratelimit_unified_reset=str(int(NOON) + 60)),
        60,
    ),
    "header outranks a sentence": (seen({"error": "try again in 50s"}, retry_after="20"), 20),
    "words behind an object in a sentence": (said('[m] [429]: {"error": {"code": 429}} (reset after 30s)'), 30),
    "sentence outranks a reset": (
        seen({"error": "try again in 5s"}, x_ratelimit_remaining="0", x_ratelimit_reset="60"),
        5,
    ),
}


@pytest.mark.parametrize(("observation", "wait"), STATED.values(), ids=STATED.keys())
def test_a_wait_is_read_where_it_stands(observation: Observation, wait: float | None) -> None:
    assert stated_wait(observation) == pytest.approx(wait, abs=1e-3)


def test_a_date_says_nothing_where_no_clock_is_known() -> None:
    observation = Observation(status=429, headers={"Retry-After": "Thu, 01 Jan 2026 12:01:30 GMT"})
    assert stated_wait(observation) is None


def test_the_models_own_words_state_no_wait() -> None:
    body = '{"choices": [{"message": {"content": "try again in 5 minutes"}, "finish_reason": "stop"}]}'
    assert stated_wait(Observation(status=200, body=body)) is None


JUDGED = {
    "a rate limit is believed": (K.RATE_LIMITED, 20.0, True, 20.0),
    "so is an overload that will not be retried": (K.OVERLOADED, 3_600.0, False, 3_600.0),
    "an allowance with a delay of seconds is not": (K.QUOTA_EXHAUSTED, 10.0, False, None),
    "an allowance with a reset is": (K.QUOTA_EXHAUSTED, 43_200.0, False, 43_200.0),
    "nothing is longer than a month": (K.QUOTA_EXHAUSTED, 1e9, False, MAX_WAIT_S),
    "money does not come by waiting": (K.BILLING, 33.0, False, None),
    "nor does a valid request": (K.INVALID_REQUEST, 33.0, False, None),
    "access that is being set up does": (K.ACCESS_DENIED, 60.0, True, 60.0),
    "nothing stated, nothing judged": (K.RATE_LIMITED, None, True, None),
}


@pytest.mark.parametrize(("kind", "stated", "transient", "wait"), JUDGED.values(), ids=JUDGED.keys())
def test_a_wait_is_trusted_as_far_as_the_kind_allows(
    kind: FailureKind,
    stated: float | None,
    transient: bool,  # noqa: FBT001 - a table
    wait: float | None,
) -> None:
    assert judged_wait(kind, stated, transient=transient) == wait


def test_a_daily_quota_that_states_ten_seconds_is_left_and_not_waited_for() -> None:
    details = [
        {
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "250"}],
        },
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "10s"},
    ]
    observation = seen({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": details}})
    judged = classify(observation)
    assert stated_wait(observation) == 10
    assert (judged.kind, judged.transient, judged.wait_s) == (K.QUOTA_EXHAUSTED, False, None)


@given(st.text(max_size=60))
def test_no_text_breaks_a_reader(text: str) -> None:
    length, point = duration(text.lower(), bare=1.0), moment(text)
    assert length is None or length >= 0
    assert point is None or isinstance(point, float)


@given(st.integers(0, 48), st.integers(0, 59), st.integers(0, 59))
def test_a_duration_is_the_sum_of_its_terms(hours: int, minutes: int, seconds: int) -> None:
    assert duration(f"{hours}h{minutes}m{seconds}s") == hours * 3_600 + minutes * 60 + seconds
    assert duration(f"{hours} hours, {minutes} minutes and {seconds} seconds") == hours * 3_600 + minutes * 60 + seconds
