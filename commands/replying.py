"""The commands by which a person speaks to a run: answer and tell. What a message holds is decided in `answering`."""

import sys
from typing import Final

import click

from commands.agent_file import read_text
from commands.answering import (
    body_of,
    check_label,
    open_question,
    said_of,
    send_answer,
    send_directive,
)
from commands.opening import Opened, Setup, opened
from commands.refusals import BadInput
from commands.runs import call_of, status_of
from commands.show import question
from commands.tables import plain, plain_line, print_json
from inbox.asked_call import ABOUT_A_CALL, AskedCall, misfit, offered
from inbox.shell import endstop
from ledger.model import Frozen
from workflows.messages import Asked
from workflows.replies import NEEDS, TAKES, Said

ASKS_FOR: Final = {
    "text": "text",
    "target": "model, as PROVIDER:MODEL",
    "amount": "by how much",
    "reason": "why (may be empty)",
}


class Reply(Frozen):
    """What was typed after `endstop answer ID`."""

    label: str | None = None
    value: str | None = None
    """What stands right after the label: the text, model, amount or reason."""
    text: str | None = None
    target: str | None = None
    amount: float | None = None
    reason: str | None = None
    intervention: str | None = None
    digest: str | None = None


async def answer_run(setup: Setup, run: str, reply: Reply, *, shown: bool = False) -> None:
    """Answer the open intervention, or exactly the one that was named by id and digest.

    Without a label a person at the terminal is asked, and sees the question first unless it was `shown` already.
    """
    if (reply.intervention is None) != (reply.digest is None):
        raise BadInput("--intervention and --digest go together: `endstop show` tells both")
    if reply.label is None and not sys.stdin.isatty():
        raise BadInput("give the answer's label: `endstop show` tells which ones the run takes")
    reply = _with_value(reply)
    text = read_text(reply.text, "--text") if reply.text is not None else None
    async with opened(setup) as things:
        asked = await open_question(things.client, run)
        call = await _call(things, run, asked)
        if reply.label is None and not shown:
            click.echo(plain(question(run, asked, call)))
        said = _said(asked, call, reply.model_copy(update={"text": text}))
        check_label(said.label, asked, call)
        if why := await misfit(things.store, asked, said):
            raise BadInput(f"edit: {why}")
        bound = (reply.intervention or asked.id, reply.digest or asked.digest)
        await send_answer(things.client, run, bound, await body_of(said, things.store.put))
    _say(setup, run, {"intervention": bound[0], "label": asked.label, "answer": said.label})


def _with_value(reply: Reply) -> Reply:
    """What stands right after the label is what the label takes. BadInput: it is given twice, or is no number."""
    if reply.value is None:
        return reply
    flag = TAKES.get(reply.label or "") or "text"
    if getattr(reply, flag) is not None:
        raise BadInput(f"the {flag} is given twice: after the label, or by --{flag}")
    try:
        given = float(reply.value) if flag == "amount" else reply.value
    except ValueError:
        raise BadInput(f"{reply.label!r} takes a number, in turns or US dollars") from None
    return reply.model_copy(update={flag: given, "value": None})


async def _call(things: Opened, run: str, asked: Asked) -> AskedCall | None:
    """The call that is asked about. A run that nobody answers for has said nothing either."""
    handle = things.client.get_workflow_handle(run)
    status = await status_of(handle) if asked.label in ABOUT_A_CALL else None
    return await call_of(handle, things.store, status, asked) if status else None


def _said(asked: Asked, call: AskedCall | None, reply: Reply) -> Said:
    given = reply.model_dump(include={*TAKES.values()} - {""})
    if reply.label is not None:
        return said_of(reply.label, given)
    label = click.prompt("\nYour answer", type=click.Choice(offered(asked, call)))
    flag = TAKES.get(label, "")
    if flag and given[flag] is None:
        words = click.prompt(ASKS_FOR[flag], default=None if label in NEEDS else "", show_default=False)
        given[flag] = words or None
    return said_of(label, given)


def _say(setup: Setup, run: str, what: dict[str, str]) -> None:
    if setup.as_json:
        print_json({"id": run, **what})
    else:
        click.echo(f"{run}: {what['intervention']} {what['label']} answered: {what['answer']}")


async def tell_run(setup: Setup, run: str, directive: str, *, value: str | None, reason: str) -> None:
    """Tell the run something it did not ask for."""
    if (value is not None) != (directive in VALUES):
        expected = f"needs {VALUES[directive]}" if directive in VALUES else "takes no value"
        raise BadInput(f"tell {directive} {expected}")
    if reason and directive != "stop":
        raise BadInput("--reason goes with stop only")
    async with opened(setup) as things:
        status = await send_directive(things.client, run, await _directive(things, directive, value, reason))
    waits = status.intervention if status else ""
    if setup.as_json:
        print_json({"id": run, "directive": directive, "intervention": waits})
        return
    click.echo(plain_line(f"{run}: told, {TOLD[directive].format(value)}"))
    if waits:
        click.echo(f"it still waits for a person ({waits}), whom only an answer replaces: `{endstop('show', run)}`")


TOLD: Final = {
    "guide": "the model reads it with the next call",
    "pause": "it pauses once what is under way has ended",
    "model": "its next turns start at {}",
    "stop": "it stops",
}
"""What a directive comes to."""


VALUES: Final = {"guide": "TEXT", "model": "PROVIDER:MODEL"}
"""Directives that take a value, and what it is."""


async def _directive(things: Opened, directive: str, value: str | None, reason: str) -> dict[str, str]:
    match directive:
        case "guide" if value is not None:
            return {"directive": directive, "ref": await things.store.put(read_text(value, "TEXT"))}
        case "model" if value is not None:
            return {"directive": directive, "target": value}
        case "stop":
            return {"directive": directive, "reason": reason}
        case _:
            return {"directive": directive}
