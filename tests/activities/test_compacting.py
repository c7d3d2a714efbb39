"""The two activities of a compaction on a real store: the trip for a summary, and the branch that is made of it."""

import json
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from activities.compacting import Compactor
from activities.contract_compacting import CompactConversation, CompactDone
from activities.messages import Call, tool_result, user_message
from activities.reading_output import reading
from activities.tool import Asked
from ledger.conversation import Conversation, digest
from ledger.decisions import Summarise
from ledger.failures import FailureKind
from ledger.outcomes import Answered, Refused
from simulator import Text
from simulator.replies import ToolCall, ToolCalls
from tests.activities.model_bench import APIS, Bench, bench

ALL = Summarise(verbatim=0, fit=1)
CALLS = ToolCalls(calls=(ToolCall(name="read_file", arguments='{"path": "a"}'),))
RESULT = "line of a file\n" * 100


async def talked(at: Bench, rounds: int = 2) -> Conversation:
    """The bench's conversation after some rounds with one call each."""
    here = at.conversation
    for number in range(rounds):
        here = (await at.ask(f"{number + 1}.1.1", conversation=here)).conversation
        call = Call(id=_call_id((await at.store.read(here))[-1]), name="read_file", arguments="{}")
        here = (await at.store.append_result(here, 0, tool_result(call, RESULT))).conversation
    return here


def _call_id(answer: bytes) -> str:
    return next(part["tool_call_id"] for part in json.loads(answer)["parts"] if part["part_kind"] == "tool-call")


async def compact(at: Bench, conversation: Conversation, **more: Any) -> CompactDone:
    asked = {"conversation": conversation, "agent_ref": at.agent_ref, "verbatim": 0} | more
    done = await ActivityEnvironment().run(Compactor(at.store).compact, CompactConversation.model_validate(asked))
    return CompactDone.read(done, conversation)


@pytest.mark.parametrize("api", APIS)
async def test_a_summary_is_asked_for_without_tools_and_leaves_the_conversation_as_it_was(tmp_path, api):
    async with bench(tmp_path, api, CALLS, CALLS, Text(text="Two files were read.")) as at:
        here = await talked(at)
        reply = await at.ask("3.1.1", conversation=here, summarise=ALL)
        assert isinstance(reply.trip.outcome, Answered)
        assert reply.conversation == here
        summary = Conversation.model_validate(reply.trip.outcome.summary).within(here)
        assert summary.length == here.length + 1
        assert b"Two files were read." in (await at.store.read(summary))[-1]
        asked = at.sim.requests[-1].body
        assert "tools" not in asked
        assert "MARKER-INSTRUCTIONS" not in json.dumps(asked)
        assert "line of a file" in json.dumps(asked)
        assert reply.trip.usage is not None


async def test_a_summary_that_was_paid_for_is_found_and_not_paid_for_again(tmp_path):
    async with bench(tmp_path, "openai-chat", CALLS, CALLS, Text(text="Two files were read.")) as at:
        here = await talked(at)
        first = await at.ask("3.1.1", conversation=here, summarise=ALL)
        again = await at.ask("3.1.2", conversation=here, summarise=ALL)
        assert isinstance(again.trip.outcome, Answered)
        assert again.trip.outcome == first.trip.outcome.model_copy(update={"recovered": "3.1.1"})
        assert len(at.sim.requests) == 3


async def test_a_summary_of_another_part_is_another_one(tmp_path):
    async with bench(tmp_path, "openai-chat", CALLS, CALLS, Text(text="of the old part"), Text(text="of less")) as at:
        here = await talked(at)
        await at.ask("3.1.1", conversation=here, summarise=ALL)
        less = await at.ask("3.1.2", conversation=here, summarise=ALL.model_copy(update={"verbatim": 1}))
        assert not less.trip.outcome.recovered


async def test_an_answer_that_calls_tools_is_no_summary(tmp_path):
    async with bench(tmp_path, "openai-chat", CALLS, CALLS, CALLS) as at:
        trip = await at.trip("3.1.1", conversation=await talked(at), summarise=ALL)
        assert isinstance(trip.outcome, Refused)
        assert trip.outcome.failure.kind is FailureKind.BAD_OUTPUT


async def test_the_model_goes_on_from_a_compacted_conversation(tmp_path):
    async with bench(tmp_path, "anthropic-messages", CALLS, CALLS, Text(text="All read."), Text(text="done")) as at:
        here = await talked(at)
        told = (await at.ask("3.1.1", conversation=here, summarise=ALL)).trip.outcome
        summary = Conversation.model_validate(told.summary).within(here)
        done = await compact(at, here, summary=summary)
        assert (done.replaced, done.dropped, done.conversation.length) == (2, 0, 4)
        assert done.bytes_after < done.bytes_before
        await at.ask("3.2.1", conversation=done.conversation)
        messages = at.sim.requests[-1].body["messages"]
        assert [message["role"] for message in messages] == ["user", "assistant", "user"]
        assert "All read." in json.dumps(messages[0])
        assert "MARKER-PROMPT" in json.dumps(messages[0])


async def test_a_compaction_that_is_made_again_changes_nothing(tmp_path):
    async with bench(tmp_path, "openai-chat", CALLS, CALLS) as at:
        here = await talked(at)
        first = await compact(at, here)
        assert (first.dropped, first.conversation.length) == (1, here.length)
        assert await compact(at, here) == first
        assert (await compact(at, first.conversation)).conversation == first.conversation


async def test_a_conversation_without_anything_old_stays_the_very_same(tmp_path):
    async with bench(tmp_path, "openai-chat", CALLS) as at:
        here = await talked(at, rounds=1)
        done = await compact(at, here)
        assert (done.conversation, done.bytes_after, done.dropped) == (here, done.bytes_before, 0)


@pytest.mark.parametrize("named", [True, False])
async def test_a_dropped_result_can_be_read_again_where_the_stage_has_the_tool(tmp_path, named):
    async with bench(tmp_path, "openai-chat", CALLS, CALLS) as at:
        here = await talked(at)
        agent = await at.agent({"models": ["sim:m"], "tools": ["read_output"] if named else []})
        done = await compact(at, here, agent_ref=agent)
        said = tuple(await at.store.read(done.conversation))
        asked = Asked(arguments=json.dumps({"ref": digest(RESULT.encode())}), run="run-1", key="k", said=said)
        result = await reading(at.store).run(asked)
        assert result.failed is not named
        assert (result.text == RESULT) is named


async def test_a_task_and_a_single_round_cannot_become_empty(tmp_path):
    async with bench(tmp_path, "openai-chat", Text(text="short")) as at:
        assert (await compact(at, at.conversation)).conversation == at.conversation
        first = (await at.ask("1.1.1")).conversation
        summary = (await at.store.append(first, "s", user_message("x" * 500))).conversation
        assert (await compact(at, first, summary=summary)).conversation == first
