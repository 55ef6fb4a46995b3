"""Counts by split: what `chase bench stats` reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chase.benchmarks.syn_ledger.validation.sets import family_counts, feature_counts

if TYPE_CHECKING:
    from chase.benchmarks.syn_ledger.benchmark import SynLedger

VARIANTS = ("released", "neutral")


def statistics(benchmark: SynLedger) -> dict[str, Any]:
    """Sizes, families, favorable documents and pairwise counts of each split, read back from the manifests."""
    splits: dict[str, Any] = {}
    pairs: dict[str, Any] = {}
    for role in benchmark.roles:
        tasks = list(benchmark.tasks(role))
        counts = {variant: feature_counts(benchmark, tasks, variant) for variant in VARIANTS}
        splits[role] = {
            "size": len(tasks),
            "families": family_counts(benchmark, tasks),
            "features": {
                name: {variant: counts[variant]["features"][name] for variant in VARIANTS} for name in benchmark.planted
            },
        }
        pairs[role] = {
            pair: {variant: counts[variant]["pairs"][pair] for variant in VARIANTS}
            for pair in counts["released"]["pairs"]
        }
    return {"benchmark": benchmark.name, "splits": splits, "pairs": pairs}


def statistics_table(benchmark: SynLedger) -> tuple[str, list[str], list[list[str]]]:
    """The same in a table: title, headings, rows."""
    rows = []
    for split, row in statistics(benchmark)["splits"].items():
        cells = [
            f"{levels['released']['favorable']} / {levels['neutral']['favorable']} of {levels['released']['total']}"
            for levels in row["features"].values()
        ]
        families = "/".join(str(count) for count in row["families"].values())
        rows.append([split, str(row["size"]), families, *cells])
    title = f"{benchmark.name}: favorable evidence documents, released / neutral, of all"
    return title, ["split", "tasks", "families", *benchmark.planted], rows
