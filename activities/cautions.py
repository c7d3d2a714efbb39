"""What a worker warns of when it starts, and works all the same: what is missing, workers of another store.

Not here: what keeps it from starting (`worker.py`), or a look at the whole setup (`endstop doctor`).
"""

import structlog
from temporalio.client import Client

from activities.declared import Declared
from activities.declared_workspaces import absent
from activities.endpoints import missed
from activities.pollers import Others, store_of

_log = structlog.stdlib.get_logger()


async def warn(client: Client, queue: str, declared: Declared, own: str) -> None:
    """One line a thing; `own` is how this worker is known to Temporal."""
    if keyless := missed(declared):
        names, variables = (", ".join(words) for words in zip(*keyless, strict=True))
        _log.warning("worker.no_key", providers=names, variables=variables)
    for name, workspace in declared.workspaces.items():
        if (gone := absent(workspace)) is not None:
            _log.warning("worker.no_source", workspace=name, missing=str(gone))
    others = await Others(client, queue, own).known()
    if strangers := [other for other in others if store_of(other) != store_of(own)]:
        remedy = "workers of one task queue take each other's runs: use one [store] url, or a task_queue of its own"
        _log.warning("worker.other_store", task_queue=queue, others=", ".join(strangers), remedy=remedy)
