"""What a run makes of a call whose worker could not use the store: before it left, and after it was answered."""

import pytest
from temporalio.exceptions import ApplicationError

from store import ContentMissing, ConversationBroken, ConversationRedacted, StoreTroubled
from tests.workflows.scripted import FIRST, World, answered

TROUBLED = StoreTroubled.__name__
SAID = {"phase": "streaming", "bytes": 7, "bound": [900, 500, 0.25]}


async def attempts_of(stage, world):
    act = stage(world)
    async with act.worker():
        run = await act.start()
        assert (await run.result())["status"] == "completed"
        page = await run.query("journal", {"after": 0})
    return [record for record in page["records"] if record["type"] == "attempt"]


TROUBLES = (StoreTroubled, ContentMissing, ConversationBroken, ConversationRedacted)


@pytest.mark.parametrize("kind", [*(trouble.__name__ for trouble in TROUBLES), "ToolMissing"])
async def test_calls_that_never_left_spend_no_attempt_and_move_no_turn(stage, kind):
    away = [ApplicationError("nothing can be asked here now", type=kind) for _ in range(8)]
    *lost, won = await attempts_of(stage, World(replies=[*away, answered()]))
    assert len(lost) == 8
    assert {(a["outcome"]["failed"]["kind"], a["outcome"]["failed"]["next"]) for a in lost} == {
        ("not_sent", "same_model")
    }
    assert not any(a.get("outcome_unknown") for a in lost)
    assert {a["rule"] for a in lost} == {f"temporal.activity.{kind}"}
    assert (won["outcome"], won["provider"], won["model"]) == ("succeeded", FIRST.provider, FIRST.model)


async def test_a_call_that_left_and_whose_answer_could_not_be_kept_is_one_of_unknown_outcome(stage):
    broken = ApplicationError("the store does not work now: gone", SAID, type=TROUBLED)
    lost, won = await attempts_of(stage, World(replies=[broken, answered()]))
    assert (lost["outcome"]["failed"]["kind"], lost["outcome_unknown"]) == ("worker_lost", True)
    assert won["outcome"] == "succeeded"
