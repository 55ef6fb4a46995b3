"""What an endpoint can do wrong, and what becomes of it. Both ways to an endpoint give the same errors."""

from __future__ import annotations

import json
import time
import tracemalloc
import zlib
from dataclasses import replace
from email.utils import formatdate
from typing import Any

import pytest
from aiohttp import web
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.usage import RequestUsage

from chase.core.errors import ChaseError, RolloutError, SetupError, UserError
from chase.models import errors
from chase.models.chat import ChatModel
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.models.failures import seconds_to_wait
from chase.models.pacing import Pacer
from chase.testing.openai_server import Fault, OpenAIServer, text_reply

CANARY = "sk-canary-7f3a9d51"
PATHS = ["openai-compatible", "openai-chat"]


def chat_at(url: str, *, path: str = "openai-compatible", retries: int = 0, **fields: Any) -> ChatModel:
    config = ModelConfig(name=f"{path}:m", base_url=url, retries=retries, **fields)
    return connect(config, pacer=Pacer(retries=retries, jitter=lambda: 0.0))


def error_body(message: str, **more: Any) -> str:
    return json.dumps({"error": {"message": message, **more}})


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)


async def failure(messages: list[ModelMessage], fault: Fault, **fields: Any) -> ChaseError:
    """The error that a request ends with when every answer has the fault."""
    async with (
        OpenAIServer(lambda request, attempt: text_reply("x"), fault=lambda request, attempt: fault) as server,
        chat_at(server.url, **fields) as chat,
    ):
        with pytest.raises(ChaseError) as caught:
            await chat.request(messages, [])
    return caught.value


TOO_LONG = error_body("This model's maximum context length is 10 tokens", code="context_length_exceeded")
CASES = [
    (Fault(status=429, headers={"Retry-After": "0"}), errors.RateLimited, True),
    (Fault(status=500), errors.ProviderError, True),
    (Fault(status=503), errors.ProviderError, True),
    (Fault(status=400, body=error_body("unknown parameter")), errors.ProviderError, False),
    (Fault(status=422, body=error_body("bad")), errors.ProviderError, False),
    (Fault(status=402, body=error_body("pay")), errors.ProviderError, False),
    (Fault(status=429, body=error_body("pay", code="insufficient_quota")), errors.ProviderError, False),
    (Fault(status=401, body=error_body("bad key")), errors.AuthenticationFailed, None),
    (Fault(status=403, body=error_body("forbidden")), errors.AuthenticationFailed, None),
    (Fault(status=404, body=error_body("no such model")), errors.ModelNotFound, None),
    (Fault(status=400, body=TOO_LONG), errors.ContextTooLong, None),
    (Fault(status=413, body=error_body("request body too large")), errors.ContextTooLong, None),
    (Fault(reset=True), errors.ConnectionLost, True),
    (Fault(cut=True), errors.ConnectionLost, True),
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("fault", "kind", "retryable"), CASES)
async def test_a_fault_becomes_our_error(
    path: str, fault: Fault, kind: type[ChaseError], retryable: bool | None
) -> None:
    error = await failure(history(tokens=2100), fault, path=path)
    assert type(error) is kind
    assert f"model '{path}:m' at http://127.0.0.1:" in str(error)
    if isinstance(error, errors.ModelError):
        assert error.retryable is retryable
        assert isinstance(error, RolloutError)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (Fault(truncate=True), "not complete JSON"),
        (Fault(status=200, body="<html>hello</html>", content_type="text/html"), "content type text/html"),
        (Fault(status=200, body="{}"), "no choices"),
        (Fault(status=200, body=error_body("upstream gone", code=503)), "HTTP 200 with an error: upstream gone"),
        (Fault(status=200, body=error_body("upstream gone")), "HTTP 200 with an error: upstream gone"),
        (Fault(status=302, headers={"Location": "http://127.0.0.1:9/"}), "HTTP 302"),
    ],
)
async def test_an_answer_that_is_none_is_a_provider_error(
    fault: Fault, says: str, question: list[ModelMessage]
) -> None:
    error = await failure(question, fault)
    assert isinstance(error, errors.ProviderError)
    assert says in str(error)


