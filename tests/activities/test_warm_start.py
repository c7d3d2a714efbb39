"""A worker that says it is ready has nothing left to load: the first call is as quick as all that follow."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from activities.client import Came
from activities.declared import Provider
from activities.exchange import Exchange
from activities.messages import text_of, tool_calls
from activities.pydantic_ai_client import REHEARSAL, PydanticAIClient
from activities.rehearsal import offline
from tests.activities.model_bench import APIS


def benchmarked(*arguments: str) -> list[dict]:
    """What the benchmark prints, from a process that has loaded nothing before."""
    command = [sys.executable, "-m", "benchmarks.calls", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    return [json.loads(line) for line in run.stdout.splitlines()]


def test_two_hundred_calls_at_once_make_two_hundred_requests_and_none_imports_anything():
    (told,) = benchmarked("--api", "openai-chat", "--calls", "200", "--at-once", "200")
    assert (told["requests"], told["imported"]) == (200, [])


def test_no_protocol_leaves_anything_to_import_to_its_first_call():
    told = benchmarked("--calls", "4")
    assert {line["api"]: line["imported"] for line in told} == {api: [] for api in APIS}


@pytest.mark.parametrize("api", APIS)
async def test_the_rehearsed_answer_is_a_whole_one_with_words_and_a_tool_call(api):
    client = PydanticAIClient(Provider(name="a", api=api, base_url="http://nowhere.invalid"), offline(api, 200))
    came = await client.ask(REHEARSAL, Exchange(run="warm", attempt="warm"))
    await client.close()
    assert isinstance(came, Came)
    assert text_of(came.message) == "Hi"
    assert [(call.name, call.arguments) for call in tool_calls(came.message)] == [("a", "{}")]
