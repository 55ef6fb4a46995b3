"""The demo's main part: CHASE with and without its Challenger over run seeds, then audits of what they end with.

Everything runs with the simulated reader, a case in a worker process with a workspace of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from chase.agents.history import History
from chase.protocol.kit import ProtocolKit
from chase.runs import audit, evolve
from chase.runs.config import raw_settings
from chase.runs.finding import Which
from chase.runs.life import Life
from chase.runs.listening import Silent
from chase.runs.loops import run_to_end
from chase.runs.opening import PATIENCE_SECONDS, Opener
from chase.runs.results import EvolveResult
from chase.runs.settings import AuditSettings, EvolveSettings
from chase.stats.simultaneous import tasks_for_power
from chase.store.workspace import Workspace

MODEL = "sim:reader"
SPACES = {"documents": "document handling only", "all": "all edits"}
PLAIN, CONSTRAINED = "chase-without-challenger", "chase"
AUDITED_ROUNDS = 1
EFFECT, SPREAD = 0.06, 0.28
"""The released gain that an audit is to see, and the standard deviation between tasks of such a gain, both from the
figures of planted harnesses on other benchmarks (studies/results/planted_harnesses.json)."""
Case = Mapping[str, Any]
Progress = Callable[[str], None]
"""Hears how many cases are done."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditSize:
    """What an audit takes to see the gain."""

    benchmark: str
    tasks: int
    """Confirmation tasks."""


def audit_size(seed: int) -> AuditSize:
    """Enough tasks of a benchmark of this seed to see the released gain in 9 of 10 audits."""
    tasks = tasks_for_power(EFFECT, SPREAD, quantities=1 + AUDITED_ROUNDS)
    blocks = int(10 * -(-(10 + max(0, tasks - 48) / 8) // 10))
    return AuditSize(benchmark=f"syn-ledger@{seed}x{blocks}", tasks=tasks)


def evolve_all(benchmark: str, folder: Path, seeds: int, progress: Progress) -> list[dict[str, Any]]:
    """A row for each method, edit space and run seed; every run's workspace is kept in the folder."""
    common = {"benchmark": benchmark, "folder": str(folder)}
    cases = [{**common, "seed": seed, "space": space} for space in SPACES for seed in range(1, seeds + 1)]
    return [row for found in _in_workers(evolve_case, cases, progress) for row in found]


def audit_all(rows: Sequence[Case], size: AuditSize, progress: Progress) -> dict[str, Mapping[str, Any]]:
    """Harness → the audit of it, of each that is not `H_0`."""
    distinct = {row["hash"]: row for row in rows if not row["initial"]}
    cases = [{**row, "benchmark": size.benchmark, "size": size.tasks} for row in distinct.values()]
    return {payload["harness"]: payload for payload in _in_workers(audit_case, cases, progress)}


def _in_workers(work: Callable[[Case], Any], cases: Sequence[Case], progress: Progress) -> list[Any]:
    """The cases' results in their order, on two cores."""
    # Spawned, not forked: a fork of a process with threads may wait for a lock that nobody holds.
    with ProcessPoolExecutor(max_workers=2, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(work, case) for case in cases]
        waiting = set(futures)
        while waiting:
            progress(f"{len(cases) - len(waiting)} of {len(cases)} done")
            _, waiting = wait(waiting, timeout=PATIENCE_SECONDS)
        return [future.result() for future in futures]


@lru_cache(maxsize=2)
def _opener(name: str) -> Opener:
    """Of a benchmark that is built once in a worker."""
    return Opener(Silent())


def evolve_case(case: Case) -> list[dict[str, Any]]:
    """Both methods at one seed and edit space, in one workspace."""
    return [{**case, "method": method, **_evolved(case, method)} for method in (CONSTRAINED, PLAIN)]


def _evolved(case: Case, method: str) -> dict[str, Any]:
    opener = _opener(case["benchmark"])
    asked = raw_settings(
        EvolveSettings,
        {
            "benchmark": case["benchmark"],
            "model": MODEL,
            "method": method,
            "rounds": 3,
            "rollouts": {"cert": 1},
            "seed": case["seed"],
            "edit_space": case["space"],
        },
    )
    workspace = Workspace(Path(case["folder"]) / f"{case['space']}-{case['seed']}")
    life = Life(which=Which(command=evolve.COMMAND, anew=True), workspace=workspace, listener=Silent())
    work = evolve.prepare(asked, opener, Silent())
    lived = run_to_end(lambda: life.live(work))
    result = EvolveResult(payload=lived.payload, folder=lived.folder.path)
    name, hash = result.payload["final"]["name"], result.payload["final"]["hash"]
    edits = History(result.folder / "history" / "proposer").record(name).get("edits", [])
    planted = _planted_cues(work.benchmark, opener.kit(work.benchmark))
    certified = result.payload["certification"]
    return {
        "hash": hash,
        "final": str(result.folder / "final"),
        "initial": not edits,
        "edits": [edit["name"] for edit in edits],
        "cue": any(edit["observable"] in planted for edit in edits),
        "g_rel": certified["gains"]["released"]["value"],
        "g_0": certified["gains"]["neutral"]["value"],
        "delta_bs": certified["destruction"]["neutral"]["value"],
    }


def _planted_cues(benchmark: Any, kit: ProtocolKit) -> set[str]:
    """The observables that neutralisation touches on some evolution task: host-side, for the table alone."""
    neutral = benchmark.variant("neutral")
    return {name for task in benchmark.tasks("evo") for name in kit.touched(neutral, task)}


def audit_case(case: Case) -> Mapping[str, Any]:
    """The audit of one harness on the enlarged benchmark, each rollout once."""
    asked = raw_settings(
        AuditSettings,
        {
            "benchmark": case["benchmark"],
            "model": MODEL,
            "harness": case["final"],
            "rounds": AUDITED_ROUNDS,
            "seed": case["seed"],
            "confirm_size": case["size"],
        },
    )
    work = audit.prepare(asked, _opener(case["benchmark"]), Silent())
    once = replace(work, plan=replace(work.plan, rollouts=dict.fromkeys(work.benchmark.roles, 1)))
    workspace = Workspace(Path(case["folder"]) / f"audit-{case['hash'][:8]}")
    life = Life(which=Which(command=audit.COMMAND), workspace=workspace, listener=Silent())
    return run_to_end(lambda: life.live(once)).payload
