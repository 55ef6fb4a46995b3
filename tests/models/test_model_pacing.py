from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

import pytest

from chase.models.errors import ConnectionLost, ModelError, ProviderError, RateLimited
from chase.models.pacing import LONGEST_PAUSE_SECONDS, Bucket, Pacer


class Clock(Protocol):
    now: float
    slept: list[float]

    def __call__(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


async def succeed() -> str:
    return "done"


def failing(*errors: ModelError) -> Callable[[], Awaitable[str]]:
    """An attempt that fails with each error in turn and then succeeds."""
    left = list(errors)

    async def attempt() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return attempt


class Gate:
    """Attempts that wait until they are let go, and are counted while they do."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.inside = 0
        self.most = 0

    async def attempt(self) -> str:
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.open.wait()
            return "done"
        finally:
            self.inside -= 1


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_no_more_than_the_limit_are_in_flight() -> None:
    pacer, gate = Pacer(max_concurrency=3), Gate()
    calls = [asyncio.create_task(pacer.run(gate.attempt)) for _ in range(10)]
    await settled()
    assert (gate.inside, pacer.active) == (3, 3)
    gate.open.set()
    assert await asyncio.gather(*calls) == ["done"] * 10
    assert (gate.most, pacer.active) == (3, 0)


async def test_a_burst_of_rate_limits_halves_the_limit_once() -> None:
    pacer = Pacer(max_concurrency=8, retries=0)
    together = asyncio.Event()

    async def refused() -> None:
        await together.wait()
        raise RateLimited("slow down")

    calls = [asyncio.create_task(pacer.run(refused)) for _ in range(8)]
    await settled()
    together.set()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(result, RateLimited) for result in results)
    assert pacer.limit == 4
    for expected in (2, 1, 1):
        with pytest.raises(RateLimited):
            await pacer.run(failing(RateLimited("again")))
        assert pacer.limit == expected


async def test_after_a_rate_limit_fewer_are_in_flight_and_success_widens_slowly() -> None:
    pacer = Pacer(max_concurrency=8, retries=0)
    with pytest.raises(RateLimited):
        await pacer.run(failing(RateLimited("slow down")))
    gate = Gate()
    calls = [asyncio.create_task(pacer.run(gate.attempt)) for _ in range(20)]
    await settled()
    assert gate.inside == 4
    gate.open.set()
    await asyncio.gather(*calls)
    limits = []
    for _ in range(30):
        await pacer.run(succeed)
        limits.append(pacer.limit)
    assert limits == sorted(limits)
    assert limits[-1] == 8

    pacer = Pacer(max_concurrency=8, retries=0)
    with pytest.raises(RateLimited):
        await pacer.run(failing(RateLimited("slow down")))
    for _ in range(4):
        await pacer.run(succeed)
    assert pacer.limit == 4
    await pacer.run(succeed)
    assert pacer.limit == 5


async def test_other_errors_leave_the_limit_alone(clock: Clock) -> None:
    pacer = Pacer(max_concurrency=8, clock=clock, sleep=clock.sleep)
    await pacer.run(failing(ConnectionLost("gone"), ProviderError("bad", status=500)))
    assert pacer.limit == 8


async def test_retries_wait_with_full_jitter_that_doubles(clock: Clock) -> None:
    pacer = Pacer(clock=clock, sleep=clock.sleep, jitter=lambda: 1.0, retries=4)
    await pacer.run(failing(*(ConnectionLost("gone") for _ in range(4))))
    assert clock.slept == [0.5, 1.0, 2.0, 4.0]
    clock.slept.clear()
    pacer = Pacer(clock=clock, sleep=clock.sleep, jitter=lambda: 0.0, retries=1)
    await pacer.run(failing(ConnectionLost("gone")))
    assert clock.slept == [0.0]


async def test_retries_end_and_the_error_says_how_often(clock: Clock) -> None:
    pacer = Pacer(clock=clock, sleep=clock.sleep, retries=2)
    with pytest.raises(ConnectionLost, match=r"gone \(after 3 attempts\)"):
        await pacer.run(failing(*(ConnectionLost("gone") for _ in range(9))))
    assert pacer.active == 0


async def test_what_cannot_succeed_is_not_retried(clock: Clock) -> None:
    pacer = Pacer(clock=clock, sleep=clock.sleep)
    with pytest.raises(ProviderError):
        await pacer.run(failing(ProviderError("no such parameter", status=400, retryable=False)))
    assert not clock.slept


async def test_retry_after_is_honoured_by_everybody(clock: Clock) -> None:
    pacer = Pacer(clock=clock, sleep=clock.sleep, jitter=lambda: 0.0, retries=0)
    started = clock()
    with pytest.raises(RateLimited):
        await pacer.run(failing(RateLimited("wait", retry_after=7.0)))
    assert await pacer.run(succeed) == "done"
    assert clock() - started >= 7.0


async def test_a_retry_is_not_sent_before_retry_after_is_over(clock: Clock) -> None:
    pacer = Pacer(clock=clock, sleep=clock.sleep, jitter=lambda: 0.5)
    started = clock()
    await pacer.run(failing(ProviderError("overloaded", status=503, retry_after=12.0)))
    assert clock() - started == pytest.approx(12.25)


async def test_a_pause_that_is_too_long_is_an_outage(clock: Clock) -> None:
    pacer = Pacer(clock=clock, sleep=clock.sleep)
    with pytest.raises(RateLimited):
        await pacer.run(failing(RateLimited("tomorrow", retry_after=LONGEST_PAUSE_SECONDS + 1)))
    assert not clock.slept


async def test_no_retry_is_waited_for_that_the_deadline_forbids(clock: Clock) -> None:
    pacer = Pacer(clock=clock, sleep=clock.sleep)
    with pytest.raises(RateLimited):
        await pacer.run(failing(RateLimited("wait", retry_after=30.0)), deadline=clock() + 10)
    assert not clock.slept


async def test_requests_a_minute_are_never_exceeded_in_any_minute(clock: Clock) -> None:
    pacer = Pacer(max_concurrency=50, requests_per_minute=30, clock=clock, sleep=clock.sleep)
    sent: list[float] = []

    async def attempt() -> None:
        sent.append(clock())

    await asyncio.gather(*(pacer.run(attempt) for _ in range(100)))
    assert len(sent) == 100
    for start in sent:
        assert sum(start <= moment < start + 60 - 1e-6 for moment in sent) <= 30
    assert sent[-1] - sent[0] == pytest.approx(99 * 2.0)


async def test_tokens_a_minute_are_spread_and_corrected_by_what_was_used(clock: Clock) -> None:
    pacer = Pacer(tokens_per_minute=6000, clock=clock, sleep=clock.sleep)
    started = clock()
    await pacer.run(succeed, tokens=1000)
    await pacer.run(succeed, tokens=1000)
    assert clock() - started == pytest.approx(10.0)
    pacer.settle(estimated=1000, used=3000)
    await pacer.run(succeed, tokens=0)
    assert clock() - started == pytest.approx(40.0)
    await pacer.run(succeed, tokens=1000)
    pacer.settle(estimated=1000, used=0)
    before = clock()
    await pacer.run(succeed, tokens=0)
    assert clock() == pytest.approx(before)


def test_unused_minutes_are_not_saved_up() -> None:
    bucket = Bucket(60)
    bucket.charge(1, 0.0)
    bucket.charge(1, 1000.0)
    assert bucket.wait(1000.0) == pytest.approx(1.0)


async def test_a_cancelled_request_gives_its_place_back() -> None:
    pacer, gate = Pacer(max_concurrency=2), Gate()
    running = [asyncio.create_task(pacer.run(gate.attempt)) for _ in range(2)]
    queued = [asyncio.create_task(pacer.run(gate.attempt)) for _ in range(3)]
    await settled()
    running[0].cancel()
    queued[1].cancel()
    await settled()
    assert (gate.inside, pacer.active) == (2, 2)
    gate.open.set()
    await asyncio.gather(*running, *queued, return_exceptions=True)
    assert pacer.active == 0
    assert await pacer.run(succeed) == "done"


async def test_cancelling_everything_at_once_loses_no_place() -> None:
    pacer, gate = Pacer(max_concurrency=2), Gate()
    calls = [asyncio.create_task(pacer.run(gate.attempt)) for _ in range(6)]
    await settled()
    for call in calls:
        call.cancel()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(result) for result in results] == [asyncio.CancelledError] * 6
    assert pacer.active == 0
    assert await pacer.run(succeed) == "done"


async def test_a_place_given_in_the_moment_of_cancellation_is_not_lost() -> None:
    pacer, gate = Pacer(max_concurrency=1), Gate()
    first = asyncio.create_task(pacer.run(gate.attempt))
    await settled()
    second = asyncio.create_task(pacer.run(succeed))
    await settled()
    gate.open.set()
    while not first.done():
        await asyncio.sleep(0)
    # The second was let in by the first's leaving and has not run since.
    second.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    assert pacer.active == 0
    assert await pacer.run(succeed) == "done"


async def test_cancelling_while_waiting_for_a_cap_frees_the_turnstile() -> None:
    forever = asyncio.Event()
    waiting = True

    async def sleep(seconds: float) -> None:
        if waiting:
            await forever.wait()

    now = 0.0
    pacer = Pacer(max_concurrency=5, requests_per_minute=1, clock=lambda: now, sleep=sleep)
    await pacer.run(succeed)
    blocked = [asyncio.create_task(pacer.run(succeed)) for _ in range(3)]
    await settled()
    assert pacer.active == 3
    for call in blocked:
        call.cancel()
    await asyncio.gather(*blocked, return_exceptions=True)
    assert pacer.active == 0
    now = 61.0
    assert await pacer.run(succeed) == "done"
