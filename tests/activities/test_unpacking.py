"""Workspaces from archives: real tar and zip files, the hostile ones too, real claims."""

import gzip
import hashlib
import io
import stat
import tarfile
import zipfile

import pytest

from activities import unpacking
from activities.declared_workspaces import ArchiveWorkspace
from activities.workspace import WorkspaceMissing, WorkspaceRefused, Workspaces

RUN = "0197c3a2-run"
FORMS = ["app.tar.gz", "app.tgz", "app.tar", "app.zip"]
LINK, TWIN = "link", "twin"


def tar_of(path, entries):
    """Each entry is a name with its content, or with the kind of link it is and where that leads."""
    with tarfile.open(path, "w" if path.suffix == ".tar" else "w:gz") as archive:
        for name, content in entries:
            member = tarfile.TarInfo(name)
            member.mode = 0o6755 if name.endswith(".sh") else 0o666
            if isinstance(content, tuple):
                member.type = tarfile.SYMTYPE if content[0] == LINK else tarfile.LNKTYPE
                member.linkname = content[1]
            elif content is None:
                member.type = tarfile.DIRTYPE
            else:
                member.size = len(content)
            archive.addfile(member, io.BytesIO(content) if isinstance(content, bytes) else None)


def zip_of(path, entries):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries:
            mode = stat.S_IFREG | (0o6755 if name.endswith(".sh") else 0o666)
            link = isinstance(content, tuple)
            member = zipfile.ZipInfo(f"{name}/" if content is None else name)
            member.external_attr = (stat.S_IFLNK | 0o777 if link else mode) << 16
            archive.writestr(member, content[1] if link else content or b"")


@pytest.fixture
def claimed(tmp_path):
    def claim(form, *entries, made=None):
        path = tmp_path / form
        if made is not None:
            path.write_bytes(made)
        elif entries:
            (zip_of if form.endswith(".zip") else tar_of)(path, entries)
        workspaces = Workspaces(tmp_path / "root", {"app": ArchiveWorkspace(name="app", archive=path)})
        return workspaces, workspaces.claim(RUN, "app")

    return claim


@pytest.fixture
def refusal(tmp_path, claimed):
    """The line that a claim is refused with; nothing is left of it, inside or outside."""

    def refused(form, *entries, made=None):
        with pytest.raises(WorkspaceRefused) as caught:
            claimed(form, *entries, made=made)
        with pytest.raises(WorkspaceMissing):
            Workspaces(tmp_path / "root", {}).path(RUN, "app")
        assert {path.name for path in tmp_path.iterdir()} <= {"root", form}
        assert [path.name for path in (tmp_path / "root" / RUN).iterdir()] == [".lock"]
        return str(caught.value).removeprefix(f"workspace app: {tmp_path / form}: ")

    return refused


