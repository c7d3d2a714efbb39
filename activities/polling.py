"""How a worker polls: how much at once, how soon its death is noticed, how it stops, as which release.

The numbers that decide how fast a run goes on after a kill -9 live here. What a worker can do is put together in
`worker.py`.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final

from temporalio.client import Client
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.worker import UnsandboxedWorkflowRunner, Worker, WorkerDeploymentConfig

from activities.deployment import Deployment

GRACE: Final = timedelta(seconds=30)
"""What a stopping worker gives calls, tools and gates in flight to end by themselves."""

HEARTBEAT: Final = timedelta(seconds=1.5)
"""The SDK sends heartbeats no more often than this; the default would let a killed worker go unnoticed for long."""

STICKY: Final = timedelta(seconds=2)
"""How long a run waits for the worker that had it before any worker may take it (10 s by default)."""

MAX_ACTIVITIES: Final = 200

UNVERSIONED: Final = "endstop"
"""Build id of a worker without a release. The SDK's own is a digest of every module's code, which takes it a second of
each start and 250 bytes of history a turn."""

Activity = Callable[..., Any]


def polling(
    client: Client,
    queue: str,
    activities: Sequence[Activity],
    workflows: Sequence[type] = (),
    *,
    identity: str,
    deployment: Deployment | None = None,
) -> Worker:
    """A worker of one task queue. Without a deployment it takes any task, whichever release began the run.

    `identity` is how Temporal knows it (`pollers.identity`).
    """
    return Worker(
        client,
        task_queue=queue,
        activities=activities,
        workflows=workflows,
        workflow_runner=UnsandboxedWorkflowRunner(),  # docs/decisions/0015
        identity=identity,
        build_id=None if deployment else UNVERSIONED,
        max_concurrent_activities=MAX_ACTIVITIES,
        max_heartbeat_throttle_interval=HEARTBEAT,
        default_heartbeat_throttle_interval=HEARTBEAT,
        sticky_queue_schedule_to_start_timeout=STICKY,
        graceful_shutdown_timeout=GRACE,
        deployment_config=_versioned(deployment) if deployment else None,
    )


def _versioned(deployment: Deployment) -> WorkerDeploymentConfig:
    return WorkerDeploymentConfig(
        version=WorkerDeploymentVersion(deployment_name=deployment.name, build_id=deployment.build_id),
        use_worker_versioning=True,
        default_versioning_behavior=VersioningBehavior[deployment.behavior.upper()],
    )
