"""Theorem 1 against hand calculations, and how its bounds move with what they are made of."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.stats.theorems import (
    ArchiveBounds,
    Impossible,
    destruction_radius,
    gain_radius,
    hoeffding_bounds,
    neutral_bounds,
)

sizes, entries, ks = st.integers(1, 5000), st.integers(1, 50), st.integers(1, 6)
shares = st.floats(1e-6, 0.999)
gammas, gains, rhos = st.floats(0, 2), st.floats(-1, 1), st.floats(0, 1)


def bounds(n: int, archive_size: int, alpha: float, gamma_hat: float = 0.05, g_min_hat: float = 0.2) -> ArchiveBounds:
    return hoeffding_bounds(gamma_hat=gamma_hat, g_min_hat=g_min_hat, n=n, archive_size=archive_size, alpha=alpha)


@pytest.mark.parametrize(
    ("n", "archive_size", "alpha", "s_delta", "s_g"),
    [
        (76, 2, 0.05, 0.7309, 0.3655),  # √(8 log 160 / 76)
        (208, 2, 0.05, 0.4418, 0.2209),
        (76, 4, 0.05, 0.7792, 0.3896),  # √(8 log 320 / 76)
        (24, 1, 0.5, 0.8326, 0.4163),  # √(8 log 8 / 24)
    ],
)
def test_the_radii_are_those_of_hand_calculations(
    n: int, archive_size: int, alpha: float, s_delta: float, s_g: float
) -> None:
    assert destruction_radius(n, archive_size, alpha) == pytest.approx(s_delta, abs=5e-5)
    assert gain_radius(n, archive_size, alpha) == pytest.approx(s_g, abs=5e-5)


def test_theorem_1_with_b0_in_the_archive_has_no_rho() -> None:
    """`K = 1`: 0.05 + 0.7309 and 0.2 − 0.3655, whatever ρ is."""
    for rho in (0.0, 0.4):
        found = neutral_bounds(bounds(76, 2, 0.05), k=1, rho=rho)
        assert found.delta_bs_upper == pytest.approx(0.7809, abs=5e-5)
        assert found.g0_lower == pytest.approx(-0.1655, abs=5e-5)
        assert found.vacuous == ()


def test_theorem_1_with_two_and_three_transformations() -> None:
    """`K = 2`, ρ = 0.02: 2 · 0.7809 + 0.02 and −0.1655 − (0.7809 + 0.02); `K = 3`: 3 · 0.7809 + 0.04 and so on."""
    two = neutral_bounds(bounds(76, 2, 0.05), k=2, rho=0.02)
    assert (two.delta_bs_upper, two.g0_lower) == pytest.approx((1.5818, -0.9664), abs=1e-4)
    assert two.vacuous == ()
    three = neutral_bounds(bounds(76, 2, 0.05), k=3, rho=0.02)
    assert (three.delta_bs_upper, three.g0_lower) == pytest.approx((2.3827, -1.7673), abs=1e-4)
    assert three.vacuous == ("delta_bs_upper", "g0_lower"), "no Δ_BS is above 2 and no G_0 below −1"


def test_a_bound_is_vacuous_from_the_end_of_what_is_possible_on() -> None:
    assert neutral_bounds(ArchiveBounds(gamma_upper=2.0, g_min_lower=-0.99), k=1).vacuous == ("delta_bs_upper",)
    assert neutral_bounds(ArchiveBounds(gamma_upper=1.99, g_min_lower=-1.0), k=1).vacuous == ("g0_lower",)


@given(sizes, entries, shares)
def test_the_radii_shrink_with_n_and_alpha_and_grow_with_the_archive(n: int, archive_size: int, alpha: float) -> None:
    for radius in (destruction_radius, gain_radius):
        here = radius(n, archive_size, alpha)
        assert radius(n + 1, archive_size, alpha) < here
        assert radius(n, archive_size + 1, alpha) > here
        assert radius(n, archive_size, alpha / 2) > here
    assert destruction_radius(n, archive_size, alpha) == pytest.approx(2 * gain_radius(n, archive_size, alpha))


@given(sizes, entries, shares, gammas, gains, ks, rhos)
def test_the_bounds_loosen_with_k_rho_and_the_estimates(
    n: int, archive_size: int, alpha: float, gamma_hat: float, g_min_hat: float, k: int, rho: float
) -> None:
    archive = bounds(n, archive_size, alpha, gamma_hat, g_min_hat)
    here = neutral_bounds(archive, k=k, rho=rho)
    more, riskier = neutral_bounds(archive, k=k + 1, rho=rho), neutral_bounds(archive, k=k, rho=rho + 0.1)
    assert more.delta_bs_upper > here.delta_bs_upper
    assert more.g0_lower < here.g0_lower
    assert riskier.delta_bs_upper == pytest.approx(here.delta_bs_upper + 0.1 * (k - 1))
    assert riskier.g0_lower == pytest.approx(here.g0_lower - 0.1 * (k - 1))
    fewer = neutral_bounds(bounds(n, archive_size + 1, alpha, gamma_hat, g_min_hat), k=k, rho=rho)
    assert fewer.delta_bs_upper > here.delta_bs_upper
    assert fewer.g0_lower < here.g0_lower


@given(gains, gammas, ks, rhos)
def test_both_bounds_together_are_the_gain_as_released(g_min: float, gamma: float, k: int, rho: float) -> None:
    """Where nothing is estimated `G_0 + Δ_BS = G_rel = G_min + Γ`, so the two bounds add up to it as well."""
    found = neutral_bounds(ArchiveBounds(gamma_upper=gamma, g_min_lower=g_min), k=k, rho=rho)
    assert found.delta_bs_upper + found.g0_lower == pytest.approx(g_min + gamma)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("n", {"n": 0}), ("n", {"n": -3}), ("archive_size", {"archive_size": 0}), ("alpha", {"alpha": 0.0}),
        ("alpha", {"alpha": 1.0}), ("alpha", {"alpha": math.nan}), ("gamma_hat", {"gamma_hat": 12.0}),
        ("g_min_hat", {"g_min_hat": -1.5}),
    ],
)  # fmt: skip
def test_impossible_numbers_are_refused_by_name(name: str, wrong: dict[str, float]) -> None:
    said = {"gamma_hat": 0.05, "g_min_hat": 0.2, "n": 76, "archive_size": 2, "alpha": 0.05, **wrong}
    with pytest.raises(Impossible) as refused:
        hoeffding_bounds(**said)  # type: ignore[arg-type]
    assert refused.value.name == name


@pytest.mark.parametrize(("name", "wrong"), [("k", {"k": 0}), ("k", {"k": math.inf}), ("rho", {"rho": -0.1})])
def test_an_impossible_k_or_rho_is_refused(name: str, wrong: dict[str, float]) -> None:
    with pytest.raises(Impossible) as refused:
        neutral_bounds(ArchiveBounds(gamma_upper=0.5, g_min_lower=0.1), **{"k": 2, **wrong})  # type: ignore[arg-type]
    assert refused.value.name == name
