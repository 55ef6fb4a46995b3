"""What a comparison comes to: each method's figures, differences between methods, and the paper's beside them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from importlib.resources import files
from itertools import combinations
from typing import Any

from chase.agents.history import RELEASED
from chase.core.values import Json
from chase.methods.certification import NEUTRAL
from chase.runs.conclusion import NOTABLE, too_few
from chase.runs.members import Spec
from chase.runs.sealed import INITIAL, Cells, Sealed
from chase.stats.bounded import DESTRUCTIONS, GAINS, SCORES, Support
from chase.stats.comparisons import Measured, measured
from chase.stats.destruction import destruction, excess_estimate, gain
from chase.stats.estimates import PerTask, difference, mean

Figure = Callable[[Cells, Cells], PerTask]
"""From a harness's cells and `H_0`'s of the same seed, task by task."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table."""

    key: str
    symbol: str
    words: str
    support: Support
    figure: Figure
    compared: bool = False
    """Whether methods are compared by it."""


def _score(variant: str) -> Figure:
    return lambda own, _: own.cert[variant]


def _gain(variant: str) -> Figure:
    return lambda own, initial: gain(own.cert[variant], initial.cert[variant])


def _average(own: Cells, _: Cells) -> PerTask:
    cells = list(own.cert.values())
    return {task: sum((cell[task] for cell in cells), Fraction(0)) / len(cells) for task in own.cert[RELEASED]}


def _worst(own: Cells, _: Cells) -> PerTask:
    return min(own.cert.values(), key=mean)


def _gamma(own: Cells, initial: Cells) -> PerTask:
    released = _gain(RELEASED)(own, initial)
    return max((destruction(released, _gain(variant)(own, initial)) for variant in own.cert), key=mean)


def _shortcut(own: Cells, initial: Cells) -> PerTask:
    return destruction(_gain(RELEASED)(own, initial), _gain(NEUTRAL)(own, initial))


R_REL = Column(key="r_rel", symbol="R_rel", words="score as released", support=SCORES, figure=_score(RELEASED))
G_REL = Column(
    key="g_rel", symbol="G_rel", words="gain as released", support=GAINS, figure=_gain(RELEASED), compared=True
)
WITH_NEUTRAL = (
    R_REL,
    Column(key="r_0", symbol="R_0", words="score under B_0", support=SCORES, figure=_score(NEUTRAL)),
    G_REL,
    Column(key="g_0", symbol="G_0", words="gain under B_0", support=GAINS, figure=_gain(NEUTRAL), compared=True),
    Column(
        key="delta_bs", symbol="Δ_BS", words="gain that goes with the planted regularities: G_rel − G_0",
        support=DESTRUCTIONS, figure=_shortcut, compared=True,
    ),
)  # fmt: skip
"""The paper's table where the neutral benchmark is known."""
WITH_ARCHIVE = (
    R_REL,
    Column(
        key="r_avg", symbol="R_avg", words="average score over the archive", support=SCORES, figure=_average,
        compared=True,
    ),
    Column(
        key="r_min", symbol="R_min", words="worst score over the archive", support=SCORES, figure=_worst,
        compared=True,
    ),
    G_REL,
    Column(
        key="gamma", symbol="Γ", words="largest gain destruction over the archive", support=DESTRUCTIONS,
        figure=_gamma, compared=True,
    ),
)  # fmt: skip
"""The paper's table where it is not, and the gain with what the archive takes of it."""


def columns_of(sealed: Sealed, *, neutral: bool) -> tuple[Column, ...]:
    """The columns of a comparison's table; a further sealed task set has one of its own."""
    others = next(iter(sealed.cells.values())).others
    more = (
        Column(
            key=f"r_{role}", symbol=f"R_{role}", words=f"score on {role} as released", support=SCORES,
            figure=_elsewhere(role), compared=True,
        )
        for role in others
    )  # fmt: skip
    return (*(WITH_NEUTRAL if neutral else WITH_ARCHIVE), *more)


def _elsewhere(role: str) -> Figure:
    return lambda own, _: own.others[role]


def figures(sealed: Sealed, specs: Sequence[Spec], seeds: Sequence[int], *, neutral: bool) -> dict[str, Json]:
    """The comparison's own part of a result: all figures of all methods, and every two methods compared.

    Two methods that ended with the same harness in every seed are identical: there is nothing to tell apart.
    """
    columns = columns_of(sealed, neutral=neutral)
    labels = [spec.label for spec in specs]
    return {
        "table": "neutral" if neutral else "archive",
        "columns": [{"key": c.key, "symbol": c.symbol, "words": c.words} for c in columns],
        "initial": _row(sealed, INITIAL, seeds, [column for column in columns if not column.compared]),
        "methods": {
            label: {**_row(sealed, label, seeds, columns), "delta_ts": _excess(sealed, label, seeds)}
            for label in labels
        },
        "differences": list(_differences(sealed, labels, seeds, [column for column in columns if column.compared])),
        "tasks": len(next(iter(sealed.cells.values())).cert[RELEASED]),
        "archives": {str(seed): list(names) for seed, names in sealed.archives.items()},
        "invalid": dict(sealed.invalid),
    }


