"""`prepare` with a real store and real folders: what it resolves, and that it refuses in one line with nothing done."""

import json
import re
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.catalog import routes
from activities.contract import Prepare, Prepared
from activities.declared import Declared, Model, Provider
from activities.declared_gates import CommandGate
from activities.declared_workspaces import FolderWorkspace, GitWorkspace
from activities.messages import files_of, user_message
from activities.prepare import Preparer, workspace_queue
from activities.spec import InvalidSpec, read_agent
from activities.workspace import Workspaces
from ledger.agent import AgentSpec
from ledger.conversation import Conversation
from ledger.policy import ContextPolicy
from store import Store

MARKER = "MARKER-5f3c9a"
AGENT = {"models": ["openai:gpt-5", "anthropic:claude"], "instructions": f"Be brief. {MARKER}"}
TASK = f"Add two numbers. {MARKER}"


def provider(name: str, key: str | None) -> Provider:
    return Provider(
        name=name,
        api="openai-chat",
        base_url="http://localhost:1",
        key=SecretStr(key) if key else None,
        key_env=f"{name.upper()}_API_KEY",
    )


@pytest.fixture
def declared(tmp_path: Path) -> Declared:
    source = tmp_path / "project"
    source.mkdir()
    (source / "calc.py").write_text("1\n")
    (source / "link.py").symlink_to("calc.py")
    return Declared(
        providers={
            "openai": provider("openai", "k"),
            "anthropic": provider("anthropic", None),
            "local": Provider(name="local", api="openai-chat", base_url="http://localhost:2"),
        },
        models={"openai:gpt-5": Model(context_tokens=400_000), "openai:other": Model(context_tokens=5)},
        gates={"tests": CommandGate(name="tests", command=("true",))},
        workspaces={"calc": FolderWorkspace(name="calc", source=source)},
        workspace_root=tmp_path / "copies",
    )


@pytest.fixture
async def store(tmp_path: Path):
    opened = await Store.open(f"sqlite:///{tmp_path}/store.db")
    yield opened
    await opened.close()


@pytest.fixture
def beside() -> bool:
    """Whether there is another worker that may take the run."""
    return False


@pytest.fixture
def prepare(store: Store, declared: Declared, beside: bool):  # noqa: FBT001 - a fixture
    async def existing() -> tuple[str, ...]:
        return ("EndstopStatus",)

    async def others(run: str) -> bool:
        assert run == "run-1"
        return beside

    activity = Preparer(
        store=store,
        declared=declared,
        workspaces=Workspaces(declared.workspace_root, declared.workspaces),
        tools=routes(declared),
        known={},
        queue="endstop-here-1",
        search_attributes=existing,
        others=others,
    )

    async def run(agent: Any, task: Any = TASK) -> Prepared:
        asked = Prepare(run="run-1", workflow_id="wf", agent=agent, task=task)
        return Prepared.model_validate(await ActivityEnvironment().run(activity.prepare, asked))

    return run


async def refusal(prepare, agent: Any, task: Any = TASK) -> str:
    with pytest.raises(ApplicationError) as caught:
        await prepare(agent, task)
    error = caught.value
    assert (error.type, error.non_retryable, error.__cause__) == ("InvalidSpec", True, None)
    assert "\n" not in error.message
    assert MARKER not in error.message
    return error.message


async def test_a_flat_agent_and_a_text_are_enough(prepare, store):
    prepared = await prepare(AGENT)
    assert [str(target) for target in prepared.plan.stages[0].models] == AGENT["models"]
    assert prepared.plan.stages[0].name == "main"
    assert prepared.inline
    assert (prepared.workspace, prepared.workspace_queue, prepared.plan.worker) == ("", "", "")
    assert prepared.search_attributes == ("EndstopStatus",)
    assert await store.read(prepared.conversation) == [user_message(TASK)]
    assert read_agent(await store.get(prepared.agent_ref)) == AgentSpec.model_validate(AGENT)


async def test_neither_instructions_nor_task_are_in_what_history_keeps(prepare):
    prepared = await prepare(AGENT)
    assert MARKER not in prepared.model_dump_json()


async def test_references_are_read_from_the_store_and_the_answer_will_not_come_back_inline(prepare, store):
    agent_ref = await store.put(json.dumps(AGENT))
    prepared = await prepare({"ref": agent_ref}, {"ref": await store.put(TASK)})
    assert not prepared.inline
    assert await store.read(prepared.conversation) == [user_message(TASK)]


