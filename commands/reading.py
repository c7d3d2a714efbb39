"""The commands that read a run: show, journal, transcript, watch. What they print is made in `show` and `words`."""

from typing import TYPE_CHECKING

import click

from commands.connect import connect
from commands.final_answer import answer_of
from commands.opening import Setup, opened, opened_to_read, settings_from
from commands.refusals import BadInput, Refused
from commands.runs import View, look, look_back
from commands.show import as_json, journal_lines, show
from commands.sums import what_it_cost, why_so_long
from commands.tables import print_json
from commands.transcript import messages, render
from commands.watch import Watch
from inbox.shell import endstop

if TYPE_CHECKING:
    from ledger.conversation import Conversation
    from store import Store, Stretch


async def show_run(setup: Setup, run: str) -> None:
    """Print the run's page."""
    async with opened(setup) as things:
        view = await look(things.client, things.store, run)
        if view.state == "completed":
            answer = await answer_of(things.store, await _place(things.store, view))
            view = view.model_copy(update={"answer": answer})
    if setup.as_json:
        print_json(as_json(view))
    else:
        click.echo(show(view))


async def show_journal(setup: Setup, run: str, after: int, *, with_details: bool) -> None:
    """Print the journal's records after a sequence number, and with details what was said of failures."""
    async with opened_to_read(setup) as things:
        view = await look_back(things.server, things.store, run)
        details = await things.store.get_details(view.conversation) if with_details else {}
    if setup.as_json:
        print_json(_journal(view, after) | ({"details": details} if with_details else {}))
        return
    for line in journal_lines(view, after, details):
        click.echo(line)
    for line in (*why_so_long(view), *what_it_cost(view)):
        click.echo(line)
    for notice in view.notices:
        click.echo(notice, err=True)


def _journal(view: View, after: int) -> dict[str, object]:
    return {
        "id": view.id,
        "state": view.state,
        "records": [entry.written() for entry in view.entries if entry.seq > after],
        "set_aside": [one.model_dump(mode="json") for one in view.aside if one.seq > after],
        "changes": [one.model_dump(mode="json") for one in view.changes],
        "unfinished": [one.model_dump(mode="json") for one in view.unfinished],
        "notices": view.notices,
    }


async def print_transcript(setup: Setup, run: str, attempt: str | None, *, redact: bool, force: bool) -> None:
    """Print the conversation, or one captured request; or remove all of it."""
    from commands.captured import show_request  # noqa: PLC0415 - loads what only these need
    from commands.removing import redact_transcript  # noqa: PLC0415 - as above

    if attempt is not None and redact:
        removes = endstop("redact", run, flags=f"--attempt {attempt}")
        raise BadInput(f"--attempt shows one request; `{removes}` removes it")
    if force and not redact:
        raise BadInput("--force goes with --redact only")
    if redact:
        await redact_transcript(setup, run, force=force)
    elif attempt is not None:
        await show_request(setup, run, attempt)
    else:
        await show_transcript(setup, run)


async def show_transcript(setup: Setup, run: str) -> None:
    """Print the conversation, as the workflow names it, else as far as the store has it; across compactions."""
    async with opened_to_read(setup) as things:
        view = await look_back(things.server, things.store, run)
        kept = await _conversation(things.store, view)
    if setup.as_json:
        print_json(messages(kept))
        return
    for line in (*render(messages(kept)), *what_it_cost(view)):
        click.echo(line)
    for notice in view.notices:
        click.echo(notice, err=True)


async def _place(store: "Store", view: View) -> "Conversation | None":
    """Where the conversation stands: as the workflow names it, else as far as the store can tell."""
    return view.status.conversation if view.status else await store.latest(view.conversation)


async def _conversation(store: "Store", view: View) -> "list[Stretch]":
    from store import ConversationBroken  # noqa: PLC0415 - `endstop --help` loads no SQL

    run = view.id
    conversation = await _place(store, view)
    if conversation is None:
        raise Refused(f"run {run!r}: the store holds no conversation of it; is this the store it was started with?")
    try:
        return await store.read_whole(conversation)
    except ConversationBroken as error:
        raise Refused(f"run {run!r}: {error}") from error


async def watch_run(setup: Setup, run: str) -> int:
    """Print the run from its beginning until it ends. The exit code: 0 completed."""
    client = await connect(setup.where, settings_from(setup.settings).keys)
    watch = Watch(client, run, settings=setup.settings, as_json=setup.as_json)
    return await watch.until_end()
