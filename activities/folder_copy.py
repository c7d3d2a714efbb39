"""A folder copied into another: files, folders and links as they are, our own folders left out.

Here: what of a folder can be copied. Not here: whether a link leads out of the copy (`workspace`, which checks every
copy, wherever it came from).
"""

import os
import shutil
import stat
from pathlib import Path
from typing import Final

OWN_FOLDER: Final = ".endstop"
"""Where the store and the workspaces live by default; never copied, so that a workspace cannot hold the store."""


class FolderRefused(Exception):  # noqa: N818 - it names what happened
    """The folder cannot be copied; the message is one line."""


def copy_folder(source: Path, into: Path, *, without: Path) -> None:
    """Make `into`, which is not there yet, a copy of the source, modes included. Raises `FolderRefused`.

    `without` and every `OWN_FOLDER` are left out, wherever they are in the source.
    """
    left_out = _left_out(source, without)

    def ignore(folder: str, names: list[str]) -> set[str]:
        return {name for name in names if Path(folder, name) in left_out}

    shutil.copytree(source, into, symlinks=True, ignore=ignore)


def _left_out(source: Path, without: Path) -> set[Path]:
    """Refuse what cannot be copied; return the folders to leave out."""
    left_out = set()
    for folder, folders, files in os.walk(source):
        ours = {Path(folder, name) for name in folders if name == OWN_FOLDER or Path(folder, name) == without}
        left_out |= ours
        folders[:] = [name for name in folders if Path(folder, name) not in ours]
        for name in files:
            mode = Path(folder, name).lstat().st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
                what = "is neither a file nor a folder nor a link"
                raise FolderRefused(f"{Path(folder, name)} {what}; remove it from {source}")
    return left_out
