"""An endpoint that does not answer: everybody waits, and one at a time looks whether it is back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from chase.core.errors import ChaseError
from chase.models.errors import ConnectionLost, ModelError, ProviderError, TimedOut

T = TypeVar("T")

FIRST_PROBE_SECONDS = 1.0
LONGEST_PROBE_SECONDS = 30.0
LONGEST_PAUSE_SECONDS = 300.0
"""A provider that asks for a longer pause has an outage."""

OnOutage = Callable[[str], object]
"""Hears of an outage once when it begins and once when it is over. Called on the event loop; must return at once."""


class GivenUp(Exception):
    """Patience with an outage is over. `error` is what it began with."""

    def __init__(self, outage: int, error: ModelError, waited_seconds: float) -> None:
        super().__init__(str(error))
        self.outage = outage
        self.error = error
        self.waited_seconds = waited_seconds


class _Outage:
    """One outage, from the request that found it to the first answer or the end of patience."""

    def __init__(self, error: ModelError, began: float, sent: int) -> None:
        self.error = error
        self.began = began
        self.sent = sent
        self.turn = asyncio.Lock()
        self.wait_seconds = FIRST_PROBE_SECONDS


class Outages:
    """Sends the requests of one pacer, and holds them back while the endpoint is away.

    In an outage the requests go out one at a time, in turn, each after a wait that doubles up to half a minute. The
    first answer ends it. After `patience_seconds` all that wait get `GivenUp`; an attempt that is under way then is
    still waited for. An answer to a request that was sent before the outage says nothing of the endpoint since.
    """

    def __init__(
        self,
        *,
        patience_seconds: float,
        on_outage: OnOutage | None,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[object]],
    ) -> None:
        self._patience = patience_seconds
        self._tell = on_outage or (lambda message: None)
        self._clock = clock
        self._sleep = sleep
        self._now: _Outage | None = None
        self._given_up: GivenUp | None = None
        self._lost = 0.0
        self._answered = 0
        self._timers: dict[asyncio.Timeout, float] = {}
        """Deadlines of requests under way."""
        self.sent = 0
        """Attempts so far."""
        self.count = 0
        """Outages so far."""

    @property
    def lost_seconds(self) -> float:
        """How long all outages lasted, the present one included."""
        return self._lost + (self._clock() - self._now.began if self._now is not None else 0.0)

    @asynccontextmanager
    async def until(self, deadline: float) -> AsyncIterator[None]:
        """Raises `TimeoutError` at a deadline in seconds of the clock without `lost_seconds`."""
        async with asyncio.timeout_at(self._due(deadline)) as timer:
            self._timers[timer] = deadline
            try:
                yield
            finally:
                del self._timers[timer]

    @property
    def on(self) -> bool:
        """Whether the endpoint is away."""
        return self._now is not None

    def begin(self, error: ModelError, since: int) -> bool:
        """Take a request's last error for an outage. False where it is none that anybody is to wait for.

        `since` is how many attempts had been sent when the request first failed: if a later one was answered, the
        endpoint is there, and the request itself is what fails. If none ever was, the address is likely wrong.
        """
        if not is_outage(error):
            return False
        if self._now is not None:
            return True
        if self._patience <= 0 or (error.retry_after or 0.0) > self._patience:
            return False
        if not self._answered or self._answered > since:
            return False
        self._now = _Outage(error, self._clock(), self.sent)
        self.count += 1
        self._set_timers()
        self._tell(
            f"the endpoint does not answer ({str(error.args[0]).rstrip('.')}); "
            f"waiting up to {self._patience:g} s for it to come back"
        )
        return True

    async def send(self, attempt: Callable[[], Awaitable[T]], joined: int) -> T:
        """The result of one attempt, made at once or when its turn in an outage has come.

        `joined` is the last outage that the request waited for.
        """
        while self._now is not None:
            outage, joined = self._now, self.count
            async with outage.turn:
                if outage is self._now:
                    await self._wait(outage)
                    return await self._send(attempt)
        if self._given_up is not None and self._given_up.outage == joined:
            raise self._given_up
        return await self._send(attempt)

    async def _send(self, attempt: Callable[[], Awaitable[T]]) -> T:
        self.sent += 1
        number = self.sent
        try:
            result = await attempt()
        except ChaseError as error:
            if not is_outage(error):
                self._heard(number)  # a refusal, but an answer
            raise
        self._answered = max(self._answered, number)
        self._heard(number)
        return result

    def _heard(self, number: int) -> None:
        if self._now is not None and number > self._now.sent:
            self._tell(f"the endpoint is back after {self._end(self._now):.0f} s")

    async def _wait(self, outage: _Outage) -> None:
        left = outage.began + self._patience - self._clock()
        if left <= 0:
            self._given_up = GivenUp(self.count, outage.error, self._end(outage))
            raise self._given_up
        wait, outage.wait_seconds = outage.wait_seconds, min(2 * outage.wait_seconds, LONGEST_PROBE_SECONDS)
        await self._sleep(min(wait, left))

    def _end(self, outage: _Outage) -> float:
        """Seconds that the outage lasted."""
        seconds = self._clock() - outage.began
        self._lost += seconds
        self._now = None
        self._set_timers()
        return seconds

    def _set_timers(self) -> None:
        for timer, deadline in self._timers.items():
            if not timer.expired():
                timer.reschedule(self._due(deadline))

    def _due(self, deadline: float) -> float | None:
        """When the event loop's clock, which is the monotonic one, shows a deadline. Nothing is due in an outage."""
        return deadline + self._lost if self._now is None else None


def is_outage(error: ChaseError) -> bool:
    """Whether an error, if it stays, says that the endpoint is away, and not that it refuses this request."""
    if isinstance(error, ProviderError) and error.status is not None and error.status >= 500:
        return error.retryable
    if isinstance(error, ConnectionLost | TimedOut):
        return True
    return isinstance(error, ModelError) and (error.retry_after or 0.0) > LONGEST_PAUSE_SECONDS
