"""Drives the pure ledger through a run, fact by fact, without any shell."""

from collections.abc import Iterable

from ledger.agent import Plan, StagePlan
from ledger.answers import Answer, Directive
from ledger.decisions import Ask, CallModel, Decision, RunGates
from ledger.failures import Failure, FailureKind
from ledger.journal import JournalRecord
from ledger.ledger import Ledger, Moment, Refusal, decide, direct, resolve
from ledger.outcomes import Answered, Began, Fact, Failing, GateReport, GatesRan, Passed, Refused, Trip, Waited
from ledger.policy import Policy
from ledger.target import Target

FIRST, SECOND, THIRD = (Target.parse(t) for t in ("openai:first", "anthropic:second", "mistral:third"))


def plan_of(
    *models: Target,
    gates: tuple[str, ...] = (),
    policy: Policy | None = None,
    turns: int = 100,
    context_tokens: dict[str, int] | None = None,
) -> Plan:
    stage = StagePlan(name="main", models=models or (FIRST, SECOND), gates=gates, turns=turns)
    return Plan(stages=(stage,), policy=policy or Policy(), context_tokens=context_tokens or {})


class Run:
    """A run of the ledger. `now` is moved by hand; jitter is 0 unless it is set."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.now = 1_000_000.0
        self.jitter = 0.0
        self.ledger = Ledger()
        self.records: list[JournalRecord] = []
        self.tell(Began())

    @property
    def moment(self) -> Moment:
        return Moment(plan=self.plan, now=self.now, jitter=self.jitter)

    @property
    def doing(self) -> Decision:
        assert self.ledger.doing is not None
        return self.ledger.doing

    def tell(self, fact: Fact) -> Decision:
        step = decide(self.ledger, fact, self.moment)
        self.ledger = step.ledger
        self.records.extend(step.records)
        return step.decision

    def fail(self, kind: FailureKind, *, files: int = 0, **flags: object) -> Decision:
        """The call under way fails."""
        assert isinstance(self.doing, CallModel), self.doing
        failure = Failure.of(kind, **flags)  # type: ignore[arg-type]
        return self.tell(Trip(outcome=Refused(failure=failure), files=files))

    def answer(self) -> Decision:
        """The model answers, without a tool call."""
        assert isinstance(self.doing, CallModel), self.doing
        return self.tell(Trip(outcome=Answered(finish_reason="complete")))

    def sleep(self) -> Decision:
        """A durable wait runs out."""
        until = self.doing.until  # type: ignore[union-attr]
        slept, self.now = until - self.now, until
        return self.tell(Waited(slept_s=slept))

    def gates(self, *exact: str | None) -> Decision:
        """The gates report, in order: a fingerprint, or None for a pass. `exact/family` names a family."""
        assert isinstance(self.doing, RunGates), self.doing
        reports = (
            GateReport(gate=gate, seq=seq, verdict=_verdict(found))
            for (gate, seq), found in zip(self.doing.gates, exact, strict=True)
        )
        return self.tell(GatesRan(reports=tuple(reports)))

    def round(self, exact: str | None) -> Decision:
        """One turn of a stage with one gate: an answer, then the gate's report."""
        self.answer()
        return self.gates(exact)

    def rounds(self, exact: Iterable[str | None]) -> "Run":
        for found in exact:
            self.round(found)
        return self

    def say(self, label: str, **more: object) -> Refusal | None:
        """A person answers the open intervention, properly bound."""
        assert isinstance(self.doing, Ask), self.doing
        opened = self.doing.open
        body = {"answer": label, **more}
        return self.hear(Answer.model_validate({"intervention": opened.id, "digest": opened.digest, "body": body}))

    def say_each(self, label: str) -> "Run":
        """A person gives every open intervention the same answer, until none is open."""
        while isinstance(self.doing, Ask):
            assert self.say(label) is None
        return self

    def hear(self, word: Answer | Directive) -> Refusal | None:
        step = (
            resolve(self.ledger, word, self.moment)
            if isinstance(word, Answer)
            else direct(self.ledger, word, self.moment)
        )
        if isinstance(step, Refusal):
            return step
        self.ledger = step.ledger
        self.records.extend(step.records)
        return None

    @property
    def asked(self) -> str:
        """The label of the open intervention, or ""."""
        return self.doing.open.intervention.label if isinstance(self.doing, Ask) else ""

    def of(self, kind: str) -> list[JournalRecord]:
        return [record for record in self.records if record.type == kind]


def directive(label: str, **more: object) -> Directive:
    return Directive.model_validate({"body": {"directive": label, **more}, "by": "ann"})


def _verdict(found: str | None) -> Passed | Failing:
    if found is None:
        return Passed()
    exact, _, family = found.partition("/")
    return Failing(version=1, exact=found, family=family or exact, items=1)
