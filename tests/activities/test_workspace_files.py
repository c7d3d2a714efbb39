"""FAULTS S6: nothing outside the folder is read, written or listed, and nothing makes an access wait."""

import os
import stat
from pathlib import Path

import pytest

from activities.workspace_files import MAX_NAMES, READ_BYTES, WRITE_BYTES, FileRefused, WorkspaceFiles


@pytest.fixture
def outside(tmp_path):
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text("MARKER")
    return folder


@pytest.fixture
def root(tmp_path, outside):
    folder = tmp_path / "workspace"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.py").write_text("x = 1\n")
    (folder / "link.txt").symlink_to(outside / "secret.txt")
    (folder / "away").symlink_to(outside)
    (folder / "inside.py").symlink_to("src/app.py")
    os.mkfifo(folder / "fifo")
    return folder


@pytest.fixture
def files(root):
    return WorkspaceFiles(root)


LEAVING = [
    pytest.param("../outside/secret.txt", id="climbs"),
    pytest.param("src/../../outside/secret.txt", id="climbs in the middle"),
    pytest.param("link.txt", id="is a link out"),
    pytest.param("inside.py", id="is a link inside"),
    pytest.param("away/secret.txt", id="goes through a link"),
    pytest.param("/etc/passwd", id="is absolute"),
    pytest.param("//etc/passwd", id="is absolute twice"),
    pytest.param("src/app.py\0.txt", id="holds a zero byte"),
    pytest.param("", id="is empty"),
    pytest.param(".", id="is the folder itself"),
    pytest.param("src", id="is a folder"),
    pytest.param("fifo", id="is a pipe"),
    pytest.param("src/app.py/x", id="goes through a file"),
    pytest.param("n" * 300, id="has too long a name"),
]


@pytest.mark.parametrize("path", LEAVING)
def test_a_path_that_is_no_file_inside_is_refused_for_reading(files, path):
    with pytest.raises(FileRefused) as refused:
        files.read(path)
    assert "MARKER" not in str(refused.value)
    assert "outside" not in str(refused.value).replace(path, "")


@pytest.mark.parametrize("path", LEAVING)
def test_a_path_that_is_no_file_inside_is_refused_for_writing(files, outside, root, path):
    before = sorted(str(p) for p in root.rglob("*"))
    with pytest.raises(FileRefused):
        files.write(path, b"overwritten")
    assert (outside / "secret.txt").read_text() == "MARKER"
    assert sorted(str(p) for p in root.rglob("*")) == before


@pytest.mark.parametrize("path", ["..", "away", "/", "fifo", "src/app.py"])
def test_a_path_that_is_no_folder_inside_is_refused_for_listing(files, path):
    with pytest.raises(FileRefused):
        list(files.entries(path, 3))


def test_a_device_is_refused():
    devices = WorkspaceFiles(Path("/dev"))
    with pytest.raises(FileRefused, match="not a regular file"):
        devices.read("zero")
    with pytest.raises(FileRefused, match="not a regular file"):
        devices.write("null", b"x")


def test_a_path_through_no_folder_is_told_in_one_line(files):
    with pytest.raises(FileRefused, match=r"^src/none\.py does not exist$"):
        files.read("src/none.py")


def test_a_file_over_the_cap_is_refused_without_reading_it(files, root):
    with (root / "huge").open("wb") as huge:
        huge.truncate(10 * 2**30)
    with pytest.raises(FileRefused, match=f"10737418240 bytes; at most {READ_BYTES}"):
        files.read("huge")


def test_content_over_the_cap_is_refused_and_nothing_changes(files, root):
    with pytest.raises(FileRefused, match=f"at most {WRITE_BYTES}"):
        files.write("src/app.py", b"x" * (WRITE_BYTES + 1))
    assert (root / "src" / "app.py").read_text() == "x = 1\n"


def test_a_written_file_keeps_the_mode_of_the_one_it_replaces(files, root):
    (root / "run.sh").write_text("old")
    (root / "run.sh").chmod(0o750)
    files.write("run.sh", b"new")
    assert (root / "run.sh").read_text() == "new"
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o750


def test_writing_makes_folders_and_leaves_nothing_else_behind(files, root):
    files.write("a/b/c.txt", b"deep")
    assert (root / "a" / "b" / "c.txt").read_text() == "deep"
    assert [entry.name for entry in (root / "a" / "b").iterdir()] == ["c.txt"]


def test_a_reader_sees_the_old_file_whole_while_it_is_replaced(files, root):
    with (root / "src" / "app.py").open() as reader:
        files.write("src/app.py", b"y = 2\n")
        assert reader.read() == "x = 1\n"
    assert files.read("src/app.py") == b"y = 2\n"


def test_a_listing_names_links_and_does_not_follow_them(files):
    assert list(files.entries(".", 3)) == [
        "away (a link, not followed)",
        "fifo",
        "inside.py (a link, not followed)",
        "link.txt (a link, not followed)",
        "src/",
        "src/app.py",
    ]


def test_a_listing_goes_no_deeper_than_asked_and_not_into_what_nobody_wrote(files, root):
    (root / "a" / "b" / "c").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("ref")
    assert "a/b/" in list(files.entries(".", 2))
    assert "a/b/c/" not in list(files.entries(".", 2))
    assert ".git/HEAD" not in list(files.entries(".", 3))
    assert ".git/HEAD" in list(files.entries(".git", 1))


def test_a_folder_that_cannot_be_read_is_named_and_the_rest_is_listed(files, root):
    (root / "private").mkdir()
    (root / "private" / "key").write_text("MARKER")
    (root / "private").chmod(0)
    listing = files.entries(".", 3)
    listed, user = [next(listing)], os.geteuid()
    try:
        os.seteuid(user or 65534)  # no folder is closed to root: 65534 is nobody
        listed += listing
    finally:
        os.seteuid(user)
        (root / "private").chmod(0o700)

    assert listed[-3:] == ["private/ (cannot be read: permission denied)", "src/", "src/app.py"]


def test_a_name_that_is_no_text_cannot_forge_an_entry(files, root):
    (root / "src" / "a\nb").write_text("")
    (root / "src" / os.fsdecode(b"\xff")).write_text("")
    assert list(files.entries("src", 1)) == ["src/a\\nb", "src/app.py", "src/\N{REPLACEMENT CHARACTER}"]


def test_no_descriptor_is_left_open(files):
    before = len(list(Path("/proc/self/fd").iterdir()))
    for path in ("src/app.py", "src/none.py", "fifo", "away/secret.txt", "src"):
        for _ in range(10):
            try:
                files.read(path)
                files.write(path, b"x")
            except FileRefused:
                continue
    list(files.entries(".", 3))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_the_names_read_of_one_folder_are_bounded(files, root, monkeypatch):
    monkeypatch.setattr("activities.workspace_files.MAX_NAMES", 5)
    assert MAX_NAMES > 5
    (root / "many").mkdir()
    for n in range(20):
        (root / "many" / str(n)).write_text("")
    assert len(list(files.entries("many", 1))) == 5
