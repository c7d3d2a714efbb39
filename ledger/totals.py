"""What a run comes to: the sums over its attempts, those of its sub-agents and judges included.

For people and for the spend limit. Not here: what one attempt used (`outcomes`), or what a journal adds up to.
"""

from typing import TYPE_CHECKING, Self

from pydantic import field_serializer, field_validator

from ledger.model import Frozen

if TYPE_CHECKING:
    from ledger.outcomes import Usage


class Totals(Frozen):
    """Sums over the run, for people."""

    attempts: int = 0
    failovers: int = 0
    charges: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0
    """Sum of the known prices, upper bounds included. Written as null where no price is known, for that is not 0."""
    unpriced: int = 0
    """Attempts with usage whose price is unknown; they are not in `cost_usd`."""
    estimated: int = 0
    """Attempts of known price that count with an upper bound."""
    estimated_usd: float = 0
    """The part of `cost_usd` that is upper bounds."""

    @property
    def known_usd(self) -> float | None:
        """What is known of the cost; None: attempts used something, and nobody knows the price of any."""
        return None if self.unpriced and not self.cost_usd else self.cost_usd

    @field_serializer("cost_usd")
    def _unknown_is_not_zero(self, _: float) -> float | None:
        return self.known_usd

    @field_validator("cost_usd", mode="before")
    @classmethod
    def _read_unknown(cls, value: float | None) -> float:
        return 0 if value is None else value

    def with_usage(self, usage: "Usage") -> Self:
        """Add one attempt's tokens, and its cost where the price is known."""
        return self._having(usage, 1)

    def without_usage(self, usage: "Usage") -> Self:
        """Take back what `with_usage` added."""
        return self._having(usage, -1)

    def _having(self, usage: "Usage", times: int) -> Self:
        usd = usage.cost_usd or 0
        bound = usage.estimated and usage.cost_usd is not None
        return self.model_copy(
            update={
                "input_tokens": self.input_tokens + times * usage.input_tokens,
                "output_tokens": self.output_tokens + times * usage.output_tokens,
                "cost_usd": max(0.0, self.cost_usd + times * usd),
                "unpriced": self.unpriced + times * (usage.cost_usd is None),
                "estimated": self.estimated + times * bound,
                "estimated_usd": max(0.0, self.estimated_usd + times * bound * usd),
            }
        )

    def plus(self, other: "Totals") -> "Totals":
        """Add those of another run."""
        added = {name: getattr(self, name) + getattr(other, name) for name in Totals.model_fields}
        return Totals.model_construct(**added)


class SubRun(Frozen):
    """A run that a run started, at its end: a sub-agent's or a judge's."""

    run: str
    """Its id behind that of the run that started it."""
    name: str
    """The tool or the gate that it was."""
    totals: Totals


def of_call(turn: int, index: int) -> str:
    """Id of a sub-agent's run behind that of its parent: the turn, and the call's place in the answer, from 0."""
    return f"{turn}.{index}"


def of_gate(report: int) -> str:
    """Id of a judge's run behind that of its parent: the number of the report."""
    return f"gate.{report}"
