"""A folder as what a model wrote may leave it: deeper than Python recurses, and than a path of the system is long."""

import os
import subprocess
from contextlib import contextmanager

LEVELS = 2_500


@contextmanager
def deep(folder):
    """Make it, and take it away again in any case: pytest could not."""
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for _ in range(LEVELS):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    try:
        yield
    finally:
        subprocess.run(("rm", "-rf", "--", str(folder)), check=True)
