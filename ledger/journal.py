"""The journal: every record a run writes besides attempts and failovers, their union, and how a journal is read.

Writing is strict, reading is lenient: a record of an unknown type or with a field that this release cannot read is
set aside with its reason and the reader goes on (A14); cross-field rules bind the writer only (A15).
"""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from ledger.model import Frozen
from ledger.records import (
    READING,
    AttemptRecord,
    CaptureStatus,
    Count,
    FailoverRecord,
    Record,
    SubRunRecord,
    UsageRecord,
)


class RunRecord(Record):
    """The run began, moved to another stage, went on in a new execution, or ended."""

    omit_when_empty = frozenset({"stage", "by", "why", "revision", "runs"})

    type: Literal["run"] = "run"
    at: Count
    what: Literal["began", "stage", "continued", "completed", "stopped", "cancelled"]
    stage: str = ""
    by: str = ""
    why: str = ""
    revision: str = ""
    """Of a run that began: what its workspace was made of (`git:COMMIT`, `sha256:DIGEST`); "" : a folder, or none."""
    runs: tuple[SubRunRecord, ...] = ()
    """Of a run that was stopped or cancelled: the sub-runs that ended with it."""


class ToolCallRecord(Record):
    name: str
    status: str
    """ok, error, lost or no_workspace."""
    step: str
    """Digest of tool, arguments and result."""
    repetitions: Count
    """How often this very step stands among the last ones, this time included; 0 where it is not counted."""
    duration_ms: Count


class ToolBatchRecord(Record):
    """The tool calls of one answer; it names the attempt that carried the answer (A3)."""

    omit_when_empty = frozenset({"runs"})

    type: Literal["tools"] = "tools"
    at: Count
    attempt_id: str
    calls: tuple[ToolCallRecord, ...]
    """None where one could not be carried out: another record follows when all were."""
    runs: tuple[SubRunRecord, ...] = ()
    """Those of the calls that were runs of sub-agents."""


class GateRecord(Record):
    """One round of a gate: what it said, whether it was charged, and what was decided."""

    omit_when_empty = frozenset({"exact", "family", "output", "charged", "escalated", "runs"})

    type: Literal["gate"] = "gate"
    at: Count
    gate: str
    report: Count
    """Sequence number of the gate's report (X6)."""
    round: Count
    """The gate's round, from 1; a pass has one too."""
    verdict: Literal["passed", "failing", "broken"]
    exact: str = ""
    family: str = ""
    items: Count = 0
    output: str = ""
    """Reference of the full output in the store."""
    repetitions: Count = 0
    charged: bool = False
    charges: Count = 0
    """Charges of the gate after this round."""
    duration_ms: Count = 0
    drift: Count = 0
    """New exact failures in a row within this family, this one included."""
    escalated: bool = False
    decided: Literal["passed", "admitted", "NoProgress", "LedgerFull", "BudgetSpent", "broken", "waived"]
    runs: tuple[SubRunRecord, ...] = ()
    """The run of a judge, where the gate is one."""


class CompactionRecord(Record):
    """The conversation was compacted. What was dropped stays in the store, under the place before."""

    omit_when_empty = frozenset({"window", "dropped", "replaced", "attempt_id", "fallback"})

    type: Literal["compaction"] = "compaction"
    at: Count
    id: str
    reason: Literal["full", "too_large"]
    how: Literal["drop_tool_results", "summarise"]
    target: str
    """Where the call goes that the room was made for."""
    window: Count = 0
    """Its tokens; 0: not known."""
    before: str
    """`length/head` of the conversation: messages and digest."""
    after: str
    """The same as before: there was nothing to drop."""
    tokens_before: Count
    """As the last answer's provider counted them, and an estimate of what came since."""
    tokens_after: Count
    """Estimated: in proportion to the bytes."""
    bytes_before: Count
    bytes_after: Count
    dropped: Count = 0
    """Tool results that became a line which says so."""
    replaced: Count = 0
    """Messages that the summary stands for."""
    attempt_id: str = ""
    """Of the summary."""
    fallback: bool = False
    """A summary was wanted and could not be had."""