def files_of(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("form", FORMS)
def test_a_claim_holds_what_is_in_the_archive_and_remembers_which_archive(form, claimed, tmp_path):
    entries = [("src", None), ("src/app.py", b"x = 1\n"), ("./run.sh", b"#!/bin/sh\n"), ("deep/er/empty", b"")]
    workspaces, copy = claimed(form, *entries, ("latest", (LINK, "src")))
    assert files_of(copy) == {"src", "src/app.py", "run.sh", "deep", "deep/er", "deep/er/empty", "latest"}
    assert (copy / "latest" / "app.py").read_text() == "x = 1\n"
    assert [stat.S_IMODE((copy / name).stat().st_mode) for name in ("run.sh", "src/app.py")] == [0o755, 0o644]
    digest = hashlib.sha256((tmp_path / form).read_bytes()).hexdigest()
    assert workspaces.revision(RUN, "app") == f"sha256:{digest}"


@pytest.mark.parametrize("form", FORMS)
def test_our_own_folder_is_never_in_a_copy_though_it_was_packed(form, claimed):
    _, copy = claimed(form, ("a", b""), ("deep/.endstop/store.db", b"MARKER"), (".endstop", b"MARKER"))
    assert files_of(copy) == {"a", "deep"}


def test_a_file_with_two_names_has_them_in_the_copy(claimed):
    _, copy = claimed("app.tar", ("a", b"x"), ("deep/b", (TWIN, "a")))
    assert (copy / "deep" / "b").read_text() == "x"


LEAVES = "cannot be unpacked: the path must stay in the workspace; .. is not allowed"
ABSOLUTE = "cannot be unpacked: the path must be relative to the workspace, such as src/app.py"
TAKEN = "stands where another stands already"
HOSTILE = {
    "climbs": ([("../out", b"x")], f"its entry ../out {LEAVES}"),
    "climbs in the middle": ([("a/../../out", b"x")], f"its entry a/../../out {LEAVES}"),
    "is absolute": ([("/tmp/out", b"x")], f"its entry /tmp/out {ABSOLUTE}"),
    "goes through a link": ([("way", (LINK, "..")), ("way/out", b"x")], f"its entry way {TAKEN}"),
    "makes a link through a link": ([("way", (LINK, "..")), ("way/out", (LINK, "x"))], f"its entry way/out {TAKEN}"),
    "writes onto a link": ([("a", (LINK, "../out")), ("a", b"x")], f"its entry a {TAKEN}"),
    "is a file and a folder": ([("a", b"x"), ("a/b", b"x")], f"its entry a/b {TAKEN}"),
    "forges a line": ([("../\nworkspace app: fine", b"x")], rf"its entry ../\x0aworkspace app: fine {LEAVES}"),
    "has a name that no disk takes": ([("x" * 300, b"")], f"its entry {'x' * 64}... has too long a name"),
}


@pytest.mark.parametrize("form", ["app.tar.gz", "app.zip"])
@pytest.mark.parametrize(("entries", "line"), HOSTILE.values(), ids=HOSTILE)
def test_an_archive_that_reaches_out_is_refused_and_leaves_nothing(form, entries, line, refusal):
    assert refusal(form, *entries) == line


@pytest.mark.parametrize("form", ["app.tar.gz", "app.zip"])
@pytest.mark.parametrize("target", ["/etc/passwd", "../../out", "way/../../../x"])
def test_a_link_that_leaves_is_refused_and_named(form, target, refusal):
    assert "/way is a link that leaves" in refusal(form, ("a", b""), ("way", (LINK, target)))


@pytest.mark.parametrize("target", ["../root.txt", "/etc/passwd", "nothing", "folder", "way"])
def test_a_second_name_for_what_is_no_file_of_the_archive_is_refused(target, refusal):
    line = refusal("app.tar", ("folder", None), ("way", (LINK, "/etc/passwd")), ("a", (TWIN, target)))
    assert line.startswith("its entry a ")


@pytest.mark.parametrize("kind", [tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE])
def test_a_device_and_a_pipe_are_refused(kind, refusal):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        member = tarfile.TarInfo("odd")
        member.type = kind
        archive.addfile(member)
    assert refusal("app.tar", made=made.getvalue()) == "its entry odd is neither a file nor a folder nor a link"


# ---- bombs


def header(size, kind=tarfile.REGTYPE, name="big"):
    member = tarfile.TarInfo(name)
    member.size, member.type = size, kind
    return member.tobuf(tarfile.GNU_FORMAT)


def test_files_that_would_fill_the_disk_are_refused_before_they_are_written(refusal):
    made = gzip.compress(header(3 * 2**30) + bytes(2**20))
    assert "damaged" in refusal("app.tar.gz", made=made)
    assert refusal("app.tar.gz", made=gzip.compress(header(5 * 2**30))) == LIMITS


LIMITS = "it holds more than 200,000 entries or 4 GiB"


@pytest.mark.parametrize("form", ["app.tar.gz", "app.zip"])
def test_files_that_only_together_are_too_large_are_refused(form, refusal, monkeypatch):
    entries = [(f"{number}", bytes(2**20)) for number in range(3)]
    monkeypatch.setattr(unpacking, "MAX_UNPACKED", 3 * 2**20 - 1)
    assert refusal(form, *entries).startswith("it holds more than")


@pytest.mark.parametrize("form", ["app.tar.gz", "app.zip"])
def test_more_entries_than_any_source_tree_has_are_refused(form, refusal, monkeypatch):
    monkeypatch.setattr(unpacking, "MAX_ENTRIES", 3)
    assert refusal(form, *((f"{number}", b"") for number in range(4))).startswith("it holds more than 3 entries")


def test_a_header_made_to_fill_memory_is_refused(refusal):
    made = gzip.compress(header(2**30, tarfile.GNUTYPE_LONGNAME) + bytes(2**20))
    assert refusal("app.tar.gz", made=made) == "it has a header of more than a mebibyte"


# ---- damaged


@pytest.mark.parametrize("form", FORMS)
def test_what_is_no_archive_is_refused(form, refusal):
    assert refusal(form) == "there is no such file"
    assert "it is damaged, or is not what its name says" in refusal(form, made=b"hello" * 1_000)


@pytest.mark.parametrize("form", FORMS)
def test_an_archive_of_which_a_part_is_missing_is_refused_wherever_it_was_cut(form, tmp_path, claimed):
    make = zip_of if form.endswith(".zip") else tar_of
    make(tmp_path / form, [(f"{number}", b"some text" * 200) for number in range(3)])
    whole = (tmp_path / form).read_bytes()
    files = 3 * (512 + 2_048)  # of a tar file, a multiple of its blocks of 512 bytes; two empty blocks follow
    for length in range(0, files + 1 if form.endswith(".tar") else len(whole), 64):
        with pytest.raises(WorkspaceRefused, match="it is damaged"):
            claimed(form, made=whole[:length])


def test_a_zip_file_that_is_encrypted_is_refused(tmp_path, refusal):
    zip_of(tmp_path / "app.zip", [("a", b"x")])
    made = bytearray((tmp_path / "app.zip").read_bytes())
    made[6] |= 1
    made[made.index(b"PK\x01\x02") + 8] |= 1
    assert "it is encrypted" in refusal("app.zip", made=bytes(made))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_file_that_is_damaged_inside_is_refused_however_it_is_compressed(method, refusal):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        archive.writestr("app.py", bytes(range(256)) * 20)
    broken = bytearray(made.getvalue())
    broken[60:90] = b"\xff" * 30
    assert "it is damaged, or is not what its name says" in refusal("app.zip", made=bytes(broken))


@pytest.mark.parametrize("form", ["app.tar.gz", "app.zip"])
def test_folders_deeper_than_can_be_looked_through_are_refused(form, refusal):
    assert "it lies more than 200 folders deep" in refusal(form, ("a/" * 201 + "f", b""))
