"""How many tasks and rollouts a question takes, from the noise of an earlier run or from a standard deviation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from chase.agents.history import RELEASED
from chase.benchmarks.registry import DEFAULT
from chase.core.errors import UserError
from chase.core.interfaces import Benchmark
from chase.core.values import Json
from chase.methods.confirmation import PLACEBO
from chase.methods.contract import confirmation_roles
from chase.runs.config import RawSettings
from chase.runs.opening import locate, open_benchmark
from chase.runs.pricing import typical_rollout
from chase.runs.results import PlanResult
from chase.runs.settings import PlanSettings
from chase.stats.certificate_planning import hoeffding_tasks
from chase.stats.planning import (
    WAYS,
    Design,
    certificate_designs,
    certification_designs,
    cheapest,
    confirmation_designs,
    doubling,
)
from chase.stats.power import Noise, noise_of, usual_noise
from chase.stats.sequential import round_alpha
from chase.store.reader import Reader
from chase.store.store import Store

ROLLOUTS = (1, 2, 3, 5, 10)
"""What is planned for, beside the benchmark's own."""
Cells = dict[tuple[str, str, str], dict[str, dict[int, float]]]
"""(role, harness, transformation) → task → rollout → score."""


def plan(said: RawSettings[PlanSettings]) -> PlanResult:
    """Designs for confirmation and certification with what each costs. Runs nothing and writes nothing."""
    settings = said.settings()
    if settings.sd is not None and settings.noise_from is not None:
        raise UserError("--sd and --noise-from both say what the noise is: leave one out.")
    if not settings.sd and settings.sd is not None:
        raise UserError("sd=0 would need no planning: give the standard deviation between tasks, such as 0.4.")
    database = locate(settings.workspace)
    if settings.noise_from is None and not database.database.exists():
        return _planned(settings, None)
    with Store.open(database, write=False) as store:
        return _planned(settings, store)


def _planned(settings: PlanSettings, store: Reader | None) -> PlanResult:
    run = None if settings.noise_from is None or store is None else store.find_run(settings.noise_from)
    named = settings.benchmark or (DEFAULT if run is None else run.config["benchmark"])
    benchmark = open_benchmark(named, settings.data)
    role = next(iter(confirmation_roles(benchmark.roles)), None)
    if role is None:
        raise UserError(f"{benchmark.name} has no confirmation set (conf1, …) to plan for.")
    tasks, rollouts = len(benchmark.tasks(role)), benchmark.defaults.rollouts[role]
    if run is not None and store is not None:
        source, noise = _noise_of_run(store, run.id, run.config, benchmark)
    elif settings.sd is not None:
        source, noise = "as given", {"given": Noise(between=0.0, within=settings.sd**2 * rollouts)}
    else:
        source, noise = (
            "assumed: independent rollouts of 0/1 scores that are right 75 % of the time",
            {"independent": usual_noise()},
        )
    typical = typical_rollout(store, benchmark, "")
    cost = _cost(None if typical is None else typical.tokens, settings.rollout_usd)
    about: dict[str, Json] = {
        "benchmark": benchmark.name,
        **{name: getattr(settings, name) for name in ("delta", "alpha", "rounds", "power")},
        "round_alpha": round_alpha(settings.alpha, settings.rounds),
        "archive": settings.rounds,
        "archive_size": settings.rounds + 1,
        "set": {"role": role, "tasks": tasks, "rollouts": rollouts},
        "noise": {"source": source, **{kind: asdict(each) for kind, each in noise.items()}},
    }
    counts = sorted({*ROLLOUTS, rollouts})
    found = {kind: _for_noise(each, settings, tasks, rollouts, counts, cost) for kind, each in noise.items()}
    paper = hoeffding_tasks(settings.delta, alpha=settings.alpha, archive_size=settings.rounds + 1)
    return PlanResult(payload={**about, "plans": found, "hoeffding_tasks": paper})


