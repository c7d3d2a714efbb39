"""Which release a worker is, for Temporal's worker versioning. What is done with it: `polling.py`."""

from typing import Literal

from ledger.model import Frozen


class Deployment(Frozen):
    """A release by the name of its deployment and its build."""

    name: str
    build_id: str
    behavior: Literal["auto_upgrade", "pinned"]
    """Whether a run moves to the newest release or ends on the one it began with."""
