"""A captured request is recorded by reference, and what becomes of it is folded on reading, never written over."""

import pytest

from ledger.captures import folded, tally
from ledger.journal import CaptureChanged, read_journal
from ledger.outcomes import Captured, Sent
from ledger.records import ModelInput
from tests.ledger.test_records import ATTEMPT

IDENTITY = {"parameters": {}, "tool_catalog_version": "t", "assembly_version": "2"}
RETAINED = {
    "capture_status": "retained",
    "request": {"ref": "abc"},
    "bytes": 12,
    "source_context_digest": "head",
    **IDENTITY,
}
NOT_CAPTURED = {"capture_status": "not_captured", "bytes": 0, "source_context_digest": "", **IDENTITY}


def records(*inputs):
    written = [
        {**ATTEMPT, "type": "attempt", "id": f"{turn}.1.1", "model_input": shown}
        for turn, shown in enumerate(inputs, 1)
    ]
    entries, aside = read_journal(written)
    assert aside == []
    return [entry.record for entry in entries]


def changed(attempt: str, status: str, what: str = "request") -> CaptureChanged:
    return CaptureChanged(at=5, what=what, attempt_id=attempt, status=status, by="ann")


def test_all_four_states_and_the_absence_of_a_word_are_told_apart():
    attempts = records(RETAINED, RETAINED, RETAINED, NOT_CAPTURED, None)
    changes = [changed("1.1.1", "redacted"), changed("2.1.1", "expired")]

    assert tally(attempts, changes) == {
        "redacted": 1,
        "expired": 1,
        "retained": 1,
        "not_captured": 1,
        "unrecorded": 1,
    }


@pytest.mark.parametrize("status", ["redacted", "expired"])
def test_what_is_gone_keeps_its_bytes_and_context_and_can_be_written_again(status):
    (record,) = folded(records(RETAINED), [changed("1.1.1", status)])

    shown = record.model_input
    assert (shown.capture_status, shown.request, shown.bytes) == (status, None, 12)
    assert shown.source_context_digest == "head"
    assert ModelInput.model_validate(shown.model_dump()) == shown


@pytest.mark.parametrize(
    ("shown", "change"),
    [
        (NOT_CAPTURED, changed("1.1.1", "redacted")),
        (RETAINED, changed("1.1.1", "retained")),
        (RETAINED, changed("1.1.1", "not_captured")),
        (RETAINED, changed("9.1.1", "redacted")),
        (RETAINED, changed("1.1.1", "redacted", what="detail")),
        (RETAINED, changed("", "redacted", what="transcript")),
        (None, changed("1.1.1", "redacted")),
    ],
    ids=["never taken", "stays", "cannot be undone", "of another attempt", "of a detail", "of messages", "no word"],
)
def test_a_change_that_is_no_legal_move_of_this_request_changes_nothing(shown, change):
    before = records(shown)

    assert folded(before, [change]) == before


def test_an_old_change_without_a_word_of_what_it_was_is_one_of_a_request():
    (entry,), aside = read_journal(
        [{"type": "capture", "at": 1, "attempt_id": "1.1.1", "status": "redacted", "by": "x"}]
    )
    assert (entry.record.what, aside) == ("request", [])


def test_a_captured_request_crosses_the_wire_small_and_an_older_reply_is_read_as_not_captured():
    digest = [7, 1, 2, 1000, None]
    old = Sent.model_validate([digest, {}, "t", "2"])
    new = old.model_copy(update={"captured": Captured(bytes=12, digest="abc", context="head")})

    assert old.captured is None
    assert old.packed() == [digest, {}, "t", "2"]
    assert new.packed() == [digest, {}, "t", "2", [12, "abc", "head"]]
    assert Sent.model_validate(new.packed()) == new
