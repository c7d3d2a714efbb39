"""One trip that goes well, or that somebody stops: what is sent, stored, reported, and closed."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError

from activities.messages import Call, text_of, tool_result, user_message
from ledger.agent import AgentSpec
from ledger.conversation import Conversation
from ledger.outcomes import ToolRequest
from ledger.target import Target
from simulator import Cut, Error, Script, Simulator, Text, ToolCall, ToolCalls, Usage
from tests.activities.model_bench import APIS, INSTRUCTIONS, KEY, PROMPT, TOOLS, bench

every_api = pytest.mark.parametrize("api", APIS)
MAX_TOKENS = {
    "openai-chat": "max_tokens",
    "openai-responses": "max_output_tokens",
    "anthropic-messages": "max_tokens",
    "google": "maxOutputTokens",
}
USED = Usage(input_tokens=120, output_tokens=7, cached_tokens=20)


@every_api
async def test_an_answer_is_stored_and_reported_by_identity_and_numbers(tmp_path, api):
    async with bench(tmp_path, api, Text(text="Paris.", usage=USED)) as b:
        reply = await b.ask()
        assert reply.trip.outcome.outcome == "answered"
        assert (reply.trip.outcome.finish_reason, reply.trip.outcome.recovered) == ("complete", "")
        assert reply.conversation.length == 2
        *_, answer = await b.store.read(reply.conversation)
        assert text_of(answer) == "Paris."
        assert reply.trip.request_id.startswith("req_") or api == "google"  # which names no request in a header
        used = reply.trip.usage
        assert (used.input_tokens, used.output_tokens, used.cache_read_tokens) == (120, 7, 20)


@every_api
async def test_the_identity_of_a_request_is_that_of_what_left(tmp_path, api):
    async with bench(tmp_path, api, Text(text="Paris.")) as b:
        trip = await b.trip()
        body = b.sim.requests[0].body
        body |= body.get("generationConfig", {})
        digest = trip.sent.digest
        assert (digest.messages, digest.tools, digest.max_tokens, digest.temperature) == (1, 2, 1000, 0.5)
        assert trip.sent.parameters[MAX_TOKENS[api]] == body[MAX_TOKENS[api]] == 1000
        assert trip.sent.parameters["temperature"] == body["temperature"] == 0.5
        assert not any("MARKER" in str(value) for value in trip.sent.parameters.values())


@pytest.mark.filterwarnings("ignore:Sampling parameters")
async def test_a_parameter_that_the_client_dropped_is_not_reported_as_sent(tmp_path):
    """OpenAI's reasoning models take no temperature and another name for the limit."""
    async with bench(tmp_path, "openai-chat", script=Script()) as b:
        trip = await b.trip(target=Target(provider="sim", model="gpt-5"))
        assert trip.sent.digest.temperature is None
        assert trip.sent.digest.max_tokens == 1000
        assert trip.sent.parameters["max_completion_tokens"] == 1000
        assert "temperature" not in trip.sent.parameters


@every_api
async def test_a_request_carries_instructions_tools_run_and_attempt(tmp_path, api):
    async with bench(tmp_path, api, Text(text="Paris.")) as b:
        await b.ask("3.1.2")
        received = b.sim.requests[0]
        assert (received.lane, received.attempt) == ("run-1", "3.1.2")
        sent = json.dumps(received.body)
        assert all(word in sent for word in (PROMPT, INSTRUCTIONS, *TOOLS))
        assert await b.store.read(b.conversation) == [user_message(PROMPT)]


@every_api
async def test_parallel_tool_calls_come_back_in_order_and_an_unknown_one_without_a_name(tmp_path, api):
    calls = tuple(ToolCall(name=name, arguments={"path": name}) for name in ("write_file", "rm_rf", "read_file"))
    async with bench(tmp_path, api, ToolCalls(calls=calls, text="I will look.")) as b:
        outcome = (await b.trip()).outcome
        assert outcome.finish_reason == "tool_call"
        assert outcome.tool_calls == tuple(
            ToolRequest(index=index, name=name) for index, name in enumerate(("write_file", "", "read_file"))
        )


@every_api
async def test_tool_results_and_a_note_after_them_reach_the_model_as_one_side(tmp_path, api):
    calls = (ToolCall(name="read_file", arguments={"path": "a"}, id="call_a"), ToolCall(name="read_file", id="call_b"))
    async with bench(tmp_path, api, ToolCalls(calls=calls), Text(text="Done.")) as b:
        conversation = (await b.ask()).conversation
        answer = conversation
        for ordinal, call in enumerate(("call_a", "call_b")):
            body = tool_result(Call(id=call, name="read_file", arguments=""), f"result of {call}")
            conversation = (await b.store.append_result(answer, ordinal, body)).conversation
        conversation = (await b.store.append(conversation, "note", user_message("a note"))).conversation
        assert (await b.trip("1.1.2", conversation=conversation)).outcome.outcome == "answered"
        sent = b.sim.requests[1].body
        items = sent.get("messages") or sent.get("input") or sent["contents"]
        roles = [item.get("role") or item["type"] for item in items if item.get("role") != "system"]
        wanted = {
            "openai-chat": ["user", "assistant", "tool", "tool", "user"],
            "openai-responses": [
                *("user", "function_call", "function_call"),
                *("function_call_output", "function_call_output", "user"),
            ],
            "anthropic-messages": ["user", "assistant", "user"],
            "google": ["user", "model", "user", "user"],  # Gemini wants results apart from words
        }
        assert roles == wanted[api]


