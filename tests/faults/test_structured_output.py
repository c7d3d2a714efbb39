"""A run with an output schema, seen whole: answers that do not fit are failed attempts, and the run ends in JSON."""

import json

from tests.faults.conftest import records

CITY = {"type": "object", "properties": {"city": {"type": "string", "minLength": 2}}, "required": ["city"]}
FITS = '{"city": "Paris"}'


def said(*texts: str) -> list[dict[str, str]]:
    return [{"kind": "text", "text": text} for text in texts]


async def test_answers_that_do_not_fit_are_tried_again_and_then_left_to_the_next_model(stage) -> None:
    models = {"gpt-5": said("Paris.", '{"city": "P"}'), "claude-haiku-4-5": said(f"```json\n{FITS}\n```")}
    act = await stage({"strict": True, "models": models})
    targets = ["openai:gpt-5", "anthropic:claude-haiku-4-5"]
    run = await act.start({"models": targets, "output": CITY, "policy": {"calls": {"attempts": 2, "patience_s": 0}}})
    result = await run.result()
    assert (result["status"], result["answer"]) == ("completed", FITS)
    attempts = [record["outcome"] for record in await records(run, "attempt")]
    assert [attempt["failed"]["kind"] for attempt in attempts[:-1]] == ["bad_output", "bad_output"]
    assert attempts[-1] == "succeeded"
    (move,) = await records(run, "failover")
    assert (move["to_provider"], move["kind"]) == ("anthropic", "bad_output")
    first, retry, _ = (json.dumps(request.body) for request in act.simulator.requests)
    assert first == retry
