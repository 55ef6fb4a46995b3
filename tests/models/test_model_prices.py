from __future__ import annotations

import pytest
from pydantic_ai.messages import ModelResponse
from pydantic_ai.usage import RequestUsage

from chase.models.config import Price
from chase.models.prices import Pricing, priced


def response(model: str = "gpt-4o", provider: str = "openai", url: str | None = None) -> ModelResponse:
    usage = RequestUsage(input_tokens=1000, cache_read_tokens=400, output_tokens=100)
    return ModelResponse(parts=[], usage=usage, model_name=model, provider_name=provider, provider_url=url)


def test_the_configs_price_wins() -> None:
    listed = Pricing().cost_usd(response())
    own = Pricing(Price(input=1.0, output=0.0)).cost_usd(response())
    assert own == pytest.approx(0.001)
    assert listed != own


def test_a_listed_model_has_a_price_that_knows_cached_input() -> None:
    cost = Pricing().cost_usd(response())
    assert cost == pytest.approx((600 * 2.5 + 400 * 1.25 + 100 * 10) / 1e6)


@pytest.mark.parametrize(("model", "provider"), [("no-such-model", "openai"), ("gpt-4o", "no-such-provider")])
def test_an_unknown_price_is_none_and_never_zero(model: str, provider: str) -> None:
    pricing = Pricing()
    assert [pricing.cost_usd(response(model, provider)) for _ in range(2)] == [None, None]


@pytest.mark.parametrize("url", ["http://localhost:8000/v1", "https://proxy.example/openai", None])
def test_an_address_that_the_list_does_not_know_has_no_price_whatever_it_serves(url: str | None) -> None:
    assert Pricing(own_address=True).cost_usd(response(url=url)) is None


def test_an_address_that_the_list_knows_has_its_price() -> None:
    known = response(provider="openai-compatible", url="https://api.openai.com/v1")
    assert Pricing(own_address=True).cost_usd(known) == Pricing().cost_usd(response())


def test_unmeasured_usage_has_no_cost() -> None:
    silent = ModelResponse(parts=[], usage=RequestUsage(unmeasured_requests=1), model_name="gpt-4o")
    assert Pricing(Price(input=1, output=1)).cost_usd(silent) is None


def test_cached_input_costs_as_much_as_input_unless_told() -> None:
    usage = RequestUsage(input_tokens=1000, cache_read_tokens=400)
    assert priced(Price(input=1.0, output=0.0), usage) == pytest.approx(0.001)
    assert priced(Price(input=1.0, output=0.0, cached=0.0), usage) == pytest.approx(0.0006)
