"""A worker that is told its release takes the runs that Temporal's worker versioning sends to that release."""

import pytest
from google.protobuf.field_mask_pb2 import FieldMask
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.deployment.v1 import WorkerDeploymentVersion
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.enums.v1.task_queue_pb2 import TASK_QUEUE_TYPE_ACTIVITY, TASK_QUEUE_TYPE_WORKFLOW
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflow.v1 import VersioningOverride, WorkflowExecutionOptions
from temporalio.api.workflowservice.v1 import (
    DescribeTaskQueueRequest,
    DescribeWorkerDeploymentVersionRequest,
    SetWorkerDeploymentCurrentVersionRequest,
    UpdateWorkflowExecutionOptionsRequest,
)
from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from activities.deployment import Deployment
from commands import worker_checks
from encryption import CLEAR
from settings import Settings, SettingsError, load_settings
from simulator import Raw, Script, Simulator, Text, ToolCall, ToolCalls
from tests.faults.conftest import eventually
from tests.test_worker import settings_at, start, working
from worker import connect


def released(settings: Settings, build_id: str, behavior: str) -> Settings:
    """The same worker as another release; the task queue's name is the test's own, and so is the deployment's."""
    deployment = Deployment(name=settings.task_queue, build_id=build_id, behavior=behavior)
    return settings.model_copy(update={"deployment": deployment})


async def make_current(client: Client, settings: Settings) -> None:
    """What `temporal worker deployment set-current-version` does, once the server has heard of the worker."""
    release = settings.deployment
    assert release
    request = SetWorkerDeploymentCurrentVersionRequest(
        namespace=client.namespace, deployment_name=release.name, build_id=release.build_id
    )
    version = DescribeWorkerDeploymentVersionRequest(
        namespace=client.namespace,
        deployment_version=WorkerDeploymentVersion(deployment_name=release.name, build_id=release.build_id),
    )

    async def made() -> bool:
        try:
            await client.workflow_service.set_worker_deployment_current_version(request)
        except RPCError as error:
            if error.status not in {RPCStatusCode.NOT_FOUND, RPCStatusCode.FAILED_PRECONDITION}:
                raise
            return False
        return True

    async def known_to_its_task_queues() -> bool:
        # Asked of each queue: the deployment's own word for it now and then never comes (temporalio/temporal#11842).
        told = await client.workflow_service.describe_worker_deployment_version(version)
        queues = {(queue.name, queue.type) for queue in told.version_task_queues}
        expected = {(settings.task_queue, TASK_QUEUE_TYPE_WORKFLOW), (settings.task_queue, TASK_QUEUE_TYPE_ACTIVITY)}
        return expected <= queues and all([await current(*queue) == release.build_id for queue in queues])

    async def current(name: str, kind: TaskQueueType.ValueType) -> str:
        asked = DescribeTaskQueueRequest(
            namespace=client.namespace, task_queue=TaskQueue(name=name), task_queue_type=kind
        )
        told = await client.workflow_service.describe_task_queue(asked)
        return told.versioning_info.current_deployment_version.build_id

    await eventually(made)
    await eventually(known_to_its_task_queues)


async def releases(run: WorkflowHandle) -> list[str]:
    """The builds whose workers decided for the run, in order, each once."""
    events = (await run.fetch_history()).events
    done = [event.workflow_task_completed_event_attributes for event in events]
    builds = [one.deployment_version.build_id for one in done if one.deployment_version.build_id]
    return list(dict.fromkeys(builds))


async def test_a_versioned_worker_runs_a_run_with_a_workspace_once_its_release_is_the_current_one(tmp_path, client):
    read = ToolCalls(calls=(ToolCall(name="read_file", arguments={"path": "notes.txt"}),))
    async with Simulator(Script(models={"m": (read, Text(text="It says hello."))})) as sim:
        settings = released(settings_at(tmp_path, sim.url), "r1", "pinned")
        async with working(settings, client):
            run = await start(client, settings, workspace="notes", tools=["read_file"], gates=["kept"])
            assert not sim.requests
            await make_current(client, settings)
            assert (await run.result())["status"] == "completed"
    assert await releases(run) == ["r1"]


