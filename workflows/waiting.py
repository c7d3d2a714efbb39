"""Durable waits: for a moment, and for a person. Both are free: no worker is held, nothing polls."""

from collections.abc import Callable
from datetime import timedelta

from temporalio import workflow

from ledger.decisions import Ask, Wait
from ledger.outcomes import Expired, Waited
from ledger.policy import AskPolicy


async def wait_until(wait: Wait, interrupted: Callable[[], bool]) -> Waited:
    """Sleep to the wait's own moment, or until a person interrupts it."""
    began = workflow.time()
    left = timedelta(seconds=max(0.0, wait.until - began))
    try:
        await workflow.wait_condition(interrupted, timeout=left, timeout_summary=f"{wait.reason} · {wait.target}")
    except TimeoutError:
        return Waited(slept_s=workflow.time() - began)
    return Waited(slept_s=workflow.time() - began, interrupted=True)


async def wait_for_person(ask: Ask, policy: AskPolicy, answered: Callable[[], bool]) -> Expired | None:
    """Wait for an answer, for ever unless the policy has a deadline that does something, and has not done it yet.

    Also returns, with nothing, when the run should go on in a new execution.
    """
    left = None
    if policy.deadline_s is not None and policy.then != "stay" and not ask.late:
        left = timedelta(seconds=max(0.0, ask.open.at + policy.deadline_s - workflow.time()))
    try:
        await workflow.wait_condition(
            lambda: answered() or workflow.info().is_continue_as_new_suggested(),
            timeout=left,
            timeout_summary=f"waiting for a person · {ask.open.intervention.label}",
        )
    except TimeoutError:
        return Expired(intervention=ask.open.id)
    return None
