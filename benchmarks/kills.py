"""kill -9 of a worker at every step of a call, a tool and a gate: `python -m benchmarks.kills [WORD ...]`.

Words choose the rows whose names hold one of them. Each row is a run of its own on a real server, with real workers;
what is killed where, and what must come of it, stands in `tests/faults/kills.py`. Exit code 1: a row came out other
than it must.
"""

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from temporalio.client import Client

from benchmarks.rig import table
from commands.server import DevServer, free_port, running
from tests.faults.killing import Survived, killed
from tests.faults.kills import KILLS, Kill
from workflows.payloads import data_converter

HEADER = (
    "killed",
    "step",
    "attempts in the journal",
    "requests",
    "began",
    "asked a person",
    "polls after s",
    "resumed after s",
    "ended or asked after s",
    "",
)


async def main(words: list[str]) -> bool:
    """Play the rows one after the other and print them; whether all came out as they must."""
    chosen = [kill for name, kill in KILLS.items() if not words or any(word in name for word in words)]
    rows: list[tuple[object, ...]] = []
    with TemporaryDirectory() as kept:
        async with running(DevServer(port=free_port(), log=Path(kept) / "server.log")) as server:
            client = await Client.connect(server.address, data_converter=data_converter)
            for number, kill in enumerate(chosen):
                folder = Path(kept) / str(number)
                folder.mkdir()
                rows.append(_row(kill, await killed(kill, client, server.address, folder)))
                print(f"{number + 1} of {len(chosen)}: {kill.name}", file=sys.stderr, flush=True)
    table(HEADER, rows)
    return all(row[-1] == "" for row in rows)


def _row(kill: Kill, survived: Survived) -> tuple[object, ...]:
    began = f"{survived.ran}" if survived.ran == survived.ran_after else f"{survived.ran}, then {survived.ran_after}"
    return (
        kill.what,
        kill.step,
        ", ".join(survived.attempts),
        survived.requests,
        began if kill.ran or kill.ran_after else "",
        f"{survived.asked}: {kill.word['answer']}" if survived.asked else "",
        f"{survived.polled_s:.1f}",
        f"{survived.resumed_s:.1f}",
        f"{survived.went_on_s:.1f}",
        "" if survived.fits(kill) else "NOT AS EXPECTED",
    )


if __name__ == "__main__":
    sys.exit(0 if asyncio.run(main(sys.argv[1:])) else 1)