def history(*, tokens: int) -> list[ModelMessage]:
    """A question of about so many tokens."""
    return [ModelRequest(parts=[UserPromptPart("word" * tokens)])]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=502, body=TOO_LONG),
        Fault(status=500, body=TOO_LONG),
        Fault(status=429, body=TOO_LONG),
        Fault(status=200, body=TOO_LONG),
        Fault(status=200, body=error_body("the request exceeds the context size", code=502)),
    ],
)
@pytest.mark.parametrize("path", PATHS)
async def test_only_a_refusal_of_the_request_says_that_a_history_is_too_long(path: str, fault: Fault) -> None:
    """It would be scored for good; an endpoint in trouble is to be tried again."""
    error = await failure(history(tokens=60_000), fault, path=path)
    assert isinstance(error, errors.ModelError)
    assert error.retryable


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_short_history_is_not_believed_to_be_too_long(path: str, status: int) -> None:
    error = await failure(history(tokens=2_000), Fault(status=status, body=TOO_LONG), path=path)
    assert isinstance(error, errors.ProviderError)
    assert error.retryable
    assert "maximum context length is 10 tokens" in str(error)
    assert "not believed" in str(error)


async def test_what_the_provider_counted_says_how_long_a_history_is() -> None:
    """Digits and many scripts have more tokens than their length says."""
    said = ModelResponse(parts=[TextPart("1")], usage=RequestUsage(input_tokens=2_000, output_tokens=48))
    dense = [*history(tokens=600), said, *history(tokens=1)]
    assert isinstance(await failure(dense, Fault(status=400, body=TOO_LONG)), errors.ContextTooLong)
    fewer = [*history(tokens=600), replace(said, usage=RequestUsage(input_tokens=2_000, output_tokens=47))]
    assert isinstance(await failure(fewer, Fault(status=400, body=TOO_LONG)), errors.ProviderError)


async def test_a_history_far_shorter_than_one_that_was_answered_is_not_believed_to_be_too_long() -> None:
    faults = iter([None, Fault(status=400, body=TOO_LONG), Fault(status=400, body=TOO_LONG)])
    async with (
        OpenAIServer(lambda request, attempt: text_reply("x"), fault=lambda request, attempt: next(faults)) as server,
        chat_at(server.url) as chat,
    ):
        await chat.request(history(tokens=10_000), [])
        with pytest.raises(errors.ProviderError, match="not believed"):
            await chat.request(history(tokens=4_900), [])
        with pytest.raises(errors.ContextTooLong):
            await chat.request(history(tokens=5_100), [])


async def test_the_content_type_does_not_matter_if_the_content_is_right(question: list[ModelMessage]) -> None:
    fault = Fault(status=200, body=json.dumps(text_reply("x")), content_type="text/plain")
    async with (
        OpenAIServer(lambda request, attempt: text_reply(""), fault=lambda request, attempt: fault) as server,
        chat_at(server.url) as chat,
    ):
        assert (await chat.request(question, [])).response.text == "x"


@pytest.mark.parametrize(
    "body",
    [
        error_body("the request exceeds the available context size", code=400, type="exceed_context_size_error"),
        error_body("maximum context length is 8192 tokens"),
        '{"object": "error", "message": "Please reduce the length of the messages", "code": 400}',
        "prompt is too long: 9 tokens > 8 maximum",
    ],
)
async def test_servers_say_in_many_ways_that_a_history_is_too_long(body: str) -> None:
    error = await failure(history(tokens=2_100), Fault(status=400, body=body))
    assert isinstance(error, errors.ContextTooLong)
    assert not isinstance(error, RolloutError)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("fault", [Fault(status=500), Fault(status=429), Fault(reset=True), Fault(cut=True)])
async def test_a_passing_fault_is_retried(path: str, fault: Fault, question: list[ModelMessage]) -> None:
    async with (
        OpenAIServer(
            lambda request, attempt: text_reply(f"attempt {attempt}"),
            fault=lambda request, attempt: fault if attempt < 2 else None,
        ) as server,
        chat_at(server.url, path=path, retries=2) as chat,
    ):
        assert (await chat.request(question, [])).response.text == "attempt 2"
    assert len(server.requests) == 3


async def test_truncated_json_is_retried(question: list[ModelMessage]) -> None:
    async with (
        OpenAIServer(
            lambda request, attempt: text_reply("x"),
            fault=lambda request, attempt: None if attempt else Fault(truncate=True),
        ) as server,
        chat_at(server.url, retries=1) as chat,
    ):
        assert (await chat.request(question, [])).response.text == "x"


async def test_retry_after_is_waited_for(question: list[ModelMessage]) -> None:
    slept: list[float] = []
    now = 0.0

    async def sleep(seconds: float) -> None:
        nonlocal now
        slept.append(seconds)
        now += seconds

    fault = Fault(status=429, headers={"Retry-After": "17"})
    async with OpenAIServer(
        lambda request, attempt: text_reply("x"), fault=lambda request, attempt: None if attempt else fault
    ) as server:
        pacer = Pacer(clock=lambda: now, sleep=sleep, jitter=lambda: 0.0)
        config = ModelConfig(name="openai-compatible:m", base_url=server.url)
        async with connect(config, pacer=pacer) as chat:
            await chat.request(question, [])
    assert slept == [17.0]


