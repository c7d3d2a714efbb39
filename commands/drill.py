# ruff: noqa: PLC0415 - `endstop --help` loads no Temporal SDK
"""`endstop drill`: what becomes of an agent's runs when its models go away, told before it matters.

Each outage is a real run, on a Temporal server, a worker and simulated models of the drill's own: a run that asks each
target once and then stops, which tells what the worker makes of the outage. What follows by the agent's own policy is
reckoned from that (`foretelling`), so that no wait is sat out. Nothing of the operator's is used but their settings.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, assert_never

import click

from activities.contract import CALL_MODEL, TASK_QUEUE, WORKFLOW, ModelCall, ModelReply
from commands.agent_file import check_names, read_agent
from commands.connect import connect
from commands.foretelling import MAX_REQUESTS, Row, foretell, plan_of, row_of
from commands.opening import Setup, settings_from
from commands.outages import RETRY_AFTER_S, Outage, chosen, hurried, left_out, outages, rehearsed, targets_of
from commands.refusals import Refused, flat
from commands.server import DevServer, free_port, running
from commands.simulated_settings import simulated
from commands.stage import WORKER, environment_of, in_own_folder, where_only, while_all_work, working
from commands.tables import plain_line, print_json, table
from commands.words import counted, seconds
from encryption import CLEAR
from ledger.agent import AgentSpec
from ledger.outcomes import Trip

if TYPE_CHECKING:
    from temporalio.client import Client, WorkflowHistory

    from settings import Settings
    from simulator.server import Simulator

TASK: Final = "This is a drill: say that you are here."
RUN_S: Final = 120.0
"""Seconds that one run may take; it takes less than one, and the first waits for its worker."""


async def drill(settings: Path | None, file: Path, faults: Sequence[str], *, as_json: bool) -> int:
    """Rehearse and tell. The exit code: 0 where every outage but that of all targets ends in an answer."""
    known, named = settings_from(settings), read_agent(file)
    check_names(file, named, known)
    agent = rehearsed(named)
    planned = outages(agent, chosen(faults))
    if not as_json:
        click.echo(f"{counted(len(planned), 'outage')} of {agent.name}, on simulated models: no key is used\n")
    rows = await rehearse(known, agent, planned)
    if as_json:
        print_json({"agent": agent.name, "left_out": left_out(named), "outages": rows})
    else:
        click.echo(render(rows, left_out(named)))
    return 1 if unanswered(rows) else 0


async def rehearse(settings: "Settings", agent: AgentSpec, planned: Sequence[Outage]) -> list[Row]:
    """Rehearse the outages one after the other, on a stage that is built for them and taken down."""
    rows: list[Row] = []

    async def play(folder: Path, stack: AsyncExitStack) -> int:
        simulators = {name: await _simulator(stack) for name in {one.provider for one in targets_of(agent)}}
        setup = await _set_up(settings, agent, simulators, folder, stack)
        worker = await stack.enter_async_context(working(WORKER, environment_of(setup), folder / "worker.log"))
        act = _all_of(planned, agent, await connect(setup.where, CLEAR), simulators, rows)
        return await while_all_work(act, [worker], folder)

    await in_own_folder("drill", play)
    return rows


async def _simulator(stack: AsyncExitStack) -> "Simulator":
    """One for each provider: two of them may have a model of the same name."""
    from simulator.server import Simulator

    return await stack.enter_async_context(Simulator())


async def _set_up(
    settings: "Settings",
    agent: AgentSpec,
    simulators: Mapping[str, "Simulator"],
    folder: Path,
    stack: AsyncExitStack,
) -> Setup:
    """A server, and settings for its worker; both are the drill's own."""
    server = DevServer(port=free_port(), log=folder / "temporal.log")
    await stack.enter_async_context(running(server))
    copy = folder / "endstop.toml"
    copy.write_text(simulated(settings, agent, {name: one.url for name, one in simulators.items()}))
    return Setup(where=where_only(server, folder), settings=copy)


