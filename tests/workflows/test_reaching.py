"""Asking a run from outside, while nobody is there to answer."""

import asyncio

import pytest

from workflows.reaching import NotTaken, answer, ask


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


async def test_an_answer_that_would_break_the_run_is_never_sent(client):  # FAULTS 32
    run = await client.start_workflow("AgentWorkflow", id="too-long", task_queue="nobody-at-all")
    refused = await answer(run, {"answer": "guide", "text": "x" * 2_500_000})
    assert isinstance(refused, NotTaken)
    assert (refused.why, refused.reason) == (
        "refused",
        "the answer has 2,500,031 bytes; at most 65,536 are sent to a run",
    )
    assert (await run.describe()).raw_description.pending_workflow_task.attempt == 1
