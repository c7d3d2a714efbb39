"""What the operator allows runs to work in, as types: a folder, a git repository at a ref, an archive.

Here: what each kind needs, and which refs an agent may name. Not here: making a copy of it (`workspace`, `checkout`,
`unpacking`). Light: nothing is opened before a run claims it.
"""

import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, assert_never
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, Discriminator, Field, Tag

from activities.declared_words import PlainPath
from ledger.agent import Name, Ref, a_ref
from ledger.model import Frozen

Transport = Literal["file", "https", "ssh"]
"""How a repository is reached; git may use this one and no other, whatever the repository says."""

ARCHIVES: Final = (".tar.gz", ".tgz", ".tar", ".zip")

_SCP: Final = re.compile(r"(?:[^/@:]+@)?(?P<host>[^/@:]+):(?!//).+")
"""`git@host:path`, git's own short form of an ssh address; a path has its first slash before a colon."""

_HELPER: Final = re.compile(r"[A-Za-z0-9]+::")
"""`ext::command`: git hands such an address to a program of that name."""

_EXPECTED: Final = 'a repository is a path, "https://host/path", "ssh://user@host/path" or "user@host:path"'


def _a_repository(place: str) -> str:
    """Refuse a transport that asks nobody who they are, and a secret: it would stand in the settings and in git's."""
    if not place or not place.isprintable() or place.startswith("-"):
        raise ValueError(_EXPECTED)
    if "://" not in place:
        if _HELPER.match(place):
            raise ValueError(_EXPECTED)
        return place
    try:
        parts = urlsplit(place)
        _ = parts.port
    except ValueError:
        raise ValueError(_EXPECTED) from None
    if parts.scheme not in ("file", "https", "ssh") or (parts.scheme != "file" and not parts.hostname):
        raise ValueError(_EXPECTED)
    if parts.password is not None or (parts.scheme == "https" and parts.username is not None):
        raise ValueError("a repository's address holds no password or token; git finds one in ~/.netrc or by a helper")
    return place


def _an_archive(path: Path) -> Path:
    if not path.name.endswith(ARCHIVES):
        raise ValueError(f"an archive is a file that ends in {', '.join(ARCHIVES)}")
    return path


def _a_pattern(pattern: str) -> str:
    """A pattern is a ref but for its stars."""
    a_ref(pattern.replace("*", "x"))
    return pattern


class FolderWorkspace(Frozen):
    """A folder of this worker's machine, as it is when a run claims it."""

    name: Name
    source: PlainPath

    def placed(self, base: Path) -> Self:
        """The same with its path made absolute."""
        return self.model_copy(update={"source": base / self.source})


class GitWorkspace(Frozen):
    """A repository at a ref, as committed."""

    name: Name
    git: Annotated[str, AfterValidator(_a_repository)]
    """An address, or a path on this worker's machine."""
    ref: Ref = "HEAD"
    """Branch, tag or commit, where an agent names none."""
    refs: tuple[Annotated[str, Field(max_length=255), AfterValidator(_a_pattern)], ...] = ()
    """Others that an agent may name; `*` stands for any characters."""

    @property
    def transport(self) -> Transport:
        """How it is reached."""
        match self.git.partition("://"):
            case ("https" | "ssh" | "file") as scheme, "://", _:
                return scheme
            case _:
                return "ssh" if _SCP.fullmatch(self.git) else "file"

    def placed(self, base: Path) -> Self:
        """The same with a path written as an address: git then copies what it would fetch, and shares no file."""
        if "://" in self.git or self.transport != "file":
            return self
        return self.model_copy(update={"git": (base / self.git).as_uri()})

    def allows(self, ref: str) -> bool:
        """Whether an agent may work at this ref."""
        return ref == self.ref or any(fnmatchcase(ref, pattern) for pattern in self.refs)


class ArchiveWorkspace(Frozen):
    """An archive of files on this worker's machine."""

    name: Name
    archive: Annotated[PlainPath, AfterValidator(_an_archive)]

    def placed(self, base: Path) -> Self:
        """The same with its path made absolute."""
        return self.model_copy(update={"archive": base / self.archive})


KINDS: Final = ("source", "git", "archive")
"""The keys of which a workspace has exactly one."""


def _kind(table: Any) -> str | None:  # noqa: ANN401 - whatever the file holds
    """The one kind that is named; None where that is none or several."""
    keys = table if isinstance(table, dict) else getattr(type(table), "model_fields", ())
    named = [kind for kind in KINDS if kind in keys]
    return named[0] if len(named) == 1 else None


DeclaredWorkspace = Annotated[
    Annotated[FolderWorkspace, Tag("source")]
    | Annotated[GitWorkspace, Tag("git")]
    | Annotated[ArchiveWorkspace, Tag("archive")],
    Discriminator(
        _kind,
        custom_error_type="workspace_kind",
        custom_error_message='a workspace is made of exactly one of "source", "git" and "archive"',
    ),
]


def absent(workspace: DeclaredWorkspace) -> Path | None:
    """What it is made of, where that is on this machine and not there; a repository elsewhere is not asked."""
    match workspace:
        case FolderWorkspace(source=source):
            return None if source.is_dir() else source
        case ArchiveWorkspace(archive=archive):
            return None if archive.is_file() else archive
        case GitWorkspace():
            folder = Path(unquote(urlsplit(workspace.git).path))
            return folder if workspace.transport == "file" and not folder.exists() else None
        case _:
            assert_never(workspace)
