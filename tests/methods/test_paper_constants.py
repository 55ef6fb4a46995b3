"""The paper's constants, as literals: whoever changes one changes the method."""

from __future__ import annotations

import tomllib
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.terms import DEFAULTS
from chase.methods.audit_search import SearchSettings
from chase.methods.chase import ChaseOptions
from chase.methods.counterfactuals import EVALUATED, KEEPS, MOST_REDUCED
from chase.methods.desks import MOST_CANDIDATES
from chase.protocol.battery import DRAWS, LEVELS
from chase.runs.settings import AuditSettings

CONFIGS = Path(__file__).parents[2] / "configs"


def test_syn_ledger_has_the_papers_rounds_thresholds_and_rollouts() -> None:
    found = asdict(DEFAULTS)
    assert (found["rounds"], found["epsilon"], found["eta"]) == (3, "0.05", "0.05")
    assert found["rollouts"] == {"evo": 2, "disc": 2, "conf1": 5, "conf2": 5, "conf3": 5, "cert": 3}


def test_a_challenger_writes_eight_proposals_of_which_two_are_evaluated() -> None:
    assert ChaseOptions(rounds=3, epsilon="0.05", eta="0.05").proposals == 8
    assert SearchSettings().proposals == 8
    assert AuditSettings(model="m", harness="h").proposals == 8
    assert EVALUATED == 2


@pytest.mark.parametrize(("option", "most"), [("proposals", 64), ("rounds", 20)])
def test_options_have_bounds(option: str, most: int) -> None:
    """Ours."""
    given: dict[str, Any] = {"rounds": 3, "epsilon": "0.05", "eta": "0.05"}
    for value in (1, most):
        assert getattr(ChaseOptions(**{**given, option: value}), option) == value
    for value in (0, most + 1):
        with pytest.raises(ValueError, match=option):
            ChaseOptions(**{**given, option: value})


def test_an_audit_measures_its_battery_then_searches_one_round_at_95_percent() -> None:
    """Ours."""
    found = {"rounds": 1, "proposals": 8, "evaluated": 2, "reduce": True, "battery": True, "level": 0.95}
    assert asdict(SearchSettings()) == {**found, "whole": False, "anyway": False}
    given = AuditSettings(model="m", harness="h")
    assert (given.rounds, given.level, given.no_battery, given.battery_only) == (1, 0.95, False, False)
    assert (LEVELS, DRAWS) == (("low", "high"), 2)


def test_a_round_has_three_candidates_at_most() -> None:
    assert MOST_CANDIDATES == 3


def test_a_reduced_composition_keeps_four_fifths() -> None:
    """Ours: the paper does not reduce."""
    assert Fraction(4, 5) == KEEPS
    assert MOST_REDUCED == 2


@pytest.mark.parametrize(("name", "eta"), [("syn-ledger", "0.05"), ("officeqa", "0.075")])
def test_the_configs_are_the_papers(name: str, eta: str) -> None:
    config: dict[str, Any] = tomllib.loads((CONFIGS / f"paper-{name}.toml").read_text(encoding="utf-8"))
    thresholds = {key: config[key] for key in ("rounds", "epsilon", "eta", "proposals", "no_reduce")}
    assert thresholds == {"rounds": 3, "epsilon": "0.05", "eta": eta, "proposals": 8, "no_reduce": True}
    assert config["rollouts"] == {"evo": 2, "disc": 2, "conf": 5, "cert": 3}
