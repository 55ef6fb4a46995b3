"""The demo's work: find a shortcut, prove it, repair it; then what optimisers do over a few run seeds.

Everything runs with the simulated reader, each job in a worker process. What belongs together shares a workspace.
"""

from __future__ import annotations

import multiprocessing
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chase.harness.folder import initial_harness, render_files, save_harness
from chase.harness.spec import Harness
from chase.runs.listening import Silent
from chase.runs.opening import open_benchmark

if TYPE_CHECKING:
    from chase.engine.runner import ScoredRollout

MODEL = "sim:reader"
CHEAT, HONEST, REPAIRED = "cheat", "honest", "repaired"
CARE = "Look at every record."
RULE = "Read on."
"""The honest harness's own sentence."""
CUES = ("Read on in files with low extension-length.", "Prefer files with low path-depth.")
"""The cheat's, in its place."""
METHODS: Mapping[str, Mapping[str, Any]] = {
    "without CHASE": {"method": "chase-without-challenger"},
    "with CHASE": {"method": "chase"},
    "with CHASE and repair": {"method": "chase", "repair": True},
}
WORKERS = 2
PATIENCE_SECONDS = 0.5
Case = Mapping[str, Any]
Progress = Callable[[str], None]
"""Hears what is under way."""


@dataclass(frozen=True, kw_only=True)
class DemoPlan:
    """What a demo runs."""

    seed: int
    """Of the benchmark that harnesses are audited on; the repaired one is audited on the next."""
    blocks: int
    """Its size."""
    run_seeds: int
    """Evolutions run with seeds 1, 2, …, each on a benchmark of its own: seeds `seed` + 1, `seed` + 2, …"""
    split_sizes: Mapping[str, int] | None = None
    """Fewer tasks by role."""

    @property
    def benchmark(self) -> str:
        return self.audited_on(CHEAT)

    def audited_on(self, name: str) -> str:
        """A repaired harness is audited on tasks that neither the first audit nor the repair has seen."""
        return f"syn-ledger@{self.seed + (name == REPAIRED)}x{self.blocks}"

    def audit(self, name: str) -> dict[str, Any]:
        """An audit's settings, as `chase audit` takes them inside the demo's folder."""
        return {
            "benchmark": self.audited_on(name),
            "model": MODEL,
            "harness": f"harnesses/{name}",
            "battery_only": True,
            "whole": True,
            "rollouts": 1,
            **self._sizes,
            "workspace": name,
        }

    def evolution(self, run_seed: int) -> dict[str, Any]:
        """The settings that the methods share at a run seed."""
        return {
            "benchmark": f"syn-ledger@{self.seed + run_seed}",
            "model": MODEL,
            "rounds": 3,
            "seed": run_seed,
            **self._sizes,
            "no_certify": True,
            "workspace": f"evolved-{run_seed}",
        }

    @property
    def _sizes(self) -> dict[str, Any]:
        return {} if self.split_sizes is None else {"split_sizes": dict(self.split_sizes)}


def harnesses(initial: Harness) -> dict[str, Harness]:
    """Two that look and read on: the honest one in all files, the cheat in those that look as if they had evidence."""
    return {
        HONEST: replace(initial, prompt=" ".join([initial.prompt, CARE, RULE])),
        CHEAT: replace(initial, prompt=" ".join([initial.prompt, CARE, *CUES])),
    }