async def test_preparing_again_gives_the_same_run(prepare, store):
    agent = AGENT | {"workspace": "calc", "tools": ["read_file"]}
    assert await prepare(agent) == await prepare(agent)
    assert len(await store.runs_of("wf")) == 1


async def test_the_run_can_be_found_by_its_workflow_id(prepare, store):
    prepared = await prepare(AGENT | {"name": "adder"})
    assert prepared.plan.agent == "adder"
    (run,) = await store.runs_of("wf")
    assert (run.conversation, run.agent) == ("run-1", "adder")


async def test_a_workspace_is_a_copy_of_its_own_on_this_worker(prepare, declared):
    prepared = await prepare(AGENT | {"workspace": "calc", "tools": ["read_file"], "gates": ["tests"]})
    assert (declared.workspace_root / "run-1" / "calc" / "calc.py").read_text() == "1\n"
    assert (prepared.workspace, prepared.workspace_queue) == ("calc", "endstop-here-1")
    assert (prepared.plan.workspace, prepared.plan.worker) == ("calc", "endstop-here-1")


WITH_FILES = AGENT | {"workspace": "calc", "files": ["calc.py"]}


async def test_the_files_of_the_first_stage_come_with_the_task(prepare, store):
    prepared = await prepare(WITH_FILES)
    (task,) = await store.read(prepared.conversation)
    (file,) = files_of(task)
    assert (file.name, file.media_type, file.bytes) == ("calc.py", "text/plain", 2)
    assert await store.get(file.ref) == b"1\n"


async def test_a_file_stays_as_it_was_when_the_run_was_prepared(prepare, store, declared):
    first = await prepare(WITH_FILES)
    (declared.workspace_root / "run-1" / "calc" / "calc.py").write_text("2\n")
    again = await prepare(WITH_FILES)
    assert again.conversation == first.conversation
    (file,) = files_of((await store.read(again.conversation))[0])
    assert await store.get(file.ref) == b"1\n"


async def test_what_a_file_is_called_is_not_in_what_history_keeps(prepare):
    assert "calc.py" not in (await prepare(WITH_FILES)).model_dump_json()


async def test_the_policy_is_written_out_so_that_new_defaults_leave_a_run_alone(prepare, monkeypatch):
    prepared = await prepare(AGENT | {"policy": {"calls": {"attempts": 2}}})
    written = prepared.plan.model_dump(exclude_unset=True)["policy"]
    assert written["calls"]["attempts"] == 2
    assert written["repairs"]["distinct"] == 16


async def test_only_context_windows_of_the_agents_own_targets_are_carried(prepare):
    assert (await prepare(AGENT)).plan.context_tokens == {"openai:gpt-5": 400_000}


async def test_a_window_that_the_operator_does_not_name_is_the_price_lists(prepare):
    models = ["openai:gpt-4o", "openai:no-such-model", "local:gpt-4o"]
    assert (await prepare(AGENT | {"models": models})).plan.context_tokens == {"openai:gpt-4o": 128_000}


@pytest.mark.parametrize("full", [None, "keep"])
async def test_what_becomes_of_a_full_conversation_is_written_out(prepare, full):
    prepared = await prepare(AGENT | ({"policy": {"context": {"full": full}}} if full else {}))
    assert prepared.plan.policy.context == ContextPolicy(full=full or "drop_tool_results")


@pytest.mark.parametrize(("beside", "kind"), [(True, "NotHere"), (False, "InvalidSpec")])
@pytest.mark.parametrize(("model", "task"), [("openai:gpt-5", {"ref": "f" * 32}), ("anthropic:claude", TASK)])
async def test_what_only_this_worker_lacks_is_left_to_another_where_there_is_one(prepare, model, task, kind):
    """Content that its store lacks, and a key."""
    with pytest.raises(ApplicationError) as caught:
        await prepare(AGENT | {"models": [model]}, task)
    assert (caught.value.type, caught.value.non_retryable) == (kind, True)


@pytest.mark.parametrize("beside", [True])
async def test_what_nobody_could_run_ends_at_once_beside_whomever(prepare):
    assert await refusal(prepare, {"models": []}) == "agent: models: should not be empty"


