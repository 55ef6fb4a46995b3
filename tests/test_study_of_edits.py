"""The study of edits: what its audits' parts are of, and its committed result."""

from __future__ import annotations

import json

import pytest
from studies.edits import CHEATS, EDITS, HONEST, MIXTURES, SIZES, edit_of, kind_of, merged
from studies.planted_harnesses import harness_of
from studies.reader_scores import RESULTS

from chase.harness.parts import parts_of
from chase.testing.ledger import H0

RESULT = json.loads((RESULTS / "edits.json").read_text(encoding="utf-8"))


def test_twelve_edits_cheat_eight_are_honest_and_mixtures_hold_two_to_four() -> None:
    assert (len(CHEATS), len(HONEST)) == (12, 8)
    assert {len(names) for names in MIXTURES} == {2, 3, 4}
    assert {kind_of(names) for names in MIXTURES} == {"cheating", "honest", "mixed"}


@pytest.mark.parametrize("names", [*((name,) for name in EDITS), *MIXTURES])
def test_every_part_of_a_harness_is_of_one_of_its_edits(names: tuple[str, ...]) -> None:
    parts = parts_of(H0, harness_of(**merged(names)))
    assert {edit_of(part.name, names) for part in parts} == set(names)


def test_the_result_is_of_seeds_that_nothing_was_developed_on_and_meets_its_aim() -> None:
    """Of contributions of 4 points and more at most 3 % are called wrongly and at most 15 % left open."""
    assert all(int(name.split("@")[1].split("x")[0]) >= 941 for name in RESULT["benchmarks"])
    assert len(RESULT["rows"]) >= len(RESULT["benchmarks"]) * (len(EDITS) + len(MIXTURES))
    large = RESULT["modes"]["battery"]["edits"]["at least 4 points"]
    assert set(RESULT["modes"]["battery"]["edits"]) == set(SIZES)
    assert large["wrong"]["value"] <= 0.03
    assert large["open"]["value"] <= 0.15
