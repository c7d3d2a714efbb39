"""Asking a run from outside, while nobody is there to answer."""

import asyncio

import pytest

from workflows.reaching import ask


async def test_asking_a_run_without_a_worker_can_be_broken_off(client):
    run = await client.start_workflow("AgentWorkflow", id="unanswered", task_queue="nobody-at-all")
    asking = asyncio.create_task(ask(run, "status", within_s=60))
    await asyncio.wait({asking}, timeout=0.5)  # the query is on its way, and nobody will answer it
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_asking_a_run_without_a_worker_ends_in_nothing(client):
    run = await client.start_workflow("AgentWorkflow", id="unanswered-too", task_queue="nobody-at-all")
    assert await ask(run, "status", within_s=0.5) is None