class WaitRecord(Record):
    """A durable wait ended. `for` is retry, patience, or not_sent."""

    type: Literal["wait"] = "wait"
    at: Count
    reason: Literal["retry", "patience", "not_sent"]
    target: str
    asked_ms: Count
    slept_ms: Count
    interrupted: bool = False


class InterventionRecord(Record):
    """A typed question was raised."""

    type: Literal["intervention"] = "intervention"
    at: Count
    id: str
    digest: str
    label: str
    facts: dict[str, JsonValue]


class AnswerRecord(Record):
    """A person's answer was taken. Its text, if any, is in the conversation, never here."""

    omit_when_empty = frozenset({"unbound", "target", "amount"})

    type: Literal["answer"] = "answer"
    at: Count
    intervention: str
    label: str
    answer: str
    by: str
    door: str
    waited_ms: Count
    """From the question to the answer."""
    unbound: bool = False
    """A bare label, bound to nothing that was shown."""
    target: str = ""
    amount: float | None = None


class DeadlineRecord(Record):
    """Nobody answered in time; what the policy then did. Never a refusal by a person."""

    type: Literal["deadline"] = "deadline"
    at: Count
    intervention: str
    then: Literal["stay", "stop", "failover"]


class DirectiveRecord(Record):
    """A person told the run something unasked."""

    omit_when_empty = frozenset({"target"})

    type: Literal["directive"] = "directive"
    at: Count
    directive: str
    by: str
    door: str
    target: str = ""


class RefusedRecord(Record):
    """A signal that was refused and changed nothing; an update is refused to its caller and leaves no trace."""

    type: Literal["refused"] = "refused"
    at: Count
    door: str
    reason: str
    """A fixed word: malformed, stale, unfitting, unbound, nothing_open, no_target."""


class EvidenceRecord(Record):
    """Something new was learned about a failure; it lowers nothing (L10-L12)."""

    type: Literal["evidence"] = "evidence"
    at: Count
    gate: str
    fingerprint: str
    by: str


class CaptureChanged(Record):
    """A retained body was redacted or has expired (A18, C10). The store tells it: a run that ended takes no records."""

    omit_when_empty = frozenset({"attempt_id"})

    type: Literal["capture"] = "capture"
    at: Count
    what: Literal["request", "detail", "transcript"] = "request"
    """A request's body, what a provider said of a failure, or all messages of the run."""
    attempt_id: str = ""
    """"" for the transcript."""
    status: CaptureStatus
    by: str


JournalRecord = Annotated[
    RunRecord
    | AttemptRecord
    | UsageRecord
    | FailoverRecord
    | ToolBatchRecord
    | GateRecord
    | WaitRecord
    | CompactionRecord
    | InterventionRecord
    | AnswerRecord
    | DeadlineRecord
    | DirectiveRecord
    | RefusedRecord
    | EvidenceRecord
    | CaptureChanged,
    Field(discriminator="type"),
]
_RECORD: TypeAdapter[JournalRecord] = TypeAdapter(JournalRecord)


class Entry(Frozen):
    """A record at its place in the run's journal, from 1."""

    seq: int
    record: JournalRecord

    def written(self) -> dict[str, Any]:
        """The entry as it crosses the wire: the record's own fields and `seq`."""
        return {"seq": self.seq, **self.record.model_dump(mode="json")}


class SetAside(Frozen):
    """A record that could not be read: kept as it was, with the reason."""

    seq: int
    reason: str
    raw: JsonValue


def read_journal(written: Iterable[Any]) -> tuple[list[Entry], list[SetAside]]:
    """Read entries, one by one; what cannot be read is set aside and ends nothing (A14)."""
    entries: list[Entry] = []
    aside: list[SetAside] = []
    for position, raw in enumerate(written, 1):
        seq = raw.get("seq", position) if isinstance(raw, dict) else position
        try:
            record = _RECORD.validate_python(raw, context=READING)
            entries.append(Entry.model_construct(seq=seq, record=record))
        except ValidationError as error:
            aside.append(SetAside(seq=seq, reason=_reason(error), raw=raw))
    return entries, aside


def _reason(error: ValidationError) -> str:
    first = error.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