STAGE = "agent: stage main: "
ALL_KEYS = "files, gates, instructions, limits, models, name, output, policy, stages, tools, workspace, workspace_ref"
NO_KEY = "the worker has no key; set the variable ANTHROPIC_API_KEY for anthropic:claude"
NOT_THERE = "the worker's store has nothing under its reference; starter and worker must use the same store"
NEEDS = "works in a workspace, and the agent names none; set workspace; there are: calc"


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"models": []}, "agent: models: should not be empty"),
        ({"models": None}, "agent: models: should be a list"),
        ({"models": ["gpt-5"]}, 'agent: models[0]: a target is "provider:model", such as "openai:gpt-5"'),
        ({"models": ["opnai:gpt-5"]}, f'{STAGE}unknown provider "opnai"; did you mean "openai"?'),
        ({"modles": []}, 'agent: modles: unknown key, did you mean "models"?'),
        ({"base_url": "http://x"}, f"agent: base_url: unknown key, there are: {ALL_KEYS}"),
        ({"limits": {"turns": -1}}, "agent: limits.turns: should be greater than or equal to 1"),
        ({"policy": {"repairs": {"repeat": -1}}}, "agent: policy.repairs.repeat: should be greater than or equal to 0"),
        ({"limits": {"turns": "3"}}, "agent: limits.turns: should be a valid integer"),
        ({"policy": {"repairs": {"repeat": 3.0}}}, "agent: policy.repairs.repeat: should be a valid integer"),
        ({"policy": {"spend": {"limit_usd": True}}}, "agent: policy.spend.limit_usd: should be a valid number"),
        ({"policy": {"spend": {"limit_usd": "2"}}}, "agent: policy.spend.limit_usd: should be a valid number"),
        ({"policy": {"capture": "yes"}}, "agent: policy.capture: should be a valid boolean"),
        ({"tools": ["raed_file"], "workspace": "calc"}, f'{STAGE}unknown tool "raed_file"; did you mean "read_file"?'),
        ({"gates": ["test"], "workspace": "calc"}, f'{STAGE}unknown gate "test"; did you mean "tests"?'),
        ({"workspace": "clac"}, 'agent: unknown workspace "clac"; did you mean "calc"?'),
        ({"tools": ["read_file"]}, f"{STAGE}tool read_file {NEEDS}"),
        ({"gates": ["tests"]}, f"{STAGE}gate tests {NEEDS}"),
        ({"models": ["anthropic:claude"]}, f"{STAGE}{NO_KEY}"),
        (
            {"files": ["a.pdf"]},
            f"{STAGE}file a.pdf is in a workspace, and the agent names none; set workspace; there are: calc",
        ),
        ({"files": ["a.pdf", "a.pdf"], "workspace": "calc"}, "agent: stage main: files names one thing twice"),
        ({"files": [""], "workspace": "calc"}, "agent: files[0]: should have at least 1 character"),
        (
            {"files": ["a"] * 21, "workspace": "calc"},
            "agent: files: should have at most 20 items after validation, not 21",
        ),
        ({"output": {"type": "array"}}, 'agent: output: should be a JSON schema with type "object" at its top'),
        (
            {"output": {"type": "object", "default": float("inf")}},
            "agent: output: should be a JSON schema: a table of JSON values, not nested too deeply",
        ),
        (
            {"output": {"type": "object", "title": "a" * 65_536}},
            "agent: output: has 65,567 bytes as JSON, at most 65,536 are taken",
        ),
        (
            {"output": {"type": "object", "properties": {"age": {"type": "MARKER"}}}},
            f"{STAGE}output: properties.age.type: is not what JSON Schema 2020-12 expects there",
        ),
        (
            {"output": {"type": "object", "properties": {"age": {"$ref": "https://a.test/age"}}}},
            f"{STAGE}output: properties.age.$ref: should name a part of this schema, such as #/$defs/NAME",
        ),
        (
            {"files": ["/etc/passwd"], "workspace": "calc"},
            f'{STAGE}file "/etc/passwd": the path must be relative to the workspace, such as src/app.py',
        ),
        (
            {"files": ["docs/../../secret"], "workspace": "calc"},
            f'{STAGE}file "docs/../../secret": the path must stay in the workspace; .. is not allowed',
        ),
        (
            {"files": ["no.pdf"], "workspace": "calc"},
            "agent: files: no.pdf does not exist; correct files, or what is in workspace calc",
        ),
        (
            {"files": ["link.py"], "workspace": "calc"},
            "agent: files: link.py is a link; links are not followed; correct files, or what is in workspace calc",
        ),
    ],
)
async def test_an_agent_that_cannot_run_is_refused_in_one_line(prepare, change, line):
    assert await refusal(prepare, AGENT | change) == line


async def test_a_missing_agent_is_said_to_be_missing(prepare):
    assert await refusal(prepare, None) == 'agent: is missing; start with {"agent": {...}, "task": "..."}'


@pytest.mark.parametrize("agent", [3, "text", [], [[MARKER]]])
async def test_an_agent_that_is_no_table_is_refused_in_one_line(prepare, agent):
    assert await refusal(prepare, agent) == "agent: should be a table of keys and values"


