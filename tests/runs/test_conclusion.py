"""An evolution's conclusion: what its figures mean in words, for every way it can end."""

from __future__ import annotations

from typing import Any

import pytest

from chase.runs.conclusion import _placebos_in_words, by_noise_in_words, conclusion_of, too_few

PILOT = "Too small to conclude (a pilot): on 8 tasks even a gain of 20 points could not be told from nothing."


def about(value: float, radius: float, n: int = 208) -> dict[str, Any]:
    return {
        "value": value, "se": radius / 2, "n": n, "low": value - radius, "high": value + radius, "level": 0.95,
    }  # fmt: skip


def certified(gains: dict[str, tuple[float, float]], tasks: int = 208) -> dict[str, Any]:
    """Gains with radius; H_0 scores half of everything but under b1, where it is 5 %."""
    base = {name: 0.05 if name == "b1" else 0.5 for name in gains}
    return {
        "tasks": tasks,
        "gains": {name: about(*gain) for name, gain in gains.items()},
        "scores": {
            "H0": {name: about(base[name], 0.1) for name in gains},
            "H*": {name: about(base[name] + gain[0], 0.1) for name, gain in gains.items()},
        },
    }


def found(certification: dict[str, Any] | None, *, archive: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    entries = [{"name": name, "what": f"what {name} does", "symbols": "reverse (aspect format)"} for name in archive]
    pool = [{"harness": "H0", "released": 0.5}, {"harness": "r1", "released": 0.75}]
    final = {"name": "r1", "changes": ["one"], "selection": {"pool": pool}}
    return {"final": final, "archive": entries, "rounds": [], "certification": certification, **more}


def test_a_gain_is_told_with_its_interval_and_what_survives_with_its_scores() -> None:
    said = conclusion_of(
        found(certified({"released": (0.093, 0.04), "b1": (0.01, 0.03), "b2": (0.071, 0.03)}), archive=("b1", "b2"))
    )
    assert said["word"] == "gain"
    assert said["sentences"] == [
        "H* gains +9.3 points on 208 sealed tasks (+5.3 to +13.3): 50.0 % to 59.3 %.",
        "Under the worst archived counterfactual (b1: what b1 does) +1.0 points survive (-2.0 to +4.0): "
        "5.0 % to 6.0 %.",
    ]
    assert [(row["name"], row["what"], row["scores"]["H*"]["value"]) for row in said["counterfactuals"]] == [
        ("released", "as released", 0.593),
        ("b1", "what b1 does", pytest.approx(0.06)),
        ("b2", "what b2 does", 0.571),
    ]


def test_the_known_neutral_benchmark_is_told_and_is_no_entry_of_the_archive() -> None:
    said = conclusion_of(found(certified({"released": (0.1, 0.05), "neutral": (0.02, 0.05)})))
    assert said["sentences"][1:] == [
        "No counterfactual was archived: the gain was not held to any.",
        "With every planted regularity removed it gains +2.0 points (-3.0 to +7.0): 50.0 % to 52.0 %.",
    ]


@pytest.mark.parametrize(
    ("gain", "tasks", "word", "sentence"),
    [
        ((0.02, 0.05), 208, "inconclusive", "That cannot be told from nothing."),
        ((-0.2, 0.05), 208, "loss", "That is a loss."),
        ((0.1, 0.3), 8, "too small", PILOT),
    ],
)  # fmt: skip
def test_what_shows_nothing_says_so(gain: tuple[float, float], tasks: int, word: str, sentence: str) -> None:
    said = conclusion_of(found(certified({"released": gain}, tasks)))
    assert said["word"] == word
    assert said["sentences"][1] == sentence


def test_a_run_that_is_not_certified_claims_no_gain() -> None:
    said = conclusion_of(found(None, archive=("b1",)))
    assert said["word"] == "not certified"
    assert said["sentences"] == [
        "H* scores 75.0 % on the tasks that it was selected on and H_0 50.0 %: no measure of its gain, for which the "
        "sealed tasks are there."
    ]
    assert said["counterfactuals"] == []


def test_a_run_that_ends_with_h0_says_so_and_nothing_of_a_gain() -> None:
    said = conclusion_of({**found(certified({"released": (0.0, 0.02)})), "final": {"changes": []}})
    assert said["word"] == "unchanged"
    assert len(said["sentences"]) == 1
    assert "the initial harness H_0 itself" in said["sentences"][0]


def confirmation(t: int, by_noise: float | None, confirmed: bool) -> dict[str, Any]:
    tested = {
        "role": f"conf{t}", "destruction": about(0.1, 0.1, 16), "eta": "0.05", "by_noise": by_noise,
        "confirmed": confirmed,
    }  # fmt: skip
    return {"round": t, "challenger": {"frozen": {"what": "w", "symbols": "s"}}, "confirmation": tested}


def test_confirmations_are_told_with_what_noise_alone_would_confirm() -> None:
    rounds = [confirmation(1, 0.3, True), confirmation(2, 0.2, False), {"round": 3, "challenger": {"skipped": "…"}}]
    said = conclusion_of(found(None, rounds=rounds))
    assert said["sentences"][-1] == (
        "1 of 2 counterfactuals that were put to the test were confirmed; of as many that destroy nothing, noise alone "
        "would confirm 0.5 on average."
    )
    assert [(row["round"], row["by_noise"], row["confirmed"]) for row in said["confirmations"]] == [
        (1, 0.3, True), (2, 0.2, False),
    ]  # fmt: skip


def test_noise_is_put_into_words() -> None:
    assert by_noise_in_words(0.063) == "noise alone would be confirmed 6.3 % of the time on a set like this"
    assert "not known" in by_noise_in_words(None)


@pytest.mark.parametrize(("tasks", "few"), [(2, True), (8, True), (16, True), (48, False), (208, False)])
def test_a_pilot_is_too_small_and_the_papers_sets_are_not(tasks: int, few: bool) -> None:
    assert too_few(tasks) == few


def test_placebos_are_counted_over_all_rounds() -> None:
    rounds = [
        {"confirmation": {"placebos": [{"confirmed": True}, {"confirmed": False}]}},
        {"unconfirmed": "its gain destruction on disc is not above 0"},
        {"confirmation": {"placebos": [{"confirmed": False}, {"confirmed": False}]}},
    ]
    assert list(_placebos_in_words(rounds)) == ["Of 4 placebos on the same tasks 1 would have been confirmed."]
    assert list(_placebos_in_words([{"confirmation": {}}, {}])) == []
