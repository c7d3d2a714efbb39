"""Workspaces: folders on this worker that runs work in, each a run's own copy of what the operator declared.

Here: claiming a copy and saying where it is. Not here: how a copy comes about (`folder_copy`, `checkout`,
`unpacking`), access to its files (`workspace_files`), or commands in it (`command`). Layout: `root / run / name` is
the copy, `root / run / .scratch / use` what commands need besides, and `root / run / .claimed / name.json` what it was
made of and what its gates protect, as it was at first.
"""

import fcntl
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from types import MappingProxyType
from typing import Final, assert_never

from pydantic import Field

from activities.checkout import CheckoutFailed, check_out
from activities.declared_workspaces import ArchiveWorkspace, DeclaredWorkspace, FolderWorkspace, GitWorkspace
from activities.folder_copy import OWN_FOLDER, FolderRefused, copy_folder
from activities.protected import Protected
from activities.taking_away import take_away
from activities.unpacking import ArchiveRefused, unpack
from ledger.model import Frozen

_COMPONENT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
"""A run or a name as one path component: no separator, no leading dot."""


class WorkspaceRefused(Exception):  # noqa: N818 - it names what happened, as the journal does
    """A workspace cannot be claimed; the message says which, why and what to do."""


class WorkspaceMissing(Exception):  # noqa: N818 - it names what happened, as the journal does
    """The workspace is not on this worker: it was never claimed here, or its folder is gone."""


class _Claimed(Frozen):
    """What is remembered of a claim."""

    revision: str = ""
    protected: dict[str, Protected] = Field(default_factory=dict)
    """By gate."""


class Workspaces:
    """The workspaces of this worker. `environ` is the worker's own environment, of which git gets what it needs."""

    def __init__(
        self,
        root: Path,
        declared: Mapping[str, DeclaredWorkspace],
        environ: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._root = Path(os.path.realpath(root))
        self._declared = declared
        self._environ = environ

    def claim(
        self,
        run: str,
        name: str,
        protected: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
        *,
        ref: str | None = None,
    ) -> Path:
        """Make the run's copy once; a second claim of the same run and name returns the copy as it is now.

        All or nothing: the copy is made beside its place and renamed into it. What each gate protects is remembered
        as it is in the fresh copy, and stays remembered whatever the operator declares later. `ref` is for a
        repository, None for the declared one; whether it is allowed was checked before.
        """
        declared = self._declaration(name)
        place = self._place(run, name)
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _one_at_a_time(place.parent):
            if not _is_folder(place):
                with _half_made(place) as copy:
                    revision = self._filled(declared, copy, ref)
                    _settle(copy, declared)
                    kept = {gate: Protected.of(copy, paths) for gate, paths in protected.items()}
                    self._keep(run, name, _Claimed(revision=revision, protected=kept))
        return place

    def protected(self, run: str, name: str) -> dict[str, Protected]:
        """Return what the gates of a claimed workspace protect, as it was when it was claimed, by gate."""
        return self._claimed(run, name).protected

    def revision(self, run: str, name: str) -> str:
        """Return what a claimed workspace was made of: `git:COMMIT`, `sha256:DIGEST`; "" for a folder."""
        return self._claimed(run, name).revision

    def path(self, run: str, name: str) -> Path:
        """Return where a claimed workspace is."""
        place = self._place(run, name)
        if not _is_folder(place):
            raise WorkspaceMissing(f"workspace {name} of run {run} is not on this worker")
        return place

    def scratch(self, run: str, use: str) -> Path:
        """Return an empty folder outside every workspace; the same path for the same use, emptied each time."""
        place = self._place(run, use).parent / ".scratch" / use
        take_away(place)
        place.mkdir(parents=True, mode=0o700)
        return place

    def _filled(self, declared: DeclaredWorkspace, copy: Path, ref: str | None) -> str:
        """Make the copy, and return its revision."""
        try:
            match declared:
                case FolderWorkspace(source=source):
                    copy_folder(Path(os.path.realpath(source)), copy, without=self._root)
                    return ""
                case GitWorkspace():
                    return f"git:{check_out(declared, ref or declared.ref, copy, self._environ)}"
                case ArchiveWorkspace(archive=archive):
                    return f"sha256:{unpack(archive, copy)}"
                case _:
                    assert_never(declared)
        except FolderRefused as refused:
            raise WorkspaceRefused(f"workspace {declared.name}: {refused}") from None
        except (CheckoutFailed, ArchiveRefused) as refused:
            raise WorkspaceRefused(f"workspace {declared.name}: {_origin(declared)}: {refused}") from None

    def _claimed(self, run: str, name: str) -> _Claimed:
        try:
            return _Claimed.model_validate_json(self._kept(run, name).read_bytes())
        except FileNotFoundError:
            return _Claimed()

    def _keep(self, run: str, name: str, claimed: _Claimed) -> None:
        kept = self._kept(run, name)
        kept.parent.mkdir(exist_ok=True, mode=0o700)
        kept.write_text(claimed.model_dump_json())

    def _kept(self, run: str, name: str) -> Path:
        return self._place(run, name).parent / ".claimed" / f"{name}.json"

    def _declaration(self, name: str) -> DeclaredWorkspace:
        if name not in self._declared:
            known = ", ".join(sorted(self._declared)) or "none"
            raise WorkspaceRefused(f"workspace {name!r} is not declared; declared: {known}")
        declared = self._declared[name]
        if isinstance(declared, FolderWorkspace) and not declared.source.is_dir():
            raise WorkspaceRefused(f"workspace {name}: its source is not a folder; correct [workspaces.{name}] source")
        return declared

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
def _half_made(place: Path) -> Iterator[Path]:
    """A place for the copy, which is in its own place after the block, and nowhere where that failed.

    Its name is new each time: git may outlive the worker that was killed, and goes on writing where it began.
    """
    for left in place.parent.glob(".claiming-*"):
        shutil.rmtree(left, ignore_errors=True)
    half_made = place.parent / f".claiming-{place.name}-{token_hex(4)}"
    try:
        yield half_made
        half_made.rename(place)
    except BaseException:
        shutil.rmtree(half_made, ignore_errors=True)
        raise


def _settle(copy: Path, declared: DeclaredWorkspace) -> None:
    """Take our own folders out, and refuse a link that leads out: an absolute one does, and so does a detour."""
    for folder, folders, files in os.walk(copy):
        if OWN_FOLDER in (*folders, *files):
            _removed(Path(folder, OWN_FOLDER))
            folders[:] = [name for name in folders if name != OWN_FOLDER]
        for entry in (Path(folder, name) for name in (*folders, *files)):
            if entry.is_symlink() and not Path(os.path.realpath(entry)).is_relative_to(copy):
                named, origin = entry.relative_to(copy), _origin(declared)
                raise WorkspaceRefused(
                    f"{origin}/{named} is a link that leaves {origin}; make it relative and inside it"
                )


def _removed(ours: Path) -> None:
    if _is_folder(ours):
        shutil.rmtree(ours)
    else:
        with suppress(FileNotFoundError):
            ours.unlink()


def _origin(declared: DeclaredWorkspace) -> str:
    """What the operator declared, as it is named in a line."""
    match declared:
        case FolderWorkspace(source=source):
            return str(source)
        case GitWorkspace(git=repository):
            return repository
        case ArchiveWorkspace(archive=archive):
            return str(archive)
        case _:
            assert_never(declared)
