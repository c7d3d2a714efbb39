"""Brings a run to a step at which its worker is then killed, and holds it there.

The product has no hooks for this: a step is held by the simulator, by the operator's own function (`bells`), by a lock
on the store, or by a network that is cut. Within each block the run is at the step; leaving it lets go of what held it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.faults.conftest import eventually
from tests.faults.killing import Scene


@asynccontextmanager
async def in_the_wait(at: Scene) -> AsyncIterator[None]:
    """The wait before a second attempt rides inside it."""

    async def waiting() -> bool:
        flying = (await at.run.query("ledger"))["in_flight"]
        return bool(flying and flying["id"] == "1.1.2")

    await eventually(waiting)
    yield


@asynccontextmanager
async def no_answer_yet(at: Scene) -> AsyncIterator[None]:
    await at.stage.simulator.received(1)
    yield


@asynccontextmanager
async def in_mid_stream(at: Scene) -> AsyncIterator[None]:
    """The worker itself has told the server that bytes of the answer came."""
    await eventually(at.answer_begun)
    yield


@asynccontextmanager
async def not_stored(at: Scene) -> AsyncIterator[None]:
    """All of the answer was sent and read, and another writer keeps the store to itself."""
    await at.stage.simulator.received(1)
    with at.store_locked():
        at.stage.simulator.release("locked")
        assert (await at.stage.simulator.finished(1)).outcome == "sent"
        await eventually(at.answer_begun)
        assert not await at.stored("attempt = '1.1.1'")
        yield


@asynccontextmanager
async def not_completed(at: Scene) -> AsyncIterator[None]:
    """The answer is in the store, and the server cannot be told."""
    await at.stage.simulator.received(1)
    at.proxy.cut()
    at.stage.simulator.release("locked")
    await eventually(lambda: at.stored("attempt = '1.1.1'"))
    yield
    at.proxy.mend()


@asynccontextmanager
async def looking_at_arguments(at: Scene) -> AsyncIterator[None]:
    """The tool's activity is under way, and the function is not called yet."""
    await eventually(lambda: at.marked("checked"))
    yield


@asynccontextmanager
async def running(at: Scene) -> AsyncIterator[None]:
    await eventually(lambda: at.marked("ran"))
    yield


@asynccontextmanager
async def running_to_its_end(at: Scene) -> AsyncIterator[None]:
    """It runs elsewhere, and ends well while our worker is dead."""
    await eventually(lambda: at.marked("ran"))
    yield
    at.let_go()


@asynccontextmanager
async def result_not_told(at: Scene) -> AsyncIterator[None]:
    """The function has returned and its result is in the store; the server cannot be told."""
    await eventually(lambda: at.marked("ran"))
    at.proxy.cut()
    at.let_go()
    await eventually(lambda: at.stored("key = 'tool:0'"))
    yield
    at.proxy.mend()


@asynccontextmanager
async def nobody_took_it(at: Scene) -> AsyncIterator[None]:
    """The activity waits on its queue; the worker that polls it starts later."""
    at.let_go()
    await eventually(lambda: at.scheduled("Ring"))
    yield
    await at.bells()


@asynccontextmanager
async def its_own_worker(at: Scene) -> AsyncIterator[None]:
    """The activity runs, and the worker that dies is the one that runs it."""
    await at.bells()
    await eventually(lambda: at.marked("ran"))
    at.victim = at.other
    yield


@asynccontextmanager
async def elsewhere_running(at: Scene) -> AsyncIterator[None]:
    await at.bells()
    async with running_to_its_end(at):
        yield


@asynccontextmanager
async def result_not_stored(at: Scene) -> AsyncIterator[None]:
    """The activity's result is in history, and another writer keeps the store to itself."""
    await at.bells()
    await eventually(lambda: at.marked("ran"))
    with at.store_locked():
        at.let_go()
        await eventually(lambda: at.completed("Ring"))
        assert not await at.stored("key = 'tool:0'")
        yield


@asynccontextmanager
async def result_stored_not_told(at: Scene) -> AsyncIterator[None]:
    """The result is in history and in the store, and the server was not told of the second."""
    await at.bells()
    await eventually(lambda: at.marked("ran"))
    with at.store_locked():
        at.let_go()
        await eventually(lambda: at.completed("Ring"))
        at.proxy.cut()
    await eventually(lambda: at.stored("key = 'tool:0'"))
    yield
    at.proxy.mend()


@asynccontextmanager
async def not_begun(at: Scene) -> AsyncIterator[None]:
    """The answer is complete, and the worker that brought it takes no more work: it was told to stop meanwhile."""
    at.let_go()
    await at.stage.simulator.received(1)
    await at.stop_taking_work()
    at.stage.simulator.release("locked")
    await eventually(lambda: at.completed("call_model"))
    yield


@asynccontextmanager
async def verdict_not_told(at: Scene) -> AsyncIterator[None]:
    """The gate has ended; the server cannot be told. What it leaves behind is the detail that people read."""
    await eventually(lambda: at.marked("ran"))
    at.proxy.cut()
    at.let_go()
    await eventually(lambda: at.marked("ended"))
    yield
    at.proxy.mend()
