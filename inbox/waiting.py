"""The runs that wait for a person, each with what it asks, and the answer a person sends to one of them.

Here: what is read from Temporal and what is sent. Not here: how it looks (`pages`), who may see it (`guard`).
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Final, Protocol

from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from inbox.asked_call import AskedCall, KeptCalls, asked_call, misfit
from inbox.reasons import LastFailure, last_failures
from inbox.rounds import FailedGate, failed_gate
from ledger.journal import Entry, read_journal
from ledger.model import Frozen
from workflows.messages import QUERY_INTERVENTION, QUERY_JOURNAL, QUERY_STATUS, Asked, JournalPage, Status
from workflows.reaching import NEEDS_HUMAN, QUERY_S, NotTaken, answer, ask
from workflows.replies import Said, body_of

SHOWN: Final = 50
"""Runs on one page, the newest; each is asked what it asks."""
LIST_S: Final = 2.0
"""Seconds that the list waits for what its runs say, all at once; one whose worker takes longer has its own page."""


class Kept(KeptCalls, Protocol):
    """What the inbox needs of the store: the calls that people are asked about, and a place for their words."""

    async def put(self, content: bytes | str) -> str: ...


class Waiting(Frozen):
    """One run as the inbox shows it."""

    run: str
    status: Status | None = None
    """None: no worker answers for it."""
    asked: Asked | None = None
    """None: it asks nothing by now, or no worker answers."""
    call: AskedCall | None = None
    """The tool call that it asks about; None where it asks about none."""
    failures: tuple[LastFailure, ...] = ()
    """Why targets failed, by the newest records; none where only the question was wanted."""
    gate: FailedGate | None = None
    """The gate that it asks about, by the newest records; None where it asks about none, and as above."""


class Reply(Frozen):
    """An answer as it came from the page, bound to one question of one run."""

    run: str
    first: str
    """Run id of the first execution: a later run under the same workflow id does not get this answer."""
    intervention: str
    digest: str
    said: Said
    by: str
    """Who, as typed: access to the inbox is the authority."""


async def waiting(client: Client, store: KeptCalls) -> Sequence[Waiting]:
    """The newest runs that need a person. The list lags: a run that asks nothing any more is left out."""
    listed = [found.id async for found in client.list_workflows(NEEDS_HUMAN, limit=SHOWN)]
    looked = await asyncio.gather(*(_listed(client, store, run) for run in listed))
    return [found for found in looked if found and (found.asked or not found.status)]


async def _listed(client: Client, store: KeptCalls, run: str) -> Waiting | None:
    """One run of the list; None: it was deleted meanwhile. What Temporal says of one run hides no other."""
    try:
        return await look(client, store, run, within_s=LIST_S, why=False)
    except RPCError as error:
        return None if error.status is RPCStatusCode.NOT_FOUND else Waiting(run=run)


async def look(client: Client, store: KeptCalls, run: str, *, within_s: float = QUERY_S, why: bool = True) -> Waiting:
    """One run as it is now; `why` also asks what failed. Raises `RPCError`, where there is no such run too."""
    handle = client.get_workflow_handle(run)
    found = await ask(handle, QUERY_STATUS, within_s=within_s)
    status = None if found is None else Status.model_validate(found)
    if status is None or not status.intervention:
        return Waiting(run=run, status=status)
    raw = await ask(handle, QUERY_INTERVENTION, within_s=within_s)
    if raw is None:
        return Waiting(run=run, status=status)
    asked = Asked.model_validate(raw)
    call = await asked_call(handle, store, status.conversation, asked)
    found = Waiting(run=run, status=status, asked=asked, call=call)
    if not why:
        return found
    entries = await _entries(handle, within_s)
    gate = await failed_gate(store, asked, entries)
    return found.model_copy(update={"failures": last_failures(run, entries), "gate": gate})


async def _entries(handle: WorkflowHandle[Any, Any], within_s: float) -> Sequence[Entry]:
    """The newest records, which the workflow still holds; a record that cannot be read tells nothing."""
    page = await ask(handle, QUERY_JOURNAL, within_s=within_s)
    if page is None:
        return ()
    entries, _ = read_journal(JournalPage.model_validate(page).records)
    return entries


async def send(client: Client, store: Kept, reply: Reply) -> NotTaken | None:
    """Send an answer; None: it was taken. Raises `ValidationError` where its value cannot be used, and `RPCError`."""
    handle: Any = client.get_workflow_handle(reply.run, first_execution_run_id=reply.first)
    raw = await ask(handle, QUERY_INTERVENTION) if reply.said.label == "edit" else None
    if raw and (why := await misfit(store, Asked.model_validate(raw), reply.said)):
        return NotTaken(why="refused", reason=why)
    bound = {"intervention": reply.intervention, "digest": reply.digest, "by": reply.by, "door": "inbox"}
    return await answer(handle, {**await body_of(reply.said, store.put), **bound})
