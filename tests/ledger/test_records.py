"""The records on the wire: written strictly, read leniently (RULES A1-A23)."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ledger.failures import FailureKind
from ledger.journal import read_journal
from ledger.outcomes import Answered, Refused, Sent, Trip, Usage
from ledger.records import (
    READING,
    AttemptRecord,
    CaptureStatus,
    FailoverRecord,
    ModelInput,
    RequestDigest,
    Retry,
)
from tests.ledger.runs import FIRST, SECOND, Run, plan_of

INPUT = {
    "capture_status": "not_captured",
    "bytes": 0,
    "source_context_digest": "",
    "parameters": {"max_tokens": 8192},
    "tool_catalog_version": "v",
    "assembly_version": "1",
}
DIGEST = {"system_hash": 2**64 - 1, "messages": 3, "tools": 2, "max_tokens": 8192, "temperature": 0.5}
FAILED = {"failed": {"kind": "network", "transient": True, "capacity": False, "next": "same_model"}}
ATTEMPT = {
    "id": "1.1.1",
    "stage": "main",
    "iteration": 1,
    "provider": "openai",
    "model": "gpt-5",
    "attempt": 1,
    "backoff_ms": 0,
    "duration_ms": 10,
    "at": 1_796_000_000,
    "outcome": "succeeded",
    "finish_reason": "complete",
    "digest": DIGEST,
    "model_input": INPUT,
}
OMITTABLE = {"id", "finish_reason", "stopped_for", "model_input"}


def attempt(**changes: Any) -> dict[str, Any]:
    return {**ATTEMPT, **changes}


def read(raw: dict[str, Any]) -> AttemptRecord:
    return AttemptRecord.model_validate(raw, context=READING)


def test_an_outcome_has_the_wire_form_of_its_source():  # A11
    written = AttemptRecord.model_validate(attempt(outcome=FAILED, finish_reason="")).model_dump(mode="json")
    assert written["outcome"] == FAILED
    assert AttemptRecord.model_validate(ATTEMPT).model_dump(mode="json")["outcome"] == "succeeded"
    assert {r.value for r in Retry} == {"reported", "same_model", "renewed_files"}
    assert {c.value for c in CaptureStatus} == {"retained", "not_captured", "redacted", "expired"}


def test_what_is_empty_is_left_out_and_defaulted_when_missing():  # A12
    raw = attempt(outcome=FAILED)
    for name in OMITTABLE:
        raw.pop(name, None)
    record = read(raw)
    assert (record.id, record.finish_reason, record.stopped_for, record.model_input) == ("", "", None, None)
    assert not OMITTABLE & set(record.model_dump(mode="json"))
    assert "request" not in AttemptRecord.model_validate(ATTEMPT).model_dump(mode="json")["model_input"]


@pytest.mark.parametrize("name", sorted(set(ATTEMPT) - OMITTABLE))
def test_every_other_field_is_required_by_name(name):  # A13
    raw = attempt()
    del raw[name]
    with pytest.raises(ValidationError, match=name):
        read(raw)


@pytest.mark.parametrize(("part", "name"), [("outcome", "capacity"), ("model_input", "capture_status")])
def test_the_fields_inside_are_required_too(part, name):  # A13
    raw = json.loads(json.dumps(attempt(outcome=FAILED, finish_reason="")))
    holder = raw["outcome"]["failed"] if part == "outcome" else raw["model_input"]
    del holder[name]
    with pytest.raises(ValidationError, match=name):
        read(raw)


def test_unknown_fields_are_ignored():  # A14
    assert read(attempt(mood="fine", digest={**DIGEST, "colour": 1})).id == "1.1.1"


def test_a_record_that_cannot_be_read_is_set_aside_and_the_reader_goes_on():  # A14
    bad = attempt(outcome={"failed": {**FAILED["failed"], "next": "sideways"}})
    torn = [attempt(type="attempt"), bad | {"type": "attempt"}, {"type": "telepathy"}, "torn", attempt(type="attempt")]
    entries, aside = read_journal(torn)
    assert [entry.seq for entry in entries] == [1, 5]
    assert [(one.seq, bool(one.reason), one.raw) for one in aside] == [(i, True, torn[i - 1]) for i in (2, 3, 4)]


def test_a_reader_takes_what_a_writer_may_not_write():  # A15
    old = read(attempt(id="", attempt=0, outcome=FAILED, finish_reason="complete", stopped_for="mood"))
    assert (old.id, old.attempt, old.finish_reason) == ("", 0, "complete")
    assert read(attempt(finish_reason="telepathy")).finish_reason == "telepathy"  # A9
    assert read(attempt(finish_reason="")).outcome == "succeeded"  # A9


WRITER_REFUSES: dict[str, dict[str, Any]] = {
    "an empty id (A3)": attempt(id=""),
    "an attempt that does not count from 1 (A2)": attempt(attempt=0),
    "an answer without a finish reason (A9)": attempt(finish_reason=""),
    "an unknown finish reason (A9)": attempt(finish_reason="telepathy"),
    "a failure with a finish reason (A9)": attempt(outcome=FAILED),
    "stopped_for beside a known reason (A10)": attempt(stopped_for="mood"),
    "a retry of a permanent failure (A7)": attempt(
        outcome={"failed": {**FAILED["failed"], "transient": False}}, finish_reason=""
    ),
    "a retained body that is absent (A17)": attempt(model_input={**INPUT, "capture_status": "retained", "bytes": 9}),
    "a body that was not captured (A17)": attempt(model_input={**INPUT, "request": {"a": 1}}),
    "bytes of what was not captured (A17)": attempt(model_input={**INPUT, "bytes": 9}),
    "a redacted body without its size (A17)": attempt(model_input={**INPUT, "capture_status": "redacted"}),
    "a context digest of what was not captured (A17)": attempt(model_input={**INPUT, "source_context_digest": "x"}),
    "a temperature that is no number (A16)": attempt(digest={**DIGEST, "temperature": float("inf")}),
    "a system hash beyond 64 bits (A16)": attempt(digest={**DIGEST, "system_hash": 2**64}),
}


@pytest.mark.parametrize("raw", WRITER_REFUSES.values(), ids=WRITER_REFUSES)
def test_a_writer_refuses(raw):
    with pytest.raises(ValidationError):
        AttemptRecord.model_validate(raw)


@pytest.mark.parametrize("status", ["redacted", "expired"])
def test_a_body_that_went_leaves_its_size_and_its_digest(status):  # A17
    gone = ModelInput.model_validate({**INPUT, "capture_status": status, "bytes": 9, "source_context_digest": "x"})
    assert (gone.request, gone.bytes, gone.source_context_digest) == (None, 9, "x")


def test_only_a_retained_body_may_go_and_nothing_comes_back():  # A18
    legal = {(a, b) for a in CaptureStatus for b in CaptureStatus if a.may_become(b)}
    assert legal == {
        (CaptureStatus.RETAINED, CaptureStatus.REDACTED),
        (CaptureStatus.RETAINED, CaptureStatus.EXPIRED),
    }


@pytest.mark.parametrize(
    "name",
    ["stage", "iteration", "at", "from_provider", "from_model", "to_provider", "to_model", "kind", "reason"],
)
def test_all_nine_fields_of_a_failover_are_required_and_kind_may_be_empty(name):  # A23
    whole = {
        "stage": "main",
        "iteration": 1,
        "at": 1,
        "from_provider": "a",
        "from_model": "b",
        "to_provider": "c",
        "to_model": "d",
        "kind": "",
        "reason": "escalated",
    }
    assert FailoverRecord.model_validate(whole).kind == ""
    del whole[name]
    with pytest.raises(ValidationError, match=name):
        FailoverRecord.model_validate(whole)


def test_a_kind_of_another_release_is_kept_as_it_is():  # A5, C16
    raw = attempt(outcome={"failed": {**FAILED["failed"], "kind": ""}}, finish_reason="")
    assert read(raw).failed.kind == ""


def test_flags_are_recorded_as_decided_then():  # A5
    run = Run(plan_of(FIRST, SECOND))
    run.fail(FailureKind.RATE_LIMITED, transient=False, capacity=False)
    failed = run.of("attempt")[0].failed
    assert (failed.kind, failed.transient, failed.capacity) == ("rate_limited", False, False)


SENT = Sent(digest=RequestDigest.model_validate(DIGEST), parameters={"max_tokens": 8192}, tool_catalog_version="v")


def test_a_success_has_its_usage_beside_it_and_capture_is_off():  # A1, A18, A22
    run = Run(plan_of())
    run.tell(Trip(outcome=Answered(finish_reason="complete"), sent=SENT, usage=Usage(input_tokens=7), request_id="r"))
    record, usage = run.of("attempt")[0], run.of("usage")[0]
    assert usage.attempt_id == record.id
    assert usage.cost_usd is None
    assert (record.model_input.capture_status, record.model_input.parameters) == ("not_captured", {"max_tokens": 8192})
    assert "cost" not in record.model_dump_json()


def test_nothing_is_recorded_as_not_captured_where_nothing_was_recorded():  # A19
    run = Run(plan_of())
    run.fail(FailureKind.NETWORK)
    assert run.of("attempt")[0].model_input is None


MAKERS: list[Callable[[int], Trip]] = [
    lambda n: Trip(outcome=Answered(finish_reason="complete"), sent=SENT, duration_ms=n),
    lambda n: Trip(outcome=Refused(failure=_failure(FailureKind.AUTH)), duration_ms=n, waited_ms=n),
    lambda n: Trip(outcome=Refused(failure=_failure(FailureKind.NETWORK)), usage=Usage(output_tokens=n)),
]


def _failure(kind: FailureKind) -> Any:
    from ledger.failures import Failure

    return Failure.of(kind)


@given(st.lists(st.tuples(st.sampled_from(MAKERS), st.integers(0, 2**40)), max_size=20))
def test_what_is_written_can_be_read_again_unchanged(trips):
    run = Run(plan_of(gates=("g",)))
    for make, number in trips:
        if run.doing.do == "run_gates":
            run.gates("A")
        elif run.doing.do == "call_model":
            run.tell(make(number))
    raw = [json.loads(json.dumps({"seq": i, **r.model_dump(mode="json")})) for i, r in enumerate(run.records, 1)]
    entries, aside = read_journal(raw)
    assert aside == []
    assert [entry.record for entry in entries] == run.records
