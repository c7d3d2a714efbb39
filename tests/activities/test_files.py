"""Which files of a workspace can accompany a task; each refusal is one line that names the file."""

import os

import pytest

from activities import files
from activities.files import MAX_FILE, NamedFile, media_type_of, read_files
from activities.workspace_files import FileRefused, WorkspaceFiles
from ledger.conversation import digest

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (b"%PDF-1.4\n\xff\x00", "application/pdf"),
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0rest", "image/jpeg"),
        (b"GIF89a....", "image/gif"),
        (b"GIF87a....", "image/gif"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\x10\0\0\0WAVEfmt \xff", None),
        (b"# Title\n", "text/plain"),
        ("漢字".encode(), "text/plain"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "text/plain"),
        (b"\xff\xfet\0e\0x\0t\0", None),
        (b"text with a zero \0 byte", None),
        (b"PK\x03\x04\xff", None),
        (b"", None),
        (b" \n", None),
    ],
)
def test_a_files_first_bytes_say_what_it_is(content, media_type):
    assert media_type_of(content) == media_type


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "workspace"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "plan.pdf").write_bytes(b"%PDF-1.7 plan")
    (folder / "picture.txt").write_bytes(PNG)
    (folder / "data.zip").write_bytes(b"PK\x03\x04\xff")
    (folder / "link.pdf").symlink_to("docs/plan.pdf")
    os.mkfifo(folder / "pipe.pdf")
    with (folder / "big.pdf").open("wb") as big:
        big.write(b"%PDF-1.7")
        big.truncate(MAX_FILE + 1)
    return WorkspaceFiles(folder)


def test_a_file_is_known_by_its_content_not_by_its_ending(workspace):
    (plan, content), (picture, _) = read_files(workspace, ("docs/plan.pdf", "picture.txt"))
    assert plan == NamedFile(name="docs/plan.pdf", ref=digest(content), media_type="application/pdf", bytes=13)
    assert picture.media_type == "image/png"


def test_a_file_of_exactly_the_limit_is_taken(workspace, tmp_path):
    os.truncate(tmp_path / "workspace" / "big.pdf", MAX_FILE)
    ((big, _),) = read_files(workspace, ("big.pdf",))
    assert big.bytes == MAX_FILE


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("no.pdf", "no.pdf does not exist"),
        ("link.pdf", "link.pdf is a link; links are not followed"),
        ("docs", "docs is not a regular file"),
        ("pipe.pdf", "pipe.pdf is not a regular file"),
        ("big.pdf", "big.pdf has 33554433 bytes; at most 33554432 can be read"),
        ("data.zip", "data.zip is no PDF, PNG, JPEG, GIF or WebP image and no UTF-8 text"),
    ],
)
def test_a_file_that_cannot_come_along_is_refused_in_one_line_that_names_it(workspace, name, line):
    with pytest.raises(FileRefused) as refused:
        list(read_files(workspace, (name,)))
    assert str(refused.value) == line


def test_the_files_of_a_run_are_bounded_together(workspace, monkeypatch):
    monkeypatch.setattr(files, "MAX_FILES", 20)
    with pytest.raises(FileRefused) as refused:
        list(read_files(workspace, ("docs/plan.pdf", "picture.txt")))
    assert str(refused.value) == "picture.txt makes 29 bytes with the files before it; at most 20 are taken"
