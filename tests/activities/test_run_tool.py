import asyncio
import json

import pytest
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.builtin_tools import TOOLS
from activities.contract import RunTool, ToolDone
from activities.declared_workspaces import FolderWorkspace
from activities.messages import result_of, serialise, user_message
from activities.run_tool import ToolRunner
from activities.spoken import NOT_THERE
from activities.tool import Asked, Tool, ToolResult
from activities.tool_calls import MAX_RESULT
from activities.tool_declaration import Handling
from activities.workspace import Workspaces
from ledger.agent import AgentSpec
from ledger.answers import Edit, Reject, Reply
from ledger.conversation import Conversation, Link
from ledger.outcomes import ToolRequest

RUN = "run-1"
AGENT = AgentSpec.model_validate({"models": ["openai:gpt-5"], "tools": ["read_file", "write_file"], "workspace": "app"})


@pytest.fixture
def workspaces(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "app.py").write_text("x = 1\n")
    return Workspaces(tmp_path / "root", {"app": FolderWorkspace(name="app", source=source)})


@pytest.fixture
def folder(workspaces):
    return workspaces.claim(RUN, "app")


@pytest.fixture
async def answered(store):
    """Store an answer that carries the given calls; return its conversation."""

    async def answer(*calls):
        task = await store.append(Conversation(id=RUN), "task", user_message("mend it"))
        parts = [ToolCallPart(name, arguments, tool_call_id=f"c{n}") for n, (name, arguments) in enumerate(calls)]
        body = serialise(ModelResponse(parts=[TextPart("I see"), *parts]))
        return (await store.append(task.conversation, "request", body)).conversation

    return answer


@pytest.fixture
async def run(store, workspaces):
    agent_ref = await store.put(AGENT.model_dump_json())

    async def run_tool(answer, index, name, tools=TOOLS, word=None):
        runner = ToolRunner(store, workspaces, tools)
        call = ToolRequest(index=index, name=name, said=word)
        request = RunTool(call=call, agent_ref=agent_ref, stage=0, answer=answer, workspace="app")
        return ToolDone.read(await ActivityEnvironment().run(runner.run_tool, request), answer)

    return run_tool


async def said(store, done):
    return result_of((await store.read(done.conversation))[-1])


async def test_half_a_character_in_a_result_is_told_escaped(store, folder, answered, run):
    async def listed(_: Asked) -> ToolResult:
        return ToolResult(text="a\udcff.txt")

    tools = {"read_file": Tool(declaration=TOOLS["read_file"].declaration, run=listed)}
    done = await run(await answered(("read_file", "{}")), 0, "read_file", tools)
    assert await said(store, done) == ("a\\udcff.txt", False)


async def test_the_result_of_a_call_is_the_next_message(store, folder, answered, run):
    done = await run(await answered(("read_file", '{"path": "app.py"}')), 0, "read_file")
    assert (done.outcome.status, done.outcome.bytes) == ("ok", len("x = 1\n"))
    assert done.conversation.length == 3
    assert await said(store, done) == ("x = 1\n", False)


async def test_results_that_come_in_any_order_stand_in_the_order_of_the_calls(store, folder, answered, run):
    answer = await answered(("read_file", '{"path": "app.py"}'), ("write_file", '{"path": "b", "content": "2"}'))
    last = await run(answer, 1, "write_file")
    await run(answer, 0, "read_file")
    texts = [result_of(body)[0] for body in (await store.read(last.conversation))[2:]]
    assert texts == ["x = 1\n", "wrote 1 bytes to b"]


async def test_calls_at_the_same_place_of_two_branches_have_keys_of_their_own(store, folder, answered, run):
    keys: list[str] = []

    async def noted(asked: Asked) -> ToolResult:
        keys.append(asked.key)
        return ToolResult(text="x" * 600)

    tools = {"read_file": Tool(declaration=TOOLS["read_file"].declaration, run=noted)}
    answer = await answered(("read_file", "{}"))
    done = await run(answer, 0, "read_file", tools)
    task, *rest = await store.read_kept(answer)
    branch = await store.branch(done.conversation, [Link(task.key, task.body), *(Link(m.key, m.body) for m in rest)])
    await run(branch, 0, "read_file", tools)
    assert branch.length == answer.length
    assert len(set(keys)) == 2


@pytest.mark.parametrize(
    "word", [Edit(ref="0" * 24), Reply(ref="0" * 24), Reject(ref="0" * 24)], ids=lambda w: w.answer
)
async def test_a_call_that_a_person_spoke_of_in_words_that_are_nowhere_is_not_carried_out(
    store, folder, answered, run, word
):
    answer = await answered(("write_file", '{"path": "app.py", "content": "x = 2"}'))
    text, _ = await said(store, await run(answer, 0, "write_file", word=word))
    assert NOT_THERE in text
    assert (folder / "app.py").read_text() == "x = 1\n"


async def test_a_call_whose_result_is_stored_is_not_carried_out_again(store, folder, answered, run):
    answer = await answered(("write_file", '{"path": "app.py", "content": "x = 2"}'))
    first = await run(answer, 0, "write_file")
    (folder / "app.py").write_text("changed by a person since")
    again = await run(answer, 0, "write_file")
    assert (folder / "app.py").read_text() == "changed by a person since"
    assert again.conversation == first.conversation
    assert again.outcome == first.outcome.model_copy(update={"duration_ms": 0})


