"""A disk that is full for one process, by the limit that its files may not outgrow."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_room(process: int) -> Iterator[None]:
    """Let the process write not one byte more into any file."""
    _, hard = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (1, hard))
    try:
        yield
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, (hard, hard))
