"""A comparison's result as tables: the paper's main table, differences, features, tokens, the paper's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chase.runs.certificate_table import certificate_table
from chase.runs.folder import RunFolder
from chase.runs.rendering import millions, points
from chase.runs.tables import Table

FOLDER = "tables"
FEATURES = {
    "proposer": "Proposer", "challenger": "Challenger", "shortcut_aware": "Shortcut-aware",
    "worst_case": "Worst-case constraints", "neutral_free": "B_0-free",
}  # fmt: skip
STAGES = {"optimisation": "optimisation and selection", "certification": "certification"}
Found = Mapping[str, Any]


def write_tables(folder: RunFolder, payload: Found) -> None:
    """`tables/`: each table as Markdown, LaTeX and CSV."""
    for table in tables(payload):
        for ending, text in (("md", table.markdown()), ("tex", table.latex()), ("csv", table.csv())):
            folder.write(f"{FOLDER}/{table.name}.{ending}", text)


def tables(payload: Found) -> Iterator[Table]:
    """Every table that a comparison has."""
    if payload["certified"]:
        yield _results(payload)
        if payload["differences"]:
            yield _differences(payload)
        if payload.get("certificates"):  # a comparison of an earlier version has none
            yield certificate_table(payload["certificates"])
    yield _features(payload["features"])
    for stage, words in STAGES.items():
        if any(stages[stage]["episodes"] for stages in payload["tokens"].values()):
            yield _tokens(payload, stage, words)
    if payload["certified"] and payload["paper"] is not None:
        yield _paper(payload)


def reference(payload: Found) -> str:
    """The method that others are set against: the first that is challenged, else the last."""
    challenged = [name for name, row in payload["features"].items() if row["challenger"]]
    return str(challenged[0] if challenged else list(payload["features"])[-1])


def _results(payload: Found) -> Table:
    columns, seeds = payload["columns"], len(payload["seeds"])
    keys = [column["key"] for column in columns]
    rows = [[name, *(_figure(row[key]) for key in keys), points(row["delta_ts"]["value"])]
            for name, row in payload["methods"].items()]  # fmt: skip
    spread = " ± over seeds" if seeds > 1 else ""
    return Table(
        name="results",
        title=f"{payload['config']['benchmark']}, {payload['config']['model']}: {payload['tasks']} sealed tasks, "
        f"{seeds} run seed{'s'[: seeds != 1]}; percent ± standard error over tasks{spread}",
        headings=("Method", *(column["symbol"] for column in columns), "Δ_TS"),
        rows=rows,
        fields=("method", *(f"{key}{part}" for key in keys for part in ("", "_se_tasks", "_se_seeds")), "delta_ts"),
        data=[
            [name, *(value for key in keys for value in _values(row[key])), row["delta_ts"]["value"]]
            for name, row in payload["methods"].items()
        ],
        notes=payload["explanations"],
    )


def _differences(payload: Found) -> Table:
    """Each method less the reference."""
    versus = reference(payload)
    rows, data = [], []
    for found in payload["differences"]:
        if versus not in (found["left"], found["right"]):
            continue
        sign = 1 if found["right"] == versus else -1
        other = found["left"] if sign == 1 else found["right"]
        tasks, seeds = _ends(found, sign), found["over_seeds"] and _ends(found["over_seeds"], sign)
        word = "told apart" if found["separated"] else "the same harnesses" if found["identical"] else "not told apart"
        symbol = next(column["symbol"] for column in payload["columns"] if column["key"] == found["figure"])
        rows.append([other, symbol, points(sign * found["value"]), _range(tasks), _range(seeds), word])
        data.append(
            [other, found["figure"], sign * found["value"] + 0.0, *tasks, *(seeds or ("", "")), found["separated"]]
        )
    return Table(
        name="differences",
        title=f"Differences to {versus}, in points, with 95 % intervals over tasks and over seeds",
        headings=("Method", "Figure", "Difference", "over tasks", "over seeds", ""),
        rows=rows,
        fields=("method", "figure", "difference", "low_tasks", "high_tasks", "low_seeds", "high_seeds", "separated"),
        data=data,
        notes=[
            "Told apart: the interval over tasks and seeds together leaves 0 out. Each interval is at 95 % for itself."
        ],
    )


def _features(features: Found) -> Table:
    return Table(
        name="features",
        title="What each method does",
        headings=("Method", *FEATURES.values()),
        rows=[[name, *("✓" if row[key] else "✗" for key in FEATURES)] for name, row in features.items()],
        fields=("method", *FEATURES),
        data=[[name, *(row[key] for key in FEATURES)] for name, row in features.items()],
    )


def _tokens(payload: Found, stage: str, words: str) -> Table:
    found = {name: stages[stage] for name, stages in payload["tokens"].items()}
    return Table(
        name=f"tokens-{stage}",
        title=f"Token use in {words}, over {len(payload['seeds'])} seeds",
        headings=("Method", "Episodes", "of them reused", "Total (M)", "Excluding cached input (M)"),
        rows=[
            [name, f"{row['episodes']:,}", f"{row['reused']:,}", *(millions(row[key]) for key in _SUMS)]
            for name, row in found.items()
        ],
        fields=("method", "episodes", "reused", "total", "uncached"),
        data=[[name, row["episodes"], row["reused"], *(row[key] for key in _SUMS)] for name, row in found.items()],
        notes=["A reused episode counts as the method's own and was paid for once, by whoever came first."],
    )


_SUMS = ("total", "uncached")


def _paper(payload: Found) -> Table:
    paper = payload["paper"]
    known = {key for row in paper["methods"].values() for key in row}
    keys = [column["key"] for column in payload["columns"] if column["key"] in known]
    symbols = {column["key"]: column["symbol"] for column in payload["columns"]}
    rows = paper["methods"].items()
    return Table(
        name="paper",
        title=f"The paper's figures ({paper['model']}), in percent",
        headings=("Method", *(symbols[key] for key in keys)),
        rows=[[name, *("–" if key not in row else f"{100 * row[key]:.2f}" for key in keys)] for name, row in rows],
        fields=("method", *keys),
        data=[[name, *(row.get(key) for key in keys)] for name, row in rows],
        notes=[f"“{paper['title']}”; {paper['note']}. Another model: not to be compared figure by figure."],
    )


def _figure(found: Found) -> str:
    """Percent with its standard errors."""
    spread = "" if found["over_seeds"] is None else f" ± {100 * found['over_seeds']['se']:.1f}"
    return f"{100 * found['value']:.1f} ± {100 * found['se']:.1f}{spread}"


def _values(found: Found) -> tuple[float, float, float | None]:
    return found["value"], found["se"], None if found["over_seeds"] is None else found["over_seeds"]["se"]


def _ends(found: Found, sign: int) -> tuple[float, float]:
    low, high = sorted((sign * found["low"] + 0.0, sign * found["high"] + 0.0))
    return low, high


def _range(ends: Sequence[float] | None) -> str:
    if ends is None:
        return "one seed"
    return "no spread" if ends[0] == ends[1] else f"{points(ends[0])} to {points(ends[1])}"
