# ruff: noqa: PLC0415 - `endstop --help` loads no Temporal SDK, no SQL and no provider
"""Running a worker from the command line: with logs, until a signal says stop. What a worker is, `worker.py` knows."""

import asyncio
import signal
from typing import TYPE_CHECKING

from commands.connect import Where, connection
from commands.opening import Setup, settings_from
from commands.refusals import Refused

if TYPE_CHECKING:
    from settings import Settings


async def work(setup: Setup) -> None:
    """Run a worker by the settings that the flags name."""
    await work_with(settings_from(setup.settings), setup.where)


async def work_with(settings: "Settings", where: Where) -> None:
    """Run a worker until SIGINT or SIGTERM; the second one ends the process at once. Refused: it cannot run here."""
    from logs import configure_logging
    from store import StoreUnavailable
    from worker import CannotRun, connect, run_worker

    configure_logging()
    stop = stop_on_signal()
    try:
        await run_worker(settings, await connect(connection(where), settings.keys), stop=stop)
    except (CannotRun, StoreUnavailable) as error:
        raise Refused(str(error)) from error


def stop_on_signal() -> asyncio.Event:
    """An event that the first SIGINT or SIGTERM sets; the second one ends the process at once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def told(number: signal.Signals) -> None:
        loop.remove_signal_handler(number)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told, number)
    return stop
