"""How often is what destroys nothing confirmed, and how often what destroys something? By both rules, on real scores.

`python -m studies.false_confirmations` rolls a cheat and an honest harness out with the simulated reader on benchmarks
that nothing was developed on, under a placebo and two operators, ten rollouts of each task. Then it draws confirmation
sets of 16, 24, 48 and 96 of those tasks a thousand times each, five of the ten with replacement, and asks the paper's
rule (`Δ̂ ≥ η`) and the calibrated one. With common random numbers the four cells of a gain destruction have the same
rollouts, which have the same draws; with independent ones each cell has rollouts of its own choice. What a variant
really destroys on these tasks is the mean over all rollouts: nothing at all in the case of the placebo. On the same
scores it measures how wide certificates by betting are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chase.engine.rollout import Job, run_rollout
from chase.engine.sandbox import Sandbox
from chase.harness.spec import Harness
from chase.models.chat import ChatModel
from chase.stats.bounded import DESTRUCTIONS
from chase.stats.comparisons import student_quantile
from chase.stats.sequential import looks, sequential_look
from chase.testing.ledger import H0
from studies.certificates import hoeffding, radius_by_cut
from studies.planted_harnesses import CARE, harness_of
from studies.reader_scores import write
from studies.running import Row, opened, rows_of, share_of, with_reader

SEEDS = (881, 882)
SIZES = (16, 24, 48, 96)
CERTIFIED_SIZES, CERTIFIED_ROLLOUTS = (76, 208), 3
"""Of certifications, for the width of certificates."""
POOL, ROLLOUTS = 10, 5
"""Rollouts of a task that there are, and that a confirmation has."""
ROUNDS, ALPHA, ETA, DRAWS = 3, 0.05, 0.05, 1_000
HARNESSES: Mapping[str, Harness] = {
    "initial": H0,
    "honest": harness_of(prompt=CARE),
    "cheat": harness_of(prompt=["Read on in files with low path-depth.", "Prefer files with low extension-length."]),
}
VARIANTS: Mapping[str, Any] = {
    "released": "released",
    "placebo": "placebo-line-endings",
    "names swapped": {"name": "permute", "arguments": {"aspect": "name"}},
    "depths equalised": {"name": "equalise", "arguments": {"aspect": "depth"}},
}
SIGNS = (1.0, -1.0, -1.0, 1.0)
"""Of harness and initial harness, as released and under the variant."""
Scores = NDArray[np.float64]
"""Tasks by rollouts."""


def cases() -> list[dict[str, Any]]:
    """A harness under a variant on one benchmark."""
    return [
        {"seed": seed, "variant": variant, "harness": name}
        for seed in SEEDS
        for variant in VARIANTS
        for name in HARNESSES
    ]


def measured(case: Mapping[str, Any]) -> list[Row]:
    """The scores of all rollouts, task by task."""
    benchmark, kit = opened(f"syn-ledger@{case['seed']}")
    form = VARIANTS[case["variant"]]
    whole = {"benchmark": "syn-ledger", "operators": [form]}
    transformation = benchmark.variant(form) if isinstance(form, str) else kit.parse(whole).transformation

    async def work(model: ChatModel, sandbox: Sandbox) -> list[list[float]]:
        found = []
        for task in benchmark.tasks():
            jobs = [
                Job(
                    benchmark=benchmark, transformation=transformation, harness=HARNESSES[case["harness"]], task=task,
                    index=index, run_seed=0,
                )
                for index in range(POOL)
            ]  # fmt: skip
            found.append([(await run_rollout(job, model, sandbox))[0].outcome.score or 0.0 for job in jobs])
        return found

    return [{**case, "scores": with_reader(work)}]


def cells(rows: Sequence[Row], harness: str, variant: str) -> list[Scores]:
    """The four cells of a gain destruction."""
    table = {(row["seed"], row["harness"], row["variant"]): row["scores"] for row in rows}
    return [
        np.concatenate([np.array(table[seed, name, under]) for seed in SEEDS])
        for under in ("released", variant)
        for name in (harness, "initial")
    ]


def drawn(four: Sequence[Scores], tasks: int, rng: np.random.Generator, *, common: bool) -> Scores:
    """Δ of five rollouts of so many tasks."""
    chosen = rng.choice(len(four[0]), size=tasks, replace=False)
    orders = [rng.integers(0, POOL, size=(tasks, ROLLOUTS)) for _ in (SIGNS[:1] if common else SIGNS)]
    total: Scores = np.zeros((tasks, ROLLOUTS))
    for place, (sign, cell) in enumerate(zip(SIGNS, four, strict=True)):
        total += sign * np.take_along_axis(cell[chosen], orders[0 if common else place], axis=1)
    return total


def by_papers_rule(values: Scores) -> bool:
    return round(float(values.mean()), 9) >= ETA


def by_calibrated_rule(values: Scores) -> tuple[bool, int]:
    """Whether it is confirmed in one of three rounds' share of the error, and after how many rollouts of each task."""
    seen: list[list[float]] = []
    for count in looks(ROLLOUTS):
        seen.append(list(values[:, :count].mean(axis=1)))
        looked = sequential_look(seen, rollouts=ROLLOUTS, alpha=ALPHA / ROUNDS, least=ETA)
        if looked.step != "go on":
            break
    return looked.step == "reject" and round(float(values[:, :count].mean()), 9) >= ETA, count


