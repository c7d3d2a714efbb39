"""What a target charges: the operator's own price first, else the list of genai-prices, which needs no network.

Not here: how much a call may use (`quote`), limits and sums (the ledger's). An unknown price is None, which is not 0.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from genai_prices import Usage as Counted
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ModelInfo
from pydantic_ai.messages import ModelResponse
from pydantic_ai.usage import RequestUsage

from activities.declared import Api, Model, Provider
from ledger.model import Frozen
from ledger.outcomes import Usage
from ledger.target import Target

MILLION: Final = 1_000_000

VENDORS: Final[Mapping[Api, str]] = {"anthropic-messages": "anthropic", "google": "google"}
"""Protocols of one vendor alone: a gateway that speaks them passes its models on. Everybody speaks OpenAI's."""


class Tariff(Frozen):
    """What one target charges."""

    target: Target
    provider: Provider | None
    """None: not declared any more."""
    own: Model = Model()
    """What the operator says of the target."""

    def used(self, answer: ModelResponse) -> Usage | None:
        """What an answer used, and cost, by the name that the provider gave its model, else by ours."""
        told = usage_of(answer.usage)
        if told is None:
            return None
        return told.model_copy(update={"cost_usd": self._cost(told, answer)})

    def priced(self, told: Usage) -> Usage:
        """Tokens with their cost."""
        return told.model_copy(update={"cost_usd": self._cost(told)})

    def most(self, tokens_in: int, tokens_out: int) -> float | None:
        """US dollars at most for so many tokens: a provider may write all input to its cache, which can cost more."""
        plain = Usage(input_tokens=tokens_in, output_tokens=tokens_out)
        costs = [self._cost(plain), self._cost(plain.model_copy(update={"cache_write_tokens": tokens_in}))]
        known = [cost for cost in costs if cost is not None]
        return max(known) if len(known) == len(costs) else None

    def _cost(self, usage: Usage, answer: ModelResponse | None = None) -> float | None:
        if self.own.input_usd_per_mtok is not None and self.own.output_usd_per_mtok is not None:
            return self._own_cost(usage, self.own.input_usd_per_mtok, self.own.output_usd_per_mtok)
        names = (self.target.model,) if answer is None else (answer.model_name or "", self.target.model)
        counted = _counted(usage) if answer is None else answer.usage
        places = tuple(_known_as(self.target, self.provider))
        return _listed(counted, filter(None, names), places, answer and answer.provider_details)

    def _own_cost(self, usage: Usage, price_in: float, price_out: float) -> float:
        read, write = self.own.cache_read_usd_per_mtok, self.own.cache_write_usd_per_mtok
        plain = max(0, usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens)
        cost = plain * price_in + usage.output_tokens * price_out
        cost += usage.cache_read_tokens * (price_in if read is None else read)
        cost += usage.cache_write_tokens * (price_in if write is None else write)
        return cost / MILLION


class _Known(NamedTuple):
    """By what the list may know an endpoint."""

    provider_id: str | None = None
    url: str | None = None


def _known_as(target: Target, provider: Provider | None) -> Iterator[_Known]:
    """By its address, by the operator's name of it, by its protocol."""
    if provider is not None:
        yield _Known(url=provider.base_url)
    yield _Known(provider_id=target.provider)
    if provider is not None and provider.api in VENDORS:
        yield _Known(provider_id=VENDORS[provider.api])


@lru_cache(1_024)
def _in_list(name: str, place: _Known) -> ModelInfo | None:
    """A model as the list knows it at this place. The list itself remembers what it has, not what it lacks."""
    try:
        return get_snapshot().find_provider_model(name, None, place.provider_id, place.url)[1]
    except (LookupError, ValueError):
        return None


def listed_window(target: Target, provider: Provider | None) -> int | None:
    """Tokens of the target's context window as the price list has them; None where it does not know."""
    models = (_in_list(target.model, place) for place in _known_as(target, provider))
    return next((model.context_window for model in models if model and model.context_window), None)


def usage_of(counted: RequestUsage) -> Usage | None:
    """The provider's own count; None where it told none."""
    if not counted.has_values():
        return None
    return Usage(
        input_tokens=max(0, counted.input_tokens),
        output_tokens=max(0, counted.output_tokens),
        cache_read_tokens=max(0, counted.cache_read_tokens),
        cache_write_tokens=max(0, counted.cache_write_tokens),
    )


def load_prices() -> None:
    """Read the price list now; the first look-up does it otherwise, and blocks for most of a second."""
    Tariff(target=Target(provider="-", model="-"), provider=None).most(1, 1)


def _counted(usage: Usage) -> Counted:
    return Counted(
        input_tokens=usage.input_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        output_tokens=usage.output_tokens,
    )


def _listed(
    usage: Counted | RequestUsage,
    names: Iterable[str],
    places: tuple[_Known, ...],
    context: Any = None,  # noqa: ANN401 - the vendor's own
) -> float | None:
    """The list's price of the first name that one of the places knows.

    The list says uncountable by ValueError, and holds models without a price for input or output, which it counts as 0:
    unknown too.
    """
    for name in names:
        for place in places:
            if _in_list(name, place) is None:
                continue
            try:
                found = get_snapshot().calc(usage, name, place.provider_id, place.url, None, context)
            except (LookupError, ValueError):
                continue
            if found.model_price.input_mtok is not None and found.model_price.output_mtok is not None:
                return float(found.total_price)
    return None
