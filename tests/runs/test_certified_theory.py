"""What the theorems say of a certification: K given, searched or unknown, and what only a user can know."""

from __future__ import annotations

from typing import Any

import pytest

from chase.core.errors import UserError
from chase.runs.certified_theory import Assumed, theorems_of
from chase.runs.theory import refusing

CERTIFICATE = {
    "hoeffding": {"gamma_upper": 0.7809, "g_min_lower": -0.1655}, "betting": {"gamma_upper": 0.2, "g_min_lower": 0.1},
    "s_delta": 0.7309, "s_g": 0.3655, "archive_size": 2, "n": 76, "alpha": 0.05, "seed": 3,
}  # fmt: skip
NEUTRAL = {way: {"gamma_upper": 0.3, "g_min_lower": 0.05} for way in ("hoeffding", "betting")}
TERM = {"value": 0.1, "se": 0.001, "tasks": 32, "harnesses": 5, "pairs": 6}


def found(**changes: Any) -> dict[str, Any]:
    """A result of a run with two tested rounds, the second not confirmed."""
    certified = {
        "certificate": CERTIFICATE, "neutral": NEUTRAL, "composition": {"k": None, "names": [], "tried": 4},
        "search": {"evo": TERM, "disc": TERM}, "invalid": {}, "reopened": [], **changes,
    }  # fmt: skip
    rounds = [
        {"round": t, "confirmation": {"role": f"conf{t}", "destruction": {"value": 0.1}, "confirmed": t == 1}}
        for t in (1, 2)
    ]
    config = {"epsilon": "0.05", "rounds": 3, "tasks": {"evo": 32, "disc": 32, "conf1": 16, "conf2": 16, "cert": 76}}
    final = {"changes": ["one"]}
    skipped = {"round": 3, "challenger": {"skipped": "…"}}
    return {"config": config, "final": final, "rounds": [*rounds, skipped], "certification": certified}


def said(*, assumed: Assumed | None = None, **changes: Any) -> dict[str, Any]:
    theorems: Any = theorems_of(found(**changes), assumed)
    return dict(theorems)


def test_where_nothing_composes_to_b0_theorem_1_does_not_apply_and_the_archives_bounds_hold() -> None:
    theorems = said()
    assert "does not apply: no composition of up to 4" in theorems["sentences"][0]
    for way, upper in (("hoeffding", 0.7809), ("betting", 0.2)):
        assert theorems["theorem1"][way]["applies"] is False
        assert theorems["theorem1"][way]["gamma_upper"] == upper
        assert not any("does not apply" in sentence for sentence in theorems["theorem1"][way]["sentences"])
    assert theorems["neutral"]["betting"] == {"delta_bs_upper": 0.3, "g0_lower": 0.05}
    assert theorems["k"] == {"value": None, "source": "searched", "names": [], "tried": 4}


def test_a_k_that_was_found_is_used_and_from_two_on_rho_is_asked_for() -> None:
    one = said(composition={"k": 1, "names": ["b1"], "tried": 1})
    assert one["theorem1"]["betting"]["delta_bs_upper"] == 0.2
    assert one["sentences"] == ["Theorem 1 applies with K(A) = 1 (b1 makes B_0)."]
    two = {"k": 2, "names": ["b1", "b2"], "tried": 2}
    without = said(composition=two)
    assert "needs ρ at K(A) = 2: give --rho" in without["sentences"][0]
    assert without["theorem1"]["betting"]["applies"] is False
    with_rho = said(composition=two, assumed=Assumed(rho=0.02))["theorem1"]["betting"]
    assert (with_rho["delta_bs_upper"], with_rho["g0_lower"]) == pytest.approx((0.42, 0.1 - 0.22))
    assert with_rho["plug_in"] is True


def test_a_given_k_wins_and_without_b0_it_is_not_known() -> None:
    assert said(assumed=Assumed(k="1"))["theorem1"]["betting"]["applies"] is True
    assert "as was given" in said(assumed=Assumed(k="inf"))["sentences"][0]
    unknown = said(composition=None, neutral=None)
    assert "B_0 is not known here" in unknown["sentences"][0]
    assert (unknown["neutral"], unknown["k"]["source"]) == (None, "unknown")
    assert "no counterfactual was archived" in said(composition={"k": None, "names": [], "tried": 0})["sentences"][0]
    with pytest.raises(UserError, match="--k=0"):
        said(assumed=Assumed(k="0"))


