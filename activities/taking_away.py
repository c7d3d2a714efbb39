"""Takes a folder away that commands wrote into, whatever they made of it. Not here: which folders those are.

What a model wrote may make folders a thousand deep, and tools make some that nobody may write (Go's module cache):
Python's own removal ends at both, and where it did so nothing could run in that place again.
"""

import shutil
import subprocess
from pathlib import Path
from typing import Final

_THOROUGHLY: Final = (("chmod", "-R", "u+rwx"), ("rm", "-rf"))
"""Neither follows a link in it, nor minds how deep it is."""


def take_away(place: Path) -> None:
    """Remove the folder with all that is in it, or what stands in its place; nothing where nothing is.

    Blocks. Raises nothing: what the system does not let us remove is left.
    """
    if place.is_symlink() or place.is_file():
        place.unlink(missing_ok=True)
        return
    try:
        shutil.rmtree(place)
    except FileNotFoundError:
        return
    except (OSError, RecursionError):
        for command in _THOROUGHLY:
            subprocess.run((*command, "--", str(place)), check=False, capture_output=True)  # noqa: S603 - a path of ours
