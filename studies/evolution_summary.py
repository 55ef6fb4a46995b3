"""The arithmetic of `studies.evolution`: means by row, paired differences, and whether the goal is met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from studies.running import Row, mean_of, share_of

PLAIN = "chase-without-challenger"
EQUAL = "chase-without-challenger at CHASE's rollouts"
CHASE = "chase"
REPAIR = "chase with repair"
LABELS: Mapping[str, str] = {
    PLAIN: "CHASE without Challenger",
    EQUAL: "CHASE without Challenger, at CHASE's rollouts",
    CHASE: "CHASE",
    REPAIR: "CHASE with repair",
}
"""The rows, as tables name them."""
PAIRS: Mapping[str, tuple[str, str]] = {
    "CHASE − CHASE without Challenger": (CHASE, PLAIN),
    "CHASE with repair − CHASE without Challenger, at CHASE's rollouts": (REPAIR, EQUAL),
}
FIGURES = (
    "r_rel", "r_0", "g_rel", "g_0", "delta_bs", "g_random", "shortcut_kept", "largest_destruction", "rollouts", "rounds"
)  # fmt: skip
LEANS = 0.02
"""An aspect is a real lean if equalising it destroys at least so much of the gain elsewhere."""
MOST_KEPT = 0.01
"""The goal: shortcut gain that CHASE with repair may keep …"""
LEAST_KEPT = 0.05
"""… where CHASE without Challenger keeps at least this at CHASE's rollouts."""


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """One setting: each row's means and shares, differences paired by seed, the archives, and the goal."""
    by_method = {method: [row for row in rows if row["method"] == method] for method in LABELS}
    methods = {method: _means(of_method) for method, of_method in by_method.items()}
    pairs = {name: _difference(by_method[left], by_method[right]) for name, (left, right) in PAIRS.items()}
    return {
        "methods": methods,
        "differences": pairs,
        "short_of_rollouts": sum(short["rollouts"] < 0 for short in _by_seed(by_method[EQUAL], by_method[CHASE])),
        "archives": {method: _archive(by_method[method]) for method in (CHASE, REPAIR)},
        "goal": goal(methods, pairs),
    }


def _means(rows: Sequence[Row]) -> dict[str, Any]:
    return {
        **{name: mean_of([row[name] for row in rows]) for name in FIGURES},
        "cue_in_final": share_of([row["cue"] for row in rows]),
        "final_is_initial": share_of([row["initial"] for row in rows]),
    }


def _difference(left: Sequence[Row], right: Sequence[Row]) -> dict[str, Any]:
    """Left less right, paired by seed, with a 95 % interval by Student's t over seeds."""
    differences = _by_seed(left, right)
    return {name: mean_of([difference[name] for difference in differences]) for name in FIGURES}


def _by_seed(left: Sequence[Row], right: Sequence[Row]) -> list[dict[str, float]]:
    """Left less right, figure by figure, for each seed."""
    mine, other = ({row["seed"]: row for row in rows} for rows in (left, right))
    if mine.keys() != other.keys():
        raise ValueError("the two rows were not run over the same seeds")
    return [{name: mine[seed][name] - other[seed][name] for name in FIGURES} for seed in mine]


def _archive(rows: Sequence[Row]) -> dict[str, Any]:
    """What was archived; where it was tried on other benchmarks, what it was worth there."""
    entries = [entry for row in rows for entry in row["entries"]]
    tried = [entry for entry in entries if "elsewhere" in entry]
    return {
        "confirmations": sum(row["confirmations"] for row in rows),
        "entries": len(entries),
        "false": share_of([entry["elsewhere"] <= 0 for entry in tried]),
        "on_a_real_lean": share_of([any(v >= LEANS for v in entry["leans"].values()) for entry in tried]),
        "operators": [entry["operators"] for entry in entries],
    }


def goal(methods: Mapping[str, Any], differences: Mapping[str, Any]) -> dict[str, Any]:
    """Each part of the goal with its number, and whether all of them hold."""
    (kept, g_0) = (differences[_goal_pair()][name] for name in ("shortcut_kept", "g_0"))
    parts = {
        "repair_keeps_little": methods[REPAIR]["shortcut_kept"]["value"] <= MOST_KEPT,
        "plain_keeps_much": methods[EQUAL]["shortcut_kept"]["value"] >= LEAST_KEPT,
        "difference_excludes_0": kept["high"] < 0 or kept["low"] > 0,
        "g_0_no_worse": g_0["high"] >= 0,
    }
    return {**parts, "met": all(parts.values())}


def _goal_pair() -> str:
    return next(name for name, pair in PAIRS.items() if pair == (REPAIR, EQUAL))


def goal_line(found: Mapping[str, Any]) -> str:
    """The goal in words, with one setting's numbers."""
    methods, parts, of_pair = found["methods"], found["goal"], found["differences"][_goal_pair()]
    repaired, plain = (100 * methods[name]["shortcut_kept"]["value"] for name in (REPAIR, EQUAL))
    difference, g_0 = (interval(of_pair[name]) for name in ("shortcut_kept", "g_0"))
    return (
        f"Goal {'met' if parts['met'] else 'NOT met'}: shortcut gain kept with repair {repaired:.1f} "
        f"(at most 1: {_yes(parts['repair_keeps_little'])}), without Challenger at CHASE's rollouts {plain:.1f} "
        f"(at least 5: {_yes(parts['plain_keeps_much'])}); difference {difference} "
        f"(excludes 0: {_yes(parts['difference_excludes_0'])}); G_0 {g_0} (no worse: {_yes(parts['g_0_no_worse'])})."
    )


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def interval(estimate: Mapping[str, float]) -> str:
    """A difference in points with its interval."""
    value, low, high = (100 * estimate[key] for key in ("value", "low", "high"))
    return f"{value:+.1f} [{low:+.1f}, {high:+.1f}]"
