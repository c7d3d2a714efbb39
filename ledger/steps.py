"""Unchanged steps: the same tool with the same arguments and the same result, seen before among the last ones.

Their own ledger, beside the gates': no budget and never full; past `repeat` it is NoProgress. Polling tools are exempt
because their steps carry no digest.
"""

from typing import Self

from ledger.interventions import NoProgress
from ledger.model import Frozen
from ledger.policy import StepPolicy

WIDTH = 12
"""Characters of a step's digest that are kept: 48 bits, so 4,096 steps collide once in about 30 million runs."""


class StepLedger(Frozen):
    """The last step digests, newest last.

    One string of fixed width, so that 4,096 of them are counted in microseconds and carried in 53 kB.
    """

    seen: str = ""
    accepted: tuple[str, ...] = ()
    """Steps that a person accepted."""

    def record(self, step: str, policy: StepPolicy) -> tuple[Self, int, NoProgress | None]:
        """Count a step: its repetitions among the last ones, this time included, and NoProgress past `repeat`."""
        digest = _cut(step)
        seen = (self.seen + digest)[-policy.kept * (WIDTH + 1) :]
        repetitions = seen.count(digest)
        after = self.model_copy(update={"seen": seen})
        if repetitions > policy.repeat and digest not in self.accepted:
            return after, repetitions, NoProgress(fingerprint=step, repetitions=repetitions)
        return after, repetitions, None

    def accept(self, step: str) -> Self:
        """Exempt a step on a person's word."""
        return self.model_copy(update={"accepted": tuple(sorted({*self.accepted, _cut(step)}))})


def _cut(step: str) -> str:
    """Digest of fixed width behind a separator that no digest holds, so that a count never straddles two."""
    return "." + step[:WIDTH].ljust(WIDTH, "_")
