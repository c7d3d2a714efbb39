# ruff: noqa: PLC0415 - `endstop --help` loads no Temporal SDK
"""Whether somebody does the work: who polls our task queue and those of tools elsewhere, and as which release.

Here: what Temporal says of workers. Not here: whether this machine could be one (`machine_checks`).
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from activities.declared_gates import ActivityGate, JudgeGate
from activities.declared_tools import ActivityTool, AgentTool
from commands.connect import rpc_errors
from commands.findings import Finding, fine, wrong
from commands.words import counted

if TYPE_CHECKING:
    from temporalio.client import Client

    from settings import Settings

Poller = Any
"""Temporal's PollerInfo."""


async def workers(client: "Client", settings: "Settings") -> list[Finding]:
    """Whether a worker takes our runs, and whether all workers can reach the store."""
    queue = settings.task_queue
    from activities.pollers import machine_of

    polling = await _polling(client, queue, runs=True)
    if not polling:
        return [wrong("worker", f"none polls task queue {queue}: no run begins or goes on", "start `endstop worker`")]
    findings = [fine("worker", f"{counted(len(polling), 'worker')} on task queue {queue}: {_named(polling)}")]
    findings += _stores(polling)
    machines = {machine_of(poller.identity) for poller in polling}
    if settings.store_url.startswith("sqlite") and len(machines) > 1:
        found = f"workers on {counted(len(machines), 'machine')} ({', '.join(sorted(machines))}) and a store on SQLite"
        findings.append(wrong("worker", found, "use PostgreSQL for more than one machine: [store] url"))
    releases = {name for poller in polling if (name := poller.deployment_options.deployment_name)}
    releases |= {settings.deployment.name} if settings.deployment else set()
    for name in sorted(releases):
        findings += await deployment(client, name, polling)
    return findings


def _stores(polling: Sequence[Poller]) -> list[Finding]:
    """Runs of one task queue are taken by any of its workers, which all have to find their content."""
    from activities.pollers import store_of

    named = {store for poller in polling if (store := store_of(poller.identity))}
    if len(named) < 2:  # noqa: PLR2004 - one of each kind is no quarrel
        return []
    remedy = "let all use one [store] url, or give those of another store a task_queue of their own"
    return [wrong("worker", f"workers of {counted(len(named), 'store')} take each other's runs", remedy)]


async def elsewhere(client: "Client", settings: "Settings") -> list[Finding]:
    """Whether somebody carries out the tools and gates that are activities or agents on other task queues."""
    declared = settings.declared
    wanted: dict[tuple[str, bool], list[str]] = {}
    for what, kinds in (("tool", declared.tools), ("gate", declared.gates)):
        for name, one in kinds.items():
            if isinstance(one, ActivityTool | ActivityGate):
                wanted.setdefault((one.task_queue, False), []).append(f"{what} {name}")
            elif isinstance(one, AgentTool | JudgeGate) and one.task_queue:
                wanted.setdefault((one.task_queue, True), []).append(f"{what} {name}")
    return [await _there(client, queue, ", ".join(names), runs=runs) for (queue, runs), names in wanted.items()]


async def _there(client: "Client", queue: str, names: str, *, runs: bool) -> Finding:
    polling = await _polling(client, queue, runs=runs)
    if polling:
        return fine(f"task queue {queue}", f"{counted(len(polling), 'worker')} for {names}: {_named(polling)}")
    return wrong(f"task queue {queue}", f"nobody polls it, and {names} is there", "start the worker of that task queue")


def _named(polling: Iterable[Poller]) -> str:
    return ", ".join(sorted(poller.identity + _release(poller) for poller in polling))


def _release(poller: Poller) -> str:
    options = poller.deployment_options
    return f" ({options.deployment_name}:{options.build_id})" if options.deployment_name else ""


async def _polling(client: "Client", queue: str, *, runs: bool) -> Sequence[Poller]:
    """The workers that were heard of lately: those of workflows, or of activities."""
    from activities.pollers import pollers

    with rpc_errors(f"task queue {queue!r}"):
        return await pollers(client, queue, runs=runs)


async def deployment(client: "Client", name: str, polling: Sequence[Poller]) -> list[Finding]:
    """Whether the release that new runs go to has a worker, and each one that runs are pinned to."""
    from temporalio.api.enums.v1 import VersionDrainageStatus
    from temporalio.api.workflowservice.v1 import DescribeWorkerDeploymentRequest

    check = f"deployment {name}"
    with rpc_errors(check):
        asked = DescribeWorkerDeploymentRequest(namespace=client.namespace, deployment_name=name)
        told = (await client.workflow_service.describe_worker_deployment(asked)).worker_deployment_info
    builds = {one.deployment_options.build_id for one in polling if one.deployment_options.deployment_name == name}
    current = told.routing_config.current_deployment_version.build_id
    draining = VersionDrainageStatus.VERSION_DRAINAGE_STATUS_DRAINING
    left = [one.deployment_version.build_id for one in told.version_summaries if one.drainage_status == draining]
    return [
        _current(check, name, current, builds),
        *(_left_behind(check, build) for build in left if build not in builds),
    ]


def _current(check: str, name: str, current: str, builds: set[str]) -> Finding:
    command = f"temporal worker deployment set-current-version --deployment-name {name} --build-id"
    if not current:
        build = max(builds, default="BUILD")
        return wrong(check, "no version is the current one: its workers get no run", f"{command} {build}")
    if current not in builds:
        remedy = f"start its workers, or make another current: {command} {max(builds, default='BUILD')}"
        return wrong(check, f"{current} is the current version, and no worker of it polls", remedy)
    return fine(check, f"{current} is the current version")


def _left_behind(check: str, build: str) -> Finding:
    found = f"runs are pinned to version {build}, and no worker of it polls: they stand still"
    return wrong(check, found, "start its workers again, or move the runs: docs/operating.md says how")
