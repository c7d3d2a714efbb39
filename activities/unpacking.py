"""An archive unpacked into a folder: within limits, and without ever following a link or leaving the folder.

Here: tar files (plain and gzip) and zip files as one sequence of entries, and writing them. Not here: which archives
are allowed (`declared_workspaces`), or whether a link leads out of the copy (`workspace`, which checks every copy).

Files are written first, links last, so that while anything is written nothing leads anywhere else. Of a mode only
whether a file may be executed counts, as in git. Devices, pipes and encrypted files are refused.
"""

import errno
import gzip
import hashlib
import io
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, Literal

from activities.workspace_files import FileRefused, components
from ledger.reading import shown

MAX_ENTRIES: Final = 200_000
"""Twice the files of the largest source trees (Linux has some 90,000)."""
MAX_UNPACKED: Final = 4 * 2**30
"""Bytes of all files together; the same trees have some 2 GB."""
MAX_HEADER: Final = 2**20
"""Bytes of a tar file that are read at once: names of a megabyte are no names."""
MAX_LINK: Final = 4_096
"""Bytes of a link's target, as the system has it."""

MAX_DEPTH: Final = 200
"""Folders in folders; where they are a thousand deep Python can neither look through a copy nor remove it."""

_CHUNK: Final = 65_536
_DAMAGED: Final = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, UnicodeError)


class ArchiveRefused(Exception):  # noqa: N818 - it names what happened
    """The archive cannot be used; the message is one line about it."""


@dataclass(frozen=True, kw_only=True)
class _Entry:
    """One thing in an archive. A name is whatever bytes the archive has, so no model that wants text."""

    name: str
    kind: Literal["folder", "file", "link", "twin"]
    """twin: another name of a file that is in the archive too."""
    size: int = 0
    target: str = ""
    executable: bool = False


_Opens = Callable[[], IO[bytes]]
"""Opens a file's content."""


def unpack(archive: Path, into: Path) -> str:
    """Make the folder `into`, which is not there yet, and return the archive's sha256. Raises `ArchiveRefused`."""
    if not archive.is_file():
        raise ArchiveRefused("there is no such file")
    into.mkdir()
    with _told_plainly(), archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        read = _zip_entries if archive.name.endswith(".zip") else _tar_entries
        _write(read(file), into)
        return digest


@contextmanager
def _told_plainly() -> Iterator[None]:
    try:
        yield
    except (*_DAMAGED, OSError) as broken:
        if isinstance(broken, OSError) and broken.errno is not None:  # the system's; bz2 and gzip name none
            raise
        raise ArchiveRefused(f"it is damaged, or is not what its name says ({type(broken).__name__})") from None
    except (NotImplementedError, RuntimeError):  # zipfile's words for methods it lacks and for encryption
        raise ArchiveRefused("it is encrypted, or compressed in a way that cannot be read") from None


def _write(entries: Iterator[tuple[_Entry, _Opens]], into: Path) -> None:
    links: list[_Entry] = []
    left = MAX_UNPACKED
    for number, (entry, content) in enumerate(entries, 1):
        left -= entry.size
        if number > MAX_ENTRIES or left < 0:
            raise ArchiveRefused(f"it holds more than {MAX_ENTRIES:,} entries or {MAX_UNPACKED // 2**30} GiB")
        if entry.kind in ("link", "twin"):
            links.append(entry)
            continue
        with _at(entry, into) as place:
            _write_one(entry, content, place)
    for entry in sorted(links, key=lambda link: link.kind == "link"):  # twins first: no link is there yet
        with _at(entry, into) as place:
            _link(entry, place, into)


@contextmanager
def _at(entry: _Entry, into: Path) -> Iterator[Path]:
    """The place of an entry, its folders made; none of them is a link."""
    try:
        *folders, name = _shallow(components(entry.name))
        yield _folder(into, folders) / name
    except FileRefused as refused:
        raise ArchiveRefused(f"its entry {shown(entry.name)} cannot be unpacked: {refused}") from None
    except (FileExistsError, IsADirectoryError, NotADirectoryError):
        raise ArchiveRefused(f"its entry {shown(entry.name)} stands where another stands already") from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise ArchiveRefused(f"its entry {shown(entry.name)} has too long a name") from None
        raise


