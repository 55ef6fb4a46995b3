"""`chase plan`: designs by hand, noise from stored rollouts, and sentences for what cannot be planned."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chase.stats.betting import upper_bounds
from chase.stats.bounded import DESTRUCTIONS
from chase.stats.certificate_planning import hoeffding_tasks, tasks_by_betting, tasks_by_hoeffding
from chase.stats.planning import certification_designs, cheapest, confirmation_designs, doubling
from chase.stats.power import Noise, confirmation_power
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace
from tests.cli.commands import Commands
from tests.conftest import open_once
from tests.store.store_samples import sample_key, sample_rollout

INITIAL, HARNESS, CHANGED = "a" * 64, "b" * 64, "c" * 64


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Commands:
    monkeypatch.chdir(tmp_path)
    return Commands(monkeypatch, capsys)


# By hand


def test_hoeffdings_tasks_are_those_of_the_papers_radius() -> None:
    """With |A| = 2 at n = 76 it is 0.7309."""
    assert hoeffding_tasks(0.7310, alpha=0.05, archive_size=2) == 76
    assert hoeffding_tasks(0.7308, alpha=0.05, archive_size=2) == 77


def test_noise_between_tasks_is_bought_off_with_tasks_alone() -> None:
    found = doubling(Noise(between=0.1, within=0.0), 0.1, alpha=0.02, tasks=20, rollouts=2)
    assert found.rollouts == found.now < found.tasks


def test_a_design_has_the_power_that_was_asked_for_and_one_task_less_has_not() -> None:
    noise = Noise(between=0.02, within=0.5)
    for design in confirmation_designs(noise, 0.1, alpha=0.02, power=0.8, rollouts=(1, 5)):
        assert design.episodes == 4 * design.tasks * design.rollouts
        powers = [confirmation_power(0.1, noise.sd(design.rollouts), n, 0.02) for n in (design.tasks - 1, design.tasks)]
        assert powers[0] < 0.8 <= powers[1]


def test_one_rollout_of_many_tasks_is_the_cheapest_where_tasks_differ() -> None:
    designs = certification_designs(
        Noise(between=0.05, within=0.2), 0.1, alpha=0.05, power=0.8, archive=2, rollouts=(1, 3)
    )
    assert cheapest(designs).rollouts == 1
    assert [design.episodes for design in designs] == [6 * d.tasks * d.rollouts for d in designs]
    assert designs[1].tasks < designs[0].tasks


CERTIFICATE = {"alpha": 0.05, "archive_size": 4, "power": 0.8}


def test_by_hoeffding_what_is_added_to_the_radius_is_the_bad_luck_that_the_power_allows() -> None:
    """√(8 ln 320) is 6.7933 and the 80 % quantile 0.8416: ((6.7933 + 0.8416 · 0.4) / 0.15)² is 2260.2."""
    assert tasks_by_hoeffding(0.15, 0.4, **CERTIFICATE) == 2260
    assert tasks_by_hoeffding(0.15, 0.4, **{**CERTIFICATE, "power": 0.5}) == hoeffding_tasks(
        0.15, alpha=0.05, archive_size=4
    )


@pytest.mark.parametrize(("delta", "sd", "jump"), [(0.15, 0.4, 1.0), (0.15, 0.8, 1.0), (0.3, 1.3, 2.0)])
def test_by_betting_the_planned_tasks_have_the_power_that_was_asked_for(delta: float, sd: float, jump: float) -> None:
    """By simulation, seed 101: 300 certifications of values that are 0 or ±jump."""
    tasks, each = tasks_by_betting(delta, sd, **CERTIFICATE), 0.05 / 16
    rare, rng = (sd / jump) ** 2, np.random.default_rng(101)
    shares = []
    for n in (round(0.8 * tasks), tasks, round(1.25 * tasks)):
        drawn = rng.choice([-jump, 0.0, jump], p=[rare / 2, 1 - rare, rare / 2], size=(300, n))
        shares.append((upper_bounds(drawn, DESTRUCTIONS, each) < delta).mean())
    assert shares[0] < 0.8
    assert 0.74 < shares[1] < 0.93
    assert shares[2] > 0.85


def test_a_certificate_takes_more_tasks_for_more_entries_more_noise_less_error_and_less_destruction() -> None:
    base = {"delta": 0.2, "sd": 0.5, **CERTIFICATE}
    for way in (tasks_by_hoeffding, tasks_by_betting):
        usual = way(**base)
        for harder in ({"archive_size": 8}, {"sd": 0.8}, {"alpha": 0.01}, {"delta": 0.1}, {"power": 0.95}):
            assert way(**{**base, **harder}) > usual
    assert tasks_by_betting(**base) < tasks_by_hoeffding(**base)


# The command


def test_certificates_are_planned_by_both_ways(chase: Commands) -> None:
    payload = chase.json("plan", "--benchmark", "syn-ledger@7", "--sd", 0.4, "--rounds", 3)
    both = payload["plans"]["given"]["certificates"]
    (hoeffding,), (betting,) = ([d for d in both[way] if d["rollouts"] == 5] for way in ("hoeffding", "betting"))
    assert payload["archive_size"] == 4
    assert hoeffding["tasks"] == 2260
    assert hoeffding["episodes"] == 2 * 4 * 5 * 2260
    assert 120 < betting["tasks"] < 180
    assert payload["hoeffding_tasks"] == 2051  # 8 ln(16/0.05) / 0.15² is 2050.97
    printed = chase("plan", "--benchmark", "syn-ledger@7", "--sd", 0.4).out
    assert "to prove that what destroys nothing destroys less than 15 points: |A| = 4" in printed
    assert "2,260" in printed


def test_a_deviation_is_planned_with_and_the_cost_of_each_design_is_told(chase: Commands) -> None:
    payload = chase.json("plan", "--benchmark", "syn-ledger@7", "--sd", 0.4, "--rollout-usd", 0.5)
    planned = payload["plans"]["given"]
    assert planned["sd"] == pytest.approx(0.4)
    assert payload["set"] == {"role": "conf1", "tasks": 16, "rollouts": 5}
    by_count = {design["rollouts"]: design for design in planned["confirmation"]}
    assert by_count.keys() == {1, 2, 3, 5, 10}
    assert by_count[5]["tasks"] == 65
    assert by_count[5]["usd"] == 0.5 * 4 * 5 * 65
    assert sum(design["cheapest"] for design in planned["confirmation"]) == 1
    printed = chase("plan", "--benchmark", "syn-ledger@7", "--sd", 0.4)
    assert "has a power of 20 %; with twice the tasks 46 %, with twice the rollouts 41 %." in printed.out


def test_without_any_noise_an_assumption_is_stated(chase: Commands) -> None:
    finished = chase("plan", "--benchmark", "syn-ledger@7")
    assert finished.code == 0
    assert "noise: assumed: independent rollouts of 0/1 scores that are right 75 % of the time." in finished.out


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--sd", 0.4, "--noise-from", "latest"), "--sd and --noise-from both say what the noise is: leave one out."),
        (("--sd", 0.0), "sd=0 would need no planning"),
        (("--delta", 1.5), "delta=1.5 must be a number above 0 and below 1."),
        (("--delta", 0.0001, "--sd", 0.4), "delta=0.0001 takes more than 1,000,000 tasks with this noise"),
    ],
)
def test_what_cannot_be_planned_is_one_sentence(chase: Commands, flags: tuple[Any, ...], sentence: str) -> None:
    finished = chase("plan", "--benchmark", "syn-ledger@7", *flags)
    assert finished.code == 2
    assert sentence in finished.sentence


# Noise from stored rollouts


def stored(folder: Path, config: dict[str, Any], *, role: str = "conf1", rollouts: int = 2, placebo: str = "") -> None:
    """Both harnesses fail in the first rollout and succeed in the second as released, and always succeed otherwise."""
    released = open_once("syn-ledger@7").variant("released").hash
    others = [CHANGED, *([open_once("syn-ledger@7").variant(placebo).hash] if placebo else [])]
    with Store.open(Workspace(folder), write=True) as store:
        store.create_run("chase-1", {"command": "evolve", "benchmark": "syn-ledger@7", **config})
        for harness, variant, task, index in product((INITIAL, HARNESS), (released, *others), "xyz", range(rollouts)):
            score = float(index) if variant == released else 1.0
            if variant not in (released, CHANGED) and harness == HARNESS:
                score = float(task == "x")  # what a placebo did must not be looked at
            key = sample_key(task, harness=harness, transformation=variant, role=role, index=index)
            store.record_sync(sample_rollout(key=key, score=score), use=Use(run="chase-1", method="chase"))


def test_the_noise_of_a_run_is_told_with_and_without_common_random_numbers(chase: Commands, tmp_path: Path) -> None:
    stored(tmp_path, {"initial": INITIAL}, placebo="placebo-line-endings")
    payload = chase.json("plan", "--noise-from", "latest", "--delta", 0.08)
    assert payload["benchmark"] == "syn-ledger@7"
    assert payload["noise"] == {
        "source": "run chase-1 on syn-ledger@7, gain destructions on confirmation tasks: 1",
        "independent": {"between": 0.0, "within": 1.0},
        "common": {"between": 0.0, "within": 0.0},
    }
    assert payload["plans"]["common"]["power"]["now"] == 1.0
    assert payload["plans"]["independent"]["sd"] == pytest.approx((1 / 5) ** 0.5)
    assert {design["tokens"] for design in payload["plans"]["common"]["confirmation"]} != {None}


@pytest.mark.parametrize(
    ("config", "role", "rollouts", "sentence"),
    [
        ({}, "conf1", 2, "has no gain destruction: name a run of `chase evolve` or `chase audit`."),
        ({"initial": INITIAL}, "conf1", 1, "has no gain destruction with two rollouts of each task"),
        ({"initial": INITIAL}, "cert", 2, "has no gain destruction with two rollouts of each task"),
    ],
)
def test_a_run_that_shows_no_noise_is_refused(
    chase: Commands, tmp_path: Path, config: dict[str, Any], role: str, rollouts: int, sentence: str
) -> None:
    stored(tmp_path, config, role=role, rollouts=rollouts)
    finished = chase("plan", "--noise-from", "chase-1")
    assert finished.code == 2
    assert sentence in finished.sentence


def test_search_tasks_serve_where_nothing_was_confirmed(chase: Commands, tmp_path: Path) -> None:
    stored(tmp_path, {"baseline": INITIAL}, role="disc")
    assert "gain destructions on search tasks: 1" in chase("plan", "--noise-from", "latest").out
