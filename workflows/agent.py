"""`AgentWorkflow`: the durable shell. It carries out the ledger's decisions, reports facts, and waits for people.

The loop at the heart: while the ledger has not finished, carry out what it is doing, tell it what came of it. Handlers
apply a person's word to the ledger at once; the loop notices by the decision having changed.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar, assert_never

from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from activities.contract import Prepare, Prepared
    from ledger.answers import Answer, Directive
    from ledger.conversation import Conversation
    from ledger.decisions import Ask, CallModel, Decision, Finish, RunGates, RunTools, Wait
    from ledger.journal import RefusedRecord, RunRecord
    from ledger.ledger import Ledger, Moment, Refusal, Step, decide, direct, halt, resolve
    from ledger.outcomes import Began, Fact, ToolsRan, Trip
    from workflows.carried import Carried, RunInput, read_input
    from workflows.carrying_out import append, call_model, prepare, read_answer
    from workflows.inbound import read_message
    from workflows.messages import (
        QUERY_INTERVENTION,
        QUERY_JOURNAL,
        QUERY_LEDGER,
        QUERY_STATUS,
        SIGNAL_INTERVENE,
        UPDATE_ANSWER,
        Asked,
        Status,
    )
    from workflows.notebook import Notebook
    from workflows.running_gates import run_gates
    from workflows.running_tools import run_tools
    from workflows.showing import Display, asked_of, event, ledger_of, result_of, run_status, status_of
    from workflows.waiting import wait_for_person, wait_until

Landed = TypeVar("Landed")


@workflow.defn(name="AgentWorkflow")
class AgentWorkflow:
    """Runs one agent until it ends in an answer, or waits in front of a person with a typed question."""

    @workflow.init
    def __init__(self, *sent: Any) -> None:  # noqa: ANN401, ARG002 - Temporal passes what the starter sent
        self._ledger = Ledger()
        self._prepared: Prepared | None = None
        self._conversation = Conversation(id="")
        self._notebook = Notebook()
        self._display = Display(())
        self._since = 0.0
        self._unread: list[tuple[Any, ...]] = []
        self._in_flight: asyncio.Task[Any] | None = None

    @workflow.run
    async def run(self, *sent: Any) -> dict[str, Any]:  # noqa: ANN401 - validated by `read_input`
        """Run an agent: `{"agent": {...}, "task": "..."}`. Returns a `RunResult`."""
        await self._begin(read_input(sent))
        while not isinstance(self._ledger.doing, Finish):
            await self._go_on()
        return await self._end(self._ledger.doing)

    # ---- what people send

    @workflow.signal(name=SIGNAL_INTERVENE, description='Answer or direct the run: "retry" or {"answer": ...}')
    def intervene(self, *sent: Any) -> None:  # noqa: ANN401 - any payload is taken and validated inside
        """Take a person's word. A bad one is refused with its reason in the journal and changes nothing."""
        if self._ledger.doing is None:
            self._unread.append(sent)
            return
        step = self._hear(read_message(sent, "signal"))
        if isinstance(step, Refusal):
            self._refused(step.reason)
        else:
            self._apply(step)

    @workflow.signal(dynamic=True)
    def unknown_signal(self, name: str, sent: Sequence[RawValue]) -> None:  # noqa: ARG002
        """A signal of another name is recorded as refused."""
        self._refused("malformed")

    @workflow.update(name=UPDATE_ANSWER, description="Answer the open intervention; refused at once if unfit")
    def answer(self, *sent: Any) -> dict[str, Any]:  # noqa: ANN401
        """Take an answer. Its validator has refused what does not fit, so that it leaves no trace."""
        self._apply(self._fitting(sent))
        return {"accepted": True, "status": run_status(self._ledger.doing)}

    @answer.validator
    def check_answer(self, *sent: Any) -> None:  # noqa: ANN401
        """Refuse, synchronously and without an event, what the ledger would refuse."""
        self._fitting(sent)

    # ---- what people ask

    @workflow.query(name=QUERY_STATUS, description="Where the run stands")
    def status(self) -> dict[str, Any]:
        """A `Status`."""
        return self._status().model_dump(mode="json")

    @workflow.query(name=QUERY_INTERVENTION, description="The open question, or null")
    def intervention(self) -> dict[str, Any] | None:
        """An `Asked`, or None."""
        asked = self._asked()
        return asked.model_dump(mode="json") if asked else None

    @workflow.query(name=QUERY_LEDGER, description="The whole ledger")
    def ledger(self) -> dict[str, Any]:
        """The ledger as it is carried, and the attempt in flight."""
        return ledger_of(self._ledger, self._since)

    @workflow.query(name=QUERY_JOURNAL, description='The newest records; {"after": seq, "limit": n} to page')
    def journal(self, page: Any = None) -> dict[str, Any]:  # noqa: ANN401
        """A `JournalPage`."""
        return self._notebook.page(page).model_dump(mode="json")

    # ---- the loop

    async def _begin(self, given: RunInput) -> None:
        if given.carried:
            self._take_over(given.carried)
        else:
            info = workflow.info()
            order = Prepare(
                run=info.first_execution_run_id, workflow_id=info.workflow_id, agent=given.agent, task=given.task
            )
            prepared = await prepare(order)
            self._prepare(prepared, prepared.conversation)
            self._apply(decide(self._ledger, Began(), self._moment()))
        early, self._unread = self._unread, []
        for sent in early:
            self.intervene(*sent)

    async def _go_on(self) -> None:
        """Carry out one decision and tell the ledger what came of it."""
        fact: Fact | None = None
        try:
            if self._notebook.full or isinstance(self._ledger.doing, Ask):
                await self._notebook.flush(self._conversation.id)
            if workflow.info().is_continue_as_new_suggested():
                await self._continue()
            if self._ledger.doing and not self._halting():
                fact = await self._carry_out(self._ledger.doing)
        except asyncio.CancelledError:
            if not self._halting():
                raise
        if fact:
            moment = self._moment(jitter=workflow.random().random())
            self._apply(decide(self._ledger, fact, moment))
        if self._halting() and not isinstance(self._ledger.doing, Finish):
            self._apply(halt(self._ledger, self._moment()))

    async def _carry_out(self, decision: Decision) -> Fact | None:
        match decision:
            case CallModel():
                return await self._call_model(decision)
            case RunTools():
                return await self._run_tools(decision)
            case RunGates():
                return await self._flying(run_gates(self._started(), decision, self._conversation))
            case Wait():
                return await wait_until(decision, self._interrupted)
            case Ask():
                policy = self._started().plan.policy.ask
                return await wait_for_person(decision, policy, lambda: self._ledger.doing is not decision)
            case Finish():
                return None
            case _:
                assert_never(decision)

    async def _call_model(self, decision: CallModel) -> Trip | None:
        prepared = self._started()
        if decision.notes:
            self._conversation = await append(prepared, decision.notes, self._conversation)
        if self._halting():  # a stop that came meanwhile: nothing is sent any more
            return None
        iteration = self._ledger.turn.iteration
        call = call_model(prepared, decision, self._ledger.stage, self._conversation, iteration)
        trip, self._conversation = await self._flying(call)
        return trip

    async def _run_tools(self, decision: RunTools) -> ToolsRan:
        tools = run_tools(self._started(), decision, self._ledger.stage, self._conversation)
        ran, self._conversation = await self._flying(tools)
        return ran

    async def _flying(self, work: Coroutine[Any, Any, Landed]) -> Landed:
        """Await something that a person's stop must be able to cut short."""
        flight = asyncio.create_task(work)
        self._in_flight = flight
        try:
            return await flight
        finally:
            self._in_flight = None

    async def _continue(self) -> None:
        """Go on in a new execution, with the whole ledger."""
        prepared = self._started()
        self._notebook.note((RunRecord(at=int(workflow.time()), what="continued"),))
        await self._notebook.flush(self._conversation.id)
        await workflow.wait_condition(workflow.all_handlers_finished)
        place = self._notebook.seq
        carried = Carried(prepared=prepared, conversation=self._conversation, ledger=self._ledger, seq=place)
        workflow.continue_as_new({"carried": carried.model_dump(mode="json")})

    async def _end(self, decision: Finish) -> dict[str, Any]:
        try:
            await self._notebook.flush(self._conversation.id)
        except asyncio.CancelledError:  # it is delivered once, and the journal comes first
            await self._notebook.flush(self._conversation.id)
        if decision.status == "cancelled":
            raise asyncio.CancelledError
        answer = None
        if self._started().inline and decision.status == "completed":
            answer = await read_answer(self._conversation)
        return result_of(decision, answer, self._conversation, self._ledger.turn.number)

    # ---- words and steps

    def _hear(self, word: Answer | Directive | Refusal) -> Step | Refusal:
        if isinstance(word, Refusal):
            return word
        if self._ledger.doing is None:
            return Refusal(reason="nothing_open", text="the run is still being prepared: nothing is open yet")
        if isinstance(word, Answer):
            return resolve(self._ledger, word, self._moment())
        return direct(self._ledger, word, self._moment())

    def _fitting(self, sent: tuple[Any, ...]) -> Step:
        step = self._hear(read_message(sent, "update"))
        if isinstance(step, Refusal):
            raise ApplicationError(step.text, type=step.reason, non_retryable=True)
        return step

    def _apply(self, step: Step) -> None:
        """Take a step: the ledger, its records, and what people see of it."""
        if step.decision is not self._ledger.doing:
            self._since = workflow.time()
        self._ledger = step.ledger
        self._notebook.note(step.records)
        self._display.show(self._status(), self._asked())
        if self._ledger.stopping and self._in_flight:
            self._in_flight.cancel()
        workflow.logger.info("ledger.decided", extra=event(step))

    def _refused(self, reason: str) -> None:  # a signal's sender is gone: the journal tells it
        self._notebook.note((RefusedRecord(at=int(workflow.time()), door="signal", reason=reason),))

    def _asked(self) -> Asked | None:
        opened = self._ledger.open
        return asked_of(opened.open) if opened else None

    def _status(self) -> Status:
        return status_of(
            self._ledger,
            self._prepared.plan if self._prepared else None,
            since=self._since,
            conversation=self._conversation,
            journal=self._notebook.seq,
        )

    def _prepare(self, prepared: Prepared, conversation: Conversation) -> None:
        self._prepared = prepared
        self._conversation = conversation
        self._display = Display(prepared.search_attributes)

    def _take_over(self, carried: Carried) -> None:
        self._prepare(carried.prepared, carried.conversation)
        self._ledger = carried.ledger
        self._notebook = Notebook(carried.seq)
        self._since = workflow.time()
        self._display.show(self._status(), self._asked())

    def _halting(self) -> bool:
        """Whether a person said stop, or Temporal cancelled the run."""
        return self._ledger.stopping is not None or workflow.cancellation_reason() is not None

    def _interrupted(self) -> bool:
        return self._ledger.stopping is not None or self._ledger.paused_by is not None

    def _moment(self, jitter: float = 0.0) -> Moment:
        """The plan and the time. Only the loop may draw a random number: a validator is read-only."""
        return Moment(plan=self._started().plan, now=workflow.time(), jitter=jitter)

    def _started(self) -> Prepared:
        if self._prepared is None:
            raise ValueError("the run is not prepared yet")
        return self._prepared
