"""RawHarness with the simulated reader beside the paper's two scores: three rollouts on certification tasks.

`python -m studies.raw_harness` runs five benchmark seeds that the fit never saw; `--default` then runs the
default benchmark, once and last.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from fractions import Fraction

from chase.stats.bounded import SCORES
from chase.stats.estimates import estimate
from studies.reader_scores import PUBLISHED, RESULTS, per_task_scores, write

SEEDS = tuple(f"syn-ledger@{seed}" for seed in (1, 2, 3, 4, 5))
OTHER = tuple(
    f"syn-ledger@{seed}:{features}"
    for features in ("digits+folder+preamble+title+casing", "digits+folder+preamble+position+casing")
    for seed in (1, 2)
)
"""Five other features; and four others with position, without which both evidence documents are rarely in sight."""
ROLLOUTS = 3


def _cell(arguments: tuple[str, str]) -> dict[str, float]:
    name, variant = arguments
    means = per_task_scores(name, variant, {}, rollouts=ROLLOUTS)
    per_task = {str(place): Fraction(round(ROLLOUTS * x), ROLLOUTS) for place, x in enumerate(means)}
    return asdict(estimate(per_task, SCORES))


def main() -> None:
    default = "--default" in sys.argv
    names = ("syn-ledger",) if default else SEEDS + OTHER
    cells = [(name, variant) for name in names for variant in PUBLISHED]
    with ProcessPoolExecutor() as pool:
        estimates = dict(zip(cells, pool.map(_cell, cells), strict=True))
    path = RESULTS / "raw_harness.json"
    scores = json.loads(path.read_text())["scores"] if default and path.exists() else {}
    scores |= {name: {variant: estimates[name, variant] for variant in PUBLISHED} for name in names}
    write(
        "raw_harness",
        {
            "command": "python -m studies.raw_harness, then python -m studies.raw_harness --default",
            "model": "sim:reader (simulated reader)",
            "split": "cert",
            "rollouts": ROLLOUTS,
            "run_seed": 0,
            "published": PUBLISHED,
            "scores": scores,
        },
    )
    for name, row in scores.items():
        print(name, {variant: round(estimate["value"], 4) for variant, estimate in row.items()})  # noqa: T201


if __name__ == "__main__":
    main()
