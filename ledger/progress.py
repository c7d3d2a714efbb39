"""What the worker of a trip last said of it. A fact for the ledger where that worker died and nothing else is known.

Here: the words of a heartbeat, and what they are worth. Not here: sending them (`attempt`).
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from ledger.model import Frozen
from ledger.outcomes import Usage
from ledger.records import Count


class Progress(Frozen):
    """What a heartbeat of `call_model` tells: all that is left of a trip whose worker died."""

    model_config = ConfigDict(extra="ignore")  # a newer worker may tell more

    phase: Literal["waiting", "sending", "streaming"]
    bytes: Count
    """Of the answer, so far."""
    bound: tuple[Count, Count, Annotated[float, Field(ge=0, allow_inf_nan=False)] | None] | None = None
    """The most that the trip may cost: tokens in, tokens out, USD (None: price unknown).

    Told as soon as the request may leave before the next heartbeat is heard; without it nothing was sent.
    """

    @property
    def most(self) -> Usage | None:
        """What to charge where the outcome stays unknown; None: nothing was sent."""
        if self.bound is None:
            return None
        tokens_in, tokens_out, usd = self.bound
        return Usage(input_tokens=tokens_in, output_tokens=tokens_out, cost_usd=usd, estimated=True)
