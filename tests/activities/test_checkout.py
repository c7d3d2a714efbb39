"""Workspaces from git: real repositories, the machine's own git, real claims."""

import os
import stat
import subprocess
import threading

import pytest

from activities import checkout
from activities.declared_workspaces import GitWorkspace
from activities.workspace import WorkspaceMissing, WorkspaceRefused, Workspaces

RUN = "0197c3a2-run"
HERE = {"PATH": os.environ["PATH"]}


class Repository:
    """A repository that somebody works in."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self("init", "--quiet", "--initial-branch=main")
        self.first = self.commit("app.py", "x = 1\n")

    def __call__(self, *words):
        who = {f"GIT_{role}_{what}": "ada@x" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        own = HERE | who | {"GIT_CONFIG_GLOBAL": "/dev/null"}
        return subprocess.run(["git", *words], cwd=self.folder, env=own, check=True, capture_output=True, text=True)

    def commit(self, name, content):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(content)
        return self.committed()

    def committed(self):
        self("add", "--all", "--force")
        self("commit", "--quiet", "--message", "as it is")
        return self("rev-parse", "HEAD").stdout.strip()


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "a project")


@pytest.fixture
def claimed(tmp_path, repository):
    """Claim a workspace from git; its files, by path."""

    def claim(at=None, environ=HERE, **declared):
        declared = {"git": str(repository.folder), **declared}
        workspace = GitWorkspace(name="app", **declared).placed(tmp_path)
        workspaces = Workspaces(tmp_path / "root", {"app": workspace}, environ)
        return workspaces, workspaces.claim(RUN, "app", ref=at)

    return claim


def files_of(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if ".git" not in path.parts}


def test_a_claim_holds_what_was_committed_and_nothing_else_and_remembers_the_commit(repository, claimed):
    (repository.folder / "scratch.txt").write_text("not committed")
    (repository.folder / "app.py").chmod(0o755)
    head = repository.committed()
    (repository.folder / "app.py").write_text("x = 'changed since'\n")
    workspaces, copy = claimed()
    assert files_of(copy) == {"app.py", "scratch.txt"}
    assert (copy / "app.py").read_text() == "x = 1\n"
    assert (copy / "app.py").stat().st_mode & stat.S_IXUSR
    assert workspaces.revision(RUN, "app") == f"git:{head}"


def refs(repository):
    """What refs there are to name, and the content that each has."""
    repository("branch", "release-1")
    repository("branch", "20261130")
    repository("tag", "--annotate", "v1", "--message", "one")
    repository.commit("app.py", "x = 2\n")
    commits = {repository.first: 1, repository.first[:9]: 1}
    return {"main": 2, "HEAD": 2, "release-1": 1, "v1": 1, "20261130": 1, **commits}


@pytest.mark.parametrize("number", range(7))
def test_a_branch_a_tag_and_a_commit_however_short_is_what_the_copy_is_made_of(repository, claimed, number):
    ref, content = list(refs(repository).items())[number]
    _, copy = claimed(at=ref)
    assert (copy / "app.py").read_text() == f"x = {content}\n"


def test_the_declared_ref_counts_where_an_agent_names_none(repository, claimed):
    refs(repository)
    _, copy = claimed(ref="v1")
    assert (copy / "app.py").read_text() == "x = 1\n"


def test_a_second_claim_keeps_the_work_and_the_commit_although_the_branch_moved_on(repository, claimed):
    workspaces, copy = claimed()
    (copy / "app.py").write_text("worked on")
    repository.commit("app.py", "x = 3\n")
    assert claimed()[1] == copy
    assert (copy / "app.py").read_text() == "worked on"
    assert workspaces.revision(RUN, "app") == f"git:{repository.first}"


def test_no_file_is_shared_with_a_repository_on_this_machine(repository, claimed):
    _, copy = claimed()
    assert [path for path in copy.rglob("*") if path.is_file() and path.stat().st_nlink > 1] == []


def test_only_the_commit_itself_is_fetched(repository, claimed):
    repository.commit("app.py", "x = 2\n")
    _, copy = claimed()
    done = subprocess.run(["git", "rev-list", "--all", "HEAD"], cwd=copy, env=HERE, capture_output=True, check=True)
    assert len(done.stdout.split()) == 1


def test_no_hook_runs_whoever_configured_it(tmp_path, repository, claimed):
    home, hook = tmp_path / "home", tmp_path / "home" / "hooks" / "post-checkout"
    hook.parent.mkdir(parents=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    (home / ".gitconfig").write_text(f'[core]\nhooksPath = "{hook.parent}"\n[init]\ntemplateDir = "{home}"\n')
    _, copy = claimed(environ=HERE | {"HOME": str(home)})
    assert not (tmp_path / "ran").exists()
    assert not (copy / ".git" / "hooks").exists()


def test_the_workers_keys_are_nothing_that_git_gets(tmp_path, claimed):
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "git").write_text(f'#!/bin/sh\n/usr/bin/env >> {tmp_path}/seen\nPATH={HERE["PATH"]} exec git "$@"\n')
    (bin_ / "git").chmod(0o755)
    claimed(environ={"PATH": str(bin_), "OPENAI_API_KEY": "MARKER", "HOME": str(tmp_path)})
    seen = (tmp_path / "seen").read_text().splitlines()
    assert "GIT_TERMINAL_PROMPT=0" in seen
    assert "GIT_ALLOW_PROTOCOL=file" in seen
    assert not [line for line in seen if "MARKER" in line]


def test_our_own_folder_is_never_in_a_copy_though_it_was_committed(repository, claimed):
    repository.commit("deep/.endstop/store.db", "MARKER")
    _, copy = claimed()
    assert files_of(copy) == {"app.py", "deep"}


def test_a_committed_link_that_leaves_is_refused_and_nothing_is_claimed(tmp_path, repository, claimed):
    (repository.folder / "way").symlink_to("/etc")
    repository.committed()
    with pytest.raises(WorkspaceRefused, match=r"/way is a link that leaves .*make it relative"):
        claimed()
    assert [path.name for path in (tmp_path / "root" / RUN).iterdir()] == [".lock"]


def test_a_ref_that_is_not_there_is_told_in_gits_words_and_nothing_is_claimed(tmp_path, repository, claimed):
    with pytest.raises(WorkspaceRefused) as refused:
        claimed(at="nope")
    where = (tmp_path / "a project").as_uri()
    assert str(refused.value) == f"workspace app: {where}: git fetch failed: couldn't find remote ref nope"
    with pytest.raises(WorkspaceRefused, match="git rev-parse failed: "):
        claimed(at="0123456789")
    workspaces = Workspaces(tmp_path / "root", {}, HERE)
    with pytest.raises(WorkspaceMissing):
        workspaces.path(RUN, "app")


def test_a_repository_may_not_send_git_to_another_transport(tmp_path, repository, claimed):
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(f'[url "ext::sh -c touch% {tmp_path}/ran "]\ninsteadOf = file://\n')
    with pytest.raises(WorkspaceRefused, match="transport 'ext' not allowed"):
        claimed(environ=HERE | {"HOME": str(home)})
    assert not (tmp_path / "ran").exists()


def test_a_machine_without_git_is_told_so(tmp_path, claimed):
    with pytest.raises(WorkspaceRefused, match=r"git cannot be started \(git: no such file .*\); install git on this"):
        claimed(environ={"PATH": str(tmp_path)})


def test_a_git_that_hangs_is_ended_with_all_that_it_started(tmp_path, claimed, monkeypatch):
    monkeypatch.setattr(checkout, "LIMIT_S", 0.3)
    bin_, held = tmp_path / "bin", tmp_path / "held"
    bin_.mkdir()
    os.mkfifo(held)
    (bin_ / "git").write_text(f"#!/bin/sh\n(exec 3>{held}; exec sleep 1000)\n")
    (bin_ / "git").chmod(0o755)
    opened = threading.Event()

    def read_to_the_end():  # which comes once nobody holds the other end any more
        with held.open("rb") as pipe:
            pipe.read()
        opened.set()

    threading.Thread(target=read_to_the_end, daemon=True).start()
    with pytest.raises(WorkspaceRefused, match=r"git did not come to an end within 0\.3 seconds"):
        claimed(environ={"PATH": f"{bin_}:{HERE['PATH']}"})
    assert opened.wait(30)


def test_what_a_killed_claim_left_is_never_the_workspace_and_is_swept_away(tmp_path, claimed):
    left = tmp_path / "root" / RUN / ".claiming-app-12345678"
    left.mkdir(parents=True)
    (left / "half").write_text("")
    _, copy = claimed()
    assert files_of(copy) == {"app.py"}
    assert not left.exists()
