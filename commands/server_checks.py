# ruff: noqa: PLC0415 - `endstop --help` loads no Temporal SDK
"""What Temporal has to have: a namespace, our search attributes, the expiry schedule, runs that can go on.

Each check asks and changes nothing. Not here: connecting (`connect`), and who polls (`worker_checks`).
"""

from typing import TYPE_CHECKING, Final

from activities.contract import WORKFLOW
from commands.connect import rpc_errors
from commands.findings import Finding, doubtful, fine, wrong
from commands.server import SEARCH_ATTRIBUTES

if TYPE_CHECKING:
    from temporalio.client import Client

    from settings import Settings

SHOWN: Final = 5
"""Runs that are named; `temporal workflow list` has them all."""

FAILING: Final = (
    f"WorkflowType = '{WORKFLOW}' AND ExecutionStatus = 'Running' AND TemporalReportedProblems IN "
    "('category=WorkflowTaskFailed', 'category=WorkflowTaskTimedOut')"
)
"""Runs whose workflow task fails again and again, as servers from 1.30 on list them."""

DAY_S: Final = 86_400


async def namespace(client: "Client") -> list[Finding]:
    """Whether it is there, and for how long it keeps a run that ended."""
    from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest

    with rpc_errors(f"namespace {client.namespace}"):
        asked = DescribeNamespaceRequest(namespace=client.namespace)
        told = await client.workflow_service.describe_namespace(asked)
    days = told.config.workflow_execution_retention_ttl.ToTimedelta().total_seconds() / DAY_S
    kept = f"{client.namespace} keeps a run for {days:g} days after its end; the store keeps it until you remove it"
    return [fine("namespace", kept)]


async def search_attributes(client: "Client") -> list[Finding]:
    """Whether ours are registered, each with its type."""
    from temporalio.api.enums.v1 import IndexedValueType
    from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest

    from activities.search_attributes import ATTRIBUTES

    with rpc_errors("search attributes"):
        asked = ListSearchAttributesRequest(namespace=client.namespace)
        there = (await client.operator_service.list_search_attributes(asked)).custom_attributes
    missing = [name for name in ATTRIBUTES if name not in there]
    other = [name for name, kind in ATTRIBUTES.items() if name in there and there[name] != kind]
    findings = [_other_type(name, IndexedValueType.Name(there[name])) for name in other]
    if missing:
        command = "; ".join(
            f"temporal operator search-attribute create --name {name} --type {SEARCH_ATTRIBUTES[name]}"
            for name in missing
        )
        remedy = f"a worker registers them when it starts; where it may not: {command}"
        found = f"{', '.join(missing)} not registered: `endstop ls` cannot tell what waits for a person"
        findings.append(doubtful("search attributes", found, remedy))
    return findings or [fine("search attributes", f"all {len(ATTRIBUTES)} are registered")]


def _other_type(name: str, kind: str) -> Finding:
    has = kind.removeprefix("INDEXED_VALUE_TYPE_").capitalize()
    found = f"{name} has the type {has} here, not {SEARCH_ATTRIBUTES[name]}: runs do without it"
    return wrong(
        "search attributes", found, "remove it (`temporal operator search-attribute remove`), restart a worker"
    )


async def failing_runs(client: "Client") -> list[Finding]:
    """Which runs stand still because their workflow task fails; nothing where the server cannot tell."""
    from temporalio.service import RPCError, RPCStatusCode

    try:
        found = [run.id async for run in client.list_workflows(FAILING, limit=SHOWN + 1)]
    except RPCError as error:
        if error.status is not RPCStatusCode.INVALID_ARGUMENT:
            raise
        return []
    if not found:
        return [fine("runs", "none stands still by a failing workflow task")]
    named = ", ".join(found[:SHOWN]) + (" and more" if len(found) > SHOWN else "")
    remedy = "`endstop show ID`, and the runbook in docs/operating.md"
    return [wrong("runs", f"the workflow task fails again and again of {named}", remedy)]


async def expiry(client: "Client", settings: "Settings") -> list[Finding]:
    """Whether old content is removed daily, where the operator wants that."""
    from temporalio.service import RPCError, RPCStatusCode

    from activities.expiry_schedule import schedule_id

    name, days = schedule_id(settings.task_queue), settings.declared.capture.days
    if days is None:
        return [fine("expiry", 'none, by expires_days = "never"')]
    with rpc_errors(f"schedule {name}"):
        try:
            told = await client.get_schedule_handle(name).describe()
        except RPCError as error:
            if error.status not in {RPCStatusCode.NOT_FOUND, RPCStatusCode.UNIMPLEMENTED}:
                raise
            remedy = "a worker makes it when it starts; docs/operating.md says how to make it yourself"
            return [doubtful("expiry", f"there is no schedule {name}: nothing is removed by its age", remedy)]
    if told.schedule.state.paused:
        remedy = f"temporal schedule toggle --schedule-id {name} --unpause --reason ..."
        return [doubtful("expiry", f"schedule {name} is paused: nothing is removed by its age", remedy)]
    return [fine("expiry", f"schedule {name}, for what is older than {days} days")]
