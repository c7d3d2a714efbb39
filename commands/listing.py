# ruff: noqa: PLC0415 - `endstop --help` loads no Temporal SDK
"""The runs of a namespace, as the search attributes tell: one query, no worker is asked."""

from typing import TYPE_CHECKING, Final

import click

from activities.contract import (
    ATTRIBUTE_INTERVENTION,
    ATTRIBUTE_MODEL,
    ATTRIBUTE_SPEND,
    ATTRIBUTE_STATUS,
    WORKFLOW,
)
from commands.connect import connect, rpc_errors
from commands.opening import Setup
from commands.tables import plain, print_json, table
from commands.words import amount
from encryption import CLEAR
from inbox.shell import endstop
from ledger.model import Frozen

if TYPE_CHECKING:
    from temporalio.client import Client, WorkflowExecution

MAX_RUNS: Final = 1_000


class Listed(Frozen):
    """One run in the list."""

    id: str
    run_id: str
    state: str
    intervention: str
    target: str
    cost_usd: float | None
    started: str
    """ISO 8601, UTC."""
    parent: str = ""
    """The run that started it, for a sub-agent's or a judge's."""


async def list_them(setup: Setup, *, needs_human: bool) -> None:
    """Print the list, and where runs wait for a person how to see what they ask."""
    listed = await runs(await connect(setup.where, CLEAR), needs_human=needs_human)
    if setup.as_json:
        print_json(listed)
        return
    click.echo(render(listed))
    if any(run.intervention for run in listed):
        click.echo("\nwhat each of them asks, and the commands that answer it:")
        for run in listed:
            if run.intervention:
                click.echo(plain(f"  {endstop('show', run.id)}" + (f"   (for {run.parent})" if run.parent else "")))


async def runs(client: "Client", *, needs_human: bool) -> list[Listed]:
    """The newest runs, at most MAX_RUNS; with `needs_human` those that wait for a person now."""
    from workflows.reaching import NEEDS_HUMAN

    query = NEEDS_HUMAN if needs_human else f"WorkflowType = '{WORKFLOW}'"
    with rpc_errors("the list of runs"):
        return [_listed(found) async for found in client.list_workflows(query, limit=MAX_RUNS)]


def render(listed: list[Listed]) -> str:
    """The list as columns."""
    if not listed:
        return "no runs"
    rows = [
        (run.id, run.state, run.intervention or "-", run.target or "-", _cost(run.cost_usd), run.started)
        for run in listed
    ]
    return plain(table(("ID", "STATE", "ASKS", "MODEL", "USD", "STARTED"), rows))


def _cost(cost_usd: float | None) -> str:
    return "-" if cost_usd is None else amount(cost_usd)


def _listed(found: "WorkflowExecution") -> Listed:
    from temporalio.client import WorkflowExecutionStatus
    from temporalio.common import SearchAttributeKey

    def keyword(name: str) -> str:
        return found.typed_search_attributes.get(SearchAttributeKey.for_keyword(name)) or ""

    going_on = found.status is WorkflowExecutionStatus.RUNNING
    closed = found.status.name.lower() if found.status else "unknown"
    ended = {"canceled": "cancelled", "completed": keyword(ATTRIBUTE_STATUS) or "completed"}.get(closed, closed)
    return Listed(
        id=found.id,
        run_id=found.run_id,
        state=(keyword(ATTRIBUTE_STATUS) or "running") if going_on else ended,
        intervention=keyword(ATTRIBUTE_INTERVENTION) if going_on else "",
        target=keyword(ATTRIBUTE_MODEL),
        cost_usd=found.typed_search_attributes.get(SearchAttributeKey.for_float(ATTRIBUTE_SPEND)),
        parent=found.parent_id or "",
        started=found.start_time.strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
