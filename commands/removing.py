# ruff: noqa: PLC0415 - `endstop --help` loads no Temporal SDK and no SQL
"""The commands that remove content: `redact` captured requests, `transcript --redact` all that a run said.

Here: whose content, whether it may go, and what is said about it. Not here: removing it (the store).
"""

import re
from typing import TYPE_CHECKING, Any, Final

import click

from commands.answering import me
from commands.connect import rpc_errors
from commands.opening import Opened, Setup, open_store, opened, settings_from
from commands.refusals import BadInput, Refused
from commands.run_contents import cut, own
from commands.runs import View, describe, look
from commands.tables import print_json
from commands.transcript import messages
from commands.words import counted, place
from inbox.shell import endstop

if TYPE_CHECKING:
    from temporalio.client import WorkflowHandle

    from store import Removed, Store

_ATTEMPT: Final = re.compile(r"t?(\d{1,9})\.c?(\d{1,9})\.a?(\d{1,9})")


def attempt_of(typed: str) -> str:
    """An attempt's id, also as the journal shows it: t3.c1.a2 is 3.1.2."""
    found = _ATTEMPT.fullmatch(typed)
    if not found:
        raise BadInput(f"--attempt {typed!r}: expected TURN.CALL.ATTEMPT as `endstop journal` shows it, such as 3.1.2")
    return ".".join(str(int(number)) for number in found.groups())


async def redact_run(setup: Setup, run: str, attempt: str | None) -> None:
    """Remove captured requests and error details; the run may go on meanwhile. No server is needed."""
    wanted = None if attempt is None else attempt_of(attempt)
    async with open_store(settings_from(setup.settings)) as store:
        conversation = await conversation_of(store, run)
        if wanted is not None:
            await _known(store, run, conversation, wanted)
        removed = await store.redact(conversation, wanted, by=me())
        scrubbed = await store.scrub()
    _say(setup, run, removed, scrubbed=scrubbed)


async def redact_transcript(setup: Setup, run: str, *, force: bool) -> None:
    """Remove all that a run that has ended said. Refused: it goes on, or nobody knows."""
    async with opened(setup) as things:
        view = await look(things.client, things.store, run)
        await _ensure_ended(things, view, force=force)
        refs = await _contents(things.store, view)
        removed = await things.store.redact_transcript(view.conversation, refs, by=me())
        scrubbed = await things.store.scrub()
    _say(setup, run, removed, scrubbed=scrubbed)


async def conversation_of(store: "Store", run: str) -> str:
    """Id of the conversation of the newest run of this id."""
    kept = await store.runs_of(run)
    if not kept:
        raise Refused(
            f"the store knows no run {run!r}: is this the store it was started with? `endstop ls` shows the runs"
        )
    return kept[0].conversation


async def _known(store: "Store", run: str, conversation: str, attempt: str) -> None:
    known = {one.attempt for one in await store.captured(conversation)} | set(await store.get_details(conversation))
    if attempt not in known:
        raise Refused(
            f"run {run!r}: the store has no request and no error detail of {place(attempt)}; "
            f"`{endstop('journal', run)}` shows the attempts"
        )


async def _ensure_ended(things: Opened, view: View, *, force: bool) -> None:
    if not view.ended:
        raise Refused(
            f"run {view.id!r} is {view.state}: it needs its conversation until it ends; "
            f"`{endstop('redact', view.id)}` removes what was captured of it now"
        )
    if view.state == "unknown" and not force:
        raise Refused(
            f"run {view.id!r}: neither its journal nor this Temporal server tells whether it ended; "
            "name its server with --address and --namespace, or add --force if you know that it did"
        )
    parent = await _waiting_parent(things, view)
    if parent:
        raise Refused(f"run {view.id!r} is a sub-agent of {parent!r}, which goes on and may still read its answer")


async def _waiting_parent(things: Opened, view: View) -> str:
    """Id of the run that started this one and goes on; "" where there is none."""
    from temporalio.client import WorkflowExecutionStatus

    if not view.run_id:
        return ""
    handle: WorkflowHandle[Any, Any] = things.client.get_workflow_handle(view.id)
    with rpc_errors(f"run {view.id!r}"):
        found = await describe(handle)
        if found is None or not found.parent_id:
            return ""
        parent = await describe(things.client.get_workflow_handle(found.parent_id, run_id=found.parent_run_id))
    going_on = parent is not None and parent.status is WorkflowExecutionStatus.RUNNING
    return found.parent_id if going_on else ""


async def _contents(store: "Store", view: View) -> set[str]:
    """The contents of the store that the run's messages and records are made of."""
    from store import ContentMissing, ConversationBroken

    conversation = view.status.conversation if view.status else await store.latest(view.conversation)
    try:
        shown = messages(await store.read_whole(conversation)) if conversation else []
    except ConversationBroken:
        shown = []
    refs = own(shown, view.entries)
    for ref, begins in cut(shown):
        try:
            if (await store.get(ref)).startswith(begins.encode()):
                refs.add(ref)
        except ContentMissing:
            continue
    return refs


def _say(setup: Setup, run: str, removed: "Removed", *, scrubbed: bool) -> None:
    if setup.as_json:
        print_json({"id": run, **removed.model_dump(), "scrubbed": scrubbed})
    elif removed.nothing:
        click.echo(f"{run}: there is nothing to redact")
    else:
        parts = (
            (removed.messages, "message"),
            (removed.requests, "captured request"),
            (removed.details, "error detail"),
            (removed.contents, "content"),
        )
        click.echo(f"{run}: redacted " + ", ".join(counted(count, thing) for count, thing in parts if count))
    if not scrubbed:
        click.echo("others read the store: what was removed stands in its -wal file until they are done", err=True)
