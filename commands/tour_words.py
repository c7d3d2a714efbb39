"""What the tour says: one sentence for each kind of thing that happens, the first time it happens. Pure."""

from ledger.journal import AnswerRecord, GateRecord, InterventionRecord, JournalRecord, RunRecord, ToolBatchRecord
from ledger.records import AttemptRecord, FailoverRecord, Retry

WELCOME = """\
Endstop runs an agent so that it ends: in an answer, or in front of a person with a typed question.
The tour runs one for real: Temporal server, worker, HTTP, pytest. Only the models are simulated, from a script.
The agent has to make the tests of a small project pass; its models will fail in the usual ways."""

ASKED = """\
The run now waits for a person. It could wait for days: nothing polls, no call is made, no worker is held."""


class Narrator:
    """Explains each kind of record once."""

    def __init__(self) -> None:
        self._explained: set[str] = set()

    def explain(self, record: JournalRecord) -> str | None:
        """The sentence for this record, or None when its kind was explained before or needs no words."""
        kind = _kind(record)
        if kind not in SENTENCES or kind in self._explained:
            return None
        self._explained.add(kind)
        return SENTENCES[kind]


SENTENCES: dict[str, str] = {
    "began": "Agent and task are in the store; Temporal's history holds references, however long the run gets.",
    "retry": "A throttled request. The ledger decides to wait as long as the provider asked, and to try it once more.",
    "tools": "The model called tools. They ran in a copy of the project that belongs to this run alone.",
    "given up": "A rejected key. Trying again would be pointless, so no second attempt is made with it.",
    "failover": "The turn moves to the next model with the whole conversation; the move is a record of its own.",
    "gate free": "The gate (real pytest) fails. A failure that was never seen before is free: the model may repair it.",
    "gate charged": (
        "This very failure was seen before: mending one test broke the other, and back. "
        "Time, order and wording differ, the fingerprint does not, so the repair is charged to the gate's budget."
    ),
    "asked": "The budget is spent. Another try would be the same again, so the run asks a person instead.",
    "answered": "The answer was bound to this one question: had it changed meanwhile, it would have been refused.",
    "gate passed": "The gate passes, and only now is the work accepted.",
}


def _kind(record: JournalRecord) -> str:
    match record:
        case RunRecord(what="began"):
            return "began"
        case AttemptRecord(failed=failed) if failed is not None:
            return "retry" if failed.next is Retry.SAME_MODEL else "given up"
        case ToolBatchRecord():
            return "tools"
        case FailoverRecord():
            return "failover"
        case GateRecord():
            return _gate(record)
        case InterventionRecord():
            return "asked"
        case AnswerRecord():
            return "answered"
        case _:
            return ""


def _gate(record: GateRecord) -> str:
    if record.verdict == "passed":
        return "gate passed"
    return "gate charged" if record.charged else "gate free"
