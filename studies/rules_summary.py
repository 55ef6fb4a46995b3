"""The arithmetic of `studies.confirmation_rules`: each rule's means, and the differences between them, by seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from studies.running import Row, mean_of, share_of

RULES = ("paper", "calibrated")
FIGURES = ("g_rel", "g_0", "delta_bs", "rollouts", "confirming", "archived", "false_entries")
"""Means over run seeds, and compared between the rules."""


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Both rules at one kind of confirmation sets."""
    counted = [{**row, "archived": len(row["entries"]), "false_entries": _false(row)} for row in rows]
    by_rule = {rule: [row for row in counted if row["rule"] == rule] for rule in RULES}
    return {
        "rules": {rule: _rule(of_rule) for rule, of_rule in by_rule.items()},
        "differences": _differences(by_rule["calibrated"], by_rule["paper"]),
    }


def _false(row: Row) -> int:
    return sum(entry["elsewhere"] <= 0 for entry in row["entries"])


def _rule(rows: Sequence[Row]) -> dict[str, Any]:
    entries = [entry for row in rows for entry in row["entries"]]
    placebos = [placebo for row in rows for placebo in row["placebos"]]
    noise = [each for row in rows for each in row["by_noise"]]
    return {
        **{name: mean_of([row[name] for row in rows]) for name in FIGURES},
        "tested": sum(row["tested"] for row in rows),
        "not_taken": sum(row["not_taken"] for row in rows),
        "entries": len(entries),
        "false": share_of([entry["elsewhere"] <= 0 for entry in entries]),
        "elsewhere": sum(entry["elsewhere"] for entry in entries) / len(entries) if entries else None,
        "expected_by_noise": sum(noise) / len(noise) if noise else None,
        "placebos": share_of([placebo["confirmed"] for placebo in placebos]),
        "placebos_differ": sum(placebo["destruction"] != 0 for placebo in placebos),
        "cue_in_final": share_of([row["cue"] for row in rows]),
        "final_is_initial": share_of([row["initial"] for row in rows]),
    }


def _differences(left: Sequence[Row], right: Sequence[Row]) -> dict[str, Any]:
    """Calibrated less paper, paired by seed, with 95 % intervals by Student's t over seeds."""
    mine, other = ({row["seed"]: row for row in rows} for rows in (left, right))
    if mine.keys() != other.keys():
        raise ValueError("the two rules were not run over the same seeds")
    return {name: mean_of([mine[seed][name] - other[seed][name] for seed in mine]) for name in FIGURES}
