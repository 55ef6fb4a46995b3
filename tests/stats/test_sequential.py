"""The calibrated test of gain destruction: exact size over all looks, early ends in both directions, power as told."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chase.stats.power import Noise, confirmation_power, confirmation_tasks, noise_of, usual_noise
from chase.stats.sequential import futile, looks, round_alpha, sequential_sign_flip, spent

ALPHA = 0.05 / 3


def drawn(rng: np.random.Generator, tasks: int, effect: float, *, common: bool) -> np.ndarray:
    """Δ of five rollouts of each task: scores of 0.7 and 0.8, of which a counterfactual takes an effect."""
    rates = np.array([0.8, 0.7, 0.8 - effect, 0.7])[:, None, None]
    own, shared = rng.random((4, tasks, 5)), rng.random((1, tasks, 5))
    uniform = np.where(rng.random((tasks, 5)) < 0.85, shared, own) if common else own
    found: np.ndarray = np.tensordot([1.0, -1.0, -1.0, 1.0], (uniform < rates).astype(float), axes=1)
    return found


def rejected(values: np.ndarray, alpha: float = ALPHA) -> tuple[bool, int]:
    """Whether the test rejects, and after how many rollouts it ended; without an end for want of prospects."""
    seen, limits = [], []
    for count in looks(5):
        seen.append(list(values[:, :count].mean(axis=1)))
        limits.append(spent(alpha, count / 5))
        if sequential_sign_flip(seen, limits).step == "reject":
            return True, count
    return False, 5


# By hand


@pytest.mark.parametrize(("tasks", "p"), [(5, 1 / 32), (6, 1 / 64), (10, 1 / 1024)])
def test_all_tasks_on_one_side_are_as_rare_as_one_choice_of_signs(tasks: int, p: float) -> None:
    assert sequential_sign_flip([[0.2] * tasks], [ALPHA]).p == p
    assert sequential_sign_flip([[0.2] * tasks], [p]).step == "reject"
    assert sequential_sign_flip([[0.2] * tasks], [p - 1e-6]).step == "go on"


def test_tasks_that_do_not_differ_say_nothing() -> None:
    assert sequential_sign_flip([[0.0] * 16], [0.99]).p == 1.0
    assert sequential_sign_flip([[0.4] * 4 + [0.0] * 8], [0.05]).p == 1 / 16


def test_a_sum_that_is_small_on_one_side_is_not_rare() -> None:
    assert sequential_sign_flip([[-0.2] * 8], [ALPHA]).p == 1.0
    # Three of the eight sums are above 0.4 − 0.2 − 0.2 = 0, and of the two that are 0 the other comes from more tasks.
    assert sequential_sign_flip([[0.4, -0.2, -0.2]], [ALPHA]).p == 5 / 8


def test_a_second_look_spends_what_the_first_left() -> None:
    """With six tasks no sum is as rare as 0.01; the second look may reject at all of 1/64 that is allowed by then."""
    first, both = [[0.2] * 6], [[0.2] * 6] * 2
    assert sequential_sign_flip(first, [0.01]).step == "go on"
    found = sequential_sign_flip(both, [0.01, 1 / 64])
    assert (found.step, found.p, found.used) == ("reject", 1 / 64, 1 / 64)


@given(
    st.lists(st.tuples(st.integers(-10, 10), st.integers(-10, 10)), min_size=6, max_size=6),
    st.floats(0.01, 0.5),
)
@settings(max_examples=15)
def test_over_all_looks_no_more_than_alpha_of_all_signs_are_rejected(
    scores: list[tuple[int, int]], alpha: float
) -> None:
    """Exactly, for whatever was seen: each choice of signs is as likely where nothing is destroyed."""
    count = 0
    for signs in product((1, -1), repeat=6):
        path = [[sign * seen[look] / 10 for sign, seen in zip(signs, scores, strict=True)] for look in (0, 1)]
        limits = [spent(alpha, 0.4), alpha]
        early = sequential_sign_flip(path[:1], limits[:1]).step == "reject"
        count += early or sequential_sign_flip(path, limits).step == "reject"
    assert count / 64 <= alpha + 1e-12


# By simulation


@pytest.mark.parametrize("common", [False, True])
def test_what_destroys_nothing_is_confirmed_no_more_often_than_promised(common: bool) -> None:
    """Of 400 draws at 1/60 more than 16 (mean 6.7, sd 2.6) are beyond three and a half sigma."""
    rng = np.random.default_rng(871)
    assert sum(rejected(drawn(rng, 16, 0.0, common=common))[0] for _ in range(400)) <= 16


def test_a_planted_destruction_is_found_as_often_as_is_told_and_ends_early() -> None:
    rng = np.random.default_rng(872)
    values = [drawn(rng, 48, 0.3, common=False) for _ in range(100)]
    found = [rejected(each) for each in values]
    sd = math.sqrt(np.mean([each.mean(axis=1).var(ddof=1) for each in values]))
    told = confirmation_power(0.3, sd, 48, ALPHA)
    assert abs(np.mean([reject for reject, _ in found]) - told) < 0.08
    assert np.mean([count for _, count in found]) < 3.5


def test_power_is_what_a_single_look_has_on_few_tasks_too() -> None:
    rng = np.random.default_rng(873)
    values = [drawn(rng, 16, 0.3, common=False).mean(axis=1) for _ in range(300)]
    told = confirmation_power(0.3, math.sqrt(np.mean([each.var(ddof=1) for each in values])), 16, ALPHA)
    assert abs(np.mean([sequential_sign_flip([list(e)], [ALPHA]).step == "reject" for e in values]) - told) < 0.08


# When to look, what to spend, when to give up


@pytest.mark.parametrize(("rollouts", "when"), [(5, (2, 4, 5)), (1, (1,)), (2, (1, 2)), (3, (2, 3)), (10, (4, 8, 10))])
def test_looks_are_at_two_fifths_four_fifths_and_the_end(rollouts: int, when: tuple[int, ...]) -> None:
    assert looks(rollouts) == when


def test_rounds_share_the_error_and_what_a_round_leaves_the_others_have() -> None:
    assert round_alpha(0.06, 3) == 0.02
    assert round_alpha(0.06, 2) == 0.03  # the first of three had no test


@pytest.mark.parametrize(
    ("value", "se", "hopeless"), [(0.0, 0.1, True), (-0.1, 0.5, True), (0.01, 0.02, True), (0.01, 0.05, False)]
)
def test_prospects_end_at_nothing_or_far_below_eta(value: float, se: float, hopeless: bool) -> None:
    assert futile(value, se, 0.05) is hopeless


# Power and noise


def test_power_by_hand() -> None:
    """Student's 1 − 1/60 quantile with 15 degrees of freedom is 2.343; 0.15 is 1.549 standard errors."""
    sd = usual_noise().sd(5)
    assert sd == pytest.approx(math.sqrt(4 * 0.75 * 0.25 / 5))
    assert confirmation_power(0.15, sd, 16, ALPHA) == pytest.approx(0.2136, abs=0.001)


