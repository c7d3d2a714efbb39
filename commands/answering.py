# ruff: noqa: PLC0415 - `endstop --help` loads no Temporal SDK
"""A person's answers and directives: from flags to the message that the run gets.

An answer is bound to the intervention that is open now (or to the one that `--intervention` and `--digest` name).
Text goes to the store first and only its reference is sent. What an answer does is decided in the ledger.
"""

import getpass
import socket
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter, ValidationError

from commands.connect import rpc_errors
from commands.refusals import BadInput, Refused, flat
from commands.runs import asked_of, describe, status_of
from ledger.answers import AnswerBody, DirectiveBody
from ledger.model import Frozen
from ledger.reading import one_line, suggestion
from workflows.messages import SIGNAL_INTERVENE, UPDATE_ANSWER, Asked

if TYPE_CHECKING:
    from temporalio.client import Client

Put = Callable[[str], Awaitable[str]]
"""Puts a text into the store and returns its reference."""

ANSWER_S: Final = 20.0
"""Seconds that an answer may take to be taken; a worker does it in milliseconds."""

TAKES: Final[dict[str, str]] = {
    # answer: the flag it takes; "" none
    "retry": "",
    "guide": "text",
    "failover": "target",
    "accept": "",
    "raise": "amount",
    "approve": "",
    "edit": "text",
    "reject": "text",
    "reply": "text",
    "resume": "",
    "stop": "reason",
}
NEEDS: Final = frozenset({"guide", "raise", "edit", "reply"})
"""Answers that mean nothing without their flag."""

MEANS: Final[dict[str, str]] = {
    "retry": "one more try; no count falls",
    "guide": "tell the model something, then try once more",
    "failover": "move to another model",
    "accept": "waive the gate on your word",
    "raise": "lift the limit by this much",
    "approve": "let the tool run",
    "edit": "let the tool run with these arguments (JSON)",
    "reject": "do not run the tool, and say why",
    "reply": "answer the question",
    "resume": "go on",
    "stop": "end the run as stopped",
}
_WRITTEN: Final = {
    "text": '--text "…"',
    "target": "--target PROVIDER:MODEL",
    "amount": "--amount N",
    "reason": '--reason "…"',
}


class Said(Frozen):
    """What a person typed: a label and at most one value that goes with it."""

    label: str
    text: str | None = None
    target: str | None = None
    amount: float | None = None
    reason: str | None = None

    @property
    def given(self) -> dict[str, Any]:
        """The flags that were given."""
        return self.model_dump(exclude={"label"}, exclude_none=True)


def me() -> str:
    """Who answers, as claimed: access to the namespace is the authority."""
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"[:200]
    except (KeyError, OSError):  # a user id without a name, as in containers
        return f"somebody@{socket.gethostname()}"[:200]


async def open_question(client: "Client", run: str) -> Asked:
    """The question that is open now. Refused: no such run, no worker, or nothing is asked."""
    handle: Any = client.get_workflow_handle(run)
    if await describe(handle) is None:
        raise Refused(f"no run {run!r}: `endstop ls` shows the runs")
    status = await status_of(handle)
    if status is None:
        raise Refused(f"run {run!r}: no worker is there to ask; start one with `endstop worker`")
    asked = await asked_of(handle)
    if asked is None:
        raise Refused(f"run {run!r} asks nothing: it is {status.status}; `endstop tell` says something unasked")
    return asked


def check_label(label: str, asked: Asked) -> None:
    """Refuse a label that the open intervention does not take, before anything is stored or sent."""
    if label not in TAKES:
        raise BadInput(f"answer {label!r} is unknown; {suggestion(label, asked.answers)}")
    if label not in asked.answers:
        raise Refused(f"{asked.id} {asked.label} does not take {label!r}; it takes {', '.join(asked.answers)}")


async def body_of(said: Said, put: Put) -> dict[str, Any]:
    """The answer's own fields, text as a reference. BadInput: a flag is missing, or does not belong."""
    flag = TAKES.get(said.label, "")
    for other in said.given.keys() - {flag}:
        homes = ", ".join(label for label, takes in TAKES.items() if takes == other)
        raise BadInput(f"--{other} does not go with {said.label!r}; it goes with {homes}")
    if said.label in NEEDS and flag not in said.given:
        raise BadInput(f"{said.label!r} needs --{flag}: {MEANS[said.label]}")
    body = {"answer": said.label, **said.given}
    if flag == "text" and flag in body:
        text = body.pop("text")
        body["ref"] = await put(text)
    return _checked(TypeAdapter(AnswerBody), body, f"answer {said.label}")


def _checked(shape: TypeAdapter[Any], body: dict[str, Any], subject: str) -> dict[str, Any]:
    try:
        checked: dict[str, Any] = shape.validate_python(body).model_dump(mode="json", exclude_none=True)
    except ValidationError as error:
        raise BadInput(one_line(error, subject)) from None
    return checked


async def send_answer(client: "Client", run: str, question: tuple[str, str], body: dict[str, Any]) -> None:
    """Send update `answer`, bound to (intervention id, digest). Refused: the run's own reason, in one line."""
    from temporalio.client import WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
    from temporalio.exceptions import ApplicationError

    message = {"intervention": question[0], "digest": question[1], **body, "by": me(), "door": "cli"}
    handle: Any = client.get_workflow_handle(run)
    with rpc_errors(f"run {run!r}"):
        try:
            await handle.execute_update(UPDATE_ANSWER, message, rpc_timeout=timedelta(seconds=ANSWER_S))
        except WorkflowUpdateFailedError as error:
            reason = error.cause.message if isinstance(error.cause, ApplicationError) else error.cause
            raise Refused(f"run {run!r} refused the answer: {flat(reason)}") from error
        except WorkflowUpdateRPCTimeoutOrCancelledError as error:
            raise Refused(
                f"run {run!r}: nobody took the answer within {ANSWER_S:g} s, and it may still be taken: "
                f"is a worker running? `endstop show {run}` tells"
            ) from error


async def send_directive(client: "Client", run: str, body: dict[str, Any]) -> None:
    """Send signal `intervene` with something the run did not ask for."""
    checked = _checked(TypeAdapter(DirectiveBody), body, f"tell {body['directive']}")
    with rpc_errors(f"run {run!r}"):
        await client.get_workflow_handle(run).signal(
            SIGNAL_INTERVENE, {**checked, "by": me(), "door": "cli"}, rpc_timeout=timedelta(seconds=ANSWER_S)
        )


def how_to_answer(run: str, asked: Asked) -> list[tuple[str, str]]:
    """The exact commands that answer an intervention, each with what it means."""
    return [(_command(run, label), MEANS.get(label, "")) for label in asked.answers]


def _command(run: str, label: str) -> str:
    flag = TAKES.get(label, "")
    written = f" {_WRITTEN[flag]}" if label in NEEDS else f" [{_WRITTEN[flag]}]" if flag else ""
    return f"endstop answer {run} {label}{written}"
