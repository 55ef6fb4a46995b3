"""An endpoint that is away: everybody waits, one looks, and all goes on or ends together."""

from __future__ import annotations

import asyncio
from typing import Protocol

import pytest
from pydantic_ai.messages import ModelMessage

from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.models.errors import AuthenticationFailed, ConnectionLost, ModelError, ProviderError, RateLimited, TimedOut
from chase.models.outages import LONGEST_PAUSE_SECONDS, is_outage
from chase.models.pacing import MOST_OUTAGES, Pacer
from chase.testing.openai_server import OpenAIServer, text_reply


class Clock(Protocol):
    now: float
    slept: list[float]

    def __call__(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


class Endpoint:
    """Answers but between two moments of the clock; counts who asks, and how many at a time."""

    def __init__(self, clock: Clock, *, away: tuple[float, float], error: ModelError | None = None) -> None:
        self._clock = clock
        self._away = away
        self._error = error
        self.asked: list[float] = []
        self.inside = 0
        self.most_while_away = 0

    async def attempt(self) -> str:
        self.asked.append(self._clock())
        self.inside += 1
        away = self._away[0] <= self._clock() < self._away[1]
        if away:
            self.most_while_away = max(self.most_while_away, self.inside)
        await asyncio.sleep(0)
        self.inside -= 1
        if away:
            raise self._error or ConnectionLost("gone.")
        return "done"


async def make_pacer(
    clock: Clock, said: list[str], *, patience: float = 600.0, retries: int = 2, most: int = 64
) -> Pacer:
    """A pacer whose endpoint has answered once."""
    pacer = Pacer(
        max_concurrency=most,
        retries=retries,
        patience_seconds=patience,
        on_outage=said.append,
        clock=clock,
        sleep=clock.sleep,
        jitter=lambda: 1.0,
    )
    await pacer.run(answer)
    return pacer


async def answer() -> str:
    return "done"


async def test_requests_wait_for_an_endpoint_that_comes_back(clock: Clock) -> None:
    said: list[str] = []
    began = clock()
    endpoint = Endpoint(clock, away=(began, began + 100))
    pacer = await make_pacer(clock, said, retries=0)
    results = await asyncio.gather(*(pacer.run(endpoint.attempt) for _ in range(20)))
    assert results == ["done"] * 20
    assert said == [
        "the endpoint does not answer (gone); waiting up to 600 s for it to come back",
        f"the endpoint is back after {clock() - began:.0f} s",
    ]
    assert pacer.active == 0


async def test_one_at_a_time_looks_with_waits_that_double_to_half_a_minute(clock: Clock) -> None:
    began = clock()
    endpoint = Endpoint(clock, away=(began, began + 150))
    pacer = await make_pacer(clock, [], retries=0)
    first = asyncio.create_task(pacer.run(endpoint.attempt))
    await asyncio.sleep(0)
    await asyncio.gather(first, *(pacer.run(endpoint.attempt) for _ in range(5)))
    probes = [moment - began for moment in endpoint.asked if began < moment <= began + 181]
    assert probes[:8] == [1.0, 3.0, 7.0, 15.0, 31.0, 61.0, 91.0, 121.0]
    assert endpoint.most_while_away <= 6  # those that had been sent when it was found out


async def test_after_patience_everybody_gets_the_error_and_no_new_try_is_made_of_it(clock: Clock) -> None:
    said: list[str] = []
    endpoint = Endpoint(clock, away=(0, float("inf")))
    pacer = await make_pacer(clock, said, patience=50.0)
    began = clock()
    results = await asyncio.gather(*(pacer.run(endpoint.attempt) for _ in range(8)), return_exceptions=True)
    assert all(isinstance(result, ConnectionLost) and not result.retryable for result in results)
    assert all("It did not come back in 50 s." in str(result) for result in results)
    assert len(said) == 1
    assert clock() - began < 50 + 8 * 1.5 + 1
    assert pacer.active == 0


async def test_without_patience_the_error_comes_at_once_as_it_is(clock: Clock) -> None:
    said: list[str] = []
    pacer = await make_pacer(clock, said, patience=0.0, retries=0)
    with pytest.raises(ConnectionLost) as caught:
        await pacer.run(Endpoint(clock, away=(0, float("inf"))).attempt)
    assert caught.value.retryable
    assert said == []


async def test_an_endpoint_that_never_answered_is_not_waited_for(clock: Clock) -> None:
    said: list[str] = []
    pacer = Pacer(patience_seconds=600.0, on_outage=said.append, clock=clock, sleep=clock.sleep, retries=1)
    with pytest.raises(ConnectionLost):
        await pacer.run(Endpoint(clock, away=(0, float("inf"))).attempt)
    assert said == []


async def test_a_request_that_fails_alone_is_no_outage(clock: Clock) -> None:
    """A server that cannot digest one request must not stop the others."""
    said: list[str] = []
    pacer = await make_pacer(clock, said, retries=3)
    well = Endpoint(clock, away=(0, 0))

    async def poison() -> str:
        await asyncio.sleep(0)
        raise ProviderError("crashed", status=500)

    async def steady() -> None:
        for _ in range(30):
            await pacer.run(well.attempt)

    failed, _ = await asyncio.gather(pacer.run(poison), steady(), return_exceptions=True)
    assert isinstance(failed, ProviderError)
    assert said == []


async def test_the_others_find_out_that_only_one_request_fails(clock: Clock) -> None:
    """It was alone when it failed, so an outage it was; the next one's answer ends it, and soon nobody believes it."""
    said: list[str] = []
    pacer = await make_pacer(clock, said, retries=0)
    well = Endpoint(clock, away=(0, 0))

    async def poison() -> str:
        raise ProviderError("crashed", status=500)

    async def others() -> None:
        while True:
            await pacer.run(well.attempt)
            await asyncio.sleep(0)

    failing = asyncio.create_task(pacer.run(poison))
    await asyncio.sleep(0)
    working = asyncio.create_task(others())
    with pytest.raises(ProviderError):
        await asyncio.wait_for(failing, 10)
    working.cancel()
    assert len(said) == 2 * MOST_OUTAGES
    assert clock() < 1000 + 60


async def test_a_refusal_is_an_answer(clock: Clock) -> None:
    said: list[str] = []
    errors = [ConnectionLost("gone."), AuthenticationFailed("bad key")]

    async def attempt() -> str:
        raise errors.pop(0)

    with pytest.raises(AuthenticationFailed):
        await (await make_pacer(clock, said, retries=0)).run(attempt)
    assert said[-1].startswith("the endpoint is back")


async def test_an_answer_to_an_older_request_does_not_end_an_outage(clock: Clock) -> None:
    said: list[str] = []
    pacer = await make_pacer(clock, said, retries=0, patience=20.0)
    late = asyncio.Event()

    async def slow() -> str:
        await late.wait()
        return "done"

    async def gone() -> str:
        raise ConnectionLost("gone.")

    older = asyncio.create_task(pacer.run(slow))
    await asyncio.sleep(0)
    failing = asyncio.create_task(pacer.run(gone))
    await asyncio.sleep(0)
    late.set()
    assert await older == "done"
    with pytest.raises(ConnectionLost, match="did not come back"):
        await failing
    assert len(said) == 1


async def test_a_longer_retry_after_than_patience_is_not_waited_for(clock: Clock) -> None:
    said: list[str] = []
    pacer = await make_pacer(clock, said, patience=600.0)

    async def tomorrow() -> str:
        raise RateLimited("tomorrow", retry_after=86_400.0)

    with pytest.raises(RateLimited):
        await pacer.run(tomorrow)
    assert said == []
    endpoint = Endpoint(clock, away=(0, clock() + 450), error=RateLimited("later.", retry_after=450.0))
    assert await pacer.run(endpoint.attempt) == "done"
    assert len(said) == 2


@pytest.mark.parametrize(
    ("error", "away"),
    [
        (ConnectionLost("x"), True),
        (TimedOut("x"), True),
        (ProviderError("x", status=500), True),
        (ProviderError("x", status=503), True),
        (ProviderError("x", status=500, retryable=False), False),
        (ProviderError("x", status=200), False),
        (ProviderError("x"), False),
        (RateLimited("x"), False),
        (RateLimited("x", retry_after=LONGEST_PAUSE_SECONDS), False),
        (RateLimited("x", retry_after=LONGEST_PAUSE_SECONDS + 1), True),
        (AuthenticationFailed("x"), False),
    ],
)
def test_what_is_an_outage(error: ModelError, away: bool) -> None:
    assert is_outage(error) is away


async def test_an_outage_does_not_eat_the_deadline(question: list[ModelMessage]) -> None:
    """The endpoint is away for longer than the whole request may take."""
    server = OpenAIServer(lambda request, attempt: text_reply("x"))
    said: list[str] = []
    pacer = Pacer(retries=0, patience_seconds=30.0, on_outage=said.append)
    async with server:
        chat = connect(ModelConfig(name="openai-compatible:m", base_url=server.url), pacer=pacer)
        await chat.request(question, [])
    async with chat:
        asking = asyncio.create_task(chat.request(question, [], deadline=chat.now() + 0.5))
        await asyncio.sleep(0.8)
        assert chat.now() < asyncio.get_running_loop().time() - 0.5
        async with server:
            reply = await asking
    assert reply.response.text == "x"
    assert len(said) == 2


async def test_cancelling_in_an_outage_gives_every_place_back(clock: Clock) -> None:
    pacer = await make_pacer(clock, [], retries=0, patience=float("inf"), most=4)
    endpoint = Endpoint(clock, away=(0, float("inf")))
    calls = [asyncio.create_task(pacer.run(endpoint.attempt)) for _ in range(10)]
    for _ in range(50):
        await asyncio.sleep(0)
    for call in calls:
        call.cancel()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(result) for result in results} == {asyncio.CancelledError}
    assert pacer.active == 0