def test_what_the_conditions_ask_and_the_run_did_otherwise_is_told() -> None:
    sentences = said(invalid={"b2": ["access"]}, reopened=["again"])["sentences"]
    assert any("against the condition that the archive is fixed: b2" in sentence for sentence in sentences)
    assert any("opened more than once" in sentence for sentence in sentences)
    same = {**found(), "final": {"changes": []}}
    theorems: Any = theorems_of(same)
    assert any("0 by definition" in sentence for sentence in theorems["sentences"])


def test_lemma_1_and_theorems_2_and_3_are_told_with_their_numbers() -> None:
    """r = 2 · 0.1 + √(8 log 160 / 32) = 1.3264; x = 1.7570; ε + 2r + 2x = 6.217."""
    evolution = said()["evolution"]
    assert (evolution["r"], evolution["r_least"]) == pytest.approx((1.3264, 1.1264), abs=1e-4)
    assert evolution["x_t"] == pytest.approx({"conf1": 1.7570, "conf2": 1.7570}, abs=1e-4)
    radius, second, third = evolution["sentences"]
    assert "plug-in, not a guarantee" in radius
    assert "does not apply whatever γ is" in second
    assert "round 2: x_t is 1.757" in third
    assert "6.217 (vacuous" in third


def test_with_many_tasks_theorems_2_and_3_use_what_is_given() -> None:
    """r = √(8 log 160 / 10^6) + 0.002 = 0.0084: (2 / (0.5 − r))^1 = 4.07."""
    many = {role: {**TERM, "value": 0.001, "tasks": 10**6} for role in ("evo", "disc")}
    missing = said(search=many)["evolution"]
    assert "give --gamma, --packing-c and --packing-d" in missing["sentences"][1]
    assumed = Assumed(gamma=0.5, c=2, d=1)
    evolution = said(search=many, assumed=assumed)["evolution"]
    assert evolution["theorem2"]["most_confirmed"] == pytest.approx(4.068, abs=1e-3)
    (third,) = evolution["theorem3"]
    assert third["round"] == 2
    assert third["destruction_upper"] == pytest.approx(0.05 + 0.5 + 0.0167 + 2 * 1.75696, abs=1e-3)
    with pytest.raises(UserError, match="--gamma=3"), refusing():
        said(search=many, assumed=Assumed(gamma=3, c=2, d=1))
    with pytest.raises(UserError, match="--packing-c=0"), refusing(c="--packing-c"):
        said(search=many, assumed=Assumed(gamma=0.5, c=0, d=1))


def test_a_method_that_does_not_search_on_both_sets_has_no_theorem_2_or_3() -> None:
    assert said(search={"evo": TERM})["evolution"] is None


def test_nothing_is_said_where_nothing_was_certified() -> None:
    assert theorems_of({**found(), "certification": None}) is None


def test_theorem_3_speaks_of_rounds_that_are_not_confirmed_at_the_theorys_threshold_either() -> None:
    def sentences(destruction: float, **more: Any) -> list[str]:
        result = found()
        result["rounds"][1]["confirmation"] |= {"destruction": {"value": destruction}, **more}
        theorems: Any = theorems_of(result)
        return [s for s in theorems["evolution"]["sentences"] if s.startswith("Theorem 3")]

    looks = [{"rollouts": 2}, {"rollouts": 4}]
    assert sentences(0.1)[0].startswith("Theorem 3, round 2")
    assert sentences(1.79)[0].startswith("Theorem 3, round 2")  # ε + x_t is 0.05 + 1.757
    assert sentences(1.82) == [NOTHING]
    assert sentences(0.1, test={"rollouts": 5, "looks": looks}) == [NOTHING]
    assert sentences(0.1, test={"rollouts": 4, "looks": looks})[0].startswith("Theorem 3, round 2")


NOTHING = "Theorem 3 says nothing: it is about rounds that were tested in full and not confirmed; there was none."
