# ruff: noqa: PLC0415 - `endstop --help` loads no Temporal SDK
"""`endstop replay`: whether the code that is installed here would decide as a run's history says it was decided.

No worker, no store and no model takes part: the history is all that is needed. A run that went on in new executions
has a history of each; all that Temporal still has are replayed.
"""

import dataclasses
import logging
import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

import click

from activities.contract import WORKFLOW
from commands.connect import connect, lacks_namespace, rpc_errors
from commands.given_file import called, whole
from commands.opening import Setup, settings_from
from commands.refusals import BadInput, Refused, flat
from commands.tables import plain_line, print_json
from commands.words import counted
from ledger.model import Frozen

if TYPE_CHECKING:
    from temporalio.client import Client, WorkflowHistory
    from temporalio.converter import DataConverter
    from temporalio.worker import Replayer

MAX_HISTORY_BYTES: Final = 256 * 2**20
"""Of an exported history; Temporal ends a run at 50 MiB, and JSON is some times larger."""

_SAID: Final = re.compile(r'message: "((?:[^"\\]|\\.)*)"')
_KIND: Final = re.compile(r'r#type: "(\w+)"')
_KEY_MISSING: Final = re.compile(r"the key \w+ is needed and [^\"\\]+")
_DECIDED: Final = re.compile(r"scheduled event '([\w.]+)-\w+' does not match .* command '([\w.]+)-\w+'")
_NOT_NEXT: Final = re.compile(r".*HistoryEvent\(id: (\d+), (\w+)\)")


class Replayed(Frozen):
    """What came of replaying one execution."""

    id: str
    run_id: str
    """The execution's; "" where a file does not say."""
    events: int
    replays: bool
    why: str = ""
    """Where and how the code decides otherwise."""


async def replay(setup: Setup, run: str | None, run_id: str | None, file: str | None, *, every: bool) -> int:
    """Replay and tell. Exit code 0: everything replays."""
    if [run is not None, file is not None, every].count(True) != 1:
        raise BadInput("replay what? give the ID of a run, --file FILE, or --all")
    if run_id and not run:
        raise BadInput("--run-id names one execution of a run: give the run's ID too")
    found = [one async for one in _replayed(setup, run, run_id, file)]
    diverging = sum(not one.replays for one in found)
    if setup.as_json:
        print_json({"replays": not diverging, "executions": found})
    else:
        for line in render(found):
            click.echo(line)
    return 1 if diverging else 0


def render(found: list[Replayed]) -> list[str]:
    """One line for each run, and one for all where there are several or none."""
    runs: dict[str, list[Replayed]] = {}
    for one in found:
        runs.setdefault(one.id, []).append(one)
    lines = [_line(name, executions) for name, executions in runs.items()]
    if len(runs) != 1:
        diverging = len({one.id for one in found if not one.replays})
        lines.append(f"{counted(len(runs), 'run')} under way: {len(runs) - diverging} replay, {diverging} diverge")
    return [plain_line(line) for line in lines]


def _line(name: str, executions: list[Replayed]) -> str:
    bad = next((one for one in executions if not one.replays), None)
    if bad:
        where = f" in its execution {bad.run_id}" if len(executions) > 1 else ""
        return f"{name} diverges{where}: {bad.why}"
    events = counted(sum(one.events for one in executions), "event")
    return f"{name} replays ({counted(len(executions), 'execution')}, {events})"


async def _replayed(setup: Setup, run: str | None, run_id: str | None, file: str | None) -> AsyncIterator[Replayed]:
    keys = settings_from(setup.settings).keys
    if file is not None:
        from workflows.codec import converter_with

        yield await _outcome(_from_file(file), replayer(converter_with(keys)))
        return
    client = await connect(setup.where, keys)
    installed = replayer(client.data_converter)
    for name in [run] if run else await _under_way(client):
        async for history in histories(client, name, run_id):
            yield await _outcome(history, installed)


def _from_file(file: str) -> "WorkflowHistory":
    from temporalio.client import WorkflowHistory

    text = whole(file, MAX_HISTORY_BYTES).decode(errors="replace")
    expected = "expected what `temporal workflow show --output json` prints"
    try:
        history = WorkflowHistory.from_json(called(file), text)
    except (ValueError, TypeError, AttributeError, KeyError) as error:  # how JSON of another kind is met
        raise BadInput(f"{called(file)}: is no history of a run; {expected}") from error
    if not history.events or not history.events[0].HasField("workflow_execution_started_event_attributes"):
        raise BadInput(f"{called(file)}: is no history of a run from its beginning; {expected}")
    began = history.events[0].workflow_execution_started_event_attributes
    return dataclasses.replace(history, workflow_id=began.workflow_id or called(file))


