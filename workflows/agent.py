"""`AgentWorkflow`: the durable shell. It carries out the ledger's decisions, reports facts, and waits for people.

The loop at the heart: while the ledger has not finished, carry out what it is doing, tell it what came of it. Handlers
apply a person's word to the ledger at once; the loop notices by the decision having changed.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar, assert_never

from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError

with workflow.unsafe.imports_passed_through():
    from activities.contract import MAX_INLINE_ANSWER, Prepare
    from ledger.answers import Answer, Directive
    from ledger.decisions import Ask, CallModel, Compact, Decision, Finish, RunGates, RunTools, Wait
    from ledger.journal import RunRecord
    from ledger.ledger import Refusal, Step, decide, direct, halt, resolve
    from ledger.outcomes import Began, Compacted, Fact, ToolsRan, Trip
    from workflows.carried import RunInput, carried_in, read_input
    from workflows.carrying_out import append, call_model, compact, prepare, read_answer
    from workflows.children import tell_parent
    from workflows.inbound import read_message
    from workflows.messages import (
        QUERY_INTERVENTION,
        QUERY_JOURNAL,
        QUERY_LEDGER,
        QUERY_STATUS,
        SIGNAL_CHILD,
        SIGNAL_INTERVENE,
        UPDATE_ANSWER,
    )
    from workflows.running_gates import run_gates
    from workflows.running_tools import Round, run_tools
    from workflows.showing import ledger_of, result_of, run_status
    from workflows.standing import Standing
    from workflows.waiting import wait_for_person, wait_until

Landed = TypeVar("Landed")


@workflow.defn(name="AgentWorkflow")
class AgentWorkflow:
    """Runs one agent until it ends in an answer, or waits in front of a person with a typed question."""

    @workflow.init
    def __init__(self, *sent: Any) -> None:  # noqa: ANN401 - Temporal passes what the starter sent
        self._run = Standing()
        if carried := carried_in(sent):  # before any word is heard: words may come with the first task
            self._run.take_over(carried)
        self._unread: list[tuple[Any, ...]] = []
        self._in_flight: asyncio.Task[Any] | None = None

    @workflow.run
    async def run(self, *sent: Any) -> dict[str, Any]:  # noqa: ANN401 - validated by `read_input`
        """Run an agent: `{"agent": {...}, "task": "..."}`. Returns a `RunResult`."""
        if self._run.prepared is None:
            await self._begin(read_input(sent))
        while not isinstance(self._run.ledger.doing, Finish):
            await self._go_on()
        return await self._end(self._run.ledger.doing)

    # ---- what people send

    @workflow.signal(name=SIGNAL_INTERVENE, description='Answer or direct the run: "retry" or {"answer": ...}')
    def intervene(self, *sent: Any) -> None:  # noqa: ANN401 - any payload is taken and validated inside
        """Take a person's word. A bad one is refused with its reason in the journal and changes nothing."""
        if self._run.ledger.doing is None:
            self._unread.append(sent)
            return
        step = self._hear(read_message(sent, "signal"))
        if isinstance(step, Refusal):
            self._run.refused(step.reason)
        else:
            self._apply(step)

    @workflow.signal(name=SIGNAL_CHILD, description="A sub-agent waits for a person, or waits no longer")
    def child(self, *sent: Any) -> None:  # noqa: ANN401
        """Show it. A word of no child of this run is recorded as refused."""
        if not self._run.children.heard(sent):
            self._run.refused("malformed")
        elif self._run.prepared:
            self._run.show()

    @workflow.signal(dynamic=True)
    def unknown_signal(self, name: str, sent: Sequence[RawValue]) -> None:  # noqa: ARG002
        """A signal of another name is recorded as refused."""
        self._run.refused("malformed")

    @workflow.update(name=UPDATE_ANSWER, description="Answer the open intervention; refused at once if unfit")
    def answer(self, *sent: Any) -> dict[str, Any]:  # noqa: ANN401
        """Take an answer. Its validator has refused what does not fit, so that it leaves no trace."""
        self._apply(self._fitting(sent))
        return {"accepted": True, "status": run_status(self._run.ledger.doing)}

    @answer.validator
    def check_answer(self, *sent: Any) -> None:  # noqa: ANN401
        """Refuse, synchronously and without an event, what the ledger would refuse."""
        self._fitting(sent)

    # ---- what people ask

    @workflow.query(name=QUERY_STATUS, description="Where the run stands")
    def status(self) -> dict[str, Any]:
        """A `Status`."""
        return self._run.status().model_dump(mode="json")

    @workflow.query(name=QUERY_INTERVENTION, description="The open question, or null")
    def intervention(self) -> dict[str, Any] | None:
        """An `Asked`, or None."""
        asked = self._run.asked()
        return asked.model_dump(mode="json") if asked else None

    @workflow.query(name=QUERY_LEDGER, description="The whole ledger")
    def ledger(self) -> dict[str, Any]:
        """The ledger as it is carried, and the attempt in flight."""
        return ledger_of(self._run.ledger, self._run.since)

    @workflow.query(name=QUERY_JOURNAL, description='The newest records; {"after": seq, "limit": n} to page')
    def journal(self, page: Any = None) -> dict[str, Any]:  # noqa: ANN401
        """A `JournalPage`."""
        return self._run.notebook.page(page).model_dump(mode="json")

    # ---- the loop

    async def _begin(self, given: RunInput) -> None:
        info = workflow.info()
        order = Prepare(
            run=info.first_execution_run_id,
            workflow_id=info.workflow_id,
            agent=given.agent,
            task=given.task,
            parent=given.parent,
        )
        prepared = await prepare(order)
        self._run.prepare(prepared, prepared.conversation)
        self._apply(decide(self._run.ledger, Began(), self._run.moment()))
        early, self._unread = self._unread, []
        for sent in early:
            self.intervene(*sent)

    async def _go_on(self) -> None:
        """Carry out one decision and tell the ledger what came of it."""
        fact: Fact | None = None
        try:
            if self._run.notebook.full or isinstance(self._run.ledger.doing, Ask):
                await self._run.notebook.flush(self._run.conversation.id)
            if workflow.info().is_continue_as_new_suggested():
                await self._continue()
            if self._run.ledger.doing and not self._halting():
                fact = await self._carry_out(self._run.ledger.doing)
        except asyncio.CancelledError:
            if not self._halting():
                raise
        if fact:
            moment = self._run.moment(jitter=workflow.random().random())
            self._apply(decide(self._run.ledger, fact, moment))
        ended = self._run.children.unbooked()  # those that a fact told of are counted
        if self._halting() and not isinstance(self._run.ledger.doing, Finish):
            self._apply(halt(self._run.ledger, self._run.moment(), () if fact else ended))

    async def _carry_out(self, decision: Decision) -> Fact | None:
        match decision:
            case CallModel():
                return await self._call_model(decision)
            case Compact():
                return await self._compact(decision)
            case RunTools():
                return await self._run_tools(decision)
            case RunGates():
                return await self._flying(run_gates(self._round(self._run.ledger.turn.number), decision))
            case Wait():
                return await wait_until(decision, self._interrupted)
            case Ask():
                return await self._ask(decision)
            case Finish():
                return None
            case _:
                assert_never(decision)

    async def _ask(self, decision: Ask) -> Fact | None:
        prepared = self._run.started
        await tell_parent(prepared.parent, decision.open.intervention.label)
        fact = await wait_for_person(decision, prepared.plan.policy.ask, lambda: self._run.ledger.doing is not decision)
        await tell_parent(prepared.parent, "")
        return fact

    async def _call_model(self, decision: CallModel) -> Trip | None:
        prepared = self._run.started
        if decision.notes:
            self._run.conversation = await self._flying(append(prepared, decision.notes, self._run.conversation))
        if self._halting():  # a stop that came meanwhile: nothing is sent any more
            return None
        iteration = self._run.ledger.turn.iteration
        call = call_model(prepared, decision, self._run.ledger.stage, self._run.conversation, iteration)
        trip, self._run.conversation = await self._flying(call)
        return trip

    async def _compact(self, decision: Compact) -> Compacted:
        work = compact(self._run.started, decision, self._run.ledger.stage, self._run.conversation)
        done, self._run.conversation = await self._flying(work)
        return done

    async def _run_tools(self, decision: RunTools) -> ToolsRan:
        ran, self._run.conversation = await self._flying(run_tools(self._round(decision.turn), decision))
        return ran

    def _round(self, turn: int) -> Round:
        return Round(
            prepared=self._run.started,
            turn=turn,
            stage=self._run.ledger.stage,
            answer=self._run.conversation,
            children=self._run.children,
        )

    async def _flying(self, work: Coroutine[Any, Any, Landed]) -> Landed:
        """Await something that a stop or a cancel must be able to cut short; the loop obeys both."""
        flight = asyncio.create_task(work)
        self._in_flight = flight
        try:
            return await flight
        except ActivityError as error:
            if isinstance(error.cause, CancelledError):
                raise asyncio.CancelledError from None
            raise
        finally:
            self._in_flight = None

    async def _continue(self) -> None:
        """Go on in a new execution, with the whole ledger."""
        self._run.notebook.note((RunRecord(at=int(workflow.time()), what="continued"),))
        await self._run.notebook.flush(self._run.conversation.id)
        await workflow.wait_condition(workflow.all_handlers_finished)
        workflow.continue_as_new({"carried": self._run.carried().model_dump(mode="json")})

    async def _end(self, decision: Finish) -> dict[str, Any]:
        try:
            await self._run.notebook.flush(self._run.conversation.id)
        except asyncio.CancelledError:  # it is delivered once, and the journal comes first
            await self._run.notebook.flush(self._run.conversation.id)
        if decision.status == "cancelled":
            parent = self._run.started.parent
            if parent and workflow.patched("cancelled-sub-run-tells-its-use"):
                await tell_parent(parent, "", self._run.ledger.totals)
            raise asyncio.CancelledError
        answer, goes_on = None, False
        if self._run.started.inline and decision.status == "completed":
            answer, goes_on = await read_answer(self._run.conversation, MAX_INLINE_ANSWER)
        return result_of(decision, answer, self._run.conversation, self._run.ledger, goes_on=goes_on)

    # ---- words and steps

    def _hear(self, word: Answer | Directive | Refusal) -> Step | Refusal:
        if isinstance(word, Refusal):
            return word
        if self._run.ledger.doing is None:
            return Refusal(reason="nothing_open", text="the run is still being prepared: nothing is open yet")
        if isinstance(word, Answer):
            return resolve(self._run.ledger, word, self._run.moment())
        return direct(self._run.ledger, word, self._run.moment())

    def _fitting(self, sent: tuple[Any, ...]) -> Step:
        step = self._hear(read_message(sent, "update"))
        if isinstance(step, Refusal):
            raise ApplicationError(step.text, type=step.reason, non_retryable=True)
        return step

    def _apply(self, step: Step) -> None:
        """Take a step; a stop cuts what is in flight short."""
        self._run.apply(step)
        if self._run.ledger.stopping and self._in_flight:
            self._in_flight.cancel()

    def _halting(self) -> bool:
        """Whether a person said stop, or Temporal cancelled the run."""
        return self._run.ledger.stopping is not None or workflow.cancellation_reason() is not None

    def _interrupted(self) -> bool:
        return self._run.ledger.stopping is not None or self._run.ledger.paused_by is not None
