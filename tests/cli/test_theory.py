"""`chase theory`: the theorems on numbers of one's own, as a user meets them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import Commands

PAGE = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text(encoding="utf-8")

ONE = ("theory", "theorem1", "--gamma-hat", "0.05", "--g-min-hat", "0.2", "--n", "76", "--archive-size", "2")
TWO = ("theory", "theorem2", "--c", "2", "--d", "1.5", "--gamma", "0.9", "--rounds", "9")
THREE = ("theory", "theorem3", "--epsilon", "0.05", "--gamma", "0.1", "--n", "16", "--rounds", "3")


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(monkeypatch, capsys)


def test_theorem_1_at_the_papers_76_tasks(chase: Commands) -> None:
    found = chase.json(*ONE, "--k", "2", "--rho", "0.02", "--alpha", "0.05")
    numbers = [found[key] for key in ("s_delta", "s_g", "delta_bs_upper", "g0_lower")]
    assert numbers == pytest.approx([0.7309, 0.3655, 1.5818, -0.9664], abs=1e-4)
    assert (found["vacuous"], found["plug_in"], found["applies"]) == (False, False, True)
    said = chase(*ONE, "--k", "2", "--rho", "0.02", "--estimated").out
    assert "Δ_BS ≤ +1.5818 and G_0 ≥ -0.9664" in said
    assert "plug-in, not a guarantee" in said
    assert "no surviving gain is certified" in said
    assert "composition of 2 archived transformations" in said


def test_the_page_shows_what_its_commands_print(chase: Commands) -> None:
    commands = [line.split()[1:] for line in PAGE.splitlines() if line.startswith("chase theory ")]
    assert len(commands) == 3
    assert f"```\n{chase(*commands[0]).out}```" in PAGE
    for command in commands[1:]:
        assert chase(*command).code == 0


def test_at_k_1_no_rho_is_asked_for_and_none_is_estimated(chase: Commands) -> None:
    found = chase.json(*ONE, "--estimated")
    assert (found["k"], found["rho"], found["plug_in"]) == (1, None, False)
    assert "ρ plays no part" in chase(*ONE).out


def test_an_infinite_k_says_that_theorem_1_does_not_apply_and_what_does(chase: Commands) -> None:
    found = chase.json(*ONE, "--k", "inf")
    assert (found["applies"], found["delta_bs_upper"], found["g0_lower"]) == (False, None, None)
    assert (found["gamma_upper"], found["g_min_lower"]) == pytest.approx((0.7809, -0.1655), abs=1e-4)
    said = chase(*ONE, "--k", "inf").out
    assert "Theorem 1 does not apply" in said
    assert "Γ_A ≤ +0.7809" in said


def test_a_vacuous_bound_is_called_vacuous(chase: Commands) -> None:
    few = [*ONE]
    few[few.index("76")] = "8"
    assert chase.json(*few)["vacuous_bounds"] == ["delta_bs_upper"]
    assert "Vacuous, the bound on Δ_BS" in chase(*few).out
    said = chase(*THREE, "--r", "0.06").out
    assert "x_t is 1.757" in said
    assert "Vacuous, that bound" in said
    assert "there is none, because Δ of the released benchmark is always 0" in said


def test_theorem_2_from_a_radius_and_from_search_sets(chase: Commands) -> None:
    found = chase.json(*TWO, "--r", "0.4")
    assert (found["most_confirmed"], found["stops"]) == (pytest.approx(8.0), True)
    sets = ("--n-evo", "32", "--rademacher-evo", "0.1", "--n-disc", "64", "--rademacher-disc", "0.3")
    none = chase.json(*TWO, *sets, "--estimated")
    assert none["r"] == pytest.approx(1.3965, abs=1e-4)
    assert (none["applies"], none["most_confirmed"], none["plug_in"]) == (False, None, True)
    assert "no γ would do" in chase(*TWO, *sets).out


def test_theorem_3_has_every_figure(chase: Commands) -> None:
    found = chase.json(*THREE, "--r", "0.06", "--estimated")
    assert (found["x_t"], found["eta_conf"]) == pytest.approx((1.7570, 1.9070), abs=1e-4)
    assert found["destruction_upper"] == pytest.approx(0.05 + 0.1 + 0.12 + 2 * 1.75696, abs=1e-4)
    assert found["vacuous_bounds"] == ["destruction_upper", "shortfall"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((*ONE, "--alpha", "1"), "--alpha=1 must lie between 0 and 1"),
        ((*ONE, "--k", "0"), "--k=0 must be a whole number"),
        ((*ONE, "--k", "two"), "--k=two must be a whole number"),
        ((*ONE, "--k", "2"), "--k 2 needs --rho"),
        ((*ONE, "--k", "2", "--rho", "-1"), "--rho=-1 must be"),
        ((*ONE[:7], "0", *ONE[8:]), "--n=0 must be a number of at least 1"),
        ((*ONE[:9], "0"), "--archive-size=0 must be"),
        ((*ONE[:3], "5", *ONE[4:]), "--gamma-hat=5 must lie between -2 and 2: a fraction, not percent"),
        (TWO, "give --r, or --n-evo and --n-disc"),
        ((*TWO, "--r", "0.1", "--n-evo", "3"), "leave --n-evo and --n-disc out"),
        ((*TWO, "--n-evo", "0", "--n-disc", "3"), "--n-evo=0 must be"),
        ((*TWO[:7], "1.2", *TWO[8:], "--r", "0.1"), "--gamma=1.2 must lie above 0"),
        ((*THREE, "--r", "-0.1"), "--r=-0.1 must be"),
    ],
)
def test_impossible_numbers_are_refused_with_what_to_give(chase: Commands, given: tuple[str, ...], said: str) -> None:
    finished = chase(*given)
    assert finished.code == 2
    assert said in finished.sentence