def _shallow(names: list[str]) -> list[str]:
    if len(names) > MAX_DEPTH:
        raise FileRefused(f"it lies more than {MAX_DEPTH} folders deep")
    return names


def _folder(into: Path, names: list[str]) -> Path:
    """Make the folders below `into`. A link is none: what is written through it would land elsewhere."""
    for name in names:
        into /= name
        if into.is_symlink():
            raise NotADirectoryError
        into.mkdir(exist_ok=True)
    return into


def _write_one(entry: _Entry, content: _Opens, place: Path) -> None:
    if entry.kind == "folder":
        place.mkdir(exist_ok=True)
        return
    with content() as source, place.open("wb") as file:
        left = entry.size
        while left and (chunk := source.read(min(left, _CHUNK))):
            file.write(chunk)
            left -= len(chunk)
    if left:
        raise EOFError
    place.chmod(0o755 if entry.executable else 0o644)


def _link(entry: _Entry, place: Path, into: Path) -> None:
    if entry.kind == "link":
        if not entry.target or "\0" in entry.target:
            raise ArchiveRefused(f"its entry {shown(entry.name)} is a link to nothing")
        place.symlink_to(entry.target)
        return
    twin = into.joinpath(*components(entry.target))
    if not twin.is_file():
        raise ArchiveRefused(f"its entry {shown(entry.name)} is a link to what is no file of the archive")
    place.hardlink_to(twin)


class _Bounded(io.BufferedReader):
    """Refuses to read much at once, as only a header that was made to fill memory would ask for."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or not 0 <= size <= MAX_HEADER:
            raise ArchiveRefused("it has a header of more than a mebibyte")
        return super().read(size)


def _tar_entries(file: IO[bytes]) -> Iterator[tuple[_Entry, _Opens]]:
    zipped = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    raw: Any = gzip.GzipFile(fileobj=file) if zipped else file
    bounded = _Bounded(raw)
    with tarfile.open(fileobj=bounded, mode="r:") as archive:
        for member in archive:
            yield _tar_entry(member), partial(_content, archive, member)
        bounded.seek(archive.offset)
        if bounded.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
            raise tarfile.ReadError  # tarfile takes any end for the end, also where half of it is missing


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    content = archive.extractfile(member)
    if content is None:
        raise tarfile.ReadError
    return content


def _tar_entry(member: tarfile.TarInfo) -> _Entry:
    name = member.name
    if member.isreg():
        return _Entry(name=name, kind="file", size=member.size, executable=bool(member.mode & stat.S_IXUSR))
    if member.isdir():
        return _Entry(name=name, kind="folder")
    if member.issym():
        return _Entry(name=name, kind="link", target=member.linkname)
    if member.islnk():
        return _Entry(name=name, kind="twin", target=member.linkname)
    raise ArchiveRefused(f"its entry {shown(name)} is neither a file nor a folder nor a link")


def _zip_entries(file: IO[bytes]) -> Iterator[tuple[_Entry, _Opens]]:
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            yield _zip_entry(archive, member), partial(archive.open, member)


def _zip_entry(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> _Entry:
    """The upper half of the attributes is a Unix mode; archives made elsewhere have none."""
    mode = member.external_attr >> 16
    if member.is_dir():
        return _Entry(name=member.filename, kind="folder")
    if stat.S_ISLNK(mode):
        if member.file_size > MAX_LINK:
            raise ArchiveRefused(f"its entry {shown(member.filename)} is a link to too long a path")
        return _Entry(name=member.filename, kind="link", target=archive.read(member).decode())
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise ArchiveRefused(f"its entry {shown(member.filename)} is neither a file nor a folder nor a link")
    executable = bool(mode & stat.S_IXUSR)
    return _Entry(name=member.filename, kind="file", size=member.file_size, executable=executable)