@every_api
async def test_a_second_attempt_finds_the_stored_answer_and_sends_nothing(tmp_path, api):
    async with bench(tmp_path, api, Text(text="Paris.", usage=USED), Text(text="paid twice")) as b:
        first = await b.ask("1.1.1")
        second = await b.ask("1.1.2")
        assert len(b.sim.requests) == 1
        assert second.trip.outcome.recovered == "1.1.1"
        assert second.conversation == first.conversation
        assert second.trip.sent is None
        assert second.trip.usage == first.trip.usage


async def test_an_answer_of_another_target_is_not_taken_for_this_one(tmp_path):
    async with bench(tmp_path, "openai-chat", script=Script()) as b:
        await b.ask("1.1.1", target=Target(provider="sim", model="a"))
        second = await b.trip("1.2.1", target=Target(provider="sim", model="b"))
        assert [received.model for received in b.sim.requests] == ["a", "b"]
        assert second.outcome.recovered == ""


async def test_a_late_second_answer_is_kept_unused_and_the_first_one_holds(tmp_path):
    """Two attempts ask at once, as when a worker that was given up for dead goes on."""
    late = Text(text="second", held_until="second", usage=USED)
    async with bench(tmp_path, "openai-chat", Text(text="first", held_until="first"), late) as b:
        zombie = b.start("1.1.1")
        await b.sim.received(1)
        attempt = b.start("1.1.2")
        await b.sim.received(2)
        b.sim.release("first")
        first = await zombie
        b.sim.release("second")
        second = await attempt
        assert second.conversation == first.conversation
        assert second.trip.outcome.recovered == "1.1.1"
        assert second.trip.usage.input_tokens == USED.input_tokens
        assert [unused.attempt for unused in await b.store.unused_answers("run-1")] == ["1.1.2"]


@every_api
async def test_a_hundred_and_fifty_calls_at_once_are_as_many_requests_and_none_waits(tmp_path, api):
    """More than the 100 connections an HTTP client has by default."""
    async with bench(tmp_path, api, Text(text="Paris.", held_until="all", repeat=True)) as b:
        calls = []
        for number in range(150):
            task = await b.store.append(Conversation(id=f"run-{number}"), "task", user_message(PROMPT))
            calls.append(b.start(conversation=task.conversation))
        await b.sim.received(150)
        b.sim.release("all")
        replies = await asyncio.gather(*calls)
        assert {reply.trip.outcome.outcome for reply in replies} == {"answered"}
        assert len(b.sim.requests) == 150


@pytest.mark.filterwarnings("ignore:Sampling parameters")
async def test_a_library_that_resends_on_its_own_account_is_stopped(tmp_path):
    """pydantic-ai resends once when Anthropic refuses a thinking block of another conversation."""
    model = "claude-sonnet-5-5"
    refused = Error(error="invalid_request", message="The block is bound to a different conversation")
    script = Script(models={model: (refused, Text(text="resent"))})
    async with bench(tmp_path, "anthropic-messages", script=script) as b:
        outcome = (await b.trip(target=Target(provider="sim", model=model))).outcome
        assert len(b.sim.requests) == 1
        assert outcome.failure.kind.value == "invalid_request"


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:9", "http://nowhere.invalid"], ids=["refused", "no such host"])
async def test_a_provider_that_cannot_be_reached_got_nothing(tmp_path, base_url):
    async with bench(tmp_path, "openai-chat", base_url=base_url) as b:
        trip = await b.trip()
        failure = trip.outcome.failure
        assert (failure.kind.value, failure.transient, failure.outcome_unknown) == ("network", True, False)
        assert trip.sent is None


async def test_a_provider_that_speaks_no_tls_got_nothing(tmp_path):
    async with Simulator() as plain, bench(tmp_path, "openai-chat", base_url=f"https{plain.url[4:]}/v1") as b:
        trip = await b.trip()
        assert (trip.outcome.failure.kind.value, trip.outcome.failure.outcome_unknown) == ("network", False)
        assert trip.sent is None


