"""The repair of an audited harness: what survives of a gain, the sentence about it, and what speaks against it."""

from __future__ import annotations

import pytest

from chase.methods.repair_audited import AuditedRepair, Gains, _in_words
from chase.stats.estimates import Estimate


def gains(released: float, radius: float = 0.02, **under: float) -> Gains:
    found = {"released": released, **under}
    return Gains(
        by_variant={
            name: Estimate(value=value, se=radius / 2, n=24, low=value - radius, high=value + radius, level=0.95)
            for name, value in found.items()
        }
    )


def test_least_of_a_gain_survives_under_the_worst_variant_and_the_released_one_is_one() -> None:
    assert gains(0.12, c1=0.013, c2=0.05).worst == "c1"
    assert gains(0.12, c1=0.013, c2=0.05).surviving.value == 0.013
    assert gains(0.079, c1=0.1).worst == "released"


def test_the_sentence_has_both_harnesses_in_points() -> None:
    before, after = gains(0.122, c1=0.013), gains(0.079, c1=0.074)
    assert _in_words(before, after) == (
        "+12.2 points released, of which +1.3 survived; repaired: +7.9, of which +7.4 survives"
    )
    assert _in_words(before, None) == (
        "+12.2 points released, of which +1.3 survived; "
        "on the search tasks nothing of it is left without the shortcut: keep the baseline"
    )


@pytest.mark.parametrize(
    ("found", "doubts"),
    [
        (gains(0.079, c1=0.074), []),
        (gains(0.079, c1=0.029), []),
        (gains(0.079, c1=0.028), ["5.1 points of the repaired gain are destroyed"]),
        (gains(0.079, c1=0.01), ["6.9 points of the repaired gain are destroyed", "not told from 0"]),
        (gains(0.02, c1=0.02), ["not told from 0"]),
    ],
)
def test_fresh_tasks_may_speak_against_a_repair(found: Gains, doubts: list[str]) -> None:
    said = found.doubts("0.05")
    assert len(said) == len(doubts)
    assert all(doubt in line for doubt, line in zip(doubts, said, strict=True))


def test_nothing_to_repair_has_neither_a_harness_nor_a_measurement() -> None:
    found = AuditedRepair(ending="nothing to repair", reason="why")
    assert found.harness is None
    assert (found.to_json()["repaired"], found.to_json()["measured"], found.to_json()["tried"]) == (None, None, [])
