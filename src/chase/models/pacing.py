"""How hard a provider is driven: concurrency that adapts, caps a minute, retries with jitter."""

from __future__ import annotations

import asyncio
import copy
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TypeVar

from chase.models.errors import ModelError, RateLimited
from chase.models.outages import LONGEST_PAUSE_SECONDS, GivenUp, OnOutage, Outages, is_outage

T = TypeVar("T")

FIRST_BACKOFF_SECONDS = 0.5
LONGEST_BACKOFF_SECONDS = 30.0
MOST_OUTAGES = 3
"""A request that fails again after so many outages, which answers to others ended, is what fails itself."""


class Pacer:
    """Admits requests to one provider, for all rollouts of a run at once.

    At most `limit` requests are in flight; a rate limit halves the limit (once for all requests that were in
    flight together), and every success widens it again by 1/limit, up to `max_concurrency`. Requests and
    tokens are spread evenly over the minute. A retryable error is tried again up to `retries` times, after a
    random wait that doubles its bound, and never before the provider's Retry-After is over. Cancelling a call
    at any moment gives its place back.

    Where the retries are spent because the endpoint is away (`is_outage`), all requests wait for it to come back, for
    at most `patience_seconds`, and `on_outage` hears of it; see `Outages`. Deadlines are in seconds of `now`, which
    stands still meanwhile.
    """

    def __init__(
        self,
        *,
        max_concurrency: int = 64,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        retries: int = 5,
        patience_seconds: float = 0.0,
        on_outage: OnOutage | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._max = float(max_concurrency)
        self._limit = self._max
        self._active = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._requests = Bucket(requests_per_minute)
        self._tokens = Bucket(tokens_per_minute)
        self._turnstile = asyncio.Lock()
        self._paused_until = float("-inf")
        self._era = 0
        self._retries = retries
        self._outages = Outages(patience_seconds=patience_seconds, on_outage=on_outage, clock=clock, sleep=sleep)
        self._clock = clock
        self._sleep = sleep
        self._jitter = jitter

    @property
    def limit(self) -> int:
        """How many requests may be in flight now."""
        return int(self._limit)

    @property
    def active(self) -> int:
        """How many requests are in flight, or about to be sent."""
        return self._active

    @property
    def counts_tokens(self) -> bool:
        """Whether there is a cap on tokens, so that estimating them is worth the while."""
        return self._tokens.capped

    def now(self) -> float:
        """Seconds of the clock, without those of outages."""
        return self._clock() - self._outages.lost_seconds

    def until(self, deadline: float | None) -> AbstractAsyncContextManager[None]:
        """Raises `TimeoutError` at the deadline."""
        return nullcontext() if deadline is None else self._outages.until(deadline)

    async def run(self, attempt: Callable[[], Awaitable[T]], *, tokens: float = 0, deadline: float | None = None) -> T:
        """The result of `attempt`, made when there is room and again where that may help."""
        tries = _Tries()
        while True:
            await self._enter()
            try:
                await self._pass_turnstile(tokens)
                era = self._era
                result = await self._outages.send(attempt, tries.outage)
            except ModelError as error:
                tries.count(error, self._outages.sent)
                self._slow_down(error, era)
                wait = self._wait_before_retry(error, tries, deadline)
                if wait is None:
                    raise
            except GivenUp as ended:
                failure = tries.hopeless(ended)
                break
            else:
                self._speed_up()
                return result
            finally:
                self._leave()
            await self._sleep(wait)
        raise failure

    def settle(self, *, estimated: float, used: float) -> None:
        """Correct what the cap on tokens was charged beforehand."""
        self._tokens.charge(used - estimated, self._clock())

    async def _enter(self) -> None:
        if self._active < self.limit and not self._waiting:
            self._active += 1
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                # Let in and cancelled in the same moment: the place goes to the next in line.
                self._leave()
            elif place in self._waiting:
                # Not so where it was passed over already, by one that left in between.
                self._waiting.remove(place)
            raise

    def _leave(self) -> None:
        self._active -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._active < self.limit:
            place = self._waiting.popleft()
            if not place.done():
                self._active += 1
                place.set_result(None)

    async def _pass_turnstile(self, tokens: float) -> None:
        """Wait for the caps and for a pause that the provider asked for. One request at a time, in order."""
        if not self._requests.capped and not self._tokens.capped and self._paused_until <= self._clock():
            return
        async with self._turnstile:
            while (wait := self._seconds_to_wait()) > 0:
                await self._sleep(wait)
            now = self._clock()
            self._requests.charge(1, now)
            self._tokens.charge(tokens, now)

    def _seconds_to_wait(self) -> float:
        now = self._clock()
        wait = max(self._paused_until - now, self._requests.wait(now), self._tokens.wait(now))
        # Below a microsecond it is rounding, and sleeping it off might not move the clock at all.
        return wait if wait > 1e-6 else 0.0

    def _slow_down(self, error: ModelError, era: int) -> None:
        if not isinstance(error, RateLimited) and error.retry_after is None:
            return
        if error.retry_after is not None:
            pause = min(error.retry_after, LONGEST_PAUSE_SECONDS)
            self._paused_until = max(self._paused_until, self._clock() + pause)
        if era == self._era:
            # Requests sent before the last halving say nothing about the limit since.
            self._era += 1
            self._limit = max(1.0, self._limit / 2)

    def _speed_up(self) -> None:
        if self._limit < self._max:
            self._limit = min(self._max, self._limit + 1 / self._limit)
            self._admit()

    def _wait_before_retry(self, error: ModelError, tries: _Tries, deadline: float | None) -> float | None:
        """Seconds until the next attempt, or None where there is to be none."""
        asked = error.retry_after or 0.0
        if not error.retryable:
            return None
        spent = tries.number > self._retries or asked > LONGEST_PAUSE_SECONDS
        if spent and not self._outages.on and tries.outages >= MOST_OUTAGES:
            return None
        if spent and not self._outages.begin(error, tries.since):
            return None
        if self._outages.on and is_outage(error):
            # An outage has its own waits. When it is over, the retries begin anew.
            tries.join(self._outages.count)
            return 0.0
        bound = min(LONGEST_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2.0 ** (tries.number - 1))
        wait = asked + bound * self._jitter()
        if deadline is not None and self.now() + wait >= deadline:
            return None
        return wait


class _Tries:
    """The attempts at one request."""

    def __init__(self) -> None:
        self.number = 0
        """Since the first, or since the last outage."""
        self.since = 0
        """How many attempts all requests had made when the first of these failed."""
        self.outages = 0
        """How many were waited for."""
        self.outage = 0
        """The last of them."""
        self._attempts = 0
        self._last: ModelError | None = None

    def count(self, error: ModelError, sent: int) -> None:
        self.number += 1
        self._attempts += 1
        self.since = sent if self.number == 1 else self.since
        error.attempts = self._attempts
        self._last = error

    def join(self, outage: int) -> None:
        self.number = 0
        self.outages += outage != self.outage
        self.outage = outage

    def hopeless(self, ended: GivenUp) -> ModelError:
        """The error where an outage did not end: the request's own, or else that which the outage began with."""
        error = copy.copy(self._last or ended.error)
        error.retryable = False
        error.waited_seconds = ended.waited_seconds
        return error


class Bucket:
    """A cap on units a minute, spread evenly: the next unit is due when the last one's share of time is over.

    A charge larger than what is left is let through and delays what follows, so that one large request
    cannot starve. In no 60 seconds does more than the cap start, but for the size of one charge.
    """

    def __init__(self, per_minute: float | None) -> None:
        self._seconds_per_unit = 60.0 / per_minute if per_minute else 0.0
        self._due = float("-inf")

    @property
    def capped(self) -> bool:
        return self._seconds_per_unit > 0

    def wait(self, now: float) -> float:
        """Seconds until the next charge may be made."""
        return max(0.0, self._due - now)

    def charge(self, units: float, now: float) -> None:
        """Take `units` now. A negative charge gives them back."""
        self._due = (max(now, self._due) if units > 0 else self._due) + units * self._seconds_per_unit