def _row(sealed: Sealed, label: str, seeds: Sequence[int], columns: Sequence[Column]) -> dict[str, Json]:
    return {
        column.key: to_json(measured(_per_seed(sealed, label, seeds, column), column.support)) for column in columns
    }


def _per_seed(sealed: Sealed, label: str, seeds: Sequence[int], column: Column) -> list[PerTask]:
    return [column.figure(sealed.cells[label, seed], sealed.cells[INITIAL, seed]) for seed in seeds]


def _excess(sealed: Sealed, label: str, seeds: Sequence[int]) -> Json:
    """`Δ̂_TS`: gain on the search tasks less gain on the sealed ones, by seed and in the mean."""
    found = []
    for seed in seeds:
        own, initial = sealed.cells[label, seed], sealed.cells[INITIAL, seed]
        found.append(excess_estimate(gain(own.evo, initial.evo), _gain(RELEASED)(own, initial)).value)
    return {"value": sum(found) / len(found), "by_seed": found}


def _differences(
    sealed: Sealed, labels: Sequence[str], seeds: Sequence[int], columns: Sequence[Column]
) -> Iterator[dict[str, Json]]:
    """Every two methods, paired by seed and task."""
    for left, right in combinations(labels, 2):
        for column in columns:
            pairs = zip(_per_seed(sealed, left, seeds, column), _per_seed(sealed, right, seeds, column), strict=True)
            low, high = column.support
            found = measured([difference(a, b) for a, b in pairs], (low - high, high - low))
            yield {
                "left": left,
                "right": right,
                "figure": column.key,
                **to_json(found),
                "over_both": asdict(found.over_both),
                "separated": found.separated,
                "identical": all(sealed.finals[left, seed] == sealed.finals[right, seed] for seed in seeds),
            }


def to_json(found: Measured) -> dict[str, Json]:
    """An estimate over tasks, with what is known over seeds beside it."""
    seeds = None if found.over_seeds is None else asdict(found.over_seeds)
    return {**asdict(found.over_tasks), "over_seeds": seeds, "by_seed": list(found.by_seed)}


def features(specs: Sequence[Spec]) -> dict[str, Json]:
    """The paper's comparison of methods."""
    return {
        spec.label: {
            "proposer": "proposer" in spec.method.agents,
            "challenger": "challenger" in spec.method.agents,
            **asdict(spec.method.traits),
        }
        for spec in specs
    }


def paper_figures(base: str) -> dict[str, Json] | None:
    """What the paper reports on a benchmark, in fractions; None where it has nothing."""
    figures: Mapping[str, Any] = tomllib.loads(
        files("chase.runs").joinpath("paper_figures.toml").read_text(encoding="utf-8")
    )
    if base not in figures or base == "title":
        return None
    reported = figures[base]
    return {
        "title": figures["title"],
        "model": reported["model"],
        "note": "one run of each method; the paper reports no spread over runs",
        "methods": {
            name: {key: round(value / 100, 6) for key, value in row.items()}
            for name, row in reported["methods"].items()
        },
    }


def explanations(found: Mapping[str, Any], *, neutral: bool) -> list[str]:
    """What whoever reads the table has to know of its figures."""
    methods = found["methods"]
    shortcut = "Δ_BS" if neutral else "Γ"
    said = [
        f"Δ_TS near 0 says that a gain holds on other tasks of the same protocol; it does not imply that {shortcut} is "
        "near 0: a shortcut that all tasks share is on the sealed ones too."
    ]
    if neutral and any(row["delta_bs"]["value"] < 0 for row in methods.values()):
        said.append(
            "A negative Δ_BS does not mean that B_0 is easier: scores are lower there, and the gain over H_0 is larger."
        )
    empty = [seed for seed, names in found["archives"].items() if not names]
    if not neutral and empty:
        where = "in any seed" if len(empty) == len(found["archives"]) else f"in seed {', '.join(empty)}"
        said.append(
            f"No counterfactual was archived {where}: there R_avg and R_min are the released score and Γ is 0 by their "
            "definition. That says nothing about shortcuts."
        )
    if too_few(found["tasks"]):
        said.append(
            f"Too small to conclude (a pilot): on {found['tasks']} tasks even a gain of {100 * NOTABLE:.0f} points "
            "could not be told from nothing."
        )
    return said
