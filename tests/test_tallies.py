"""What a journal adds up to, where the sum is not that of all its records."""

import pytest

from commands.tallies import cost, targets
from ledger.journal import Entry
from ledger.records import AttemptRecord, Failed, FailedOutcome, Retry, UsageRecord

BOUND = UsageRecord(attempt_id="1.1.1", input_tokens=900, output_tokens=100, cost_usd=0.4, estimated=True)
PAID = UsageRecord(attempt_id="1.1.2", input_tokens=10, output_tokens=2, cost_usd=0.05)
LOST = Failed(failed=FailedOutcome(kind="worker_lost", transient=True, capacity=False, next=Retry.SAME_MODEL))


def attempt(number: int, recovered: str = "") -> AttemptRecord:
    return AttemptRecord(
        id=f"1.1.{number}",
        stage="main",
        iteration=1,
        provider="p",
        model="m",
        attempt=number,
        backoff_ms=0,
        duration_ms=1,
        at=1,
        outcome=LOST if number == 1 else "succeeded",
        finish_reason="" if number == 1 else "complete",
        digest=None,
        recovered=recovered,
    )


def journal(*records: AttemptRecord | UsageRecord) -> list[Entry]:
    return [Entry(seq=seq, record=record) for seq, record in enumerate(records, 1)]


def test_an_answer_that_turned_up_is_counted_once():
    entries = journal(attempt(1), BOUND, attempt(2, recovered="1.1.1"), PAID)
    spent, (row,) = cost(entries), targets(entries)
    assert (spent.usd, spent.estimated) == (pytest.approx(0.05), 0)
    assert (row.input_tokens, row.cost_usd, row.estimated) == (10, pytest.approx(0.05), 0)


@pytest.mark.parametrize(
    "second",
    [(attempt(2), PAID), (attempt(2, recovered="1.1.1"),)],
    ids=["asked again", "found, but nobody knows what it used"],
)
def test_otherwise_the_bound_stays(second):
    entries = journal(attempt(1), BOUND, *second)
    assert cost(entries).usd == pytest.approx(0.4 + sum(one.cost_usd for one in second if isinstance(one, UsageRecord)))
