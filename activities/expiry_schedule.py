"""The schedule that has old content expired: Temporal starts `ExpiryWorkflow` by it once a day.

Here: keeping it as the operator wants it. Not here: what is removed (`expiring`), or the workflow itself.
"""

from datetime import timedelta
from typing import Final

import structlog
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleUpdate,
    ScheduleUpdateInput,
)
from temporalio.service import RPCError, RPCStatusCode

from activities.contract import EXPIRY_WORKFLOW

DAILY: Final = timedelta(days=1)

_EXPECTED: Final = (RPCStatusCode.UNIMPLEMENTED, RPCStatusCode.PERMISSION_DENIED)
"""Answers that a worker may live with: this server has no schedules, or an administrator must make it."""

_log: Final = structlog.stdlib.get_logger()


def schedule_id(task_queue: str) -> str:
    """The schedule of a task queue's workers: "endstop-expiry" where the queue has its usual name."""
    return f"{task_queue}-expiry"


async def keep_schedule(client: Client, task_queue: str, days: int | None) -> None:
    """Have what is older than `days` expired daily; None: never. Repeating it changes nothing.

    A schedule that is there is brought up to date; one that an operator paused stays paused.
    """
    try:
        if days is None:
            await _drop(client, schedule_id(task_queue))
        else:
            await _keep(client, task_queue, days)
    except RPCError as error:
        if error.status not in _EXPECTED:
            raise
        _log.warning("expiry.not_scheduled", reason=error.status.name.lower())


async def _keep(client: Client, task_queue: str, days: int) -> None:
    wanted = schedule_id(task_queue)
    schedule = Schedule(
        action=ScheduleActionStartWorkflow(EXPIRY_WORKFLOW, {"days": days}, id=wanted, task_queue=task_queue),
        spec=ScheduleSpec(intervals=[ScheduleIntervalSpec(every=DAILY)]),
        policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.SKIP, catchup_window=DAILY),
    )
    try:
        await client.create_schedule(wanted, schedule)
    except ScheduleAlreadyRunningError:
        await client.get_schedule_handle(wanted).update(lambda there: _brought_up_to_date(there, schedule))


def _brought_up_to_date(there: ScheduleUpdateInput, schedule: Schedule) -> ScheduleUpdate:
    schedule.state = there.description.schedule.state
    return ScheduleUpdate(schedule=schedule)


async def _drop(client: Client, schedule: str) -> None:
    try:
        await client.get_schedule_handle(schedule).delete()
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
