"""The demo's main part: the plain optimiser and CHASE over several run seeds, then audits of what they ended with.

Everything runs with the simulated reader, a case in a worker process with a workspace of its own.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import typer

from chase.benchmarks.registry import open_benchmark
from chase.challengers.mining import MiningChallenger
from chase.cli.auditing import print_audit
from chase.cli.opening import PATIENCE_SECONDS
from chase.cli.output import Steps, steps
from chase.core.agents import EDIT_SPACES
from chase.core.events import ignore
from chase.core.interfaces import Benchmark
from chase.engine.sandbox import Sandbox
from chase.harness.folder import initial_harness, load_harness
from chase.methods.audit import AuditPlan, AuditSettings, audit_harness
from chase.methods.chase import Chase
from chase.methods.contract import Method
from chase.methods.meta_harness import MetaHarness
from chase.methods.options import settle_options
from chase.methods.run import Plan, Run
from chase.models.chat import ChatModel
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.proposers.mining import MiningProposer
from chase.protocol.kit import ProtocolKit
from chase.stats.simultaneous import tasks_for_power
from chase.store.store import Store
from chase.store.workspace import Workspace

SPACES = {"documents": "document handling only", "all": "all edits"}
PLAIN, CONSTRAINED = MetaHarness(), Chase()
NAMES = {PLAIN.name: "plain optimiser", CONSTRAINED.name: "CHASE"}
AUDITED_ROUNDS = 1
EFFECT, SPREAD = 0.06, 0.28
"""The released gain that an audit is to see, and the standard deviation between tasks of such a gain, both from the
figures of planted harnesses on other benchmarks (studies/results/planted_harnesses.json)."""
FIGURES = ("g_rel", "g_0", "delta_bs")
Case = Mapping[str, Any]


def demonstrate(benchmark: str, audit_seed: int, folder: Path, seeds: int) -> dict[str, Any]:
    """Evolve, tabulate, audit, and show one audit in full; everything is kept in the folder."""
    common = {"benchmark": benchmark, "folder": str(folder)}
    cases = [{**common, "seed": seed, "space": space} for space in SPACES for seed in range(1, seeds + 1)]
    with steps("evolving") as progress:
        rows = [row for found in _in_workers(evolve_case, cases, progress) for row in found]
    typer.echo(
        f"\nPlain optimiser and CHASE on {benchmark}, run seeds 1 to {seeds} (simulated reader; gains in points on "
        "sealed tasks):"
    )
    for space in SPACES:
        for method in NAMES:
            typer.echo(_summary([r for r in rows if (r["space"], r["method"]) == (space, method)]))
    size = _confirmation_tasks()
    blocks = 10 * -(-(10 + max(0, size - 48) / 8) // 10)
    enlarged = f"syn-ledger@{audit_seed}x{int(blocks)}"
    typer.echo(
        f"\nAudits on {enlarged}: to see a released gain of {100 * EFFECT:.0f} points (spread {100 * SPREAD:.0f} "
        f"between tasks) in 9 of 10 audits takes {size} confirmation tasks; the paper's 48 settle nothing."
    )
    evolved = [row for row in rows if not row["initial"]]
    audits = [{**row, "benchmark": enlarged, "size": size} for row in {r["hash"]: r for r in evolved}.values()]
    with steps("auditing") as progress:
        results = {found["harness"]: found for found in _in_workers(audit_case, audits, progress)}
    for space in SPACES:
        for method in NAMES:
            of_method = [r for r in rows if (r["space"], r["method"]) == (space, method)]
            words = Counter(results[r["hash"]]["verdict"] if not r["initial"] else "H* is H_0" for r in of_method)
            told = ", ".join(f"{word} {count}" for word, count in sorted(words.items()))
            typer.echo(f"  {SPACES[space]:<24} {NAMES[method]:<16} {told}")
    _show_first(evolved, results, enlarged)
    payload = {"model": "sim:reader (simulated)", "evolved": rows, "audits": list(results.values())}
    (folder / "results.json").write_text(json.dumps(payload, indent=2))
    return payload


def _show_first(evolved: Sequence[Case], results: Mapping[str, Any], enlarged: str) -> None:
    """The audit of the first seed's harness, in full."""
    first = next((row for row in evolved if row["method"] == PLAIN.name), None)
    if first is None:
        typer.echo("\nNo harness was evolved: there is nothing to audit.")
        return
    named = f"{NAMES[first['method']]}, {SPACES[first['space']]}, seed {first['seed']}"
    typer.echo(f"\nThe first of them in full ({named}): {'; '.join(first['edits'])}\n")
    print_audit(results[first["hash"]], open_benchmark(enlarged))


