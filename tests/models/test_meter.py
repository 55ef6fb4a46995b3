"""Caps: what fits is let in, what cannot fit is refused, what others hold is waited for, nothing is counted twice."""

from __future__ import annotations

import asyncio

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models import Model
from pydantic_ai.models.test import TestModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from chase.core.errors import BudgetExhausted, UserError
from chase.core.values import Usage
from chase.models.chat import ChatModel, estimate_tokens, request_settings
from chase.models.config import ModelConfig, Price
from chase.models.connect import connect
from chase.models.errors import ConnectionLost
from chase.models.meter import Amount, Meter, amount_of
from chase.testing.scripted import scripted

PRICE = Price(input=1.0, cached=0.1, output=10.0)


def answer(input_tokens: int, output_tokens: int) -> ModelResponse:
    usage = RequestUsage(input_tokens=input_tokens, output_tokens=output_tokens)
    return ModelResponse(parts=[TextPart("7")], usage=usage)


async def test_what_fits_exactly_is_let_in_and_one_token_more_is_not() -> None:
    meter = Meter(tokens=100)
    await meter.reserve(Amount(tokens=100))
    meter.settle(Amount(tokens=100), Amount(tokens=40))
    with pytest.raises(BudgetExhausted, match="40 of 100 tokens are spent, and the next request needs about 61 tokens"):
        await meter.reserve(Amount(tokens=61))
    assert meter.reached == "tokens"
    await meter.reserve(Amount(tokens=60))


async def test_a_request_waits_for_what_others_have_reserved_and_gets_what_they_leave() -> None:
    meter = Meter(usd=1.0)
    await meter.reserve(Amount(usd=0.9))
    waiting = asyncio.create_task(meter.reserve(Amount(usd=0.5)))
    await asyncio.sleep(0)
    assert not waiting.done()
    meter.settle(Amount(usd=0.9), Amount(usd=0.2))
    await asyncio.wait_for(waiting, 5)


async def test_a_request_that_waited_is_refused_when_nothing_is_left() -> None:
    meter = Meter(usd=1.0)
    await meter.reserve(Amount(usd=0.9))
    waiting = asyncio.create_task(meter.reserve(Amount(usd=0.5)))
    await asyncio.sleep(0)
    meter.settle(Amount(usd=0.9), Amount(usd=0.9))
    with pytest.raises(BudgetExhausted, match=r"\$0.9000 of \$1 is spent"):
        await asyncio.wait_for(waiting, 5)
    assert meter.reached == "usd"


async def test_what_can_never_fit_is_refused_at_once_although_others_are_under_way() -> None:
    meter = Meter(tokens=100)
    await meter.reserve(Amount(tokens=10))
    with pytest.raises(BudgetExhausted):
        await meter.reserve(Amount(tokens=101))


def test_what_a_run_paid_before_counts() -> None:
    meter = Meter(tokens=100, usd=1.0)
    meter.take_over(Usage(requests=2, input_tokens=30, cached_tokens=5, output_tokens=7, cost_usd=0.25))
    assert meter.spent == Amount(tokens=37, usd=0.25)


def test_requests_of_unknown_cost_count_as_the_mean_of_the_others() -> None:
    meter = Meter(usd=1.0)
    meter.take_over(Usage(requests=4, input_tokens=1, cost_usd=0.3), unpriced=1)
    assert meter.spent.usd == pytest.approx(0.4)


def test_a_cap_in_usd_is_refused_where_no_earlier_cost_is_known() -> None:
    with pytest.raises(UserError, match="2 requests before whose cost is unknown: use --budget-tokens"):
        Meter(usd=1.0).take_over(Usage(requests=2, input_tokens=9, cost_usd=0.0), unpriced=2)
    Meter(tokens=10).take_over(Usage(requests=2, input_tokens=9), unpriced=2)


async def test_what_was_used_without_asking_counts_for_the_next() -> None:
    meter = Meter(tokens=100)
    meter.charge(Usage(requests=1, input_tokens=120, output_tokens=5))
    with pytest.raises(BudgetExhausted, match="125 of 100 tokens"):
        await meter.reserve(Amount(tokens=1))


# A model on a meter


