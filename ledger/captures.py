"""What became of captured requests: changes, which come from the store, folded into the records of attempts (C10).

A record is never amended where it stands; a reader folds it. Not here: keeping bodies or removing them (the store).
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from ledger.journal import CaptureChanged
from ledger.records import AttemptRecord, CaptureStatus, ModelInput

UNRECORDED: Final = "unrecorded"
"""No word of the request in the record, which is not the same as not captured (A19)."""


def folded(records: Iterable[AttemptRecord], changes: Iterable[CaptureChanged]) -> list[AttemptRecord]:
    """The records as they are now. A change that is no legal move changes nothing (A18)."""
    newest = {change.attempt_id: change for change in changes if change.what == "request"}
    return [_after(record, newest.get(record.id)) for record in records]


def tally(records: Iterable[AttemptRecord], changes: Iterable[CaptureChanged]) -> dict[str, int]:
    """How many attempts stand at each status, by its word."""
    return dict(Counter(_status(record.model_input) for record in folded(records, changes)))


def _status(shown: ModelInput | None) -> str:
    return shown.capture_status.value if shown else UNRECORDED


def _after(record: AttemptRecord, change: CaptureChanged | None) -> AttemptRecord:
    shown = record.model_input
    if shown is None or change is None or not shown.capture_status.may_become(change.status):
        return record
    left = shown.model_copy(update={"capture_status": CaptureStatus(change.status), "request": None})
    return record.model_copy(update={"model_input": left})