@pytest.mark.parametrize(("behavior", "decided"), [("pinned", ["r1"]), ("auto_upgrade", ["r1", "r2"])])
async def test_a_pinned_run_ends_on_the_release_it_began_with_and_any_other_moves_to_the_new_one(
    tmp_path, client, temporal_server, behavior, decided
):
    other = await connect({"target_host": temporal_server}, CLEAR)  # one client serves one worker of a task queue
    held = Text(text="Hello.", held_until="told")
    async with Simulator(Script(models={"m": (held,)})) as sim:
        settings = settings_at(tmp_path, sim.url)
        old, new = (released(settings, build, behavior) for build in ("r1", "r2"))
        async with working(old, client), working(new, other):
            await make_current(client, old)
            run = await start(client, settings)
            await sim.received(1)
            await make_current(client, new)
            sim.release("told")
            assert (await run.result())["status"] == "completed"
    assert await releases(run) == decided


async def test_a_run_whose_release_has_no_worker_any_more_is_told_and_goes_on_once_it_is_moved(
    tmp_path, client, temporal_server
):  # FAULTS 39
    other = await connect({"target_host": temporal_server}, CLEAR)
    refusal = Raw(status=401, body="no")
    async with Simulator(Script(models={"m": (refusal, Text(text="Hello."))})) as sim:
        settings = settings_at(tmp_path, sim.url)
        old, new = (released(settings, build, "pinned") for build in ("r1", "r2"))
        async with working(old, client):
            await make_current(client, old)
            run = await start(client, old)
            await eventually(lambda: run.query("intervention"))
        async with working(new, other):
            await make_current(client, new)
            await run.signal("intervene", "retry")
            told = await worker_checks.deployment(client, old.task_queue, [])
            await move(client, run)
            assert (await run.result())["answer"] == "Hello."
    assert await releases(run) == ["r1", "r2"]
    assert [found.found for found in told] == [
        "r2 is the current version, and no worker of it polls",
        "runs are pinned to version r1, and no worker of it polls: they stand still",
    ]


async def move(client: Client, run: WorkflowHandle) -> None:
    """What `temporal workflow update-options --versioning-override-behavior auto_upgrade` does."""
    request = UpdateWorkflowExecutionOptionsRequest(
        namespace=client.namespace,
        workflow_execution=WorkflowExecution(workflow_id=run.id),
        workflow_execution_options=WorkflowExecutionOptions(versioning_override=VersioningOverride(auto_upgrade=True)),
        update_mask=FieldMask(paths=["versioning_override"]),
    )
    await client.workflow_service.update_workflow_execution_options(request)


@pytest.mark.parametrize(
    ("text", "environ", "expected"),
    [
        ("", {}, None),
        ("", {"TEMPORAL_WORKER_BUILD_ID": "r1"}, None),
        ('deployment = "e"\nbuild_id = "r1"', {"TEMPORAL_WORKER_BUILD_ID": "r2"}, ("e", "r1", "auto_upgrade")),
        ('deployment = "e"\nversioning = "pinned"', {"TEMPORAL_WORKER_BUILD_ID": "r2"}, ("e", "r2", "pinned")),
        ("", {"TEMPORAL_DEPLOYMENT_NAME": "k", "TEMPORAL_WORKER_BUILD_ID": "r3"}, ("k", "r3", "auto_upgrade")),
    ],
    ids=["off", "a build alone is not a deployment", "the file wins", "the build by variable", "all by variable"],
)
def test_a_release_is_named_by_the_file_or_by_the_variables_of_temporals_controller(tmp_path, text, environ, expected):
    file = tmp_path / "endstop.toml"
    file.write_text(f"[worker]\n{text}\n")
    release = load_settings(file, environ).deployment
    assert (release and (release.name, release.build_id, release.behavior)) == expected


def test_a_deployments_name_that_temporal_would_refuse_is_refused_in_one_line(tmp_path):
    file = tmp_path / "endstop.toml"
    file.write_text('[worker]\ndeployment = "a.b"\n')
    with pytest.raises(SettingsError, match=r"worker\.deployment: .*letters, digits"):
        load_settings(file, {})
