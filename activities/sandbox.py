"""The sandbox around a command that runs what a model wrote: bubblewrap, with nothing in it but what the command needs.

Here: what such a command sees, and whether that works on this machine. Not here: running it (`command`), what is
protected from the work (`protected`), or whether the operator wants it (`settings`).

It sees its workspace and its scratch folder, which it may write; /usr and a few files of /etc, the folders of the
worker's Python where it runs that, and what the operator lets it read; a /proc, /dev and /tmp of its own. No network,
no other process, no other file, no capability, and none of them outlives it: they are in namespaces of their own.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from activities.command import Command, NotStarted, Ran, run_command

PROGRAM: Final = "bwrap"

CHOICE: Final = 'or choose sandbox = "none" in endstop.toml, which lets commands do what the worker may do'

_ISOLATED: Final = ("--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL")

_ROOT_FOLDERS: Final = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""Links into /usr on most systems, folders of their own on others."""

_ETC: Final = (
    *("alternatives", "ca-certificates", "group", "hosts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime"),
    *("mime.types", "nsswitch.conf", "passwd", "pki/tls/certs", "protocols", "services", "ssl/certs", "timezone"),
)
"""What programs look up, without keys and passwords; root could read those, whatever their mode."""
_ETC_NETWORK: Final = ("gai.conf", "resolv.conf")

_PROBE_S: Final = 30.0


class SandboxUnusable(Exception):  # noqa: N818 - it names what happened
    """Commands cannot be run in a sandbox here; the message says why and what to do, in one line."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What one command sees of this machine, besides the system."""

    folder: Path
    """Its workspace, where it runs and may write."""
    scratch: Path
    """Its HOME, which it may write too."""
    protected: tuple[Path, ...] = ()
    """What in the workspace it may only read."""
    readable: tuple[Path, ...] = ()
    """More folders and files that it may read."""
    network: bool = False


@dataclass(frozen=True, kw_only=True)
class Sandbox:
    """Bubblewrap on this machine."""

    program: str
    hidden: tuple[Path, ...] = ()
    """What no command may see even where it lies in a folder that is readable: settings, store, workspaces."""

    def around(self, seen: Seen) -> tuple[str, ...]:
        """Return the words that go before a command. They look at the disk: make them anew for each run.

        Every path is the same inside as outside, so that what a tool says of one holds for both.
        """
        read = list(_readable(seen))
        masks = list(self._masks(read))
        return (
            *(self.program, *_ISOLATED, *(("--share-net",) if seen.network else ())),
            *_system(network=seen.network),
            *_each("--ro-bind", ((str(path.resolve()), str(path)) for path in read)),
            *(word for place, folder in masks for word in _covered(place, folder=folder)),
            *_each("--bind", ((str(path), str(path)) for path in (seen.scratch, seen.folder))),
            *_each("--ro-bind", ((str(path), str(path)) for path in seen.protected)),
            *(word for place, folder in masks if folder for word in ("--remount-ro", str(place))),
            *("--remount-ro", "/", "--chdir", str(seen.folder)),
        )

    def _masks(self, read: Iterable[Path]) -> Iterator[tuple[Path, bool]]:
        """Where to cover what is hidden, since a folder that can be read would show it; and whether it is a folder."""
        for shown in (Path("/usr"), *read):
            real = shown.resolve()
            for path in self.hidden:
                if path.exists() and path.resolve().is_relative_to(real):
                    yield shown / path.resolve().relative_to(real), path.is_dir()


def found(hidden: Iterable[Path] = ()) -> Sandbox:
    """Find the program. `SandboxUnusable`: it is not installed."""
    program = shutil.which(PROGRAM)
    if program is None:
        raise SandboxUnusable(
            "commands run what a model wrote, and there is no sandbox for them here: "
            f"install the package bubblewrap (apt-get install bubblewrap), {CHOICE}"
        )
    return Sandbox(program=program, hidden=tuple(hidden))


async def check(sandbox: Sandbox) -> None:
    """Run `true` as a gate would be run. `SandboxUnusable`: this machine does not let us make one."""
    with tempfile.TemporaryDirectory(prefix="endstop-sandbox-") as made:
        seen = Seen(folder=Path(made), scratch=Path(made), readable=python_files())
        command = Command(
            sandbox=sandbox.around(seen),
            argv=("true",),
            folder=seen.folder,
            environment={"PATH": "/usr/bin:/bin"},
            timeout_s=_PROBE_S,
            output_bytes=4_096,
        )
        ran = await run_command(command)
    if ran != Ran(exit_code=0, output=""):
        reason = ran.reason if isinstance(ran, NotStarted) else (ran.output.strip() or f"exit code {ran.exit_code}")
        raise SandboxUnusable(
            f"commands run what a model wrote, and bubblewrap can make no sandbox here ({' '.join(reason.split())}): "
            f"let it use user namespaces, which a container mostly forbids, {CHOICE}"
        )


def python_files() -> tuple[Path, ...]:
    """What the interpreter of this worker needs to run: its folders, and the links by which it is called."""
    folders = [Path(name) for name in (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)]
    folders += [folder.resolve() for folder in folders]
    links = [link for link in _hops(Path(sys.executable)) if not any(link.is_relative_to(one) for one in folders)]
    return tuple(dict.fromkeys((*folders, *links)))


def _hops(path: Path) -> Iterator[Path]:
    """The path, and each one to which it leads as a link."""
    yield path
    while path.is_symlink():
        path = Path(os.path.normpath(path.parent / path.readlink()))
        yield path


def _readable(seen: Seen) -> Iterator[Path]:
    """Outer folders first, so that none covers what is in it; what /usr shows already is left out."""
    for path in sorted(dict.fromkeys(seen.readable)):
        if path.exists() and not path.is_relative_to("/usr"):
            yield path


def _system(*, network: bool) -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for path in (Path("/", name) for name in _ROOT_FOLDERS):
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.exists():
            yield from ("--ro-bind", str(path), str(path))
    names = (*_ETC, *(_ETC_NETWORK if network else ()))
    yield from _each("--ro-bind-try", ((f"/etc/{name}", f"/etc/{name}") for name in names))
    yield from ("--proc", "/proc")
    yield from _each("--ro-bind-try", ((path, path) for path in _kernel()))
    yield from ("--dev", "/dev", "--tmpfs", "/dev/shm", "--remount-ro", "/dev", "--tmpfs", "/tmp")  # noqa: S108 - in it


def _kernel() -> Iterator[str]:
    """Of /proc what is the machine's own and could be written: to root it is open, whatever capability that has not."""
    with os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdigit() or entry.is_symlink():
                continue
            if entry.is_dir() or entry.stat().st_mode & 0o222:
                yield entry.path


def _covered(place: Path, *, folder: bool) -> tuple[str, ...]:
    return ("--tmpfs", str(place)) if folder else ("--ro-bind", "/dev/null", str(place))


def _each(option: str, pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for pair in pairs:
        yield from (option, *pair)
