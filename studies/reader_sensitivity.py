"""How RawHarness's two scores move when each of the simulated reader's parameters is varied alone."""

from __future__ import annotations

from chase.models.reader.model import load_parameters
from studies.reader_scores import many_mean_scores, write

SEEDS = tuple(f"syn-ledger@{seed}" for seed in (101, 102, 103))
VARIED: dict[str, tuple[float, ...]] = {
    "results": (4, 6, 8, 10, 12),
    "taste_noise": (0.0, 0.02, 0.1, 0.2, 0.4),
    "read_on": (0.0, 0.4, 0.6, 0.8, 1.0),
    "overlook": (0.0, 0.01, 0.05, 0.1),
    "lenience": (0.0, 0.01, 0.05, 0.1),
    "arithmetic_slip": (0.0, 0.02, 0.05, 0.1),
}
"""`directive_weight` and `care` play no part in RawHarness, whose prompt holds no directive."""


def main() -> None:
    frozen = load_parameters()
    points = [(name, value) for name, values in VARIED.items() for value in values]
    scores = many_mean_scores(SEEDS, [{name: value} for name, value in points])
    rows = [
        {"parameter": name, "value": value, "frozen": value == getattr(frozen, name), **means}
        for (name, value), means in zip(points, scores, strict=True)
    ]
    write(
        "reader_sensitivity",
        {
            "command": "python -m studies.reader_sensitivity",
            "benchmarks": SEEDS,
            "n": 3 * 208,
            "rollouts": 1,
            "rows": rows,
        },
    )
    for row in rows:
        print(row)  # noqa: T201


if __name__ == "__main__":
    main()