async def test_an_idle_connection_that_the_server_closed_does_no_harm(question: list[ModelMessage]) -> None:
    async with (
        OpenAIServer(lambda request, attempt: text_reply("x")) as server,
        chat_at(server.url, retries=2) as chat,
    ):
        for _ in range(3):
            assert (await chat.request(question, [])).response.text == "x"
            await server.drop_idle_connections()


@pytest.mark.parametrize("path", PATHS)
async def test_an_answer_that_takes_too_long_is_timed_out(path: str, question: list[ModelMessage]) -> None:
    error = await failure(question, Fault(drip_seconds=30.0), path=path, timeout_seconds=0.2)
    assert isinstance(error, errors.TimedOut)
    assert "timeout_seconds=0.2" in str(error)
    assert error.retryable
    assert not error.at_deadline


@pytest.mark.parametrize("path", PATHS)
async def test_an_unreachable_endpoint_is_named(path: str, question: list[ModelMessage]) -> None:
    async with OpenAIServer(lambda request, attempt: text_reply("x")) as server:
        url = server.url
    async with chat_at(url, path=path) as chat:
        with pytest.raises(errors.ConnectionLost) as caught:
            await chat.request(question, [])
    assert f"model '{path}:m' at {url} cannot be reached" in str(caught.value)
    assert "\n" not in str(caught.value)


def chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


ECHO = error_body(f"Incorrect API key provided: {CANARY}, {'x' * 280} {CANARY}")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "fault",
    [
        *(Fault(status=status, body=ECHO) for status in (400, 401, 404, 429, 500)),
        Fault(status=200, body=f"key was {CANARY}", content_type="text/plain"),
        Fault(status=200, body=ECHO),
        Fault(reset=True),
        Fault(cut=True),
    ],
)
async def test_the_key_is_in_no_error(
    path: str, fault: Fault, question: list[ModelMessage], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="chase")
    error = await failure(question, fault, path=path, api_key_env="OPENAI_API_KEY")
    for link in chain(error):
        assert CANARY not in f"{link} {link!r} {link.args} {vars(link)}"
    assert CANARY not in caplog.text


async def test_the_key_is_sent_and_shown_nowhere(question: list[ModelMessage]) -> None:
    async with (
        OpenAIServer(lambda request, attempt: text_reply("x")) as server,
        chat_at(server.url, api_key_env="OPENAI_API_KEY") as chat,
    ):
        reply = await chat.request(question, [])
    assert server.requests[0].headers["Authorization"] == f"Bearer {CANARY}"
    shown = f"{chat!r} {chat._model!r} {chat.config!r} {chat.fingerprint} {reply!r} {chat._failures!r}"
    assert CANARY not in shown


async def test_the_environments_key_goes_to_no_endpoint_that_did_not_ask(question: list[ModelMessage]) -> None:
    async with (
        OpenAIServer(lambda request, attempt: text_reply("x")) as server,
        chat_at(server.url) as chat,
    ):
        await chat.request(question, [])
    assert "Authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "3"}, 3.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"Retry-After": "-2"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({"retry-after-ms": "250", "Retry-After": "9"}, 0.25),
        ({"Retry-After": formatdate(0, usegmt=True)}, 0.0),
    ],
)
def test_retry_after_is_read_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert seconds_to_wait(headers) == seconds


def test_retry_after_as_a_date_is_a_wait_from_now() -> None:
    wait = seconds_to_wait({"Retry-After": formatdate(time.time() + 3600, usegmt=True)})
    assert wait is not None
    assert 3500 < wait <= 3600


@pytest.mark.parametrize("path", PATHS)
async def test_a_reply_is_read_up_to_a_bound_whatever_it_is_compressed_from(path: str) -> None:
    packer = zlib.compressobj(wbits=31)
    bomb = b"".join([packer.compress(bytes(1 << 20)) for _ in range(128)] + [packer.flush()])

    async def answer(request: web.BaseRequest) -> web.Response:
        await request.read()
        return web.Response(body=bomb, headers={"Content-Encoding": "gzip"})

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        async with chat_at(f"http://127.0.0.1:{runner.addresses[0][1]}/v1", path=path) as chat:
            tracemalloc.start()
            with pytest.raises(errors.ModelError, match="more than 32 MiB") as caught:
                await chat.request(history(tokens=1), [])
            assert caught.value.retryable
            assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
        await runner.cleanup()


def test_each_error_ends_the_command_with_the_right_code() -> None:
    assert issubclass(errors.AuthenticationFailed, SetupError)
    assert issubclass(errors.ModelNotFound, UserError)
    assert errors.ModelError("x").exit_code == 7
