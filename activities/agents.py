"""The agents of runs under way, as they stand in the store: read once by a worker, not with every call."""

from collections import OrderedDict
from typing import Final

from activities.stored import Contents
from ledger.agent import AgentSpec

REMEMBERED: Final = 256
"""Agents; a reference names its content, so what is remembered never goes stale."""


class Agents:
    """Reads agents by their references."""

    def __init__(self, store: Contents) -> None:
        self._store = store
        self._known: OrderedDict[str, AgentSpec] = OrderedDict()

    async def get(self, ref: str) -> AgentSpec:
        """The agent under this reference. Raises what the store raises."""
        if ref not in self._known:
            self._known[ref] = AgentSpec.model_validate_json(await self._store.get(ref))
        self._known.move_to_end(ref)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return self._known[ref]
