"""The worker of the billing team: it knows Temporal, its own activity, and nothing of Endstop."""

import asyncio
from typing import Any

from temporalio import activity
from temporalio.client import Client
from temporalio.envconfig import ClientConfig
from temporalio.worker import Worker


@activity.defn(name="Refund")
async def refund(order: dict[str, Any]) -> dict[str, Any]:
    """Pay money back; what is returned is what the model reads."""
    return {"refunded": order["cents"], "receipt": f"R-{order['order']}"}


async def main() -> None:
    """Work until the process is ended, at the server that Temporal's own variables and profile name."""
    config = ClientConfig.load_client_connect_config()
    config.setdefault("target_host", "127.0.0.1:7233")
    client = await Client.connect(**config)
    await Worker(client, task_queue="billing", activities=[refund]).run()


if __name__ == "__main__":
    asyncio.run(main())
