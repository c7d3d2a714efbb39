"""Another team's worker, as a process of its own that can be killed: `python bell_worker.py ADDRESS QUEUE FOLDER`.

Its activity Ring is also a gate: it does what the module of the operator's does (`bells`), in the same folder.
"""

import asyncio
import sys
from typing import Any

from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Worker


@activity.defn(name="Ring")
async def ring(asked: dict[str, Any]) -> Any:
    import bells

    if "gate" in asked:
        return {"passed": await asyncio.to_thread(bells.sounds, asked["answer"])}
    return await asyncio.to_thread(bells.ring, asked["hold"])


async def main(address: str, queue: str, folder: str) -> None:
    sys.path.insert(0, folder)
    client = await Client.connect(address)
    async with Worker(client, task_queue=queue, activities=[ring]):
        sys.stdout.write("bell worker ready\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
