# ruff: noqa: PLC0415 - `endstop --help` loads no Temporal SDK
"""A run as it is now, from the workflow where a worker answers for it and from the store where not.

Here: asking, merging, and saying what could not be had. Not here: how it is shown (`show`, `words`, `tables`).
"""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from activities.contract import CALL_MODEL
from commands.connect import lacks_namespace, rpc_errors
from commands.final_answer import NONE, FinalAnswer
from commands.refusals import Refused, ServerAway
from commands.tallies import ending
from inbox.asked_call import AskedCall, asked_call
from ledger.journal import CaptureChanged, Entry, SetAside, read_journal
from ledger.model import Frozen
from workflows.messages import QUERY_INTERVENTION, QUERY_JOURNAL, QUERY_STATUS, Asked, JournalPage, Status

if TYPE_CHECKING:
    from temporalio.client import Client, WorkflowExecutionDescription, WorkflowHandle

    from store import Store


STANDS_STILL: Final = 2
"""Failures in a row of one workflow task; a worker that was killed, or is too busy, is behind one."""


class Unfinished(Frozen):
    """A trip to a provider that was begun and whose end nobody recorded: it may have been paid (FAULTS row 37)."""

    id: str
    """turn.call.attempt"""
    target: str


class View(Frozen):
    """A run as far as it can be seen from here."""

    id: str
    run_id: str = ""
    """The current execution's; "" where Temporal no longer has the run."""
    conversation: str = ""
    """Id of its conversation in the store: the first execution's run id."""
    state: str
    """A RunStatus, or Temporal's own word for how it ended: failed, terminated, timed_out."""
    reason: str = ""
    """Why it failed, where it did."""
    status: Status | None = None
    """None where no worker answered."""
    asked: Asked | None = None
    call: AskedCall | None = None
    """The tool call that is asked about; None where the question is of none."""
    entries: tuple[Entry, ...] = ()
    aside: tuple[SetAside, ...] = ()
    changes: tuple[CaptureChanged, ...] = ()
    """What was redacted or has expired of it, in order. The store tells it, so it has no number in the journal."""
    answer: FinalAnswer = NONE
    unfinished: tuple[Unfinished, ...] = ()
    """Trips that were under way when the run was terminated or timed out; none for any other run."""
    notices: tuple[str, ...] = ()
    """What could not be had and where this comes from instead, for people."""

    @property
    def ended(self) -> bool:
        return self.state not in {"running", "waiting", "needs_human"}


async def look_back(server: "Client | ServerAway", store: "Store", run: str) -> View:
    """As `look`; where the server does not answer, what the store holds. ServerAway: it knows no such run."""
    if not isinstance(server, ServerAway):
        try:
            return await look(server, store, run)
        except ServerAway as away:
            server = away
    kept = await store.runs_of(run)
    if not kept:
        raise server
    return await _kept(store, run, kept[0].conversation, f"{server.message}; what is shown is what the store holds")


async def look(client: "Client", store: "Store", run: str) -> View:
    """Look at a run from all sides. Refused: neither Temporal nor the store knows it."""
    handle: WorkflowHandle[Any, Any] = client.get_workflow_handle(run)
    described = await describe(handle)
    if described is None:
        return await _from_store(store, run)
    status = await status_of(handle)
    conversation = (status.conversation.id if status else "") or first_run_id(described)
    held = await records_after(handle, 0) if status else []
    if not held or held[0]["seq"] > 1:
        held = _merged(await store.read_journal(conversation), held)
    entries, aside = read_journal(held)
    asked = await asked_of(handle) if status and status.intervention else None
    return View(
        id=run,
        run_id=described.run_id or "",
        conversation=conversation,
        state=state_of(described, status, entries),
        reason=await failure_of(handle, described),
        status=status,
        asked=asked,
        call=await call_of(handle, store, status, asked) if status and asked else None,
        entries=tuple(entries),
        aside=tuple(aside),
        changes=await changes_of(store, conversation),
        unfinished=await unfinished(client, handle, described),
        notices=tuple(_notices(described, status)),
    )


def _notices(described: "WorkflowExecutionDescription", status: Status | None) -> Iterator[str]:
    failed = described.raw_description.pending_workflow_task.attempt - 1
    if failed >= STANDS_STILL:
        yield (
            f"its workflow task has failed {failed} times, so it stands still: a bug of ours, a release that decides "
            "otherwise, or a message beyond 2 MB; docs/operating.md says what to do"
        )
    if status is None:
        yield "no worker answers for this run: what is shown is what the store holds"


async def _from_store(store: "Store", run: str) -> View:
    kept = await store.runs_of(run)
    if not kept:
        raise Refused(f"no run {run!r}, in Temporal or in the store: `endstop ls` shows the runs")
    notice = "Temporal no longer has this run: what is shown is what the store holds"
    return await _kept(store, run, kept[0].conversation, notice)


async def _kept(store: "Store", run: str, conversation: str, notice: str) -> View:
    entries, aside = read_journal(await store.read_journal(conversation))
    return View(
        id=run,
        conversation=conversation,
        state=_last_word(entries) or "unknown",
        entries=tuple(entries),
        aside=tuple(aside),
        changes=await changes_of(store, conversation),
        notices=(notice,),
    )


async def changes_of(store: "Store", conversation: str) -> tuple[CaptureChanged, ...]:
    """What was removed of a run, as its journal tells it."""
    return tuple(
        CaptureChanged(at=one.at, what=one.what, attempt_id=one.attempt, status=one.status, by=one.by)
        for one in await store.removals(conversation)
    )


