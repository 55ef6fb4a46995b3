"""The viewer's pages on a store with 100,000 rollouts, against the same pages on one with 1,000.

The stores are filled through the store's own writer, with synthetic rollouts: keys as a run makes them, five harnesses
under four variants, traces of four turns, four requests each in the ledger. The viewer is a process of its own, asked
over loopback as a browser asks it; the two are asked in turn. The aim is 300 ms for the first page.
"""

from __future__ import annotations

import asyncio
import http.client
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks_perf import Measurement, Row
from chase.core.keyed import digest
from chase.core.values import Outcome, Rollout, RolloutKey, Usage
from chase.runs.naming import UNCHANGED
from chase.store.digests import rollout_digest
from chase.store.records import LedgerRow, Use
from chase.store.store import Store
from chase.store.workspace import Workspace

LARGE, SMALL = 100_000, 1_000
REPETITIONS = 15
RUN, TASKS, TURNS, GROUP = "evolve-synthetic", 320, 4, 256
HARNESSES = [digest(f"harness {number}") for number in range(5)]
VARIANTS = [UNCHANGED, *(digest(f"variant {number}") for number in range(3))]
CONFIG = {
    "command": "evolve",
    "method": "chase",
    "benchmark": "syn-ledger@7",
    "model": "sim:reader",
    "initial": HARNESSES[0],
}


def key_of(number: int) -> RolloutKey:
    cell, place = number % 20, number // 20
    return RolloutKey(
        model=digest("model"),
        harness=HARNESSES[cell % 5],
        transformation=VARIANTS[cell // 5],
        benchmark=digest("benchmark"),
        versions=digest("versions"),
        task=f"task{place % TASKS:04d}",
        role="evo" if place % TASKS < 64 else "cert",
        index=place // TASKS,
        run_seed=0,
    )


def rollout_of(number: int) -> Rollout:
    """Seven in ten are right, one in a thousand fails."""
    drawn = int(digest(["score", number])[:8], 16) / 16**8
    failed = number % 1000 == 999
    outcome = Outcome(
        status="failed" if failed else "scored",
        score=None if failed else float(drawn < 0.7),
        reason="provider-error" if failed else "answered",
    )
    words = [digest([number, place])[:12] for place in range(120)]
    events: list[dict[str, object]] = [
        {"event": "prompt", "guidance": [], "system": "Use the tools.", "user": " ".join(words[:40])}
    ]
    for turn in range(TURNS):
        said = {"file": words[turn]}
        calls = [{"tool": "open_file", "arguments": said}] if turn < TURNS - 1 else []
        events.append({"event": "model", "text": "" if calls else words[0], "calls": calls})
        if calls:
            shown = {
                "by": "model",
                "tool": "open_file",
                "arguments": said,
                "ok": True,
                "head": " ".join(words),
                "items": [],
            }
            events.append({"event": "tool", **shown})
    return Rollout(
        key=key_of(number),
        outcome=outcome,
        answer=words[0],
        usage=Usage(requests=TURNS, input_tokens=4_000, output_tokens=60, wall_seconds=0.1, cost_usd=0.001),
        served_models=("synthetic",),
        trace={"events": events},
    )


def ledger_of(rollout: Rollout) -> list[LedgerRow]:
    row = LedgerRow(
        run=RUN,
        method="chase",
        role=rollout.key.role,
        episode=rollout_digest(rollout.key),
        purpose="rollout",
        input_tokens=1_000,
        cached_tokens=0,
        output_tokens=15,
        cost_usd=0.00025,
        wall_seconds=0.02,
        served_model="synthetic",
    )
    return [row] * TURNS


async def fill(folder: Path, count: int) -> None:
    """A store with so many rollouts of one run."""
    with Store.open(Workspace(folder), write=True) as store:
        store.create_run(RUN, CONFIG)
        use = Use(run=RUN, method="chase")
        for first in range(0, count, GROUP):
            made = [rollout_of(number) for number in range(first, min(count, first + GROUP))]
            await asyncio.gather(*(store.record(rollout, ledger_of(rollout), use=use) for rollout in made))


@contextmanager
def viewer(folder: Path) -> Iterator[tuple[int, str]]:
    """Its port and its secret."""
    command = [sys.executable, "-m", "chase", "view", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            link = urlsplit(process.stdout.readline().split()[-1])
            yield link.port or 0, link.query
        finally:
            process.send_signal(signal.SIGINT)


def milliseconds(at: tuple[int, str], path: str) -> float:
    """One page, with a connection of its own, as a browser's first request is."""
    port, secret = at
    start = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", f"{path}{'&' if '?' in path else '?'}{secret}")
    answer = connection.getresponse()
    answer.read()
    took = 1000 * (time.perf_counter() - start)
    connection.close()
    if answer.status != 200:
        raise RuntimeError(f"{path} answered {answer.status}: its time means nothing")
    return took


PAGES = {
    "the list of runs": "/",
    "a run": f"/runs/{RUN}",
    "a run, live": f"/runs/{RUN}/live",
    "rollouts of a run": f"/runs/{RUN}/rollouts",
    "rollouts: wrong, of one harness, variant and split": (
        f"/runs/{RUN}/rollouts?kind=wrong&split=cert&harness={HARNESSES[1]}&variant={VARIANTS[2]}"
    ),
    "rollouts: changed by the counterfactual": f"/runs/{RUN}/rollouts?kind=changed",
    "rollouts: failed": f"/runs/{RUN}/rollouts?kind=failed",
    "rollouts: of one task": f"/runs/{RUN}/rollouts?task=task0007",
    "rollouts: words that stand nowhere": f"/runs/{RUN}/rollouts?q=nowhere",
    "token use": f"/runs/{RUN}/tokens",
    "four traces": (
        f"/runs/{RUN}/four/{rollout_digest(key_of(6))}?base={HARNESSES[0]}&harness={HARNESSES[1]}&variant={VARIANTS[1]}"
    ),
}


def pages() -> Sequence[Row]:
    with tempfile.TemporaryDirectory() as folder:
        for name, count in (("large", LARGE), ("small", SMALL)):
            Path(folder, name).mkdir()
            asyncio.run(fill(Path(folder, name), count))
        with viewer(Path(folder, "large")) as large, viewer(Path(folder, "small")) as small:
            first = {at[0]: {name: milliseconds(at, path) for name, path in PAGES.items()} for at in (large, small)}
            rows = []
            for name, path in PAGES.items():
                pairs = [(milliseconds(large, path), milliseconds(small, path)) for _ in range(REPETITIONS)]
                ours, peer = (statistics.median(side) for side in zip(*pairs, strict=True))
                note = f"the very first time: {first[large[0]][name]:.0f} and {first[small[0]][name]:.0f} ms"
                rows.append(
                    Row(
                        name=f"viewer, {LARGE:,} rollouts: {name}",
                        value=ours,
                        unit="ms",
                        repetitions=REPETITIONS,
                        peer=f"{SMALL:,} rollouts",
                        peer_value=peer,
                        note=note,
                    )
                )
    return rows


MEASUREMENTS: list[Measurement] = [pages]