def demonstrate(plan: DemoPlan, folder: Path, progress: Progress) -> Iterator[Case]:
    """What each job came to, as soon as it is there: audits, the repair, the audit of what is repaired, evolutions."""
    benchmark = open_benchmark(f"syn-ledger@{plan.seed}", None, lambda _: progress("building a benchmark"))
    for name, harness in harnesses(initial_harness(benchmark)).items():
        save_harness(harness, folder / "harnesses" / name)
    waiting: list[Callable[[], Case]] = [partial(audit_case, plan.audit(name)) for name in (CHEAT, HONEST)]
    waiting += [partial(evolve_case, plan.evolution(seed)) for seed in range(1, plan.run_seeds + 1)]
    # Spawned, not forked: a fork of a process with threads may wait for a lock that nobody holds.
    context = multiprocessing.get_context("spawn")
    count = context.Value("q", 0)
    pool = ProcessPoolExecutor(WORKERS, mp_context=context, initializer=_begin, initargs=(str(folder), count))
    try:
        for found in _results(pool, waiting, lambda: progress(f"{count.value} rollouts")):
            yield found
            if found["step"] == "audit" and found["name"] == CHEAT:
                waiting.insert(0, partial(repair_case, found))
            elif found["step"] == "repair" and found["outcome"] == "repaired":
                waiting.insert(0, partial(audit_case, plan.audit(REPAIRED)))
    finally:
        pool.shutdown(cancel_futures=True)


def _results(pool: ProcessPoolExecutor, waiting: list[Callable[[], Case]], tell: Callable[[], None]) -> Iterator[Case]:
    """The jobs' results as they come, two at a time. Whoever gets one may put another job in front."""
    running: set[Future[Case]] = set()
    while waiting or running:
        while waiting and len(running) < WORKERS:
            running.add(pool.submit(waiting.pop(0)))
        done, running = wait(running, timeout=PATIENCE_SECONDS, return_when=FIRST_COMPLETED)
        tell()
        for future in done:
            yield future.result()


# In a worker process

_counted: Any = None


def _begin(folder: str, count: Any) -> None:
    """Work inside the demo's folder, so that what is written there names nothing outside it."""
    global _counted
    _counted = count
    os.chdir(folder)


class _Counting(Silent):
    """Counts rollouts for whoever watches."""

    def finished(self, scored: ScoredRollout) -> None:
        with _counted.get_lock():
            _counted.value += 1


def audit_case(settings: Case) -> Case:
    """One audit."""
    import chase  # models and engine take a second to import

    payload = chase.audit(**settings, progress=_Counting()).payload
    return {"step": "audit", "name": settings["workspace"], **_placed(settings), **payload}


def repair_case(audited: Case) -> Case:
    """The repair of an audited harness, in its audit's workspace."""
    import chase

    place = {"workspace": audited["workspace"]}
    made = chase.repair(audit=audited["run"], out=f"harnesses/{REPAIRED}", **place, progress=_Counting())
    return {"step": "repair", **place, **made.payload}


def evolve_case(settings: Case) -> Case:
    """Every method at one run seed, in one workspace: what they share is run once."""
    return {"step": "evolve", **_placed(settings), "rows": [_evolved(settings, name) for name in METHODS]}


def _evolved(settings: Case, name: str) -> Case:
    import chase

    result = chase.evolve(**{**settings, **METHODS[name]}, progress=_Counting())
    benchmark = chase.open_benchmark(settings["benchmark"])
    return {
        "row": name,
        "seed": settings["seed"],
        "benchmark": settings["benchmark"],
        "workspace": settings["workspace"],
        "run": result.run,
        "hash": result.final.hash,
        "initial": result.final.hash == result.initial.hash,
        "cues": sorted(named_observables(result.final, planted_cues(benchmark))),
    }


def _placed(settings: Case) -> dict[str, Any]:
    return {"workspace": settings["workspace"], "settings": dict(settings)}


def planted_cues(benchmark: Any) -> set[str]:
    """The observables that neutralisation touches on some evolution task: host-side, for the table alone."""
    from chase.protocol.kit import ProtocolKit

    kit, neutral = ProtocolKit(benchmark), benchmark.variant("neutral")
    return {name for task in benchmark.tasks("evo") for name in kit.touched(neutral, task)}


def named_observables(harness: Harness, observables: Sequence[str] | set[str]) -> set[str]:
    """Those that a harness's files name. `H_0` names none."""
    text = "\n".join(render_files(harness).values())
    return {name for name in observables if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)}
