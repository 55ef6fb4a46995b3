"""Requests in flight against time: does the pipe stay full while 256 rollouts are under way?

1,024 four-turn rollouts at concurrency 256 against the loopback server, in a process of its own, which notes every
change of how many requests it holds. The figure is the mean over the middle 80 % of the time, against 256. A server
sees no request while the client reads a reply, runs tools and writes the next one, so 256 is out of reach: the bound
is 256 x latency / (latency + that time).
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import tempfile
import urllib.request
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks_perf import Measurement, Row, loopback_server
from benchmarks_perf.rollouts_in_process import NAME, TURNS, WARM_UP, evaluate, jobs_of
from chase.benchmarks.syn_ledger.benchmark import open_syn_ledger
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.store.store import Store
from chase.store.workspace import Workspace

ROLLOUTS = 1_024
CONCURRENCY = 256
LATENCIES = (1.0, 0.2)
MIDDLE = 0.8
BUCKETS = 60
_BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class Flight:
    """How many requests were in flight from each moment on, until the next."""

    moments: Sequence[tuple[float, int]]

    def at(self, samples: int, share: float = 1.0) -> list[int]:
        """The count at evenly spaced moments of the middle `share` of the time, sorted by time."""
        times = [time for time, _ in self.moments]
        begin, length = times[0], times[-1] - times[0]
        begin, length = begin + length * (1 - share) / 2, length * share
        wanted = (begin + length * (place + 0.5) / samples for place in range(samples))
        return [self.moments[bisect_right(times, moment) - 1][1] for moment in wanted]

    def percentiles(self, *wanted: int) -> list[int]:
        found = sorted(self.at(10_000, MIDDLE))
        return [found[min(len(found) - 1, len(found) * percent // 100)] for percent in wanted]

    def mean(self) -> float:
        found = self.at(10_000, MIDDLE)
        return sum(found) / len(found)

    def sparkline(self) -> str:
        """The whole run, from beginning to end, in bars up to the concurrency."""
        found = self.at(BUCKETS * 100)
        means = [sum(found[place * 100 : place * 100 + 100]) / 100 for place in range(BUCKETS)]
        return "".join(_BARS[min(len(_BARS) - 1, int(mean / CONCURRENCY * len(_BARS)))] for mean in means)


def noted(url: str) -> Flight:
    with urllib.request.urlopen(f"{url}/in-flight") as response:
        return Flight([(moment, count) for moment, count in json.load(response)])


def fly(latency: float) -> Flight:
    """The flight of all rollouts, after a few that load what is loaded late."""
    benchmark = open_syn_ledger(NAME, cache=None)
    with loopback_server(latency, TURNS, "--watch") as url:
        for count in (WARM_UP, ROLLOUTS):
            noted(url)  # what was before is forgotten
            model = connect(ModelConfig(name="openai-compatible:scripted", base_url=url, max_concurrency=CONCURRENCY))
            with tempfile.TemporaryDirectory() as folder, Store.open(Workspace(Path(folder)), write=True) as store:
                asyncio.run(evaluate(model, store, jobs_of(benchmark, count), CONCURRENCY))
        return noted(url)


def in_flight() -> Sequence[Row]:
    """One run at each latency, in a fresh process."""
    rows = []
    for latency in LATENCIES:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            flight = pool.apply(fly, (latency,))
        low, median, high = flight.percentiles(10, 50, 90)
        rows.append(
            Row(
                name=f"requests in flight, {CONCURRENCY} rollouts at a time, {latency:g} s an answer",
                value=flight.mean(),
                unit="requests",
                repetitions=1,
                peer="concurrency",
                peer_value=float(CONCURRENCY),
                note=f"p10 {low}, p50 {median}, p90 {high} over the middle 80 % of the time; {flight.sparkline()}",
            )
        )
    return rows


MEASUREMENTS: list[Measurement] = [in_flight]