@pytest.mark.parametrize(
    ("called", "told"),
    [
        pytest.param(("read_file", '{"path": "none.py"}'), "none.py does not exist", id="missing file"),
        pytest.param(("read_file", '{"path": "/etc/passwd"}'), "must be relative", id="outside"),
        pytest.param(("read_file", '{"path": '), "arguments of read_file: is not valid JSON", id="malformed arguments"),
        pytest.param(("format_disk", "{}"), "the tools of this stage: read_file, write_file", id="unknown tool"),
        pytest.param(("list_files", "{}"), "the tools of this stage: read_file, write_file", id="not of this stage"),
    ],
)
@pytest.mark.usefixtures("folder")
async def test_what_is_wrong_with_a_call_is_told_to_the_model(store, answered, run, called, told):
    done = await run(await answered(called), 0, "")
    text, failed = await said(store, done)
    assert (done.outcome.status, failed) == ("error", True)
    assert told in text


async def test_what_the_workflow_gets_holds_no_content(store, folder, answered, run):
    (folder / "MARKER").write_text("MARKER")
    done = await run(await answered(("read_file", '{"path": "MARKER"}')), 0, "read_file")
    told = done.model_dump_json()
    assert "MARKER" not in told
    assert len(told) < 400


async def test_a_result_of_5_mb_is_cut_for_the_model_and_whole_in_the_store(store, folder, answered, run):
    whole = "start" + "é" * 2_500_000 + "end"

    async def say_it(asked: Asked) -> ToolResult:
        return ToolResult(text=whole)

    verbose = Tool(declaration=TOOLS["read_file"].declaration, run=say_it)
    done = await run(await answered(("read_file", "{}")), 0, "read_file", tools={"read_file": verbose})
    text, _ = await said(store, done)
    assert len(text.encode()) < MAX_RESULT + 200
    assert text.startswith("starté")
    assert text.endswith("éend")
    ref = text.partition("stored as ")[2].partition("]")[0]
    assert (await store.get(ref)).decode() == whole


async def test_the_same_step_has_the_same_digest_however_its_arguments_are_written(folder, answered, run):
    spaced = await answered(
        ("read_file", '{"lines": 5, "path":   "app.py"}'), ("read_file", '{"path":"app.py","lines":5}')
    )
    one, other = await run(spaced, 0, "read_file"), await run(spaced, 1, "read_file")
    assert one.outcome.step == other.outcome.step
    assert one.outcome.arguments == other.outcome.arguments


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param((("one", "{}"), ("other", "{}")), id="tool"),
        pytest.param((("read_file", '{"path": "app.py"}'), ("read_file", '{"path": "./app.py"}')), id="arguments"),
    ],
)
@pytest.mark.usefixtures("folder")
async def test_a_step_differs_where_tool_or_arguments_differ_though_the_result_is_the_same(store, answered, run, calls):
    answer = await answered(*calls)
    one, other = await run(answer, 0, ""), await run(answer, 1, "")
    assert await said(store, one) == await said(store, other)
    assert one.outcome.step != other.outcome.step


async def test_a_step_differs_where_only_the_result_differs(folder, answered, run):
    answer = await answered(*[("read_file", '{"path": "app.py"}')] * 2)
    one = await run(answer, 0, "read_file")
    (folder / "app.py").write_text("x = 2\n")
    other = await run(answer, 1, "read_file")
    assert one.outcome.arguments == other.outcome.arguments
    assert one.outcome.step != other.outcome.step


async def test_a_missing_workspace_is_told_as_such_and_the_call_can_be_carried_out_later(
    store, workspaces, answered, run
):
    answer = await answered(("read_file", '{"path": "app.py"}'))
    lost = await run(answer, 0, "read_file")
    assert (lost.outcome.status, lost.conversation) == ("no_workspace", answer)
    workspaces.claim(RUN, "app")
    assert (await run(answer, 0, "read_file")).outcome.status == "ok"


async def test_a_call_that_the_answer_does_not_have_is_our_error_and_is_not_retried(folder, answered, run):
    answer = await answered(("read_file", json.dumps({"path": "app.py"})))
    with pytest.raises(ApplicationError, match="the answer has 1 tool calls; there is no number 1") as raised:
        await run(answer, 1, "read_file")
    assert raised.value.non_retryable


async def test_a_call_whose_time_is_up_is_called_off_unless_its_tool_ends_it_and_says_more(store, answered, run):
    hurried = TOOLS["read_file"].declaration.model_copy(update={"handling": Handling(timeout_s=0.05)})

    async def slow(asked: Asked) -> ToolResult:
        await asyncio.sleep(0.3)
        return ToolResult(text="ended by itself", failed=True)

    answer = await answered(("read_file", "{}"), ("read_file", "{}"))
    for index, own_limit in enumerate((False, True)):
        tools = {"read_file": Tool(declaration=hurried, run=slow, own_limit=own_limit)}
        done = await run(answer, index, "read_file", tools=tools)
    texts = [result_of(body) for body in (await store.read(done.conversation))[2:]]
    assert texts == [("read_file was called off after 0.05 s, its time limit", True), ("ended by itself", True)]
