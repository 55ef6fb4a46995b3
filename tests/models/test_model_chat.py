from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from chase.core.values import ToolSpec
from chase.models.chat import ChatModel, estimate_tokens
from chase.models.config import ModelConfig, Price
from chase.models.connect import connect, make_pacer
from chase.models.errors import TimedOut
from chase.models.local import LocalModel, local_names, register_local
from chase.testing.openai_server import OpenAIServer, completion, text_reply, token_usage


async def echo_seed(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    names = ",".join(tool.name for tool in info.function_tools)
    seed = (info.model_settings or {}).get("seed")
    return ModelResponse(parts=[TextPart(f"{names} {seed}")], usage=RequestUsage(input_tokens=3, output_tokens=2))


@pytest.fixture
def echo(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("chase.models.local._FACTORIES", {})
    register_local("sim:echo", lambda config: LocalModel(echo_seed, name="echo", version="1"))
    register_local("sim:plain", lambda config: FunctionModel(echo_seed, model_name="plain"))
    return "sim:echo"


@pytest.mark.parametrize("name", ["sim:echo", "sim:plain"])
async def test_a_model_in_this_process_sees_the_tools_and_the_seed(
    name: str, echo: str, question: list[ModelMessage], tools: list[ToolSpec]
) -> None:
    chat = connect(ModelConfig(name=name, settings={"seed": 1}))
    assert (await chat.request(question, tools)).response.text == "search,open 1"
    assert (await chat.request(question, tools, seed=9)).response.text == "search,open 9"
    reply = await chat.request(question, tools[:1], seed=0)
    assert reply.response.text == "search 0"
    assert (reply.usage.requests, reply.usage.input_tokens, reply.usage.output_tokens) == (1, 3, 2)
    assert (reply.usage.cost_usd, reply.usage_known) == (0.0, True)
    assert reply.served_model == name.removeprefix("sim:")


async def test_a_local_model_that_reports_no_usage_is_flagged(question: list[ModelMessage]) -> None:
    async def silent(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[TextPart("x")])

    chat = ChatModel(ModelConfig(name="sim:silent"), LocalModel(silent, name="silent", version="1"))
    assert not (await chat.request(question, [])).usage_known


def test_a_local_models_version_is_in_its_fingerprint() -> None:
    config = ModelConfig(name="sim:echo")
    one, same, two = (
        ChatModel(config, LocalModel(echo_seed, name="echo", version=version)).fingerprint for version in "112"
    )
    assert one == same
    assert one != two


def lazy_model(config: ModelConfig) -> LocalModel:
    return LocalModel(echo_seed, name=config.model, version="1")


async def test_a_local_model_can_be_registered_by_import_path(
    monkeypatch: pytest.MonkeyPatch, question: list[ModelMessage]
) -> None:
    assert "sim:reader" in local_names()
    monkeypatch.setattr("chase.models.local._FACTORIES", {})
    register_local("sim:lazy", f"{__name__}:lazy_model")
    chat = connect(ModelConfig(name="sim:lazy"))
    assert (await chat.request(question, [])).served_model == "lazy"


async def test_equal_tools_are_converted_once(echo: str, tools: list[ToolSpec]) -> None:
    chat = connect(ModelConfig(name=echo))
    copies = [
        ToolSpec(name=tool.name, description=tool.description, parameters=dict(tool.parameters)) for tool in tools
    ]
    assert chat._parameters(tools) is chat._parameters(copies)
    assert chat._parameters(tools) is not chat._parameters(tools[:1])


async def test_usage_cost_and_served_model_over_http(question: list[ModelMessage]) -> None:
    def script(request: dict[str, Any], attempt: int) -> dict[str, Any]:
        return text_reply("x", usage=token_usage(1_000_000, 100_000, cached=400_000), model="m-v2")

    price = Price(input=2.0, output=10.0, cached=0.5)
    async with OpenAIServer(script) as server:
        config = ModelConfig(name="openai-compatible:m", base_url=server.url, price=price)
        async with connect(config) as chat:
            reply = await chat.request(question, [])
    assert reply.served_model == "m-v2"
    assert reply.usage.input_tokens == 1_000_000
    assert reply.usage.cached_tokens == 400_000
    assert reply.usage.output_tokens == 100_000
    assert reply.usage.cost_usd == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.1 * 10)
    assert reply.usage.wall_seconds > 0


async def test_an_unknown_price_is_none_even_for_a_famous_name(question: list[ModelMessage]) -> None:
    async with (
        OpenAIServer(lambda request, attempt: text_reply("x", model="gpt-4o")) as server,
        connect(ModelConfig(name="openai-compatible:gpt-4o", base_url=server.url)) as chat,
    ):
        replies = [await chat.request(question, []) for _ in range(2)]
    assert [reply.usage.cost_usd for reply in replies] == [None, None]


async def test_usage_that_was_not_reported_has_no_cost(question: list[ModelMessage]) -> None:
    async with OpenAIServer(lambda request, attempt: completion({"content": "x"})) as server:
        config = ModelConfig(
            name="openai-compatible:m", base_url=server.url, price=Price(input=1, output=1), tokens_per_minute=1e9
        )
        async with connect(config) as chat:
            reply = await chat.request(question, [])
    assert not reply.usage_known
    assert (reply.usage.input_tokens, reply.usage.cost_usd) == (0, None)


async def test_settings_and_seed_reach_the_endpoint(question: list[ModelMessage]) -> None:
    settings = {
        "temperature": 0.1,
        "seed": 3,
        "stop_sequences": ["X"],
        "reasoning_effort": "low",
        "cache_prompt": False,
        "extra_body": {"min_p": 0.2},
        "extra_headers": {"X-Team": "chase"},
    }
    async with (
        OpenAIServer(lambda request, attempt: text_reply("x")) as server,
        connect(ModelConfig(name="openai-compatible:a/b:c", base_url=server.url + "/", settings=settings)) as chat,
    ):
        await chat.request(question, [])
        await chat.request(question, [], seed=8)
    sent = server.requests[0].json
    sent.pop("messages")
    assert sent == {
        "model": "a/b:c",
        "temperature": 0.1,
        "seed": 3,
        "stop": ["X"],
        "reasoning_effort": "low",
        "cache_prompt": False,
        "min_p": 0.2,
    }
    assert server.requests[0].headers["X-Team"] == "chase"
    assert "Authorization" not in server.requests[0].headers
    assert server.requests[1].json["seed"] == 8


async def test_cancelling_a_request_leaves_the_model_usable(question: list[ModelMessage]) -> None:
    slow = True

    class Server(OpenAIServer):
        async def _handle(self, request: Any) -> Any:
            if slow:
                await asyncio.Event().wait()
            return await super()._handle(request)

    async with Server(lambda request, attempt: text_reply("x")) as server:
        config = ModelConfig(name="openai-compatible:m", base_url=server.url, max_concurrency=2)
        pacer = make_pacer(config)
        async with connect(config, pacer=pacer) as chat:
            calls = [asyncio.create_task(chat.request(question, [])) for _ in range(5)]
            while pacer.active < 2:
                await asyncio.sleep(0)
            for call in calls:
                call.cancel()
            results = await asyncio.gather(*calls, return_exceptions=True)
            assert [type(result) for result in results] == [asyncio.CancelledError] * 5
            assert pacer.active == 0
            slow = False
            assert (await chat.request(question, [])).response.text == "x"


async def test_the_deadline_ends_a_request_and_says_so(question: list[ModelMessage]) -> None:
    async with OpenAIServer(lambda request, attempt: text_reply("x"), latency=60) as server:
        config = ModelConfig(name="openai-compatible:m", base_url=server.url)
        pacer = make_pacer(config)
        async with connect(config, pacer=pacer) as chat:
            with pytest.raises(TimedOut, match="before the deadline") as caught:
                await chat.request(question, [], deadline=time.monotonic() + 0.05)
            assert caught.value.at_deadline
            assert not caught.value.retryable
            assert pacer.active == 0


def test_tokens_are_estimated_from_the_last_response_and_what_came_since(
    question: list[ModelMessage], history: list[ModelMessage]
) -> None:
    assert estimate_tokens(question) == len("Be careful.How much was it in Mai – „total“?") // 4
    answered = ModelResponse(parts=[TextPart("x")], usage=RequestUsage(input_tokens=500, output_tokens=20))
    assert estimate_tokens([*question, answered, history[-1]]) == 520 + len("Are you sure?") // 4
