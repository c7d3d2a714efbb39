# ruff: noqa: PLC0415 - `endstop --help` loads no Temporal SDK
"""A person's answers and directives: from flags to the message that the run gets.

An answer is bound to the intervention that is open now (or to the one that `--intervention` and `--digest` name).
Text goes to the store first and only its reference is sent. What an answer does is decided in the ledger.
"""

import getpass
import socket
from datetime import timedelta
from decimal import ROUND_UP, Decimal
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter, ValidationError

from commands.connect import rpc_errors
from commands.refusals import BadInput, Refused
from commands.runs import asked_of, describe, state_of, status_of
from inbox.asked_call import AskedCall, offered
from inbox.shell import endstop
from ledger.answers import DirectiveBody
from ledger.reading import one_line, suggestion
from workflows import replies
from workflows.messages import SIGNAL_INTERVENE, Asked, Status
from workflows.replies import MEANS, NEEDS, TAKES, Put, Said, meaning

if TYPE_CHECKING:
    from temporalio.client import Client

_WRITTEN: Final = {
    "text": '--text "…"',
    "target": "--target PROVIDER:MODEL",
    "amount": "--amount N",
    "reason": '--reason "…"',
}
_STEP: Final = Decimal("0.0001")
"""US dollars: what an amount that a person may type is rounded up to, and added for the rounding of sums."""


def me() -> str:
    """Who answers, as claimed: access to the namespace is the authority."""
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"[:200]
    except (KeyError, OSError):  # a user id without a name, as in containers
        return f"somebody@{socket.gethostname()}"[:200]


async def open_question(client: "Client", run: str) -> Asked:
    """The question that is open now. Refused: no such run, no worker, or nothing is asked."""
    handle: Any = client.get_workflow_handle(run)
    described = await describe(handle)
    if described is None:
        raise Refused(f"no run {run!r}: `endstop ls` shows the runs")
    asked = await asked_of(handle)
    if asked:
        return asked
    status = await status_of(handle)
    if status is None:
        raise Refused(f"run {run!r}: no worker is there to ask; start one with `endstop worker`")
    if status.intervention:  # it was answered, and asks again, between two looks
        raise Refused(f"run {run!r} asks something else by now: `{endstop('show', run)}` tells what")
    state = state_of(described, status)
    raise Refused(f"run {run!r} asks nothing: it is {state}; `endstop tell` says something unasked")


def check_label(label: str, asked: Asked, call: AskedCall | None = None) -> None:
    """Refuse a label that the open intervention does not take, before anything is stored or sent.

    Where it lets a tool run, the call must be one that can be shown.
    """
    if label not in TAKES:
        raise BadInput(f"answer {label!r} is unknown; {suggestion(label, asked.answers)}")
    if label not in asked.answers:
        raise Refused(f"{asked.id} {asked.label} does not take {label!r}; it takes {', '.join(asked.answers)}")
    if label not in offered(asked, call):
        why = call.trouble if call else "the call that it asks about cannot be shown"
        raise Refused(f"{asked.id} {asked.label} takes no {label!r} now: {why}")


def said_of(label: str, given: dict[str, Any]) -> Said:
    """What was typed. BadInput: a value that its answer cannot have, such as arguments that are no JSON object."""
    try:
        return Said(label=label, **given)
    except ValidationError as error:
        raise BadInput(one_line(error, f"answer {label}")) from None


async def body_of(said: Said, put: Put) -> dict[str, Any]:
    """The answer's own fields, text as a reference. BadInput: a flag is missing, or does not belong."""
    flag = TAKES.get(said.label, "")
    for other in said.given.keys() - {flag}:
        homes = ", ".join(label for label, takes in TAKES.items() if takes == other)
        raise BadInput(f"--{other} does not go with {said.label!r}; it goes with {homes}")
    if said.label in NEEDS and flag not in said.given:
        raise BadInput(f"{said.label!r} needs --{flag}: {MEANS[said.label]}")
    try:
        return await replies.body_of(said, put)
    except ValidationError as error:
        raise BadInput(one_line(error, f"answer {said.label}")) from None


async def send_answer(client: "Client", run: str, question: tuple[str, str], body: dict[str, Any]) -> None:
    """Send update `answer`, bound to (intervention id, digest). Refused: the run's own reason, in one line."""
    await _send(client, run, {"intervention": question[0], "digest": question[1], **body, "by": me(), "door": "cli"})


async def _send(client: "Client", run: str, message: dict[str, Any]) -> None:
    from workflows.reaching import ANSWER_S, answer

    with rpc_errors(f"run {run!r}"):
        not_taken = await answer(client.get_workflow_handle(run), message)
    if not_taken and not_taken.why == "refused":
        raise Refused(f"run {run!r} refused it: {not_taken.reason}")
    if not_taken:
        raise Refused(
            f"run {run!r}: nobody took it within {ANSWER_S:g} s, and it may still be taken: "
            f"is a worker running? `{endstop('show', run)}` tells"
        )


async def send_directive(client: "Client", run: str, body: dict[str, Any]) -> Status | None:
    """Send something the run did not ask for, and return where it stands then; None: it could not be asked.

    By update, which refuses with a reason; while the run is prepared by signal, which it reads once it is.
    """
    from workflows.reaching import ANSWER_S

    message = {**_directive(body), "by": me(), "door": "cli"}
    handle = client.get_workflow_handle(run)
    with rpc_errors(f"run {run!r}"):
        before = await status_of(handle)
        if before and not before.agent:
            await handle.signal(SIGNAL_INTERVENE, message, rpc_timeout=timedelta(seconds=ANSWER_S))
            return before
    await _send(client, run, message)
    return await status_of(handle)


def _directive(body: dict[str, Any]) -> dict[str, Any]:
    try:
        directive: DirectiveBody = TypeAdapter(DirectiveBody).validate_python(body)
    except ValidationError as error:
        raise BadInput(one_line(error, f"tell {body['directive']}")) from None
    return directive.model_dump(mode="json", exclude_none=True)


def how_to_answer(run: str, asked: Asked, call: AskedCall | None = None) -> list[tuple[str, str]]:
    """The exact commands that answer an intervention, each with what it means."""
    return [
        (_command(run, label, asked), meaning(label, asked.label) + _needed(label, asked))
        for label in offered(asked, call)
    ]


def _needed(label: str, asked: Asked) -> str:
    """How much a spend limit has to be raised for the call that waits, rounded up; a target of unknown price: any."""
    if (label, asked.label) != ("raise", "SpendLimit"):
        return ""
    spent, limit, bound = (asked.facts.get(name) for name in ("spent_usd", "limit_usd", "bound_usd"))
    if not all(isinstance(usd, int | float) for usd in (spent, limit, bound)):
        return " and call this target, whose price nobody knows"
    missing = Decimal(str(spent)) + Decimal(str(bound)) - Decimal(str(limit))
    return f"; this call needs {max(missing, Decimal(0)).quantize(_STEP, ROUND_UP) + _STEP} USD or more"


def _command(run: str, label: str, asked: Asked) -> str:
    """The command, bound to this very question: copied a second time it answers no later one of the run."""
    flag = TAKES.get(label, "")
    written = "--text '{…}'" if label == "edit" else _WRITTEN.get(flag, "")
    given = written if label in NEEDS or not flag else f"[{written}]"
    bound = f"--intervention {asked.id} --digest {asked.digest}"
    return endstop("answer", run, label, flags=f"{given} {bound}".lstrip())