async def test_a_missing_key_is_told_before_anything_is_sent(tmp_path):
    async with bench(tmp_path, "openai-chat", Text(text="Paris."), key=None) as b:
        trip = await b.trip()
        assert (trip.outcome.failure.kind.value, trip.outcome.failure.rule) == ("auth", "no_key")
        assert not b.sim.requests


async def test_a_provider_that_needs_no_key_is_asked_without_one(tmp_path):
    async with bench(tmp_path, "openai-chat", Text(text="Paris."), key=None, key_env="") as b:
        assert (await b.trip()).outcome.outcome == "answered"


async def test_a_provider_that_is_not_declared_any_more_leaves_the_run_its_other_targets(tmp_path):
    async with bench(tmp_path, "openai-chat") as b:
        failure = (await b.trip(target=Target(provider="gone", model="m"))).outcome.failure
        assert (failure.kind.value, failure.failover, failure.outcome_unknown) == ("model_unavailable", True, False)


async def test_a_tool_that_this_worker_lacks_is_an_error_of_ours(tmp_path):
    async with bench(tmp_path, "openai-chat", Text(text="Paris.")) as b:
        agent = AgentSpec.model_validate({"models": ["sim:m"], "tools": ["teleport"]})
        agent_ref = await b.store.put(agent.model_dump_json())
        with pytest.raises(ApplicationError, match="no tool teleport"):
            await b.ask(agent_ref=agent_ref)
        assert not b.sim.requests


async def test_a_stated_wait_reaches_the_ledger(tmp_path):
    async with bench(tmp_path, "openai-chat", Error(error="rate_limited", retry_after_s=7)) as b:
        assert (await b.trip()).outcome.failure.wait_s == 7


async def test_tokens_of_a_stream_that_broke_are_reported_as_far_as_they_were_told(tmp_path):
    cut = Cut(after_events=4, answer=Text(text="This answer is cut.", usage=USED))
    async with bench(tmp_path, "anthropic-messages", cut) as b:
        trip = await b.trip()
        assert trip.outcome.outcome == "refused"
        assert trip.usage.input_tokens == USED.input_tokens


@every_api
async def test_proxies_of_the_environment_are_used(tmp_path, api, monkeypatch):
    """The simulator is the proxy: it takes the absolute address of a host that does not exist."""
    async with Simulator(Script(models={"m": (Text(text="by proxy"),)})) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        async with bench(tmp_path, api, base_url="http://provider.invalid/v1") as b:
            assert (await b.trip()).outcome.outcome == "answered"
            assert len(proxy.requests) == 1


async def test_a_proxy_that_wants_credentials_is_no_passing_trouble(tmp_path, monkeypatch):
    async def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        async with bench(tmp_path, "openai-chat", base_url="https://provider.invalid/v1") as b:
            failure = (await b.trip()).outcome.failure
            assert (failure.kind.value, failure.transient, failure.outcome_unknown) == ("network", False, False)
            assert failure.rule == "transport.proxy_key"


@every_api
async def test_a_result_is_small_and_holds_no_content_and_no_secret(tmp_path, api):
    wrong = Error(error="auth", message=f"MARKER-ERROR key {KEY} is wrong, Bearer {KEY}")
    cut = Cut(after_events=4, answer=Text(text="MARKER-ANSWER"))
    async with bench(tmp_path, api, Text(text="MARKER-ANSWER")) as b:
        await b.ask("1.1.1")
        for attempt, reply in (("2.1.1", wrong), ("3.1.1", cut)):
            task = await b.store.append(Conversation(id=f"run-{attempt}"), "task", user_message(PROMPT))
            b.sim.use(Script(models={"m": (reply,)}))
            await b.ask(attempt, conversation=task.conversation)
        assert len(b.results) == 3
        for result in b.results:
            written = json.dumps(result)
            assert "MARKER" not in written
            assert len(written) < 750


async def test_what_a_provider_said_is_kept_for_people_without_the_key(tmp_path):
    wrong = Error(error="auth", message=f"key {KEY} is wrong")
    async with bench(tmp_path, "openai-chat", wrong) as b:
        await b.ask("1.1.1")
        detail = (await b.store.get_details("run-1"))["1.1.1"]
        assert "is wrong" in detail
        assert KEY not in detail


async def test_a_declared_header_that_a_provider_repeats_is_not_kept(tmp_path):  # FAULTS S1
    wrong = Error(error="auth", message="the team header-marker-0815 may not do this")
    async with bench(tmp_path, "openai-chat", wrong, headers={"x-team": "header-marker-0815"}) as b:
        await b.ask("1.1.1")
        detail = (await b.store.get_details("run-1"))["1.1.1"]
        assert "may not do this" in detail
        assert "header-marker" not in detail


def test_importing_the_activity_loads_no_vendor_and_no_sql():
    program = "import sys, activities.call_model; print(*{'openai', 'anthropic', 'sqlalchemy'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=_root())
    assert run.stdout.split() == []


def _root() -> Path:
    return Path(__file__).parents[2]
