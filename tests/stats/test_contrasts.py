"""A gain beside the released one, by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from chase.stats.bounded import DESTRUCTIONS, lower_bound, upper_bound, weighted
from chase.stats.contrasts import Cell, Contrast, averaged, averaged_cells, gain_sample
from chase.stats.estimates import Sample, between, estimate

N = 1000


def solved(share: float) -> dict[str, Fraction]:
    return {f"t{i}": Fraction(i < round(N * share)) for i in range(N)}


def contrast(released: tuple[float, float], changed: tuple[float, float]) -> Contrast:
    """Each the baseline's score and the harness's."""
    cells = [Cell(less=solved(less), more=solved(more)) for less, more in (released, changed)]
    return Contrast(released=cells[0], changed=cells[1])


SMALL = Contrast(
    released=Cell(
        more={"a": Fraction(1), "b": Fraction(1), "c": Fraction(1, 2), "d": Fraction(0)},
        less={"a": Fraction(0), "b": Fraction(0), "c": Fraction(1, 2), "d": Fraction(1, 2)},
    ),
    changed=Cell(
        more={"a": Fraction(1), "b": Fraction(0), "c": Fraction(1, 2), "d": Fraction(1, 2)},
        less={"a": Fraction(0), "b": Fraction(0), "c": Fraction(0), "d": Fraction(0)},
    ),
    clusters={"a": "x", "b": "x"},
)
"""Gains 1, 1, 0, −½ as released and 1, 0, ½, ½ under the counterfactual; the baseline falls from ¼ to 0."""


# What the base rate explains


def test_at_the_same_base_rate_all_of_the_gain_is_expected() -> None:
    """But for the smoothing of the odds."""
    assert contrast((0.5, 0.75), (0.5, 0.6)).expected_share == pytest.approx(1.0, abs=0.002)


def test_near_a_floor_the_ratio_expects_least() -> None:
    """0.1 of 0.5 is a fifth; threefold odds would leave 0.25 − 0.1 of 0.25, three fifths."""
    assert contrast((0.5, 0.75), (0.1, 0.1)).expected_share == pytest.approx(0.2)


def test_near_a_ceiling_the_odds_expect_least() -> None:
    """Threefold odds of 9 are 27: 27/28 − 0.9 of 0.25."""
    found = contrast((0.5, 0.75), (0.9, 0.9)).expected_share
    assert found == pytest.approx((27 / 28 - 0.9) / 0.25, abs=0.005)


def test_never_more_than_all_of_the_gain_is_expected_and_all_of_none() -> None:
    assert contrast((0.2, 0.3), (0.4, 0.5)).expected_share == 1.0
    assert contrast((0.5, 0.5), (0.1, 0.1)).expected_share == 1.0
    assert contrast((0.5, 0.4), (0.1, 0.1)).expected_share == 1.0
    assert contrast((0.0, 0.25), (0.0, 0.1)).expected_share == pytest.approx(1.0, abs=0.01)
    assert contrast((0.5, 0.75), (0.0, 0.1)).expected_share == 0.0


# Task by task


def values(sample: Sample) -> dict[str, float]:
    return {task: float(value) for task, value in sample.per_task.items()}


def test_what_is_destroyed_and_what_is_left_task_by_task() -> None:
    assert values(SMALL.destroyed) == {"a": 0, "b": 1, "c": -0.5, "d": -1}
    assert SMALL.destroyed.support == DESTRUCTIONS
    assert values(SMALL.half) == {"a": 0.5, "b": -0.5, "c": 0.5, "d": 0.75}
    assert SMALL.half.support == (-1.5, 1.5)
    assert SMALL.half.clusters == SMALL.destroyed.clusters == {"a": "x", "b": "x"}


def test_what_is_unexplained_and_half_of_what_is_expected_go_by_the_expected_share() -> None:
    """Of a baseline that falls from a half to a fifth of it, a fifth of the gain is expected."""
    made = contrast((0.5, 0.75), (0.1, 0.2))
    share = made.expected_share
    gain, left = made.released.gain, made.changed.gain
    assert share == pytest.approx(0.2)
    assert values(made.unexplained) == {t: pytest.approx(share * float(gain[t]) - float(left[t])) for t in gain}
    assert values(made.half_expected) == {t: pytest.approx(float(left[t]) - share / 2 * float(gain[t])) for t in gain}
    assert made.unexplained.support == pytest.approx((-1.2, 1.2))
    assert made.half_expected.support == pytest.approx((-1.1, 1.1))


def test_a_gain_is_bounded_by_one_and_keeps_its_clusters() -> None:
    found = gain_sample(SMALL.released, SMALL.clusters)
    assert (values(found), found.support) == ({"a": 1, "b": 1, "c": 0, "d": -0.5}, (-1.0, 1.0))
    assert found.clusters == SMALL.clusters


# The destroyed share


def test_the_destroyed_share_lies_where_its_contrast_can_be_0() -> None:
    made = contrast((0.4, 0.8), (0.4, 0.5))
    found = made.share_destroyed(level=0.95)
    assert found is not None
    assert found.value == pytest.approx(0.75)

    def left(share: float) -> tuple[float, float]:
        per_task = {t: made.changed.gain[t] - Fraction(1 - share) * made.released.gain[t] for t in made.changed.gain}
        border = 2 - share
        kept = estimate(per_task, (-border, border))
        return kept.low, kept.high

    assert left(found.low - 0.01)[1] < 0 <= left(found.low + 0.01)[1]
    assert left(found.high - 0.01)[0] <= 0 < left(found.high + 0.01)[0]
    wide = made.share_destroyed(level=0.99)
    assert wide is not None
    assert wide.low < found.low < found.value < found.high < wide.high


def test_nothing_has_no_share() -> None:
    assert contrast((0.5, 0.5), (0.5, 0.4)).share_destroyed(level=0.95) is None
    assert contrast((0.5, 0.4), (0.5, 0.4)).share_destroyed(level=0.95) is None


# Bounds


def test_each_side_of_a_mean_has_an_error_of_its_own() -> None:
    sample = SMALL.half
    alone = Sample(per_task=sample.per_task, support=sample.support)
    found = between(alone, low=0.1, high=0.02, level=0.9)
    seen = weighted([float(value) for value in sample.per_task.values()])
    assert found.low == pytest.approx(lower_bound(seen, sample.support, 0.1))
    assert found.high == pytest.approx(upper_bound(seen, sample.support, 0.02))
    assert found.level == 0.9
    assert between(sample, low=0.1, high=0.02, level=0.9).low < found.low, "a and b are one cluster"


def test_tables_are_averaged_task_by_task() -> None:
    two = [{"a": Fraction(1), "b": Fraction(0)}, {"a": Fraction(0), "b": Fraction(0)}]
    assert averaged(two) == {"a": Fraction(1, 2), "b": Fraction(0)}
    cell = averaged_cells([Cell(more=two[0], less=two[1]), Cell(more=two[1], less=two[1])])
    assert cell.gain == {"a": Fraction(1, 2), "b": Fraction(0)}
