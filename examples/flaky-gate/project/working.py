"""One at a time: a file that is there while somebody works."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK = Path("work.lock")


@contextmanager
def working() -> Iterator[None]:
    """Refuse to begin while somebody else works."""
    if LOCK.exists():
        LOCK.unlink()
        raise RuntimeError("somebody else is at work")
    LOCK.touch()
    yield
