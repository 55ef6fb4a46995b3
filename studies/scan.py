"""Does `chase scan` find what is planted, and nothing where nothing is? Error rates over benchmark seeds.

`python -m studies.scan` scans Syn-Ledger of 50 seeds: with the paper's five features planted and with five others, as
released and under `B_0`. Every fifth seed it also looks for the transformations that take the findings away. About half
an hour on two cores. Nobody looked at these seeds while the scan was made: that was done on 101 to 120.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import chase
from studies.reader_scores import write
from studies.running import Row, opened, rows_of, share_of

SEEDS = range(7001, 7051)
OTHERS = "digits+folder+preamble+title+casing"
SHOWN_BY: Mapping[str, frozenset[str]] = {
    "filename": frozenset({"name-length", "name-initial", "listing-position"}),
    "depth": frozenset({"path-depth"}),
    "rank": frozenset({"hit-position"}),
    "position": frozenset({"window"}),
    "serialization": frozenset({"bar-count", "extension-length", "line-count", "text-size"}),
    "digits": frozenset({"name-digits", "name-length"}),
    "folder": frozenset({"folder-initial", "folder-length"}),
    "preamble": frozenset({"preamble-lines", "line-count", "text-size", "second-initial"}),
    "title": frozenset({"title-length", "title-initial", "text-size"}),
    "casing": frozenset({"capital-words"}),
}
"""Feature → the observables in which it may show: a finding that has none of a planted feature's is false."""


def scanned(case: Mapping[str, Any]) -> list[Row]:
    """One scan."""
    benchmark, _ = opened(f"syn-ledger@{case['seed']}{case['planted'] and ':' + case['planted']}")
    found = chase.scan(
        benchmark=benchmark, variant=case["variant"], no_removal=not case["remove"], level=case["level"], progress=False
    )
    payload = found.payload
    together = payload["together"]
    return [
        {
            **case,
            "features": list(benchmark.planted),
            "tests": len(payload["rows"]),
            "tasks": payload["tasks_used"],
            "below": sum(row["p"] <= 0.05 for row in payload["rows"]),
            "findings": [finding["observables"] for finding in payload["findings"]],
            "targets": [finding["target"] for finding in payload["findings"]],
            "explained": payload["explained"],
            "removed": [finding["removal"] is not None for finding in payload["findings"]],
            "together": None if together is None else together["symbols"],
        }
    ]


def cases() -> list[dict[str, Any]]:
    return [
        {"seed": seed, "planted": planted, "variant": variant, "level": level, "remove": remove}
        for seed in SEEDS
        for planted, variant, level, remove in (
            ("", "released", 0.99, seed % 5 == 0),
            ("", "neutral", 0.99, False),
            ("", "neutral", 0.95, False),
            (OTHERS, "released", 0.99, False),
            (OTHERS, "neutral", 0.99, False),
        )
    ]


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """How often each feature is found, and how often anything is that was not planted."""
    released = [row for row in rows if row["variant"] == "released"]
    return {
        "found": {
            feature: share_of([_finds(row, feature) for row in released if feature in row["features"]])
            for feature in dict.fromkeys(f for row in released for f in row["features"])
        },
        "all_five": {
            name: share_of([all(_finds(row, f) for f in row["features"]) for row in released if row["planted"] == own])
            for name, own in (("paper", ""), ("others", OTHERS))
        },
        "exactly_five": share_of([len(row["findings"]) == 5 for row in released if not row["planted"]]),
        "false_released": share_of([bool(_false(row)) for row in released]),
        "false_neutral": {
            str(level): share_of(
                [bool(row["findings"]) for row in rows if row["variant"] == "neutral" and row["level"] == level]
            )
            for level in (0.99, 0.95)
        },
        "p_at_most_5_percent": sum(row["below"] for row in rows if row["variant"] == "neutral")
        / max(1, sum(row["tests"] for row in rows if row["variant"] == "neutral")),
        "removed": share_of([flag for row in released if row["remove"] for flag in row["removed"]]),
        "removed_together": share_of([row["together"] is not None for row in released if row["remove"]]),
        "tests": sorted({row["tests"] for row in rows}),
        "tasks": sorted({row["tasks"] for row in rows}),
    }


def _finds(row: Row, feature: str) -> bool:
    return any(SHOWN_BY[feature] & set(found) for found in row["findings"])


def _false(row: Row) -> list[list[str]]:
    planted = frozenset().union(*(SHOWN_BY[feature] for feature in row["features"]))
    return [found for found in row["findings"] if not planted & set(found)]


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    rows = rows_of("scan", cases(), scanned)
    write("scan", {"seeds": [SEEDS[0], SEEDS[-1]], "summary": summary(rows), "rows": rows})


if __name__ == "__main__":
    main()