def test_more_tasks_a_larger_effect_a_larger_error_and_less_noise_have_more_power() -> None:
    base = confirmation_power(0.15, 0.4, 24, ALPHA)
    assert confirmation_power(0.15, 0.4, 25, ALPHA) > base
    assert confirmation_power(0.16, 0.4, 24, ALPHA) > base
    assert confirmation_power(0.15, 0.4, 24, 0.05) > base
    assert confirmation_power(0.15, 0.39, 24, ALPHA) > base
    assert confirmation_power(0.15, 0.0, 24, ALPHA) == 1.0
    assert confirmation_power(0.9, 0.0, 5, ALPHA) == 0.0  # 1/32 is the rarest that five tasks can be


def test_the_tasks_needed_are_the_fewest() -> None:
    needed = confirmation_tasks(0.15, 0.4, ALPHA, 0.8)
    assert confirmation_power(0.15, 0.4, needed, ALPHA) >= 0.8 > confirmation_power(0.15, 0.4, needed - 1, ALPHA)


def test_noise_by_hand_with_and_without_common_random_numbers() -> None:
    """Harness and baseline go up and down together as released, and nothing moves under the counterfactual."""
    moving, still = {"a": [0.0, 1.0], "b": [0.0, 1.0]}, {"a": [1.0, 1.0], "b": [1.0, 1.0]}
    found = noise_of([moving, moving, still, still])
    assert found["common"] == Noise(between=0.0, within=0.0)
    assert found["independent"] == Noise(between=0.0, within=1.0)  # 0.5 and 0.5
    assert found["independent"].sd(4) == 0.5


def test_noise_between_tasks_is_what_rollouts_do_not_explain() -> None:
    found = noise_of([{"a": [1.0, 1.0], "b": [0.0, 0.0]}, *[{"a": [0.0, 0.0], "b": [0.0, 0.0]}] * 3])
    assert found["common"] == found["independent"] == Noise(between=0.5, within=0.0)
    with pytest.raises(ValueError, match="at least two rollouts"):
        noise_of([{"a": [1.0]}] * 4)
