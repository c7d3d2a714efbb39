"""Where a run stands inside its workflow: the ledger, what surrounds it, and what people see of it.

Here: taking a step over, numbering its records, showing it. Not here: carrying anything out, or hearing people.
"""

from temporalio import workflow

from activities.contract import Prepared
from ledger.conversation import Conversation
from ledger.journal import RefusedRecord
from ledger.state import Ledger, Moment, Step
from workflows.carried import Carried
from workflows.children import Children
from workflows.messages import Asked, Status
from workflows.notebook import Notebook
from workflows.showing import Display, asked_of, event, status_of


class Standing:
    """The state of one execution of a run."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.prepared: Prepared | None = None
        self.conversation = Conversation(id="")
        self.notebook = Notebook()
        self.children = Children()
        self.since = 0.0
        self._display = Display(())

    @property
    def started(self) -> Prepared:
        """What was prepared."""
        if self.prepared is None:
            raise ValueError("the run is not prepared yet")
        return self.prepared

    def prepare(self, prepared: Prepared, conversation: Conversation) -> None:
        """Begin with what was prepared."""
        self.prepared = prepared
        self.conversation = conversation
        self._display = Display(prepared.search_attributes)

    def take_over(self, carried: Carried) -> None:
        """Go on where another execution stopped."""
        self.prepare(carried.prepared, carried.conversation)
        self.ledger = carried.ledger
        self.notebook = Notebook(carried.seq)
        self.since = workflow.time()
        self.show()

    def carried(self) -> Carried:
        """All that the next execution needs."""
        return Carried(prepared=self.started, conversation=self.conversation, ledger=self.ledger, seq=self.notebook.seq)

    def moment(self, jitter: float = 0.0) -> Moment:
        """The plan and the time. Only the loop may draw a random number: a validator is read-only."""
        return Moment(plan=self.started.plan, now=workflow.time(), jitter=jitter)

    def apply(self, step: Step) -> None:
        """Take a step: the ledger, its records, and what people see of it."""
        if step.decision is not self.ledger.doing:
            self.since = workflow.time()
        self.ledger = step.ledger
        self.notebook.note(step.records)
        self.show()
        workflow.logger.info("ledger.decided", extra=event(step))

    def refused(self, reason: str) -> None:
        """Record a refused signal: its sender is gone, so the journal tells it."""
        self.notebook.note((RefusedRecord(at=int(workflow.time()), door="signal", reason=reason),))

    def show(self) -> None:
        """Show it in the Web UI and in listings."""
        self._display.show(self.status(), self.asked())

    def asked(self) -> Asked | None:
        """The open question."""
        opened = self.ledger.open
        return asked_of(opened.open, self.started.tools_ref) if opened else None

    def status(self) -> Status:
        """Where the run stands, in numbers and names."""
        return status_of(
            self.ledger,
            self.prepared.plan if self.prepared else None,
            since=self.since,
            conversation=self.conversation,
            journal=self.notebook.seq,
            children=self.children.status,
        )
