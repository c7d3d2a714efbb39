"""The repair ledger, rule by rule (RULES L1-L22)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ledger.interventions import LedgerFull, NeedsHuman, NoProgress
from ledger.ledger import Ledger
from ledger.repair import Admitted, Limits, Partial, Provenance, RepairLedger, provenance_of

RUN = provenance_of("tool-output", "tenant", b"run")
OTHER = provenance_of("document", "tenant", b"other")


def fresh(repeat: int = 3, distinct: int = 16) -> RepairLedger:
    return RepairLedger(limits=Limits(repeat=repeat, distinct=distinct), provenance=RUN)


def record(ledger: RepairLedger, failures: str) -> tuple[RepairLedger, list[str]]:
    """Record one failure a letter; says A for admitted, N<count> and F<held> for the interventions."""
    said = []
    for failure in failures:
        ledger, outcome = ledger.record_failure(failure)
        match outcome:
            case Admitted():
                said.append("A")
            case NoProgress():
                said.append(f"N{outcome.repetitions}")
            case LedgerFull():
                said.append(f"F{outcome.held}")
    return ledger, said


def test_there_is_no_default_ledger_but_there_are_default_limits():  # L1
    with pytest.raises(ValidationError):
        RepairLedger.model_validate({})
    assert (Limits().repeat, Limits().distinct) == (3, 16)
    assert fresh().limits.repeat == 3


@pytest.mark.parametrize("limits", [(0, 0), (0, 16), (3, 0), (2**31 - 1, 2**31 - 1)])
def test_construction_never_fails_within_the_edges(limits):  # L2, L19
    assert fresh(*limits).spent == 0


@pytest.mark.parametrize("value", [-1, 2**31])
def test_limits_beyond_the_edges_are_refused(value):  # L19
    with pytest.raises(ValidationError):
        Limits(repeat=value)


@pytest.mark.parametrize(
    ("repeat", "distinct", "failures", "said"),
    [
        pytest.param(3, 16, "AAAA", ["A", "A", "A", "N4"], id="the fourth identical failure is no progress (L5)"),
        pytest.param(3, 16, "AAAAAA", ["A", "A", "A", "N4", "N5", "N6"], id="it never goes back to admitted (L6)"),
        pytest.param(0, 16, "AAA", ["A", "N2", "N3"], id="repeat 0: the first is still admitted (L4)"),
        pytest.param(1, 16, "AAA", ["A", "N2", "N3"], id="repeat 1 gives the same results as repeat 0 (L4)"),
        pytest.param(3, 2, "ABCC", ["A", "A", "F2", "F2"], id="an unknown one on a full ledger is full again (L7, L8)"),
        pytest.param(3, 2, "ABCAAAA", ["A", "A", "F2", "A", "A", "N4", "N5"], id="a known one on a full ledger (L7)"),
        pytest.param(3, 0, "AA", ["F0", "F0"], id="distinct 0: every failure is full (L8)"),
    ],
)
def test_what_record_failure_says(repeat, distinct, failures, said):
    ledger, heard = record(fresh(repeat, distinct), failures)
    assert heard == said
    assert ledger.spent == len(failures)  # L3


def test_seventeen_distinct_failures_fill_the_ledger():  # X2
    _, said = record(fresh(), "ABCDEFGHIJKLMNOPQ")
    assert said == ["A"] * 16 + ["F16"]


def test_a_failure_refused_by_a_full_ledger_is_not_tracked():  # L8, L11
    ledger, _ = record(fresh(distinct=1), "AB")
    assert (ledger.repetitions("B"), ledger.provenance_of("B")) == (0, None)
    assert ledger.record_evidence("B") == (ledger, False)


def test_evidence_marks_its_failure_alone_and_changes_no_count():  # L10
    ledger, _ = record(fresh(), "AAB")
    after, known = ledger.record_evidence("A")
    again, _ = after.record_evidence("A")
    assert known
    assert (after.evidence, again.evidence) == (1, 2)
    assert (after.has_progress("A"), after.has_progress("B")) == (True, False)
    assert [after.repetitions(f) for f in "AB"] == [2, 1]
    assert after.spent == ledger.spent


def test_evidence_for_an_unknown_failure_changes_nothing():  # L11
    ledger = fresh()
    assert ledger.record_evidence("A") == (ledger, False)


def test_evidence_never_delays_no_progress_and_is_never_cleared():  # L12
    ledger, _ = record(fresh(), "AAA")
    ledger, _ = ledger.record_evidence("A")
    ledger, said = record(ledger, "A")
    assert said == ["N4"]
    assert ledger.has_progress("A")


@pytest.mark.parametrize(
    ("repeat", "distinct", "failures", "asked", "may", "would"),
    [
        pytest.param(3, 16, "", "A", True, True, id="unseen with room"),
        pytest.param(3, 16, "AAA", "A", True, False, id="at the ceiling: may, yet the next is no progress (L14)"),
        pytest.param(3, 16, "AAAA", "A", False, False, id="past the ceiling"),
        pytest.param(3, 1, "A", "A", True, True, id="known on a full ledger"),
        pytest.param(3, 1, "A", "B", False, False, id="unknown on a full ledger"),
        pytest.param(0, 16, "A", "A", False, False, id="repeat 0 after an admitted failure (L14)"),
    ],
)
def test_whether_another_repair_may_be_tried(repeat, distinct, failures, asked, may, would):  # L13, L14, C7
    ledger, _ = record(fresh(repeat, distinct), failures)
    assert (ledger.may_repair(asked), ledger.would_admit(asked)) == (may, would)


def test_queries_on_an_unknown_failure_create_nothing():  # L15
    ledger = fresh()
    assert (ledger.repetitions("A"), ledger.has_progress("A"), ledger.provenance_of("A")) == (0, False, None)
    assert ledger.may_repair("A")
    assert ledger.tracked == {}


def test_a_failure_keeps_the_provenance_of_the_payload_that_first_showed_it():  # L4, C9
    ledger, _ = fresh().record_failure("A", OTHER)
    ledger, _ = ledger.record_failure("A", RUN)
    ledger, _ = ledger.record_failure("B")
    assert (ledger.provenance_of("A"), ledger.provenance_of("B")) == (OTHER, RUN)


def test_provenance_names_source_tenant_blake3_digest_and_size():  # L22
    known = Provenance(
        source="model",
        tenant="t",
        digest="ea8f163db38682925e4491c5e58d4bb3506ef8c14eb78a86e908c5624a67200f",  # b3sum of "hello"
        bytes=5,
    )
    assert provenance_of("model", "t", b"hello") == known


def test_an_admitted_repair_carries_its_plan():  # L20, L21
    _, outcome = fresh().record_failure("A")
    assert isinstance(outcome, Admitted)
    assert outcome.provenance == RUN
    assert (outcome.plan.operations, outcome.plan.notes, outcome.plan.provenance) == ((), ("retry: A",), RUN)
    assert outcome.plan.coverage == Partial(covered=0, asked=1)


def test_interventions_have_their_label_and_their_text():  # L17
    no_progress, full = NoProgress(fingerprint='a"\n', repetitions=4), LedgerFull(held=16)
    assert (no_progress.label, full.label) == ("NoProgress", "LedgerFull")
    assert str(no_progress) == ('no progress: "a\\"\\n" failed 4 times unchanged, so no further repair is admitted')
    assert str(full) == "ledger full: 16 distinct failures recorded, so none further is retained"


LATER = {
    "an unknown label": ({"label": "Telepathy", "facts": 1}, NeedsHuman(was="Telepathy")),
    "an unknown fact": ({"label": "LedgerFull", "held": 3, "of": 16}, NeedsHuman(was="LedgerFull")),
    "nothing of ours": ("nonsense", NeedsHuman(was="")),
    "one of this release": ({"label": "LedgerFull", "held": 3}, LedgerFull(held=3)),
}


@pytest.mark.parametrize(("written", "read"), LATER.values(), ids=LATER)
def test_what_a_later_release_asks_needs_a_human_in_a_ledger_that_this_one_takes_over(written, read):  # L18
    ledger = Ledger.model_validate_json(json.dumps({"queue": [written]}))
    assert ledger.queue == (read,)


FEW = st.text(alphabet="AB", max_size=20)  # two fingerprints alone catch a memory of one slot
MANY = st.text(alphabet="ABCDEFGH", max_size=20)
LIMITS = st.tuples(st.integers(0, 4), st.integers(0, 4))


@given(LIMITS, FEW | MANY)
def test_every_failure_is_counted_once_and_nothing_falls(limits, failures):  # L3, L9
    ledger = fresh(*limits)
    full = 0
    for failure in failures:
        before = ledger
        ledger, outcome = ledger.record_failure(failure)
        full += isinstance(outcome, LedgerFull)
        assert ledger.spent == before.spent + 1
        assert all(ledger.repetitions(f) >= before.repetitions(f) for f in before.tracked)
        assert len(before.tracked) <= len(ledger.tracked) <= limits[1]
    assert ledger.spent == sum(t.repetitions for t in ledger.tracked.values()) + full


@given(LIMITS, FEW | MANY, st.sampled_from("ABCDEFGH"))
def test_the_predicates_tell_the_truth_about_the_next_failure(limits, failures, asked):  # L13, L14, C7
    ledger, _ = record(fresh(*limits), failures)
    _, outcome = ledger.record_failure(asked)
    assert ledger.would_admit(asked) == isinstance(outcome, Admitted) or limits[0] == 0
    if not ledger.may_repair(asked):
        assert not isinstance(outcome, Admitted)


@given(LIMITS, st.lists(st.tuples(st.booleans(), st.sampled_from("AB")), max_size=20))
def test_evidence_changes_no_verdict(limits, operations):  # L10, L12
    told, silent = fresh(*limits), fresh(*limits)
    for is_evidence, failure in operations:
        if is_evidence:
            told, _ = told.record_evidence(failure)
            continue
        told, with_evidence = told.record_failure(failure)
        silent, without = silent.record_failure(failure)
        assert with_evidence == without
    assert told.spent == silent.spent


@given(st.lists(st.sampled_from("ABCD"), max_size=20), st.randoms())
def test_the_same_failures_in_another_order_dump_alike(failures, random):  # L16
    shuffled = failures.copy()
    random.shuffle(shuffled)
    one, _ = record(fresh(), "".join(failures))
    other, _ = record(fresh(), "".join(shuffled))
    assert one.model_dump_json() == other.model_dump_json()
    assert list(one.tracked) == sorted(one.tracked)


@given(LIMITS, FEW | MANY)
def test_a_ledger_survives_its_wire_form(limits, failures):  # X7
    ledger, _ = record(fresh(*limits), failures)
    assert RepairLedger.model_validate_json(ledger.model_dump_json()) == ledger
