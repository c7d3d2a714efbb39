# ruff: noqa: PLC0415 - `endstop --help` loads no Temporal SDK
"""Starting a run: agent and task go to the store, their references to Temporal. Nothing starts unless all of it can."""

from pathlib import Path

import click

from commands.agent_file import check_names, read_agent, read_task, run_id
from commands.connect import rpc_errors
from commands.opening import Opened, Setup, opened, settings_from
from commands.refusals import Refused
from commands.tables import print_json, print_json_line
from commands.watch import Watch
from inbox.shell import endstop
from ledger.agent import AgentSpec
from ledger.model import Frozen


class Request(Frozen):
    """A run as it was asked for, checked as far as this machine can."""

    run: str
    agent: AgentSpec
    task: str


class Started(Frozen):
    """A run that Temporal accepted."""

    id: str
    run_id: str
    """Also the id of its conversation in the store."""


def read_request(setup: Setup, agent: Path, task: str, wanted: str | None, *, capture: bool = False) -> Request:
    """Read agent and task, before anything is opened. BadInput: they cannot be used."""
    settings, spec = settings_from(setup.settings), read_agent(agent)
    if capture:
        policy = spec.policy.model_copy(update={"capture": True})
        spec = spec.model_copy(update={"policy": policy})
    check_names(agent, spec, settings)
    return Request(run=run_id(spec, wanted), agent=spec, task=read_task(task))


async def begin(setup: Setup, request: Request, *, watch: bool) -> int:
    """Start the run and say so; with `watch` stay with it to its end. The exit code."""
    async with opened(setup) as things:
        started = await start(things, request)
        _say(setup, started, watch=watch)
        if not watch:
            return 0
        watching = Watch(things.client, started.id, settings=setup.settings, as_json=setup.as_json)
        return await watching.until_end()


def _say(setup: Setup, started: Started, *, watch: bool) -> None:
    if setup.as_json:
        (print_json_line if watch else print_json)(started)
        return
    click.echo(f"started {started.id}")
    if not watch:
        click.echo(f"  {endstop('watch', started.id)}\n  {endstop('show', started.id)}")


async def start(things: Opened, request: Request) -> Started:
    """Start a run. Refused: the id is in use, by a run that goes on or by one that ended (FAULTS row 16)."""
    from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
    from temporalio.exceptions import WorkflowAlreadyStartedError

    from activities.contract import WORKFLOW

    run = request.run
    agent_ref = await things.store.put(request.agent.model_dump_json())
    task_ref = await things.store.put(request.task)
    with rpc_errors(f"run {run!r}"):
        try:
            handle = await things.client.start_workflow(
                WORKFLOW,
                {"agent": {"ref": agent_ref}, "task": {"ref": task_ref}},
                id=run,
                task_queue=things.settings.task_queue,
                id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            )
        except WorkflowAlreadyStartedError:
            raise Refused(
                f"a run {run!r} exists already, going on or ended: give another --id, or see `{endstop('show', run)}`"
            ) from None
    return Started(id=run, run_id=handle.first_execution_run_id or "")