def by_students_test(values: Scores) -> bool:
    """All rollouts at once, at the same level: what sign flips are compared with."""
    means = values.mean(axis=1)
    spread = float(means.std(ddof=1))
    if not spread:
        return False
    critical = student_quantile(len(means) - 1, 1 - 2 * ALPHA / ROUNDS)
    return float(means.mean()) / (spread / len(means) ** 0.5) > critical and by_papers_rule(values)


def judged(four: Sequence[Scores], tasks: int, *, common: bool) -> Row:
    """Confirmation sets of so many tasks, drawn again and again, under every rule."""
    rng = np.random.default_rng(SEEDS[0])
    sets = [drawn(four, tasks, rng, common=common) for _ in range(DRAWS)]
    calibrated = [by_calibrated_rule(each) for each in sets]
    return {
        "random numbers": "common" if common else "independent",
        "tasks": tasks,
        "se": round(float(np.std([each.mean() for each in sets])), 4),
        "paper": share_of([by_papers_rule(each) for each in sets]),
        "calibrated": share_of([confirmed for confirmed, _ in calibrated]),
        "student": share_of([by_students_test(each) for each in sets]),
        "rollouts": round(float(np.mean([count for _, count in calibrated])) / ROLLOUTS, 3),
    }


def certified(four: Sequence[Scores], tasks: int) -> Row:
    """How wide a certificate by betting is on such scores, by how much of the capital one bet may lose: three rollouts,
    common random numbers. No choice was made on these scores.
    """
    rng = np.random.default_rng(SEEDS[1])
    sets = np.array([drawn(four, tasks, rng, common=True)[:, :CERTIFIED_ROLLOUTS].mean(axis=1) for _ in range(200)])
    return {"tasks": tasks, "hoeffding": round(hoeffding(sets, DESTRUCTIONS), 4), **radius_by_cut(sets, DESTRUCTIONS)}


def judged_case(case: Mapping[str, Any]) -> tuple[list[Row], list[Row]]:
    """Both tables' rows of a harness under a variant."""
    four: Sequence[Scores] = case["cells"]
    true = sum(sign * float(cell.mean()) for sign, cell in zip(SIGNS, four, strict=True))
    about = {"harness": case["harness"], "variant": case["variant"], "true": round(true, 4)}
    rules = [{**about, **judged(four, tasks, common=common)} for common in (False, True) for tasks in SIZES]
    return rules, [{**about, **certified(four, tasks)} for tasks in CERTIFIED_SIZES]


def main() -> None:
    rows = rows_of("false_confirmations", cases(), measured)
    pairs = product(list(HARNESSES)[1:], list(VARIANTS)[1:])
    judging = [{"harness": h, "variant": v, "cells": cells(rows, h, v)} for h, v in pairs]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        found = list(pool.map(judged_case, judging))
    settings = {"seeds": SEEDS, "rollouts": ROLLOUTS, "alpha": ALPHA, "rounds": ROUNDS, "eta": ETA, "draws": DRAWS}
    table, certificates = ([row for each in found for row in each[place]] for place in (0, 1))
    write("false_confirmations", {**settings, "table": table, "certificates": certificates})


if __name__ == "__main__":
    main()