async def test_a_model_charges_what_its_reply_says(question: list[ModelMessage]) -> None:
    meter = Meter(tokens=10_000)
    model = scripted([answer(300, 20)], meter=meter)
    reply = await model.request(question, [])
    assert meter.spent == amount_of(reply.usage) == Amount(tokens=320)


async def test_a_model_expects_max_tokens_first_and_then_the_mean_of_its_replies(question: list[ModelMessage]) -> None:
    meter = Meter(tokens=1_100)
    model = scripted([answer(10, 2)], meter=meter)
    sent = estimate_tokens(question)
    await model.request(question, [])  # 1,024 are expected of the first reply
    meter.spent = Amount(tokens=1_100 - sent - 2)
    await model.request(question, [])
    meter.spent = Amount(tokens=1_100 - sent - 1)
    with pytest.raises(BudgetExhausted):
        await model.request(question, [])
    assert len(model.requests) == 2


async def test_models_of_a_run_share_its_meter(question: list[ModelMessage]) -> None:
    meter = Meter(tokens=3_000)
    one, other = scripted([answer(1_500, 5)], meter=meter), scripted([answer(1_490, 5)], meter=meter)
    await one.request(question, [])
    await other.request(question, [])
    with pytest.raises(BudgetExhausted):
        await one.request(question, [])


async def test_a_request_that_failed_gives_its_reservation_back(question: list[ModelMessage]) -> None:
    meter = Meter(tokens=1_200)
    with pytest.raises(ConnectionLost):
        await scripted([ConnectionLost("gone")], meter=meter).request(question, [])
    assert meter.spent == Amount()
    await scripted([answer(10, 1)], meter=meter).request(question, [])


async def test_a_reply_without_usage_is_charged_as_expected(question: list[ModelMessage]) -> None:
    meter = Meter(tokens=5_000)
    model = scripted([ModelResponse(parts=[TextPart("7")])], meter=meter)
    reply = await model.request(question, [])
    assert not reply.usage_known
    assert meter.spent.tokens == estimate_tokens(question) + 1_024


async def test_a_price_turns_tokens_into_usd(question: list[ModelMessage]) -> None:
    meter = Meter(usd=1.0)
    model = ChatModel(ModelConfig(name="sim:priced", price=PRICE), scripted([answer(1_000, 100)])._model, meter=meter)
    await model.request(question, [])
    assert meter.spent.usd == pytest.approx((1_000 * 1.0 + 100 * 10.0) / 1e6)


def test_a_model_in_this_process_is_free_but_its_tokens_count() -> None:
    assert connect(ModelConfig(name="sim:reader"), meter=Meter(usd=0.0)).expected_usd(10**6, 10**6) == 0.0


def test_a_cap_in_usd_without_a_known_price_is_refused_before_anything_is_sent() -> None:
    config = ModelConfig(name="openai-compatible:mine", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(UserError, match="price of model 'openai-compatible:mine' is not known: give --price IN,CACHED"):
        connect(config, meter=Meter(usd=1.0))
    connect(config, meter=Meter(tokens=10))
    priced = ModelConfig(name=config.name, base_url=config.base_url, price=PRICE)
    assert connect(priced, meter=Meter(usd=1.0)).expected_usd(10**6, 0, cached_tokens=10**6) == pytest.approx(0.1)


# Prompt caching


def settings_of(name: str, **settings: object) -> ModelSettings:
    model: Model = TestModel()
    return request_settings(ModelConfig(name=name, settings=settings), model)


@pytest.mark.parametrize("provider", ["anthropic", "bedrock", "openrouter", "gateway/anthropic"])
def test_caching_is_asked_for_where_it_must_be(provider: str) -> None:
    assert "cache" in ModelSettings.__annotations__
    assert settings_of(f"{provider}:some-model")["cache"] is True


@pytest.mark.parametrize("word", [False, "1h", {"messages": False}])
def test_the_users_word_on_caching_wins(word: object) -> None:
    assert settings_of("anthropic:some-model", cache=word)["cache"] == word


@pytest.mark.parametrize("provider", ["openai", "google-gla", "sim"])
def test_nothing_is_said_of_caching_to_others(provider: str) -> None:
    assert "cache" not in settings_of(f"{provider}:some-model")
