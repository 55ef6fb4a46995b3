"""Transport faults on a schedule: `OpenAIServer(script, fault=FaultSchedule(rate=0.15, seed=1))`.

Which attempt at which request fails, and how, is decided by the request's content and the attempt's number alone, so
that it does not depend on the order in which requests arrive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from chase.core.errors import choose
from chase.core.keyed import digest, uniform
from chase.core.values import Json
from chase.testing.openai_server import Fault

KINDS: Mapping[str, Fault] = {
    "429": Fault(status=429),
    "429 with Retry-After": Fault(status=429, headers={"Retry-After": "0.05"}),
    "500": Fault(status=500),
    "503": Fault(status=503),
    "reset": Fault(reset=True),
    "time-out": Fault(stall_seconds=3_600.0),
    "truncated JSON": Fault(truncate=True),
    "wrong content type": Fault(status=200, body="<html>One moment, please.</html>", content_type="text/html"),
    "slow drip": Fault(drip_seconds=0.01),
    "cut in the middle": Fault(cut=True),
}
"""What can go wrong on the way, by name. A drip of 0.1 s in all is slow and yet an answer; the others are none."""


class FaultSchedule:
    """Fails a share `rate` of all attempts, each with one of `kinds`. `injected` counts them by kind."""

    def __init__(self, *, rate: float, seed: int, kinds: Sequence[str] = tuple(KINDS)) -> None:
        self._rate = rate
        self._seed = seed
        self._kinds = [choose("kind of fault", kind, KINDS) for kind in kinds]
        self.injected: Counter[str] = Counter()

    def __call__(self, request: dict[str, Json], attempt: int) -> Fault | None:
        body = digest(request)
        if uniform("fault", self._seed, body, attempt) >= self._rate:
            return None
        place = int(uniform("fault kind", self._seed, body, attempt) * len(self._kinds))
        kind = self._kinds[place]
        self.injected[kind] += 1
        return KINDS[kind]
