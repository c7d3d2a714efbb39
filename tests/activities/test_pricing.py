"""What a target charges: the operator's price, else the list's, else unknown, which is never nothing."""

import pytest
from pydantic import ValidationError
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.usage import RequestUsage

from activities.declared import Model, Provider
from activities.pricing import Tariff
from ledger.outcomes import Usage
from ledger.target import Target

MILLION = Usage(input_tokens=1_000_000, output_tokens=1_000_000)


def tariff(target: str, base_url: str = "http://127.0.0.1:1/v1", api: str = "openai-chat", **own: float) -> Tariff:
    known = Target.parse(target)
    provider = Provider.model_validate({"name": known.provider, "api": api, "base_url": base_url})
    return Tariff(target=known, provider=provider, own=Model.model_validate(own))


def test_the_operators_price_outranks_the_list() -> None:
    own = tariff("openai:gpt-5", input_usd_per_mtok=7, output_usd_per_mtok=9)
    assert own.priced(MILLION).cost_usd == 16


def test_a_price_of_zero_is_a_price() -> None:
    assert tariff("local:smollm2", input_usd_per_mtok=0, output_usd_per_mtok=0).priced(MILLION).cost_usd == 0


def test_an_operators_cache_prices_replace_the_input_price_for_cached_tokens_only() -> None:
    prices = {"input_usd_per_mtok": 10, "output_usd_per_mtok": 0, "cache_read_usd_per_mtok": 1}
    used = Usage(input_tokens=1_000_000, cache_read_tokens=400_000, cache_write_tokens=100_000)
    assert tariff("a:b", **prices).priced(used).cost_usd == pytest.approx(6.4)
    assert tariff("a:b", **prices, cache_write_usd_per_mtok=20).priced(used).cost_usd == pytest.approx(7.4)


@pytest.mark.parametrize(
    ("target", "base_url", "api"),
    [
        pytest.param("openai:gpt-5", "http://127.0.0.1:1/v1", "openai-chat", id="by the provider's name"),
        pytest.param("work:gpt-5", "https://api.openai.com/v1", "openai-chat", id="by its address"),
        pytest.param("work:claude-sonnet-4-5", "http://127.0.0.1:1", "anthropic-messages", id="by its protocol"),
    ],
)
def test_the_list_knows_an_endpoint_by_address_name_or_protocol(target: str, base_url: str, api: str) -> None:
    cost = tariff(target, base_url, api).priced(MILLION).cost_usd
    assert cost is not None
    assert cost > 1


@pytest.mark.parametrize(
    "target",
    [
        pytest.param("local:gpt-5", id="a provider nobody knows, whatever it calls its model"),
        pytest.param("openai:acme-9", id="a model nobody knows"),
        pytest.param("cerebras:qwen-3-coder-480b", id="a model that is listed without a price"),
    ],
)
def test_an_unknown_price_is_none_and_never_nothing(target: str) -> None:
    assert tariff(target).priced(MILLION).cost_usd is None
    assert tariff(target).most(1_000, 1_000) is None


def test_an_answer_is_priced_by_the_name_that_the_provider_gave_its_model() -> None:
    """An Azure deployment's own name is in no list."""
    answer = ModelResponse(
        parts=[TextPart("a")],
        usage=RequestUsage(input_tokens=1_000_000, output_tokens=1),
        model_name="gpt-5-2025-08-07",
    )
    used = tariff("openai:my-deployment").used(answer)
    assert used is not None
    assert used.cost_usd == pytest.approx(1.25, abs=0.001)


def test_the_most_that_tokens_can_cost_counts_a_cache_that_is_dearer_to_write() -> None:
    prices = {"input_usd_per_mtok": 3, "output_usd_per_mtok": 0, "cache_write_usd_per_mtok": 4}
    assert tariff("a:b", **prices).most(1_000_000, 0) == 4
    assert tariff("a:b", **prices | {"cache_write_usd_per_mtok": 1}).most(1_000_000, 0) == 3
    listed = tariff("anthropic:claude-sonnet-4-5", api="anthropic-messages")
    plain = listed.priced(Usage(input_tokens=100_000)).cost_usd
    assert plain is not None
    assert listed.most(100_000, 0) == pytest.approx(1.25 * plain)


@pytest.mark.parametrize(
    "prices",
    [{"input_usd_per_mtok": 1}, {"output_usd_per_mtok": 1}, {"cache_read_usd_per_mtok": 1}, {"input_usd_per_mtok": -1}],
)
def test_half_a_price_or_one_below_zero_is_refused(prices: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Model.model_validate(prices)
