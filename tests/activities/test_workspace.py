import multiprocessing
import os
import stat

import pytest

from activities.declared_workspaces import FolderWorkspace
from activities.workspace import WorkspaceMissing, WorkspaceRefused, Workspaces
from tests.activities.deep_folder import deep

RUN = "0197c3a2-run"


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.py").write_text("x = 1\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o750)
    return folder


@pytest.fixture
def workspaces(tmp_path, source):
    return Workspaces(tmp_path / "root", {"app": FolderWorkspace(name="app", source=source)})


def files_of(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_a_claim_copies_the_folder_with_its_modes(workspaces, source):
    copy = workspaces.claim(RUN, "app")
    assert files_of(copy) == files_of(source)
    assert (copy / "src" / "app.py").read_text() == "x = 1\n"
    assert stat.S_IMODE((copy / "run.sh").stat().st_mode) == 0o750


def test_a_second_claim_keeps_the_work_done_since(workspaces):
    copy = workspaces.claim(RUN, "app")
    (copy / "src" / "app.py").write_text("x = 2\n")
    assert workspaces.claim(RUN, "app") == copy
    assert (copy / "src" / "app.py").read_text() == "x = 2\n"


def test_each_run_has_its_own_copy(workspaces, source):
    one, other = workspaces.claim("one", "app"), workspaces.claim("other", "app")
    (one / "src" / "app.py").write_text("changed")
    assert (other / "src" / "app.py").read_text() == "x = 1\n"
    assert (source / "src" / "app.py").read_text() == "x = 1\n"


def test_a_claim_that_was_killed_half_way_is_made_anew(workspaces, tmp_path, source):
    left = tmp_path / "root" / RUN / ".claiming-app"
    left.mkdir(parents=True)
    (left / "half").write_text("")
    assert files_of(workspaces.claim(RUN, "app")) == files_of(source)
    assert not left.exists()


def test_a_failed_claim_leaves_no_workspace(workspaces, source):
    (source / "bad").symlink_to("/etc/passwd")
    with pytest.raises(WorkspaceRefused):
        workspaces.claim(RUN, "app")
    with pytest.raises(WorkspaceMissing):
        workspaces.path(RUN, "app")


def _claim(workspaces, barrier, results):
    barrier.wait()
    results.put(sorted(files_of(workspaces.claim(RUN, "app"))))


def test_workers_that_claim_at_once_share_one_whole_copy(workspaces, source):
    for n in range(50):
        (source / f"file{n}").write_text("x" * 1000)
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(4), context.Queue()
    claiming = [context.Process(target=_claim, args=(workspaces, barrier, results)) for _ in range(4)]
    for process in claiming:
        process.start()
    assert [results.get(timeout=30) for _ in claiming] == [sorted(files_of(source))] * 4
    for process in claiming:
        process.join()


@pytest.mark.parametrize(
    "target",
    [
        pytest.param("/etc/passwd", id="absolute"),
        pytest.param("../outside", id="climbs"),
        pytest.param("src/../../outside", id="climbs in the middle"),
        pytest.param("deep/../../project/src", id="goes out and comes back"),
        pytest.param("src/up/../project/src", id="goes out and comes back through another link"),
    ],
)
def test_a_link_that_leaves_the_source_is_refused_and_named(workspaces, source, tmp_path, target):
    (tmp_path / "outside").mkdir()
    (source / "src" / "up").symlink_to("..")
    (source / "way").symlink_to(target)
    with pytest.raises(WorkspaceRefused, match=r"/way is a link that leaves .*make it relative"):
        workspaces.claim(RUN, "app")


def test_an_absolute_link_into_the_source_is_refused_since_the_copy_would_reach_the_original(workspaces, source):
    (source / "way").symlink_to(source / "src")
    with pytest.raises(WorkspaceRefused):
        workspaces.claim(RUN, "app")


def test_a_link_inside_is_kept_as_a_link_of_the_copy(workspaces, source):
    (source / "latest").symlink_to("src")
    (source / "src" / "up").symlink_to("../run.sh")
    copy = workspaces.claim(RUN, "app")
    assert (copy / "latest").readlink().name == "src"
    assert (copy / "src" / "up").resolve() == copy / "run.sh"


def test_a_pipe_in_the_source_is_refused_and_waited_for_by_nobody(workspaces, source):
    os.mkfifo(source / "pipe")
    with pytest.raises(WorkspaceRefused, match="/pipe is neither a file nor a folder nor a link"):
        workspaces.claim(RUN, "app")


def test_our_own_folders_are_never_copied_even_where_they_lie_in_the_source(source):
    (source / ".endstop").mkdir()
    (source / ".endstop" / "store.db").write_text("MARKER")
    workspaces = Workspaces(source / "work", {"app": FolderWorkspace(name="app", source=source)})
    copy = workspaces.claim(RUN, "app")
    assert files_of(copy) == {"src", "src/app.py", "run.sh"}
    assert files_of(workspaces.claim("next", "app")) == {"src", "src/app.py", "run.sh"}


def test_an_undeclared_workspace_is_refused_with_those_that_are(workspaces):
    with pytest.raises(WorkspaceRefused, match="'ap' is not declared; declared: app"):
        workspaces.claim(RUN, "ap")


def test_a_source_that_is_gone_is_told_with_the_setting_to_correct(workspaces, source):
    source.rename(source.parent / "moved")
    with pytest.raises(WorkspaceRefused, match=r"correct \[workspaces.app\] source"):
        workspaces.claim(RUN, "app")


@pytest.mark.parametrize("run", ["..", "a/b", "", ".hidden", "/tmp"])
def test_a_run_that_is_no_single_folder_name_is_refused(workspaces, run):
    with pytest.raises(WorkspaceRefused):
        workspaces.claim(run, "app")
    with pytest.raises(WorkspaceRefused):
        workspaces.path(run, "app")
    with pytest.raises(WorkspaceRefused):
        workspaces.scratch(run, "app")


def test_a_workspace_that_was_replaced_by_a_link_is_missing(workspaces, tmp_path):
    copy = workspaces.claim(RUN, "app")
    copy.rename(tmp_path / "elsewhere")
    copy.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkspaceMissing):
        workspaces.path(RUN, "app")


def test_scratch_is_empty_however_deep_the_folders_that_a_command_left_in_it(workspaces):
    workspaces.claim(RUN, "app")
    scratch = workspaces.scratch(RUN, "tests")
    with deep(scratch / "deep"):
        assert workspaces.scratch(RUN, "tests") == scratch
        assert list(scratch.iterdir()) == []


def test_scratch_is_empty_where_a_command_left_a_link_in_its_place(workspaces, tmp_path):
    workspaces.claim(RUN, "app")
    scratch = workspaces.scratch(RUN, "tests")
    scratch.rmdir()
    scratch.symlink_to(tmp_path)
    assert workspaces.scratch(RUN, "tests") == scratch
    assert not scratch.is_symlink()
    assert (tmp_path / "root").exists()


def test_scratch_is_the_same_empty_folder_each_time_outside_the_workspace(workspaces):
    copy = workspaces.claim(RUN, "app")
    scratch = workspaces.scratch(RUN, "tests")
    (scratch / "litter").write_text("")
    assert workspaces.scratch(RUN, "tests") == scratch
    assert list(scratch.iterdir()) == []
    assert not scratch.is_relative_to(copy)
