"""Carries out decisions: which activity, with which timeouts, under which id; and reads back what came of it.

Nothing is decided here. A failure of the activity itself becomes a fact like any other, never an exception that ends
the run. Temporal's own retries are off for provider calls: the ledger alone retries.
"""

import hashlib
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from pydantic import ValidationError
from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    CancelledError,
    TimeoutError,  # noqa: A004 - Temporal's own word
    TimeoutType,
)

from activities.contract import (
    APPEND,
    CALL_MODEL,
    NOT_HERE,
    PREPARE,
    READ_ANSWER,
    STORE_S,
    WRITE_JOURNAL,
    Append,
    ModelCall,
    ModelReply,
    Prepare,
    Prepared,
    ReadAnswer,
    WriteJournal,
)
from activities.contract_compacting import COMPACT, CompactConversation, CompactDone
from ledger.conversation import Conversation
from ledger.decisions import CallModel, Compact
from ledger.failures import Failure, FailureKind
from ledger.model import Frozen
from ledger.notes import Note
from ledger.outcomes import Compacted, Refused, Trip, Usage
from ledger.progress import Progress

RECORD_VERSION = "1"
"""Version of the records; part of every activity's id, so that a replay notices a ledger that decides otherwise."""
HEARTBEAT_TIMEOUT = timedelta(seconds=6)
"""Four missed heartbeats of 1.5 s."""
ANSWERING_SLACK = timedelta(seconds=30 + 3 * STORE_S)
"""What an attempt may take beyond its own deadline before Temporal calls it off: it reads, stores its answer and may
store its request, and waits each time for a store in trouble."""
PICKUP = timedelta(seconds=60)
"""How long a tool or a gate waits for a worker of somebody else's."""
LOCAL_LIMIT = timedelta(seconds=30)
COMPACT_LIMIT = timedelta(seconds=60 + 2 * STORE_S)
"""It reads a conversation and writes it anew, and waits each time for a store in trouble."""
PREPARE_LIMIT = timedelta(minutes=15)
"""For the run's own copy of its workspace: git has ten minutes, a large folder takes what its disk takes."""
ONCE = RetryPolicy(maximum_attempts=1)
IDEMPOTENT = RetryPolicy(maximum_attempts=5, initial_interval=timedelta(seconds=1))
NOT_READY = frozenset({"StoreTroubled", "ContentMissing", "ConversationBroken", "ConversationRedacted", "ToolMissing"})
"""Errors by which a worker says that it cannot make a request: its store is away or another one, or a tool is not
declared there. Another worker, or this one once it is mended, may do."""


def pickup(prepared: Prepared) -> timedelta:
    """How long a tool or a gate waits for the worker that holds the workspace: as long as an attempt for any."""
    return timedelta(seconds=prepared.plan.policy.calls.pickup_s)


def decision_id(name: str, *decided: str) -> str:
    """An activity's id: readable name and a digest of what was decided (record version, decision, target)."""
    tag = hashlib.blake2b("\x00".join((RECORD_VERSION, *decided)).encode(), digest_size=4).hexdigest()
    return f"{name}-{tag}"


class NotPreparedHere(Exception):  # noqa: N818 - the state, as Temporal shows it
    """It fails the workflow task, not the run: Temporal gives the task to any worker then, this one included."""


async def prepare(order: Prepare) -> Prepared:
    """Resolve agent and task. Raises the activity's non-retryable InvalidSpec as it is.

    `NotPreparedHere`: for a minute at most (`activities/pollers.py`) it is left to other workers.
    """
    try:
        return Prepared.model_validate(await local(PREPARE, order, PREPARE_LIMIT))
    except ApplicationError as error:  # a local activity's own error, without an ActivityError around it
        if error.type == NOT_HERE:
            raise NotPreparedHere(error.message) from None
        raise


async def append(prepared: Prepared, notes: tuple[Note, ...], conversation: Conversation) -> Conversation:
    """Append notes to the conversation."""
    order = Append(conversation=conversation, agent_ref=prepared.agent_ref, files_ref=prepared.files_ref, notes=notes)
    return Conversation.model_validate(await local(APPEND, order)).within(conversation)


async def write_journal(order: WriteJournal) -> None:
    """Flush journal entries to the store."""
    await local(WRITE_JOURNAL, order)


async def read_answer(conversation: Conversation, most: int) -> tuple[str, bool]:
    """The text of the last message, at most so many bytes of it; and whether it goes on."""
    limit = most + 4  # what is cut ends in a whole character, of which the longest has four bytes
    text = str(await local(READ_ANSWER, ReadAnswer(conversation=conversation, limit=limit))).encode()
    return text[:most].decode(errors="ignore"), len(text) > most


