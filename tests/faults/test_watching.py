"""A watch outlives the server: it says once that it waits, goes on where it was, and ends as the run ends.

The client gives up after 0.3 s instead of the SDK's ten, so that an outage that is longer than that takes no ten.
"""

import asyncio
from collections.abc import Callable
from uuid import uuid4

import pytest
from temporalio.client import Client
from temporalio.service import RetryConfig

from commands.refusals import ServerAway
from commands.watch import AWAY, Watch
from tests.faults.conftest import TEXT, eventually, staged
from tests.faults.proxy import Proxy
from workflows.payloads import data_converter

HELD = {"models": {"gpt-5": [TEXT | {"held_until": "away"}]}}


async def impatient(address: str) -> Client:
    return await Client.connect(
        address, data_converter=data_converter, retry_config=RetryConfig(max_elapsed_time_millis=300)
    )


class Printed:
    """What was printed so far; `capsys` forgets what it has told."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.out = self.err = ""

    def read(self) -> "Printed":
        out, err = self._capsys.readouterr()
        self.out, self.err = self.out + out, self.err + err
        return self

    def says(self, where: str, words: str) -> Callable[[], object]:
        async def found() -> bool:
            return words in getattr(self.read(), where)

        return found


async def test_a_watch_waits_for_a_server_that_is_away_and_ends_with_the_run(client, temporal_server, tmp_path, capsys):
    printed = Printed(capsys)
    async with Proxy(temporal_server) as proxy, staged(client, temporal_server, tmp_path, HELD) as act:
        run = await act.start({"models": ["openai:gpt-5"]})
        watching = asyncio.create_task(Watch(await impatient(proxy.address), run.id).until_end())
        await eventually(printed.says("out", "the run began"))
        proxy.cut()
        await eventually(printed.says("err", AWAY))
        await eventually(refused_again(proxy))
        proxy.mend()
        await run.signal("intervene", {"directive": "guide", "text": "Be brief"})
        await eventually(printed.says("out", "guide"))
        act.simulator.release("away")

        assert await watching == 0
    assert printed.read().out.count("the run began") == 1  # it goes on where it was
    assert printed.out.rstrip().endswith(f"{run.id}  completed")
    assert printed.err.count(AWAY) == 1


def refused_again(proxy: Proxy, times: int = 10) -> Callable[[], object]:
    """It was tried to reach the server by so many more connections, which are several tries of the watch."""
    before = proxy.refused

    async def often() -> bool:
        return proxy.refused >= before + times

    return often


@pytest.fixture
async def unworked(client):
    """A run for which there is no worker."""
    name = f"unworked-{uuid4()}"
    handle = await client.start_workflow("AgentWorkflow", {}, id=name, task_queue=name)
    yield handle
    await handle.terminate()


async def test_a_watch_that_waits_for_a_server_ends_at_once_by_ctrl_c(temporal_server, unworked, capsys):
    async with Proxy(temporal_server) as proxy:
        impatiently = await impatient(proxy.address)
        proxy.cut()
        watching = asyncio.create_task(Watch(impatiently, unworked.id).until_end())
        await eventually(Printed(capsys).says("err", AWAY))
        watching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await watching


async def test_a_server_that_does_not_come_back_is_not_waited_for(temporal_server, unworked, capsys):
    async with Proxy(temporal_server) as proxy:
        impatiently = await impatient(proxy.address)
        proxy.cut()
        with pytest.raises(ServerAway, match="Temporal answered"):
            await Watch(impatiently, unworked.id, fleeting=True).until_asked()
    assert AWAY not in capsys.readouterr().err
