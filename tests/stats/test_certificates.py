"""A certificate of an archive by Hoeffding and by betting: the paper's union bound, entry by entry."""

from __future__ import annotations

from fractions import Fraction

import pytest

from chase.stats.betting import lower_bound, shuffled, upper_bound
from chase.stats.bounded import DESTRUCTIONS, GAINS
from chase.stats.certificates import certificate, neutral_certificate
from chase.stats.estimates import PerTask

TASKS = [f"t{number:02}" for number in range(40)]


def gains(step: int, least: int = 0) -> PerTask:
    """A gain of 1 on every so many tasks, of a third below 0 on some."""
    return {t: Fraction(1 if i % step == 0 else -1 if least and i % least == 1 else 0, 3) for i, t in enumerate(TASKS)}


ARCHIVE = {"released": gains(2), "b1": gains(4), "b2": gains(8, 5)}


def test_each_side_of_each_entry_has_its_share_of_the_level() -> None:
    """|A| = 3, α = 0.06: each at 0.005. b2 destroys most and keeps least."""
    found = certificate(ARCHIVE, released="released", alpha=0.06, seed=9)
    order = shuffled(TASKS, 9)
    lost = [float(ARCHIVE["released"][task] - ARCHIVE["b2"][task]) for task in order]
    kept = [float(ARCHIVE["b2"][task]) for task in order]
    assert found.betting.gamma_upper == pytest.approx(upper_bound(lost, DESTRUCTIONS, 0.005))
    assert found.betting.g_min_lower == pytest.approx(lower_bound(kept, GAINS, 0.005))
    assert (found.n, found.archive_size, found.alpha, found.seed) == (40, 3, 0.06, 9)


def test_hoeffdings_are_the_worst_estimates_and_the_papers_radii() -> None:
    """Γ̂ = 1/6 + 1/40 and Ĝ_min = −1/40 of b2; s_Δ = √(8 log 200 / 40) = 1.0294."""
    found = certificate(ARCHIVE, released="released", alpha=0.06, seed=9)
    worst = sum(ARCHIVE["b2"].values()) / 40
    assert (found.s_delta, found.s_g) == pytest.approx((1.0294, 0.5147), abs=5e-5)
    assert found.hoeffding.gamma_upper == pytest.approx(float(Fraction(1, 6) - worst) + 1.0294, abs=5e-5)
    assert found.hoeffding.g_min_lower == pytest.approx(float(worst) - 0.5147, abs=5e-5)
    assert found.betting.gamma_upper < found.hoeffding.gamma_upper
    assert found.betting.g_min_lower > found.hoeffding.g_min_lower


def test_of_the_released_benchmark_alone_nothing_is_destroyed() -> None:
    found = certificate({"released": gains(2)}, released="released", alpha=0.05, seed=0)
    assert found.betting.gamma_upper == 0.0


def test_b0_itself_is_an_archive_of_one() -> None:
    """Each side at α/4; s_Δ = √(8 log 80 / 40)."""
    hoeffding, betting = neutral_certificate(ARCHIVE["released"], ARCHIVE["b2"], alpha=0.05, seed=9)
    order = shuffled(TASKS, 9)
    lost = [float(ARCHIVE["released"][task] - ARCHIVE["b2"][task]) for task in order]
    assert hoeffding.gamma_upper == pytest.approx(sum(lost) / 40 + 0.9362, abs=5e-5)
    assert betting.gamma_upper == pytest.approx(upper_bound(lost, DESTRUCTIONS, 0.0125))
    assert betting.g_min_lower == pytest.approx(
        lower_bound([float(ARCHIVE["b2"][task]) for task in order], GAINS, 0.0125)
    )
