"""The study of agents of one's own: what the page says is what was measured."""

from __future__ import annotations

import json
from pathlib import Path

from studies.own_agent import RESULTS, SEEDS, SETTINGS

PAGE = (Path(__file__).parents[1] / "docs" / "own-agent.md").read_text(encoding="utf-8")


def test_the_page_has_every_row_as_it_was_measured() -> None:
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert found["settings"] == SETTINGS
    assert [row["benchmark"] for row in found["rows"][::2]] == [f"syn-ledger@{seed}" for seed in SEEDS]
    for row in found["rows"]:
        gain = row["g_rel"]
        start = f"| `{row['benchmark']}` | `{row['agent']}` | "
        (line,) = [line for line in PAGE.splitlines() if line.startswith(start)]
        said = f"+{100 * gain['value']:.1f} ({100 * gain['low']:.1f} to {100 * gain['high']:.1f})"
        assert said in line
        assert line.endswith(f"| {row['verdict']} |")
        for one in row["tested"]:
            if one["status"] == "confirmed":
                assert f"+{100 * one['destruction']['value']:.1f} (" in line
