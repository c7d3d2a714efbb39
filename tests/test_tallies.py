"""What a journal adds up to, where the sum is not that of all its records."""

import pytest

from commands.runs import View
from commands.show import as_json, show
from commands.sums import what_it_cost, why_so_long
from commands.tallies import cost, targets, time_spent
from ledger.conversation import Conversation
from ledger.journal import (
    AnswerRecord,
    DeadlineRecord,
    Entry,
    GateRecord,
    InterventionRecord,
    JournalRecord,
    RunRecord,
    ToolBatchRecord,
    read_journal,
)
from ledger.records import AttemptRecord, Failed, FailedOutcome, RequestDigest, Retry, SubRunRecord, UsageRecord
from workflows.messages import Status

BOUND = UsageRecord(attempt_id="1.1.1", input_tokens=900, output_tokens=100, cost_usd=0.4, estimated=True)
PAID = UsageRecord(attempt_id="1.1.2", input_tokens=10, output_tokens=2, cost_usd=0.05)
SHAPE = RequestDigest(system_hash=0, messages=1, tools=0, max_tokens=9, temperature=None)
LOST = Failed(failed=FailedOutcome(kind="worker_lost", transient=True, capacity=False, next=Retry.SAME_MODEL))


def attempt(number: int, recovered: str = "", digest: RequestDigest | None = None) -> AttemptRecord:
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
        digest=digest,
        recovered=recovered,
    )


def journal(*records: JournalRecord) -> list[Entry]:
    return [Entry(seq=seq, record=record) for seq, record in enumerate(records, 1)]


def test_an_answer_that_turned_up_is_counted_once():
    entries = journal(attempt(1), BOUND, attempt(2, recovered="1.1.1"), PAID)
    spent, (row,) = cost(entries), targets(entries)
    assert (spent.usd, spent.estimated) == (pytest.approx(0.05), 0)
    assert (row.input_tokens, row.cost_usd, row.estimated) == (10, pytest.approx(0.05), 0)


@pytest.mark.parametrize(
    "second",
    [(attempt(2), PAID), (attempt(2, recovered="1.1.1"),), (attempt(2, "1.1.1", SHAPE), PAID)],
    ids=["asked again", "found, but nobody knows what it used", "answered later, and paid too"],
)
def test_otherwise_the_bound_stays(second):
    entries = journal(attempt(1), BOUND, *second)
    assert cost(entries).usd == pytest.approx(0.4 + sum(one.cost_usd for one in second if isinstance(one, UsageRecord)))


SUB = SubRunRecord(
    run="1.0", name="asker", attempts=2, input_tokens=3_000, output_tokens=40, cost_usd=0.04, unpriced=1, estimated=0
)
BATCH = ToolBatchRecord(at=2, attempt_id="1.1.2", calls=(), runs=(SUB,))


def test_what_sub_runs_cost_is_in_the_runs_cost_and_each_has_a_row() -> None:
    judge = SUB.model_copy(update={"run": "gate.1", "name": "judge", "unpriced": 0, "estimated": 1})
    judged = GateRecord(at=3, gate="judge", report=1, round=1, verdict="passed", decided="passed", runs=(judge,))
    view = View(id="sup", state="completed", entries=tuple(journal(attempt(2), PAID, BATCH, judged)))
    assert what_it_cost(view) == [
        "cost up to 0.1300 USD, 0.0000 USD of it for 1 attempt that nobody counted, 1 attempt at an unknown price"
    ]
    page = show(view)
    assert "sup/1.0 (asker)" in page
    assert "0.0400 + 1 of unknown price" in page
    assert "sup/gate.1 (judge)" in page
    assert [one["run"] for one in as_json(view)["sub_runs"]] == ["sup/1.0", "sup/gate.1"]


def test_a_sub_run_that_ended_with_the_run_that_was_stopped_counts_too() -> None:
    stopped = RunRecord(at=3, what="stopped", by="ann", runs=(SUB,))
    assert cost(journal(attempt(2), PAID, stopped)).usd == pytest.approx(0.09)


def test_the_cost_is_the_runs_own_word_where_it_can_be_asked() -> None:
    """A journal of an earlier release has no record of what sub-runs used."""
    status = Status(status="running", agent="a", stage="main", turn=1, cost_usd=0.5, conversation=Conversation(id="c"))
    view = View(id="sup", state="running", entries=tuple(journal(attempt(2), PAID)), status=status)
    assert what_it_cost(view) == ["cost 0.5000 USD"]


def test_a_price_of_nothing_is_known_when_it_is_read_again() -> None:
    free = PAID.model_copy(update={"cost_usd": 0.0})
    (read,), _ = read_journal([Entry(seq=1, record=free).written()])
    assert read.record == free


ASKED = InterventionRecord(at=10, id="int-1", digest="d", label="Question", facts={})


@pytest.mark.parametrize(
    ("then", "people_s"),
    [
        ((RunRecord(at=70, what="stopped", by="ann"),), 60),
        ((DeadlineRecord(at=40, intervention="int-1", then="failover"), RunRecord(at=70, what="completed")), 30),
        ((DeadlineRecord(at=40, intervention="int-1", then="stay"), RunRecord(at=70, what="stopped")), 60),
        (
            (
                AnswerRecord(
                    at=30, intervention="int-1", label="Question", answer="reply", by="", door="", waited_ms=20_000
                ),
                RunRecord(at=70, what="completed"),
            ),
            20,
        ),
    ],
    ids=["stopped unasked", "a deadline", "a deadline that changes nothing", "answered"],
)
def test_time_with_a_person_is_that_of_people(then: tuple[JournalRecord, ...], people_s: int) -> None:
    spent = time_spent(journal(RunRecord(at=10, what="began"), ASKED, *then))
    assert (spent.people_ms, spent.rest_ms) == (people_s * 1_000, (60 - people_s) * 1_000)


def test_where_the_time_went_speaks_of_gates_only_where_there_are_some() -> None:
    began, ended = RunRecord(at=1, what="began"), RunRecord(at=61, what="completed")
    gate = GateRecord(at=3, gate="g", report=1, round=1, verdict="passed", decided="passed")
    told = [
        why_so_long(View(id="r", state="completed", entries=tuple(journal(*records))))
        for records in ((began, ended), (began, gate, ended), (began,), ())
    ]
    assert told == [["took 1 min: the rest 1 min"], ["took 1 min: gates and the rest 1 min"], ["took 0 ms"], []]


def test_a_run_of_less_than_a_second_took_as_long_as_its_models() -> None:
    view = View(id="r", state="completed", entries=tuple(journal(attempt(1).model_copy(update={"duration_ms": 29}))))
    assert why_so_long(view) == ["took 29 ms: models 29 ms in 1 attempt (1 failed)"]
