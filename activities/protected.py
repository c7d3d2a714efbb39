"""What of a workspace the work may not change: as it was when the workspace was claimed, and what differs since.

Here: naming what is there by digest, and comparing. Everything counts: content, whether a file may be executed, new
files in a folder, what is gone, what became a link. A link is protected as a link; what it leads to only where that is
protected itself. Not here: refusing writes (`workspace_files`), mounting read-only (`sandbox`), or what a difference
means (`run_gate`).
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Self

from activities.workspace_files import plain_name
from ledger.model import Frozen


class Protected(Frozen):
    """What one gate protects in one workspace, as it was when the workspace was claimed."""

    paths: tuple[str, ...]
    """As declared, relative to the workspace; one that was not there is protected from being made."""
    was: dict[str, str]
    """What was found at each of them and below, by path."""

    @classmethod
    def of(cls, folder: Path, paths: tuple[str, ...]) -> Self:
        """Remember what is there now."""
        return cls(paths=paths, was=dict(_found(folder, paths)))

    def changed(self, folder: Path) -> tuple[str, ...]:
        """Return the paths at which something else is found now, sorted."""
        now = dict(_found(folder, self.paths))
        return tuple(sorted(path for path in now.keys() | self.was.keys() if now.get(path) != self.was.get(path)))

    def mounts(self, folder: Path) -> Iterator[Path]:
        """What of it can be mounted: it is there, and no link leads to it."""
        for path in self.paths:
            place = folder / path
            if place.exists() and place.resolve() == folder.resolve() / path:
                yield place


def _found(folder: Path, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    for path in paths:
        *above, name = path.split("/")
        place = folder
        for part in above:
            place /= part
            if place.is_symlink():
                yield _named(folder, place), _what(place)
                break
        else:
            yield from _below(folder, place / name)


def _below(folder: Path, place: Path) -> Iterator[tuple[str, str]]:
    """What is at a place, and in it; nothing where nothing is. However deep it is: the work may have made it."""
    places = [place]
    while places:
        place = places.pop()
        if what := _what(place):
            yield _named(folder, place), what
        if what == "folder":
            places += (place / name for name in os.listdir(place))  # noqa: PTH208 - names that are no text stay so


def _named(folder: Path, place: Path) -> str:
    return "/".join(plain_name(part) for part in place.relative_to(folder).parts)


def _what(place: Path) -> str:
    """Name what is there, "" where nothing is. Only a regular file is opened."""
    try:
        status = place.lstat()
        if stat.S_ISLNK(status.st_mode):
            return f"link to {plain_name(str(place.readlink()))}"
        if stat.S_ISDIR(status.st_mode):
            return "folder" if os.access(place, os.R_OK | os.X_OK) else "unreadable"
        if stat.S_ISREG(status.st_mode):
            return f"{'program' if status.st_mode & 0o111 else 'file'} {_digest(place)}"
    except (FileNotFoundError, NotADirectoryError):  # the latter: a folder above it became a file
        return ""
    except OSError:  # no permission, or a path longer than the system takes
        return "unreadable"
    return "neither file nor folder nor link"


def _digest(place: Path) -> str:
    with os.fdopen(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
