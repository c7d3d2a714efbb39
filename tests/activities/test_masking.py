"""What a provider says is kept for people, its secrets are not."""

import time

import pytest

from activities.masking import masked


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-AbCd1234EfGh5678.",
        "Incorrect API key provided: sk-proj-********************5678.",
        "invalid x-api-key: sk-ant-api03-aBcDeFgH-1234",
        '{"headers": {"authorization": "Bearer abc12345defg"}}',
        "Authorization: Basic dXNlcjpwYXNzd29yZDE=",
        "key AIzaSyA1234567890abcdefghijklmnopqrstuv is invalid",
        "AKIAIOSFODNN7EXAMPLE is not a known key",
        "token eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
        "the secret wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY did not match",
        "password=hunter2hunter2",
        "gsk_1234567890abcdefABCDEF was revoked",
    ],
)
def test_what_looks_like_a_secret_is_hidden(text):
    hidden = masked(text)
    assert "***" in hidden
    parts = ("1234", "5678", "abc12345", "dXNlcj", "IOSFODNN", "bPxRfi", "hunter2")
    assert not any(part in hidden for part in parts)


@pytest.mark.parametrize(
    "text",
    [
        "Rate limit reached for gpt-5 in organization org-1: Limit 3, Used 3, Requested 1. Please try again in 20s.",
        "See https://platform.openai.com/docs/guides/error-codes/api-errors for the list of errors.",
        "prompt is too long: 215000 tokens > 200000 maximum",
        "The skeletons of basic understanding: a bearer authentication is missing",
        "model: claude-sonnet-4-5-20250929",
    ],
)
def test_ordinary_words_stay_readable(text):
    assert masked(text) == text


def test_a_known_secret_is_hidden_wherever_it_stands():
    assert masked("key=plainword1,xplainword1x", ["plainword1"]) == "key=***,x***x"


def test_a_short_secret_does_not_blot_out_ordinary_text():
    assert masked("an answer", ["a"]) == "an answer"


@pytest.mark.parametrize("unit", ["a", "sk-", "Bearer ", "eyJ", "api_key=", "a1", '"', "password "])
def test_hiding_costs_time_in_proportion_to_the_text(unit):
    """A pattern that backtracks would take minutes for this."""

    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        began = time.process_time()
        masked(text)
        return time.process_time() - began

    assert seconds(400_000) < 40 * max(seconds(50_000), 0.001)
