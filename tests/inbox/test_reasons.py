"""What an operator is told to look at, by the rule that named a failure."""

import pytest

from inbox.reasons import SETTINGS, last_failures, setting, told, why
from ledger.classify import ROWS
from ledger.failures import FailureKind
from ledger.journal import Entry
from ledger.records import AttemptRecord, Failed, FailedOutcome, Retry

OURS = {"no_key", "no_provider"}
"""Rules that `activities.evidence` names without the classifier."""


def attempt(seq: int, model: str, kind: str = "", rule: str = "") -> Entry:
    failed = Failed(failed=FailedOutcome(kind=kind, transient=False, capacity=False, next=Retry.REPORTED))
    record = AttemptRecord(
        id=f"1.1.{seq}",
        stage="main",
        iteration=1,
        provider="p",
        model=model,
        attempt=seq,
        backoff_ms=0,
        duration_ms=1,
        at=1,
        outcome=failed if kind else "succeeded",
        finish_reason="" if kind else "complete",
        digest=None,
        rule=rule,
    )
    return Entry(seq=seq, record=record)


def test_every_rule_that_is_explained_exists():
    assert set(SETTINGS) - OURS <= {row.rule for row in ROWS}


@pytest.mark.parametrize("kind", FailureKind)
def test_every_kind_of_failure_is_explained(kind):
    assert why(kind.value, "")


def test_a_kind_of_another_release_is_shown_without_a_reason():
    (failure,) = last_failures("r", [attempt(1, "m", "eclipse")])
    assert told(failure) == "p:m failed last with eclipse"


def test_a_target_that_answered_since_has_no_failure_to_explain():
    entries = [attempt(1, "a", "network", "transport.no_such_host"), attempt(2, "b", "auth"), attempt(3, "a")]
    assert [failure.target for failure in last_failures("r", entries)] == ["p:b"]


def test_the_newest_failure_of_a_target_is_explained():
    entries = [attempt(1, "m", "network", "transport.no_such_host"), attempt(2, "m", "invalid_request", "status.path")]
    (failure,) = last_failures("r", entries)
    assert (failure.rule, failure.why) == ("status.path", SETTINGS["status.path"])


def test_an_upload_fails_for_the_reasons_of_a_call():
    assert setting("upload.transport.no_such_host") == SETTINGS["transport.no_such_host"]


def test_the_command_that_tells_more_names_the_run():
    (failure,) = last_failures("my run", [attempt(1, "m", "answer_unusable", "answer.schema")])
    assert failure.why.endswith("`endstop journal 'my run' --details` says where")