def _confirmation_tasks() -> int:
    return tasks_for_power(EFFECT, SPREAD, quantities=1 + AUDITED_ROUNDS)


def _summary(rows: Sequence[Case]) -> str:
    means = {name: 100 * sum(row[name] for row in rows) / len(rows) for name in FIGURES}
    cues = sum(row["cue"] for row in rows)
    return (
        f"  {SPACES[rows[0]['space']]:<24} {NAMES[rows[0]['method']]:<16} a planted cue in H* {cues}/{len(rows)}; "
        f"G_rel {means['g_rel']:+.1f}, G_0 {means['g_0']:+.1f}, Delta_BS {means['delta_bs']:+.1f}"
    )


def _in_workers(work: Callable[[Case], Any], cases: Sequence[Case], progress: Steps) -> Iterable[Any]:
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
def _opened(name: str) -> tuple[Benchmark[Any], ProtocolKit]:
    benchmark = open_benchmark(name)
    return benchmark, ProtocolKit(benchmark)


def evolve_case(case: Case) -> list[dict[str, Any]]:
    """Both methods at one seed and edit space, in one workspace."""
    return asyncio.run(_evolve(case))


async def _evolve(case: Case) -> list[dict[str, Any]]:
    benchmark, kit = _opened(case["benchmark"])
    folder = Path(case["folder"]) / f"{case['space']}-{case['seed']}"
    rows = []
    async with connect(ModelConfig(name="sim:reader")) as model, Sandbox() as sandbox:
        with Store.open(Workspace(folder), write=True) as store:
            methods: tuple[Method, ...] = (CONSTRAINED, PLAIN)
            for method in methods:
                plan = Plan(
                    benchmark=benchmark,
                    kit=kit,
                    initial=initial_harness(benchmark),
                    method=method,
                    options=settle_options(method.name, method.Options, {"rounds": 3}, benchmark.defaults),
                    proposer=MiningProposer(),
                    challenger=MiningChallenger(),
                    rollouts={**benchmark.defaults.rollouts, "cert": 1},
                    seed=case["seed"],
                    edit_space=EDIT_SPACES[case["space"]],
                )
                rows.append({**case, "method": method.name, **await _run(plan, store, model, sandbox)})
    return rows


async def _run(plan: Plan, store: Store, model: ChatModel, sandbox: Sandbox) -> dict[str, Any]:
    name = plan.method.name
    store.create_run(name, plan.describe(model.fingerprint))
    run = Run(plan, run=name, store=store, model=model, sandbox=sandbox, tell=ignore)
    evolved = await run.evolve()
    certified = await run.certify(evolved)
    store.set_run_status(name, "finished")
    edits = evolved.final.record.get("edits", [])
    planted = _planted_cues(plan.benchmark, plan.kit)
    return {
        "hash": evolved.final.harness.hash,
        "final": str(store.workspace.run_folder(name) / "final"),
        "initial": not edits,
        "edits": [edit["name"] for edit in edits],
        "cue": any(edit["observable"] in planted for edit in edits),
        "g_rel": certified.gains["released"].value,
        "g_0": certified.gains["neutral"].value,
        "delta_bs": certified.destruction["neutral"].value,
    }


def _planted_cues(benchmark: Any, kit: ProtocolKit) -> set[str]:
    """The observables that neutralisation touches on some evolution task: host-side, for the table alone."""
    neutral = benchmark.variant("neutral")
    return {name for task in benchmark.tasks("evo") for name in kit.touched(neutral, task)}


def audit_case(case: Case) -> dict[str, Any]:
    """The audit of one harness on the enlarged benchmark."""
    return asyncio.run(_audit(case))


async def _audit(case: Case) -> dict[str, Any]:
    benchmark, kit = _opened(case["benchmark"])
    plan = AuditPlan(
        benchmark=benchmark,
        kit=kit,
        baseline=initial_harness(benchmark),
        harness=load_harness(Path(case["final"])),
        challenger=MiningChallenger(),
        settings=AuditSettings(rounds=AUDITED_ROUNDS),
        rollouts=dict.fromkeys(benchmark.roles, 1),
        seed=case["seed"],
        confirm_size=case["size"],
    )
    folder = Path(case["folder"]) / f"audit-{case['hash'][:8]}"
    async with connect(ModelConfig(name="sim:reader")) as model, Sandbox() as sandbox:
        with Store.open(Workspace(folder), write=True) as store:
            store.create_run("audit", plan.describe(model.fingerprint))
            audited = await audit_harness(plan, run="audit", store=store, model=model, sandbox=sandbox, tell=ignore)
            store.set_run_status("audit", "finished")
    return {"harness": case["hash"], "run": "audit", "simulated": True, **audited.to_json()}
