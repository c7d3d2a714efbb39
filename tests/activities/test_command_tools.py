"""Commands as tools: real commands in a run's workspace, with and without the sandbox."""

import asyncio
import os
import re
import sys

import pytest

from activities.command_tools import command_tool
from activities.declared_tools import CommandTool
from activities.declared_workspaces import FolderWorkspace
from activities.sandbox import found
from activities.tool import Asked, ToolResult
from activities.workspace import Workspaces
from activities.workspace_command import WorkspaceCommands

RUN = "run-1"


@pytest.fixture
def workspaces(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "app.py").write_text("x = 1\n")
    (source / "checks.py").write_text("y = 1\n")
    return Workspaces(tmp_path / "root", {"app": FolderWorkspace(name="app", source=source)})


@pytest.fixture
def folder(workspaces):
    return workspaces.claim(RUN, "app", {"tests": ("checks.py",)})


@pytest.fixture(params=["sandboxed", "not sandboxed"])
def commands(request, workspaces):
    return WorkspaceCommands(workspaces, found() if request.param == "sandboxed" else None)


@pytest.fixture
def run(commands, folder):
    async def run_command_tool(*command, index=0, **more) -> ToolResult:
        tool = command_tool(CommandTool(name="look", command=command, description="Look", **more), commands)
        assert tool.in_workspace
        return await tool.run(Asked(arguments='{"ignored": 1}', run=RUN, key=f"{RUN}/3/{index}", folder=folder))

    return run_command_tool


async def test_the_output_is_the_result(run):
    assert await run("cat", "app.py") == ToolResult(text="x = 1\n")


async def test_another_exit_code_than_0_is_told_behind_the_output_as_a_failure(run):
    said = await run("sh", "-c", "echo so far; echo wrong >&2; exit 3")
    assert said == ToolResult(text="so far\nwrong\nexit code 3", failed=True)
    assert await run("false") == ToolResult(text="exit code 1", failed=True)


async def test_a_command_that_hangs_is_ended_and_told_with_what_it_said(run):
    said = await run("sh", "-c", "echo begun; sleep 60", timeout_s=0.5)
    assert said == ToolResult(text="begun\nerror: look timed out after 0.5 s", failed=True)


async def test_a_command_that_is_not_there_is_told(run):
    said = await run("no-such-command")
    assert said.failed
    assert said.text.startswith("look cannot be started: no-such-command: ")


async def test_nothing_of_the_workers_environment_reaches_the_command(run, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key-marker")
    names = re.findall(r"^(\w+)=", (await run("env")).text, re.MULTILINE)
    assert set(names) - {"PWD", "SHLVL", "_", "OLDPWD"} == {
        *("PATH", "HOME", "TMPDIR", "LANG", "TERM", "NO_COLOR", "PYTHONDONTWRITEBYTECODE")
    }


async def test_python_is_the_interpreter_of_the_worker(run):
    assert (await run("python", "-c", "import sys; print(sys.prefix)")).text.strip() == sys.prefix


async def test_calls_of_one_answer_have_a_scratch_folder_each_and_leave_none(run, folder):
    both = [run("sh", "-c", "touch $HOME/mine; sleep 0.2; ls $HOME", index=index) for index in (0, 1)]
    assert [result.text for result in await asyncio.gather(*both)] == ["mine\n", "mine\n"]
    assert os.listdir(folder.parent / ".scratch") == []  # noqa: PTH208 - names are all that counts


@pytest.mark.parametrize("commands", ["sandboxed"], indirect=True)
async def test_in_the_sandbox_a_command_changes_the_workspace_and_nothing_that_a_gate_protects(run, folder):
    assert (await run("sh", "-c", "echo 'x = 2' > app.py")).failed is False
    assert (await run("sh", "-c", "echo 'y = 2' > checks.py")).failed is True
    assert [(folder / name).read_text() for name in ("app.py", "checks.py")] == ["x = 2\n", "y = 1\n"]
    hidden = await run("cat", str(folder.parent.parent.parent / "source" / "app.py"))
    assert "No such file" in hidden.text
