"""Workspaces: folders on this worker that runs work in, each a run's own copy of a folder the operator declared.

Here: claiming a copy and saying where it is. Not here: access to its files (`workspace_files`), or commands in it
(`command`). Layout: `root / run / name` is the copy, `root / run / .scratch / use` what commands need besides, and
`root / run / .protected / name.json` what the copy's gates protect, as it was at first.
"""

import fcntl
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final

from pydantic import TypeAdapter

from activities.declared import Workspace
from activities.protected import Protected

OWN_FOLDER: Final = ".endstop"
"""Where the store and the workspaces live by default; never copied, so that a workspace cannot hold the store."""

_PROTECTED: Final = TypeAdapter(dict[str, Protected])
"""By gate."""

_COMPONENT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
"""A run or a name as one path component: no separator, no leading dot."""


class WorkspaceRefused(Exception):  # noqa: N818 - it names what happened, as the journal does
    """A workspace cannot be claimed; the message says which, why and what to do."""


class WorkspaceMissing(Exception):  # noqa: N818 - it names what happened, as the journal does
    """The workspace is not on this worker: it was never claimed here, or its folder is gone."""


class Workspaces:
    """The workspaces of this worker."""

    def __init__(self, root: Path, declared: Mapping[str, Workspace]) -> None:
        self._root = Path(os.path.realpath(root))
        self._declared = declared

    def claim(self, run: str, name: str, protected: Mapping[str, tuple[str, ...]] = MappingProxyType({})) -> Path:
        """Copy the declared folder once; a second claim of the same run and name returns the copy as it is now.

        All or nothing: the copy is made beside its place and renamed into it. File modes are kept. What each gate
        protects is remembered as it is in the fresh copy, and stays remembered whatever the operator declares later.
        """
        source = self._source(name)
        place = self._place(run, name)
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _one_at_a_time(place.parent):
            if not _is_folder(place):
                with _copied(source, place, without=self._root) as copy:
                    kept = {gate: Protected.of(copy, paths) for gate, paths in protected.items()}
                    self._keep(run, name, kept)
        return place

    def protected(self, run: str, name: str) -> dict[str, Protected]:
        """Return what the gates of a claimed workspace protect, as it was when it was claimed, by gate."""
        try:
            return _PROTECTED.validate_json(self._kept(run, name).read_bytes())
        except FileNotFoundError:
            return {}

    def path(self, run: str, name: str) -> Path:
        """Return where a claimed workspace is."""
        place = self._place(run, name)
        if not _is_folder(place):
            raise WorkspaceMissing(f"workspace {name} of run {run} is not on this worker")
        return place

    def scratch(self, run: str, use: str) -> Path:
        """Return an empty folder outside every workspace; the same path for the same use, emptied each time."""
        place = self._place(run, use).parent / ".scratch" / use
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True, mode=0o700)
        return place

    def _keep(self, run: str, name: str, protected: Mapping[str, Protected]) -> None:
        kept = self._kept(run, name)
        kept.parent.mkdir(exist_ok=True, mode=0o700)
        kept.write_bytes(_PROTECTED.dump_json(dict(protected)))

    def _kept(self, run: str, name: str) -> Path:
        return self._place(run, name).parent / ".protected" / f"{name}.json"

    def _source(self, name: str) -> Path:
        if name not in self._declared:
            known = ", ".join(sorted(self._declared)) or "none"
            raise WorkspaceRefused(f"workspace {name!r} is not declared; declared: {known}")
        source = Path(os.path.realpath(self._declared[name].source))
        if not source.is_dir():
            raise WorkspaceRefused(f"workspace {name}: its source is not a folder; correct [workspaces.{name}] source")
        return source

    def _place(self, run: str, name: str) -> Path:
        for part in (run, name):
            if not _COMPONENT.fullmatch(part):
                raise WorkspaceRefused(f"{part!r} cannot name a folder; expected letters, digits and . _ -")
        return self._root / run / name


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; the kernel frees it when this process dies, so a killed claim blocks nobody."""
    lock = os.open(folder / ".lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


@contextmanager
def _copied(source: Path, place: Path, *, without: Path) -> Iterator[Path]:
    """Copy the source; the copy is in its place after the block, and not at all where that failed."""
    left_out = _left_out(source, without)
    half_made = place.parent / f".claiming-{place.name}"
    if half_made.exists():
        shutil.rmtree(half_made)  # a worker was killed while it copied; the lock says nobody copies now

    def ignore(folder: str, names: list[str]) -> set[str]:
        return {name for name in names if Path(folder, name) in left_out}

    shutil.copytree(source, half_made, symlinks=True, ignore=ignore)
    _check_links(half_made, source)
    yield half_made
    half_made.rename(place)


def _left_out(source: Path, without: Path) -> set[Path]:
    """Refuse what cannot be copied; return the folders to leave out: our own, wherever they are in the source."""
    left_out = set()
    for folder, folders, files in os.walk(source):
        ours = {Path(folder, name) for name in folders if name == OWN_FOLDER or Path(folder, name) == without}
        left_out |= ours
        folders[:] = [name for name in folders if Path(folder, name) not in ours]
        for name in files:
            mode = Path(folder, name).lstat().st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
                what = "is neither a file nor a folder nor a link"
                raise WorkspaceRefused(f"{Path(folder, name)} {what}; remove it from {source}")
    return left_out


def _check_links(copy: Path, source: Path) -> None:
    """Every link must stay inside, followed in the copy: an absolute one leads out there, and so does a detour."""
    for folder, folders, files in os.walk(copy):
        for entry in (Path(folder, name) for name in (*folders, *files)):
            if entry.is_symlink() and not Path(os.path.realpath(entry)).is_relative_to(copy):
                named = source / entry.relative_to(copy)
                raise WorkspaceRefused(f"{named} is a link that leaves {source}; make it relative and inside it")
