"""A selection whose candidates were not all evaluated in full, as the report shows it."""

from __future__ import annotations

from typing import Any

from chase.report import charts, tables_evolution
from chase.runs.rendering import NOTHING

WHOLE: dict[str, Any] = {"hash": "0" * 64, "destruction": {}, "violates": [], "released": 0.5, "gain": 0.0}
STOP = {"tasks": {"released": 8, "b1": 8}, "bound": 0.1, "certain": True, "after": 32, "of": 128}
POOL: list[dict[str, Any]] = [
    {**WHOLE, "harness": "H0", "destruction": {"b1": 0.0}},
    {**WHOLE, "harness": "slow", "released": None, "gain": None, "stopped": {**STOP, "why": "beaten", "by": "H0"}},
    {
        **WHOLE, "harness": "cheat", "released": None, "gain": None, "violates": ["b1"],
        "stopped": {**STOP, "why": "infeasible", "by": "b1"},
    },
]  # fmt: skip
RECORD = {"round": 1, "selection": {"pool": POOL, "selected": "H0"}}


def test_what_was_not_measured_is_shown_as_nothing_and_why() -> None:
    first, slow, cheat = tables_evolution.selection("s", "Selection", POOL, "H0").rows
    assert first[-2:] == ["Yes", "✓"]
    assert slow[1:3] == cheat[1:3] == [NOTHING, NOTHING]
    assert slow[-2] == "stopped after 32 of 128 episodes"
    assert cheat[-2] == "No: b1, stopped after 32 of 128 episodes"


def test_drawings_leave_it_out() -> None:
    assert "0 keep every constraint" in charts.selection("s", "Selection", POOL, "H0", 0.05).description
    assert "round 1: H0" in charts.evolution([RECORD], {}).description
    assert tables_evolution.evolution([RECORD], [POOL[0]], {}).data[0][4] == 0.0  # the best gain that is known
