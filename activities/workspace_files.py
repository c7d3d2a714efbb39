"""File access that cannot leave a folder, whatever is in it and whoever changes it meanwhile.

Here: reading, writing and listing by relative path. Every component is opened below its parent's descriptor and never
through a link, so that there is no moment between a check and its use. Not here: what a tool says about it
(`builtin_tools`), or which folder it is (`workspace`).
"""

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Final

READ_BYTES: Final = 2**20
"""A larger file is refused: it would not fit into a model's context in any case."""
WRITE_BYTES: Final = 2**20
MAX_ENTRIES: Final = 1_000
"""Entries of one listing."""
MAX_NAMES: Final = 10_000
"""Names read of one folder, so that a folder of millions costs no more than this."""
NOT_ENTERED: Final = frozenset({".git", ".venv", "__pycache__", "node_modules"})
"""Listed but not walked into: thousands of files that nobody wrote. They can be asked for by name."""

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""O_NONBLOCK, because opening a FIFO would wait for a writer for ever; it means nothing to a regular file."""
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class FileRefused(Exception):  # noqa: N818 - it names what happened
    """The path cannot be used; the message is one line for who gave it, and names nothing outside the folder."""


class WorkspaceFiles:
    """The files of one folder. `protected` are paths in it that are not written, each with the gate that wants it."""

    def __init__(self, root: Path, protected: Mapping[str, str] = MappingProxyType({})) -> None:
        self._root = root
        self._protected = protected

    def read(self, path: str, at_most: int = READ_BYTES) -> bytes:
        """Return a regular file's content, at most so many bytes."""
        *folders, name = components(path)
        with _told_plainly(path), self._folder(folders) as folder, _opened(name, _FILE, folder) as file:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise FileRefused(f"{path} is not a regular file")
            if status.st_size > at_most:
                raise FileRefused(f"{path} has {status.st_size} bytes; at most {at_most} can be read")
            with os.fdopen(os.dup(file), "rb") as stream:
                content = stream.read(at_most + 1)
        if len(content) > at_most:  # it grew meanwhile, or tells no size
            raise FileRefused(f"{path} has more than {at_most} bytes, which is the most that can be read")
        return content

    def write(self, path: str, content: bytes) -> None:
        """Replace or create a regular file, whole or not at all; missing folders are made, an existing mode is kept."""
        if len(content) > WRITE_BYTES:
            raise FileRefused(f"the content has {len(content)} bytes; at most {WRITE_BYTES} can be written")
        *folders, name = components(path)
        self._refuse_protected([*folders, name], path)
        with _told_plainly(path), self._folder(folders, make=True) as folder:
            _replace(folder, name, content, mode=_mode_to_keep(folder, name, path))

    def entries(self, path: str, depth: int) -> Iterator[str]:
        """Yield the relative paths below a folder in order, folders with a slash; at most `depth` levels deep.

        A link is named and never followed. What `NOT_ENTERED` names is listed without its content. A folder below
        that cannot be read is named as such, and the rest is listed.
        """
        folders = [] if path in (".", "./", "") else components(path)
        with _told_plainly(path), self._folder(folders) as folder:
            yield from _walk(folder, "".join(f"{name}/" for name in folders), depth)

    def _refuse_protected(self, parts: list[str], path: str) -> None:
        for protected, gate in self._protected.items():
            own = protected.split("/")
            if parts[: len(own)] == own:
                raise FileRefused(f"{path} is protected: gate {gate} checks the work by it; change the work instead")

    @contextmanager
    def _folder(self, names: list[str], *, make: bool = False) -> Iterator[int]:
        folder = os.open(self._root, _FOLDER)
        try:
            for name in names:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(name, 0o755, dir_fd=folder)
                below = os.open(name, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = below
            yield folder
        finally:
            os.close(folder)


def components(path: str) -> list[str]:
    """Split a relative path; refuse one that is absolute, climbs, or names nothing."""
    if path.startswith("/") or "\0" in path:
        raise FileRefused("the path must be relative to the workspace, such as src/app.py")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise FileRefused("the path must stay in the workspace; .. is not allowed")
    if not parts:
        raise FileRefused("the path names no file")
    return parts


@contextmanager
def _told_plainly(path: str) -> Iterator[None]:
    """Turn what the system says of a path into one line: the path as it was given, and the system's words."""
    try:
        yield
    except FileNotFoundError:
        raise FileRefused(f"{path} does not exist") from None
    except NotADirectoryError:
        raise FileRefused(f"{path} goes through something that is not a folder, or through a link") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise FileRefused(f"{path} is a link; links are not followed") from None
        raise FileRefused(f"{path}: {os.strerror(error.errno or 0).lower()}") from None


@contextmanager
def _opened(name: str, flags: int, folder: int) -> Iterator[int]:
    file = os.open(name, flags, dir_fd=folder)
    try:
        yield file
    finally:
        os.close(file)


def _mode_to_keep(folder: int, name: str, path: str) -> int:
    """Return the mode of the file that is replaced; refuse to replace anything but a regular file."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return 0o644
    if not stat.S_ISREG(status.st_mode):
        raise FileRefused(f"{path} is there and is not a regular file")
    return stat.S_IMODE(status.st_mode) & 0o777


def _replace(folder: int, name: str, content: bytes, *, mode: int) -> None:
    """Write beside the file and rename over it: a reader sees the old content or the new, never half."""
    beside = f".endstop-{secrets.token_hex(8)}"
    file = os.open(beside, _NEW, 0o600, dir_fd=folder)
    try:
        with os.fdopen(file, "wb") as stream:
            stream.write(content)
            os.fchmod(stream.fileno(), mode)
        os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(beside, dir_fd=folder)
        raise


def _walk(folder: int, prefix: str, depth: int) -> Iterator[str]:
    with os.scandir(folder) as found:
        entries = sorted(islice(found, MAX_NAMES), key=lambda entry: entry.name)
    for entry in entries:
        shown = prefix + plain_name(entry.name)
        if entry.is_symlink():
            yield f"{shown} (a link, not followed)"
        elif not entry.is_dir(follow_symlinks=False):
            yield shown
        elif depth > 1 and entry.name not in NOT_ENTERED:
            yield from _entered(folder, entry.name, f"{shown}/", depth - 1)
        else:
            yield f"{shown}/"


def _entered(folder: int, name: str, shown: str, depth: int) -> Iterator[str]:
    """A folder and what is in it; one that cannot be opened is named with the reason, and hides nothing beside it."""
    try:
        below = os.open(name, _FOLDER, dir_fd=folder)
    except OSError as error:
        yield f"{shown} (cannot be read: {os.strerror(error.errno or 0).lower()})"
        return
    try:
        yield shown
        yield from _walk(below, shown, depth)
    finally:
        os.close(below)


def plain_name(name: str) -> str:
    """Return a file's name as text: bytes that are no UTF-8 are replaced, a line break cannot forge an entry."""
    text = os.fsencode(name).decode(errors="replace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
