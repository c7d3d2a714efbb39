"""Memory of one worker over many turns: `python -m benchmarks.memory [TURNS]`, 10,000 without a number.

Runs of 50 turns, ten at once, until so many turns are done; resident memory of the worker's process after each tenth,
and as a ratio to that after the first.
"""

import asyncio
import sys
from pathlib import Path

from benchmarks.rig import Rig, rig, table

TURNS, LENGTH, AT_ONCE = 10_000, 50, 10


def resident_mb(pid: int) -> float:
    """Memory of a process, in MB of 2**20 bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4_096 / 2**20


async def batches(bench: Rig, count: int) -> float:
    """Run so many batches of runs, and return the worker's memory after them."""
    for _ in range(count):
        await asyncio.gather(*(bench.run(LENGTH - 1) for _ in range(AT_ONCE)))
    return resident_mb(bench.worker.pid)


async def main(turns: int) -> None:
    """Measure and print."""
    each = max(1, turns // (10 * LENGTH * AT_ONCE))
    async with rig(LENGTH - 1) as bench:
        memory = [await batches(bench, each) for _ in range(10)]
    done = each * LENGTH * AT_ONCE
    rows = [(number * done, f"{mb:.0f}", f"{mb / memory[0]:.2f}") for number, mb in enumerate(memory, 1)]
    table(("turns", "MB", "ratio"), rows)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else TURNS))
