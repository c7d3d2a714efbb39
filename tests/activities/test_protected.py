"""Files that the work may not change: remembered at the claim, refused to the file tools, compared before a gate."""

import asyncio
import json
import os
import shutil

import pytest
from temporalio.testing import ActivityEnvironment

from activities.builtin_tools import TOOLS
from activities.contract import GateDone, RunGate
from activities.declared_gates import CommandGate
from activities.declared_workspaces import FolderWorkspace
from activities.protected import Protected
from activities.run_gate import MAX_TOLD, GateRunner
from activities.sandbox import found
from activities.tool import Asked
from activities.workspace import Workspaces
from ledger.fingerprint import fingerprint
from ledger.outcomes import Failing, Passed
from tests.activities.deep_folder import deep

RUN = "run-1"
PATHS = ("tests", "pyproject.toml", "conftest.py")
"""conftest.py is not there: it must not come."""


def make(folder):
    (folder / "tests" / "unit").mkdir(parents=True)
    (folder / "tests" / "unit" / "test_a.py").write_text("def test(): pass\n")
    (folder / "tests" / "data").symlink_to("../app.py")
    (folder / "pyproject.toml").write_text("[project]\n")
    (folder / "app.py").write_text("x = 1\n")
    return folder


@pytest.fixture
def folder(tmp_path):
    return make(tmp_path / "copy")


def replaced_by_a_link(folder):
    (folder / "own").write_bytes((folder / "pyproject.toml").read_bytes())
    (folder / "pyproject.toml").unlink()
    (folder / "pyproject.toml").symlink_to("own")


def behind_a_link(folder):
    (folder / "tests").rename(folder / "moved")
    (folder / "tests").symlink_to("moved")


def turned(folder):
    (folder / "tests/data").unlink()
    (folder / "tests/data").symlink_to("../own.py")


def a_pipe(folder):
    (folder / "pyproject.toml").unlink()
    os.mkfifo(folder / "pyproject.toml")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda f: (f / "app.py").write_text("y"), ()),
        (lambda f: (f / "new.py").write_text("y"), ()),
        (lambda f: (f / "pyproject.toml").write_text("[project]\n"), ()),
        (lambda f: (f / "pyproject.toml").write_text("[tool]\n"), ("pyproject.toml",)),
        (lambda f: (f / "pyproject.toml").unlink(), ("pyproject.toml",)),
        (lambda f: (f / "pyproject.toml").chmod(0o755), ("pyproject.toml",)),
        (lambda f: (f / "tests/unit/test_a.py").write_text(""), ("tests/unit/test_a.py",)),
        (lambda f: (f / "tests/unit/test_b.py").write_text(""), ("tests/unit/test_b.py",)),
        (lambda f: (f / "tests/empty").mkdir(), ("tests/empty",)),
        (
            lambda f: (f / "tests/unit/test_a.py").rename(f / "tests/unit/a.py"),
            ("tests/unit/a.py", "tests/unit/test_a.py"),
        ),
        (lambda f: shutil.rmtree(f / "tests/unit"), ("tests/unit", "tests/unit/test_a.py")),
        (lambda f: (f / "conftest.py").write_text(""), ("conftest.py",)),
        (lambda f: (f / "tests" / "a\nerror: b").write_text(""), ("tests/a\\nerror: b",)),
        (replaced_by_a_link, ("pyproject.toml",)),
        (behind_a_link, ("tests", "tests/data", "tests/unit", "tests/unit/test_a.py")),
        (turned, ("tests/data",)),
        (a_pipe, ("pyproject.toml",)),
    ],
    ids=[
        *("another file", "a new file elsewhere", "rewritten as it was", "content", "deletion", "mode"),
        *("content in a folder", "a new file", "a new folder", "renaming", "a folder gone", "what was not there"),
        *("a name that forges a line", "a link for a file", "a link for a folder", "a link turned", "a pipe"),
    ],
)
def test_whatever_differs_from_the_claim_is_named(folder, change, told):
    was = Protected.of(folder, PATHS)
    change(folder)
    assert was.changed(folder) == told


def test_a_path_whose_folder_became_a_link_has_changed_although_the_same_is_behind_it(folder):
    was = Protected.of(folder, ("tests/unit",))
    behind_a_link(folder)
    assert was.changed(folder) == ("tests", "tests/unit", "tests/unit/test_a.py")


def test_a_file_in_the_place_of_a_folder_above_what_was_not_there_changes_nothing_of_it(folder):
    was = Protected.of(folder, ("checks/unit/test_a.py",))
    (folder / "checks").write_text("a file")
    assert was.changed(folder) == ()


def test_folders_of_any_depth_are_compared(folder):
    was = Protected.of(folder, ("deep",))
    with deep(folder / "deep"):
        assert "deep/d/d/d" in was.changed(folder)


def test_only_what_is_there_and_no_link_leads_to_can_be_mounted(folder):
    was = Protected.of(folder, (*PATHS, "tests/data", "linked/test_a.py"))
    (folder / "linked").symlink_to("tests/unit")
    assert list(was.mounts(folder)) == [folder / "tests", folder / "pyproject.toml"]


# ---- with a claim, the tools and the gate