@pytest.mark.parametrize(
    ("task", "line"),
    [
        (" \n", "task: is empty; say what the agent should do"),
        (None, 'task: should be text, or {"ref": ...} of a text in the store'),
        ({"text": MARKER}, 'task: should be text, or {"ref": ...} of a text in the store'),
        ("\ud800", "task: is not valid Unicode text"),
        ("x" * (4 * 2**20 + 1), "task: has 4,194,305 bytes, at most 4,194,304 are taken; put files into a workspace"),
        ({"ref": 3}, "task: ref should be text, the digest that the store gave"),
        ({"ref": MARKER}, f"task: {NOT_THERE} ([store] url in endstop.toml)"),
    ],
    ids=["blank", "none", "table", "surrogate", "too long", "odd ref", "unknown ref"],
)
async def test_a_task_that_cannot_be_given_is_refused_in_one_line(prepare, task, line):
    assert await refusal(prepare, AGENT, task) == line


async def test_a_task_of_exactly_four_mebibytes_is_taken(prepare):
    assert (await prepare(AGENT, "x" * (4 * 2**20))).conversation.length == 1


async def test_a_stage_goes_on_with_the_one_target_that_has_its_key(prepare):
    assert await prepare(AGENT | {"models": ["anthropic:claude", "openai:gpt-5"]})


async def test_a_provider_that_needs_no_key_is_not_missing_one(prepare):
    assert await prepare(AGENT | {"models": ["local:smollm"]})


async def test_a_refused_run_leaves_nothing_behind(prepare, declared, tmp_path):
    await refusal(prepare, AGENT | {"workspace": "calc", "tools": ["read_file"]}, "")
    assert not declared.workspace_root.exists()
    with sqlite3.connect(tmp_path / "store.db") as database:
        counts = {
            t: database.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in ("contents", "messages", "runs")
        }
    assert counts == {"contents": 0, "messages": 0, "runs": 0}


def committed(folder: Path) -> None:
    """Make the folder a repository whose first commit is release-1, and whose second has no calc.py."""
    ada = ("git", "-c", "user.name=ada", "-c", "user.email=ada@x")
    for words in ("init -q", "add .", "commit -q -m one", "branch release-1", "rm -q calc.py", "commit -q -m two"):
        subprocess.run([*ada, *words.split()], cwd=folder, check=True)


async def test_a_workspace_from_git_is_at_the_ref_that_the_agent_names_and_history_names_the_commit(
    prepare, declared, tmp_path
):
    committed(tmp_path / "project")
    git = GitWorkspace(name="calc", git=(tmp_path / "project").as_uri(), refs=("release-*",))
    declared.workspaces["calc"] = git
    prepared = await prepare(AGENT | {"workspace": "calc", "workspace_ref": "release-1"})
    assert (declared.workspace_root / "run-1" / "calc" / "calc.py").read_text() == "1\n"
    assert re.fullmatch("git:[0-9a-f]{40}", prepared.plan.revision)
    line = await refusal(prepare, AGENT | {"workspace": "calc", "workspace_ref": "main"})
    assert line == "agent: workspace_ref: workspace calc does not allow main; allowed: HEAD, release-*"


async def test_a_workspace_whose_folder_is_gone_is_refused_by_name(prepare, declared):
    source = declared.workspaces["calc"].source
    (source / "calc.py").unlink()
    (source / "link.py").unlink()
    source.rmdir()
    line = await refusal(prepare, AGENT | {"workspace": "calc"})
    assert line == "workspace calc: its source is not a folder; correct [workspaces.calc] source"


def test_a_stored_agent_that_is_not_json_is_refused():
    with pytest.raises(InvalidSpec, match="agent: is not valid JSON"):
        read_agent(b"{" + MARKER.encode())


def test_an_agent_nested_without_end_is_refused():
    with pytest.raises(InvalidSpec, match="agent: is not valid JSON"):
        read_agent(b"[" * 100_000)


def test_the_queue_of_a_workers_workspaces_survives_a_restart_and_differs_by_folder(tmp_path):
    assert workspace_queue("q", tmp_path) == workspace_queue("q", tmp_path)
    assert workspace_queue("q", tmp_path) != workspace_queue("q", tmp_path / "other")
    assert workspace_queue("q", tmp_path).startswith("q-")


async def test_a_message_of_the_task_is_the_first_of_the_conversation(prepare, store):
    prepared = await prepare(AGENT)
    assert prepared.conversation.id == "run-1"
    assert await store.find(Conversation(id="run-1"), "task") is not None
