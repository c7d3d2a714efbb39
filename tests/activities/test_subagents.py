"""What becomes of a sub-agent's answer."""

import pytest
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from temporalio.testing import ActivityEnvironment

from activities.contract import KeepAnswer, RunTool, ToolDone
from activities.messages import result_of, serialise, user_message
from activities.subagents import Subagents
from ledger.agent import AgentSpec
from ledger.conversation import Conversation
from ledger.outcomes import ToolRequest

AGENT = AgentSpec.model_validate({"models": ["openai:gpt-5"], "tools": ["research"]})


@pytest.fixture
async def asked(store):
    """The call of a sub-agent, as a run's answer has it."""
    task = await store.append(Conversation(id="run-1"), "task", user_message("find out"))
    body = serialise(ModelResponse(parts=[ToolCallPart("research", '{"task": "look"}', tool_call_id="c0")]))
    answer = (await store.append(task.conversation, "request", body)).conversation
    call = ToolRequest(index=0, name="research")
    return RunTool(call=call, agent_ref=await store.put(AGENT.model_dump_json()), stage=0, answer=answer)


async def kept(store, asked, answer):
    order = KeepAnswer(asked=asked, answer=answer)
    done = await ActivityEnvironment().run(Subagents(store, {}).keep_answer, order)
    *_, last = await store.read(ToolDone.read(done, asked.answer).conversation)
    return result_of(last)


async def test_the_last_words_of_a_sub_agent_are_the_result_of_its_call(store, asked):
    task = await store.append(Conversation(id="child"), "task", user_message("look"))
    body = serialise(ModelResponse(parts=[TextPart("it is there")]))
    answer = (await store.append(task.conversation, "request", body)).conversation
    assert await kept(store, asked, answer) == ("it is there", False)


async def test_an_answer_that_this_store_does_not_have_is_told_to_the_model_and_not_asked_for_for_ever(store, asked):
    elsewhere = Conversation(id="child", length=2, head="0" * 24)
    text, failed = await kept(store, asked, elsewhere)
    assert failed
    assert text.startswith("research answered, but its answer cannot be read: ")
    assert "is this the store" in text