async def describe(handle: "WorkflowHandle[Any, Any]") -> "WorkflowExecutionDescription | None":
    """What Temporal says of the run; None where it does not know it."""
    from temporalio.service import RPCError, RPCStatusCode

    from workflows.reaching import QUERY_S

    with rpc_errors(f"run {handle.id!r}"):
        try:
            return await handle.describe(rpc_timeout=timedelta(seconds=QUERY_S))
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND and not lacks_namespace(error):
                return None
            raise


async def status_of(handle: "WorkflowHandle[Any, Any]") -> Status | None:
    """Query `status`; None where no worker answers."""
    found = await _ask(handle, QUERY_STATUS)
    return None if found is None else Status.model_validate(found)


async def asked_of(handle: "WorkflowHandle[Any, Any]") -> Asked | None:
    """Query `intervention`: the open one; None where none is open or no worker answers."""
    found = await _ask(handle, QUERY_INTERVENTION)
    return None if found is None else Asked.model_validate(found)


async def call_of(handle: "WorkflowHandle[Any, Any]", store: "Store", status: Status, asked: Asked) -> AskedCall | None:
    """The tool call that the question is about, as the store has it; None: it is about none."""
    with rpc_errors(f"run {handle.id!r}"):
        return await asked_call(handle, store, status.conversation, asked)


async def records_after(handle: "WorkflowHandle[Any, Any]", after: int) -> list[dict[str, Any]]:
    """Query `journal` page by page: the records after a sequence number that the workflow still holds."""
    records: list[dict[str, Any]] = []
    while True:
        found = await _ask(handle, QUERY_JOURNAL, {"after": after})
        page = JournalPage.model_validate(found) if found is not None else None
        if page is None or not page.records:
            return records
        records += page.records
        after = page.next


async def _ask(handle: "WorkflowHandle[Any, Any]", query: str, *args: object) -> Any:  # noqa: ANN401 - JSON
    """Ask the workflow; None where nobody answers, or where the run broke before it could."""
    from workflows.reaching import ask

    with rpc_errors(f"run {handle.id!r}"):
        return await ask(handle, query, *args)


def first_run_id(described: "WorkflowExecutionDescription") -> str:
    """The run's first execution, which names its conversation; a run that went on in new ones has several."""
    info = described.raw_description.workflow_execution_info
    return info.first_run_id or described.run_id or ""


def state_of(described: "WorkflowExecutionDescription", status: Status | None, entries: Iterable[Entry] = ()) -> str:
    """Where the run stands: how Temporal says it ended, else its own word, else "running"."""
    from temporalio.client import WorkflowExecutionStatus

    match described.status:
        case WorkflowExecutionStatus.FAILED | WorkflowExecutionStatus.TERMINATED | WorkflowExecutionStatus.TIMED_OUT:
            return described.status.name.lower()
        case WorkflowExecutionStatus.CANCELED:
            return "cancelled"
        case WorkflowExecutionStatus.COMPLETED:
            return (status.status if status else _last_word(entries)) or "completed"
        case _:
            return status.status if status else "running"


async def failure_of(handle: "WorkflowHandle[Any, Any]", described: "WorkflowExecutionDescription") -> str:
    """Why a failed run failed: the message of its typed error; "" for any other run."""
    from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
    from temporalio.exceptions import ApplicationError

    if described.status is not WorkflowExecutionStatus.FAILED:
        return ""
    try:
        with rpc_errors(f"run {handle.id!r}"):
            await handle.result()
    except WorkflowFailureError as error:
        return error.cause.message if isinstance(error.cause, ApplicationError) else str(error.cause)
    return ""


async def unfinished(
    client: "Client", handle: "WorkflowHandle[Any, Any]", described: "WorkflowExecutionDescription"
) -> tuple[Unfinished, ...]:
    """Trips without an end in the history of a run that was cut off; any other run recorded its own."""
    from temporalio.client import WorkflowExecutionStatus

    if described.status not in {WorkflowExecutionStatus.TERMINATED, WorkflowExecutionStatus.TIMED_OUT}:
        return ()
    begun: dict[int, Unfinished] = {}
    async for event in handle.fetch_history_events():
        if event.HasField("activity_task_scheduled_event_attributes"):
            scheduled = event.activity_task_scheduled_event_attributes
            if scheduled.activity_type.name == CALL_MODEL:
                (order,) = await client.data_converter.decode(list(scheduled.input.payloads))
                begun[event.event_id] = Unfinished(id=order["attempt"], target=order["target"])
        for end in _ENDINGS:
            if event.HasField(end):
                begun.pop(getattr(event, end).scheduled_event_id, None)
    return tuple(begun.values())


_ENDINGS: Final = (
    "activity_task_completed_event_attributes",
    "activity_task_failed_event_attributes",
    "activity_task_timed_out_event_attributes",
    "activity_task_canceled_event_attributes",
)


def _last_word(entries: Iterable[Entry]) -> str:
    """How the run ended, by its own records; "" where they do not say."""
    ended = ending(entries)
    return ended.what if ended else ""


def _merged(kept: Iterable[dict[str, Any]], held: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The store's records and the workflow's newer ones, each once, in order."""
    return [record for _, record in sorted({r["seq"]: r for r in (*kept, *held)}.items())]