async def _all_of(
    planned: Sequence[Outage],
    agent: AgentSpec,
    client: "Client",
    simulators: Mapping[str, "Simulator"],
    rows: list[Row],
) -> int:
    """Rehearse one outage after the other. The exit code of the play, which is not that of the drill."""
    plan = plan_of(agent)
    for number, outage in enumerate(planned, 1):
        for provider, simulator in simulators.items():
            simulator.use(outage.script(provider))
        history = await _run(client, hurried(agent), f"drill-{number}")
        rows.append(row_of(outage, foretell(plan, await trips_of(client, history))))
    return 0


async def _run(client: "Client", agent: AgentSpec, run: str) -> "WorkflowHistory":
    """Start a run and await its end. Refused: it failed, or did not end."""
    from temporalio.client import WorkflowFailureError

    asked = {"agent": agent.model_dump(mode="json"), "task": TASK}
    handle = await client.start_workflow(WORKFLOW, asked, id=run, task_queue=TASK_QUEUE)
    try:
        async with asyncio.timeout(RUN_S):
            await handle.result()
    except TimeoutError:
        raise Refused(f"run {run} of the drill did not end within {RUN_S:g} s") from None
    except WorkflowFailureError as error:
        raise Refused(f"run {run} of the drill failed: {flat(error.cause)}") from None
    return await handle.fetch_history()


async def trips_of(client: "Client", history: "WorkflowHistory") -> dict[str, Trip]:
    """What a trip to each target came to, by the results of the run's activities. Refused: one has none."""
    orders: dict[int, ModelCall] = {}
    trips: dict[str, Trip] = {}
    for event in history.events:
        scheduled = event.activity_task_scheduled_event_attributes
        if event.HasField("activity_task_scheduled_event_attributes") and scheduled.activity_type.name == CALL_MODEL:
            (order,) = await client.data_converter.decode(list(scheduled.input.payloads))
            orders[event.event_id] = ModelCall.model_validate(order)
        completed = event.activity_task_completed_event_attributes
        if order := orders.get(completed.scheduled_event_id):
            (result,) = await client.data_converter.decode(list(completed.result.payloads))
            trips[str(order.target)] = ModelReply.read(result, order.conversation).trip
    if missing := {str(order.target) for order in orders.values()} - set(trips):
        raise Refused(f"the drill's own worker lost a trip to {', '.join(sorted(missing))}")
    return trips


def unanswered(rows: Sequence[Row]) -> list[Row]:
    """The outages that need a person although they leave, or could leave, somebody to answer."""
    return [row for row in rows if row.end != "answered" and not row.whole]


HEADER: Final = ("AWAY", "FAULT", "REQUESTS", "FAILOVERS", "WAITED", "HOW IT ENDS")


def render(rows: Sequence[Row], omitted: Sequence[str]) -> str:
    """The table, what it comes to, and what it does not tell."""
    cells = [(row.away, row.fault, _requests(row), row.failovers, _waited(row), _end(row)) for row in rows]
    lacking = unanswered(rows)
    blocks = [
        table(HEADER, cells),
        plain_line(
            f"a person is needed in these outages: {', '.join(f'{row.away} {row.fault}' for row in lacking)}"
            if lacking
            else "no person is needed where a model or a provider goes away alone"
        ),
        "each target was asked once in each outage; all else is what the ledger of a run then decides, and no wait was "
        f"sat out; rate_limited states {RETRY_AFTER_S:g} s" + (f"\nleft out: {', '.join(omitted)}" if omitted else ""),
    ]
    return "\n\n".join(blocks)


def _requests(row: Row) -> str:
    return ", ".join(f"{target} {count:,}" for target, count in row.requests.items())


def _waited(row: Row) -> str:
    return seconds(row.waited_s * 1_000) if row.waited_s else "-"


def _end(row: Row) -> str:
    match row.end:
        case "answered" if len(row.answered_by) == 1:
            return f"answered by {''.join(row.answered_by.values())}"
        case "answered":
            return "answered by " + ", ".join(f"{target} ({stage})" for stage, target in row.answered_by.items())
        case "asks":
            stage = f" in stage {row.stage}" if row.answered_by else ""
            return f"asks {row.asks}{stage}: {', '.join(row.options)}"
        case "goes_on":
            return f"goes on after {MAX_REQUESTS:,} requests"
        case _:
            assert_never(row.end)
