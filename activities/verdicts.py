"""What a gate's verdict leaves in the store, and how little of it goes back to the workflow. The same for every kind.

Here: keeping and fingerprinting. Not here: what makes a gate fail or break (`run_gate`, `own_gates`, `judging`).
"""

import asyncio
from datetime import UTC, datetime
from typing import Protocol

from activities.contract import RunGate
from activities.cutting import whole_characters
from activities.stored import Contents, Details
from ledger.fingerprint import fingerprint
from ledger.outcomes import Broken, Failing


class GateStore(Contents, Details, Protocol):
    """What a verdict needs of the store."""


class Verdicts:
    """Makes verdicts."""

    def __init__(self, store: GateStore) -> None:
        self._store = store

    async def failing(self, output: str, *, identity: str = "", exit_code: int = 1, root: str = "") -> Failing:
        """Keep the output; its fingerprint is that of `identity`, where the output holds what does not identify it."""
        output = whole_characters(output)
        ref = await self._store.put(output.rstrip("\n") + "\n")
        found = await asyncio.to_thread(
            fingerprint, identity or output, exit_code=exit_code, root=root, at=datetime.now(UTC)
        )
        return Failing(
            version=found.version, exact=found.exact, family=found.family, items=len(found.items), output=ref
        )

    async def broken(self, asked: RunGate, reason: str) -> Broken:
        """Keep the reason as a detail of the run, for people."""
        await self._store.put_detail(asked.run, f"gate:{asked.gate}:{asked.seq}", reason)
        return Broken()
