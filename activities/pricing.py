"""What an answer used, in tokens and in dollars. Prices are genai-prices', which work without a network.

Not here: limits and sums (the ledger's). An unknown price is None, which is not 0.
"""

from pydantic_ai.messages import ModelResponse
from pydantic_ai.usage import RequestUsage

from ledger.outcomes import Usage


def usage_of(counted: RequestUsage, cost_usd: float | None = None) -> Usage | None:
    """The provider's own count; None where it told none."""
    if not counted.has_values():
        return None
    return Usage(
        input_tokens=max(0, counted.input_tokens),
        output_tokens=max(0, counted.output_tokens),
        cache_read_tokens=max(0, counted.cache_read_tokens),
        cache_write_tokens=max(0, counted.cache_write_tokens),
        cost_usd=cost_usd,
    )


def priced_usage(response: ModelResponse) -> Usage | None:
    return usage_of(response.usage, _cost(response))


def _cost(response: ModelResponse) -> float | None:
    """US dollars by the name the provider gave its model; genai-prices says unknown by LookupError or ValueError."""
    if not response.model_name:
        return None
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError):
        return None


def load_prices() -> None:
    """Read the price list now; the first look-up does it otherwise, and blocks for most of a second."""
    priced_usage(ModelResponse(parts=[], model_name="-", usage=RequestUsage(input_tokens=1)))