async def call_model(
    prepared: Prepared, decision: CallModel, stage: int, conversation: Conversation, iteration: int
) -> tuple[Trip, Conversation]:
    """One trip to a provider, exactly one activity and one request."""
    policy = prepared.plan.policy.calls
    order = ModelCall(
        attempt=decision.id,
        agent_ref=prepared.agent_ref,
        stage=stage,
        target=decision.target,
        conversation=conversation,
        wait_s=decision.wait_s,
        deadline_s=policy.deadline_s,
        renew_files=decision.renew_files,
        allowance_usd=decision.allowance_usd,
        unpriced=decision.unpriced,
        summarise=decision.summarise,
    )
    what = "summarise" if decision.summarise else "call_model"
    name = prepared.plan.stages[stage].name
    began = workflow.time()
    try:
        raw: Any = await workflow.execute_activity(
            CALL_MODEL,
            order.model_dump(mode="json", exclude_defaults=True),
            activity_id=decision_id(decision.id, what, str(decision.target), str(decision.renew_files)),
            result_type=dict,
            schedule_to_start_timeout=pickup(prepared),
            start_to_close_timeout=timedelta(seconds=policy.deadline_s + decision.wait_s) + ANSWERING_SLACK,
            heartbeat_timeout=HEARTBEAT_TIMEOUT,
            retry_policy=ONCE,
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            summary=f"{name} · turn {iteration} · {decision.target} · attempt {decision.attempt}"
            f"{' · summary' if decision.summarise else ''}",
        )
    except ActivityError as error:
        return _lost_trip(error, int((workflow.time() - began) * 1000)), conversation
    try:
        reply = ModelReply.read(raw, conversation)
    except ValidationError:
        return _refused(FailureKind.BAD_OUTPUT, "invalid_result", unknown=True), conversation
    return reply.trip, reply.conversation


async def compact(
    prepared: Prepared, decision: Compact, stage: int, conversation: Conversation
) -> tuple[Compacted, Conversation]:
    """Make the conversation shorter: an activity that may run any number of times, until it succeeds."""
    place = decision.summary
    order = CompactConversation(
        conversation=conversation,
        agent_ref=prepared.agent_ref,
        stage=stage,
        verbatim=decision.verbatim,
        summary=Conversation.model_validate(place).within(conversation) if place else None,
    )
    raw: Any = await workflow.execute_activity(
        COMPACT,
        order.model_dump(mode="json", exclude_defaults=True),
        activity_id=decision_id(decision.id, decision.how, str(decision.target), conversation.place),
        result_type=dict,
        start_to_close_timeout=COMPACT_LIMIT,
        heartbeat_timeout=HEARTBEAT_TIMEOUT,
        summary=f"{prepared.plan.stages[stage].name} · {decision.id} · {decision.how} for {decision.target}",
    )
    done = CompactDone.read(raw, conversation)
    fact = Compacted(
        before=conversation.place,
        after=done.conversation.place,
        bytes_before=done.bytes_before,
        bytes_after=done.bytes_after,
        dropped=done.dropped,
        replaced=done.replaced,
    )
    return fact, done.conversation


async def local(name: str, order: Frozen | dict[str, Any], limit: timedelta = LOCAL_LIMIT) -> Any:  # noqa: ANN401 - validated by the caller
    """Cheap and idempotent work beside the workflow: one event instead of six, retried until it succeeds."""
    return await workflow.execute_local_activity(
        name,
        order.model_dump(mode="json") if isinstance(order, Frozen) else order,
        start_to_close_timeout=limit,
    )


def _lost_trip(error: ActivityError, duration_ms: int) -> Trip:
    """What an activity that did not answer tells of its trip (FAULTS rows 1 to 8, 37)."""
    match error.cause:
        case TimeoutError(type=TimeoutType.SCHEDULE_TO_START):
            return _refused(FailureKind.NOT_SENT, "schedule_to_start", duration_ms)
        case TimeoutError(type=TimeoutType.HEARTBEAT, last_heartbeat_details=told):
            return _refused(FailureKind.WORKER_LOST, "heartbeat", duration_ms, unknown=True, usage=_most(told))
        case TimeoutError(last_heartbeat_details=told):
            return _refused(FailureKind.TIMEOUT, "start_to_close", duration_ms, unknown=True, usage=_most(told))
        case CancelledError(details=told):
            return _refused(FailureKind.CANCELLED, "cancelled", duration_ms, unknown=True, usage=_most(told))
        case ApplicationError(type=kind, details=told) if kind in NOT_READY and not told:  # or it would tell what left
            return _refused(FailureKind.NOT_SENT, f"activity.{kind}", duration_ms)
        case ApplicationError(cause=ApplicationError(type="KeyMissing")):  # a worker that could not read its order
            return _refused(FailureKind.NOT_SENT, "activity.KeyMissing", duration_ms)
        case ApplicationError(type=kind, details=told):
            rule = f"activity.{kind}"[:64]
            return _refused(FailureKind.WORKER_LOST, rule, duration_ms, unknown=True, usage=_most(told))
        case _:
            return _refused(FailureKind.WORKER_LOST, "activity", duration_ms, unknown=True)


def _most(told: Sequence[Any]) -> Usage | None:
    """What the trip may cost, by its own last words; None where it said nothing, or that nothing was sent yet."""
    try:
        return Progress.model_validate(told[0]).most if told else None
    except ValidationError:
        return None


def _refused(
    kind: FailureKind, rule: str, duration_ms: int = 0, *, unknown: bool = False, usage: Usage | None = None
) -> Trip:
    failure = Failure.of(kind, rule=f"temporal.{rule}", outcome_unknown=unknown)
    return Trip(outcome=Refused(failure=failure), duration_ms=duration_ms, usage=usage)