@pytest.fixture
def workspaces(tmp_path):
    return Workspaces(tmp_path / "root", {"app": FolderWorkspace(name="app", source=make(tmp_path / "source"))})


@pytest.fixture
def claimed(workspaces):
    return workspaces.claim(RUN, "app", {"tests": PATHS})


@pytest.fixture(params=["in a sandbox", "without one"])
def sandbox(request):
    return found() if request.param == "in a sandbox" else None


@pytest.fixture
def run(store, workspaces, sandbox):
    async def run_gate(code, name="tests"):
        gate = CommandGate(name=name, command=("python", "-c", code), protected=PATHS)
        runner = GateRunner(store, {name: gate}, workspaces, sandbox=sandbox)
        done = await ActivityEnvironment().run(runner.run_gate, RunGate(gate=name, seq=1, workspace="app", run=RUN))
        return GateDone.model_validate(done).verdict

    return run_gate


async def test_a_gate_whose_files_are_as_they_were_passes(claimed, run):
    (claimed / "app.py").write_text("x = 2\n")
    assert await run("") == Passed()


async def test_a_gate_whose_files_were_changed_fails_as_that_and_does_not_run(claimed, run, store):
    (claimed / "tests/unit/test_a.py").write_text("")
    verdict = await run("open('ran', 'w')")
    assert isinstance(verdict, Failing)
    lines = "error: protected file changed: tests/unit/test_a.py"
    assert (await store.get(verdict.output)).decode().startswith(f"{lines}\nGate tests checks the work by these files")
    assert (verdict.items, verdict.exact) == (1, fingerprint(lines).exact)
    assert not (claimed / "ran").exists()


async def test_the_same_changed_files_are_the_same_failure_and_others_another(claimed, run):
    (claimed / "pyproject.toml").write_text("one")
    one = await run("")
    (claimed / "pyproject.toml").write_text("two")
    assert (await run("")).exact == one.exact
    (claimed / "conftest.py").write_text("")
    assert (await run("")).exact != one.exact


async def test_thousands_of_changed_files_are_told_in_bounds(claimed, run, store):
    for number in range(MAX_TOLD + 7):
        (claimed / "tests" / f"new{number}").write_text("")
    output = (await store.get((await run("")).output)).decode()
    assert output.count("\n") == MAX_TOLD + 2
    assert "error: 7 more protected files changed\n" in output


async def test_a_pass_is_worth_nothing_where_the_command_changed_what_it_is_checked_by(claimed, run):
    verdict = await run("open('conftest.py', 'w')")
    assert isinstance(verdict, Failing)
    assert verdict.exact == fingerprint("error: protected file changed: conftest.py").exact


async def test_in_the_sandbox_no_gate_of_the_run_can_write_what_one_of_them_protects(claimed, run, sandbox):
    verdict = await run("open('tests/unit/test_a.py', 'w')", name="format")
    assert isinstance(verdict, Failing) == bool(sandbox)
    assert (claimed / "tests/unit/test_a.py").read_text() == ("def test(): pass\n" if sandbox else "")


async def test_what_is_remembered_is_the_first_claim_whatever_is_claimed_later(claimed, workspaces, run):
    (claimed / "pyproject.toml").write_text("changed")
    assert workspaces.claim(RUN, "app", {"tests": ()}) == claimed
    assert isinstance(await run(""), Failing)


async def test_a_run_that_began_without_protection_goes_on_without(workspaces, run):
    folder = workspaces.claim(RUN, "app")
    (folder / "pyproject.toml").write_text("changed")
    assert await run("") == Passed()


@pytest.mark.parametrize(
    ("path", "refused"),
    [
        ("tests/unit/test_a.py", True),
        ("tests/new.py", True),
        ("./tests//unit/../x", True),
        ("tests/./unit/test_a.py", True),
        ("tests", True),
        ("pyproject.toml", True),
        ("conftest.py", True),
        ("tests2/a.py", False),
        ("src/tests/a.py", False),
        ("pyproject.toml.bak", False),
    ],
)
def test_a_model_that_writes_a_protected_file_is_told_why_not(folder, path, refused):
    asked = Asked(
        arguments=json.dumps({"path": path, "content": "x"}),
        run=RUN,
        key="1",
        folder=folder,
        protected=dict.fromkeys(PATHS, "tests"),
    )
    result = asyncio.run(TOOLS["write_file"].run(asked))
    assert result.failed == refused
    assert (folder / "tests/unit/test_a.py").read_text() == "def test(): pass\n"
    if refused and ".." not in path:
        told = f"{path} is protected: gate tests checks the work by it; change the work instead"
        assert result.text == told


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/etc/passwd", "the path must be relative to the workspace"),
        ("../tests", ".. is not allowed"),
        (".", "the path names no file"),
        ("tests/**/*.py", "a protected path is no pattern"),
    ],
)
def test_a_path_that_protects_nothing_is_refused_where_it_is_declared(path, told):
    with pytest.raises(ValueError, match="protected") as refused:
        CommandGate(name="tests", command=("true",), protected=(path,))
    assert told in str(refused.value)


def test_a_folder_is_the_same_with_a_slash_and_without():
    gate = CommandGate(name="tests", command=("true",), protected=("./tests/", "a//b"))
    assert gate.protected == ("tests", "a/b")