def _for_noise(
    noise: Noise, settings: PlanSettings, tasks: int, rollouts: int, counts: list[int], cost: Mapping[str, float | None]
) -> dict[str, Json]:
    alpha, power, delta = round_alpha(settings.alpha, settings.rounds), settings.power, settings.delta
    common: Any = {"power": power, "rollouts": counts}
    try:
        confirming = confirmation_designs(noise, delta, alpha=alpha, **common)
        certifying = certification_designs(noise, delta, alpha=settings.alpha, archive=settings.rounds, **common)
        bounding = {
            way: certificate_designs(
                noise, delta, way=way, alpha=settings.alpha, archive_size=settings.rounds + 1, **common
            )
            for way in WAYS
        }
    except ValueError as error:
        raise UserError(f"delta={delta} takes {error} with this noise: give a larger --delta.") from None
    return {
        "sd": noise.sd(rollouts),
        "power": asdict(doubling(noise, delta, alpha=alpha, tasks=tasks, rollouts=rollouts)),
        "confirmation": [_priced(design, cheapest(confirming), cost) for design in confirming],
        "certification": [_priced(design, cheapest(certifying), cost) for design in certifying],
        "certificates": {
            way: [_priced(design, cheapest(designs), cost) for design in designs] for way, designs in bounding.items()
        },
    }


def _cost(tokens: float | None, usd: float | None) -> dict[str, float | None]:
    """Of one rollout; None: not known."""
    return {"tokens": tokens, "usd": usd}


def _priced(design: Design, least: Design, cost: Mapping[str, float | None]) -> dict[str, Json]:
    spent = {name: None if each is None else each * design.episodes for name, each in cost.items()}
    return {**asdict(design), **spent, "cheapest": design == least}


def _noise_of_run(
    store: Reader, run: str, config: Mapping[str, Any], benchmark: Benchmark[Any]
) -> tuple[str, dict[str, Noise]]:
    """The mean noise over a run's gain destructions, those on confirmation sets where there are such; none of sealed
    tasks.
    """
    initial = config.get("initial") or config.get("baseline")
    if initial is None:
        raise UserError(f"--noise-from={run} has no gain destruction: name a run of `chase evolve` or `chase audit`.")
    cells = _cells(store, run, benchmark)
    released = benchmark.variant(RELEASED).hash
    placebos = {benchmark.variant(name).hash for name in benchmark.variants() if name.startswith(PLACEBO)}
    measured = [
        (role, [cells[role, h, v] for v in (released, changed) for h in (harness, initial)])
        for role, harness, changed in cells
        if harness != initial
        and changed not in {released, *placebos}
        and {(role, harness, released), (role, initial, released), (role, initial, changed)} <= cells.keys()
    ]
    usable = [(role, four) for role, four in measured if _rollouts(four) >= 2]
    fresh = [(role, four) for role, four in usable if role in confirmation_roles([role])]
    if not usable:
        raise UserError(
            f"--noise-from={run} has no gain destruction with two rollouts of each task: name another run or give --sd."
        )
    found = [noise_of(_aligned(four)) for _, four in fresh or usable]
    where = "confirmation" if fresh else "search"
    source = f"run {run} on {config['benchmark']}, gain destructions on {where} tasks: {len(found)}"
    return source, {kind: _mean([each[kind] for each in found]) for kind in ("independent", "common")}


def _cells(store: Reader, run: str, benchmark: Benchmark[Any]) -> Cells:
    cells: Cells = {}
    for used in store.used(run):
        key, outcome = used.rollout.key, used.rollout.outcome
        if key.role not in benchmark.sealed and outcome.score is not None:
            cell = cells.setdefault((key.role, key.harness, key.transformation), {})
            cell.setdefault(key.task, {})[key.index] = outcome.score
    return cells


def _rollouts(four: list[dict[str, dict[int, float]]]) -> int:
    """How many rollouts all tasks of all cells have; 0 where they do not have the same tasks."""
    if any(cell.keys() != four[0].keys() for cell in four):
        return 0
    return min(len(scores) for cell in four for scores in cell.values())


def _aligned(four: list[dict[str, dict[int, float]]]) -> list[dict[str, list[float]]]:
    """The first rollouts that all of them have, in their order: those with the same number have the same draws."""
    count = _rollouts(four)
    return [{task: [scores[k] for k in sorted(scores)[:count]] for task, scores in cell.items()} for cell in four]


def _mean(found: list[Noise]) -> Noise:
    n = len(found)
    return Noise(between=sum(each.between for each in found) / n, within=sum(each.within for each in found) / n)