async def _under_way(client: "Client") -> list[str]:
    with rpc_errors("the list of runs"):
        query = f"WorkflowType = '{WORKFLOW}' AND ExecutionStatus = 'Running'"
        return [found.id async for found in client.list_workflows(query)]


async def histories(client: "Client", run: str, run_id: str | None) -> AsyncIterator["WorkflowHistory"]:
    """The histories of a run's executions, the newest first, as far back as Temporal keeps them; or of one alone."""
    newest, wanted = True, run_id
    while newest or wanted:
        history = await _fetched(client, run, wanted, needed=newest)
        if history is None:
            return
        yield history
        before = history.events[0].workflow_execution_started_event_attributes.continued_execution_run_id
        newest, wanted = False, None if run_id else before


async def _fetched(client: "Client", run: str, run_id: str | None, *, needed: bool) -> "WorkflowHistory | None":
    from temporalio.service import RPCError, RPCStatusCode

    with rpc_errors(f"run {run!r}"):
        try:
            return await client.get_workflow_handle(run, run_id=run_id).fetch_history()
        except RPCError as error:
            if not needed and error.status is RPCStatusCode.NOT_FOUND and not lacks_namespace(error):
                return None  # an earlier execution, past the retention of the namespace
            raise


def replayer(data_converter: "DataConverter") -> "Replayer":
    """What replays with the code that is installed, and says nothing besides the outcome.

    Its failures stay here, so their messages are not encrypted.
    """
    from temporalio.converter import DefaultFailureConverter
    from temporalio.runtime import Runtime, TelemetryConfig
    from temporalio.worker import Replayer

    from workflows.agent import AgentWorkflow

    logging.getLogger("temporalio").addHandler(logging.NullHandler())
    silent = Runtime(telemetry=TelemetryConfig(logging=None))
    told = dataclasses.replace(data_converter, failure_converter_class=DefaultFailureConverter)
    return Replayer(workflows=[AgentWorkflow], data_converter=told, runtime=silent)


async def _outcome(history: "WorkflowHistory", installed: "Replayer") -> Replayed:
    """Replay one execution. Refused: it is of another workflow, or the key of a payload is not here."""
    began = history.events[0].workflow_execution_started_event_attributes
    if began.workflow_type.name != WORKFLOW:
        raise Refused(f"{history.workflow_id}: is a run of {began.workflow_type.name}, not of {WORKFLOW}")
    failure = (await installed.replay_workflow(history, raise_on_replay_failure=False)).replay_failure
    if failure and (missing := _KEY_MISSING.search(str(failure))):
        raise Refused(f"{history.workflow_id}: cannot be replayed here: {missing[0]}")
    return Replayed(
        id=history.workflow_id,
        run_id=began.original_execution_run_id,
        events=len(history.events),
        replays=failure is None,
        why=_why(failure) if failure else "",
    )


def _why(failure: Exception) -> str:
    """In words, where Temporal's message is of a known form; else the message itself, on one line."""
    text = str(failure)
    said = _SAID.search(text)
    message = flat((said[1] if said else text).replace("\\n", " ").replace('\\"', '"'))
    if decided := _DECIDED.search(message):
        then, now = decided.groups()
        if then == now:
            return f"at {_step(then)} this code decides otherwise than the run did"
        return f"the run went on with {_step(then)}, this code does with {_step(now)}"
    if kind := _KIND.search(text):
        return f"this code fails on it: {kind[1]}: {message}"
    if event := _NOT_NEXT.search(message):
        return f"at event {event[1]} ({event[2]}) this code does something else than the run did"
    return message.removeprefix("[TMPRL1100] Nondeterminism error: ")


def _step(activity_id: str) -> str:
    """Where in the run an activity stands, by its id without the digest."""
    match activity_id.split("."):
        case ["gate", report]:
            return f"the gates' report {report}"
        case [turn, "tool", index]:
            return f"tool call {int(index) + 1} of turn {turn}"
        case [turn, call, attempt]:
            return f"turn {turn}, call {call}, attempt {attempt}"
        case _:
            return activity_id
