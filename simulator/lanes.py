"""Which reply of the script a request gets. Counting only: no sockets, no vendors.

Everything that affects the choice lives here: a number and a set of used replies for each model and lane.
"""

from dataclasses import dataclass, field

from simulator.replies import Error, Reply
from simulator.script import Script


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The reply to send to request `number` (from 1) of its model and lane."""

    number: int
    reply: Reply
    exhausted: bool = False


@dataclass
class _Lane:
    requests: int = 0
    used: set[int] = field(default_factory=set)


class Lanes:
    """The script and how far each model has come in it, lane by lane."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._lanes: dict[tuple[str, str], _Lane] = {}

    def choose(self, *, model: str, lane: str, newest: str) -> Choice:
        """Count the request and take the first unused reply that fits it; the default where no list is."""
        state = self._lanes.setdefault((model, lane), _Lane())
        state.requests += 1
        replies = self.script.models.get(model)
        if replies is None:
            return Choice(number=state.requests, reply=self.script.default)
        for index, reply in enumerate(replies):
            if index not in state.used and _fits(reply, newest):
                if not reply.repeat:
                    state.used.add(index)
                return Choice(number=state.requests, reply=reply)
        message = _exhausted(model, lane, state.requests, len(replies), len(state.used))
        reply = Error(error="server_error", message=message)
        return Choice(number=state.requests, reply=reply, exhausted=True)


def _fits(reply: Reply, newest: str) -> bool:
    return reply.when_contains is None or reply.when_contains in newest


def _exhausted(model: str, lane: str, number: int, listed: int, used: int) -> str:
    return (
        f"simulator: script exhausted: no reply fits request {number} of model {model!r} in lane {lane!r} "
        f"({used} of {listed} used up); add a reply to the script or set repeat = true on the last one"
    )
