"""Forecasts hold: against an oracle that plays the worst case cell by cell, and against what real runs make."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.challengers.mining import MiningChallenger
from chase.core.agents import AnswersOnce, Draft, EpisodeBounds
from chase.core.interfaces import Benchmark
from chase.harness.folder import initial_harness
from chase.harness.spec import Harness
from chase.methods.arena import Variant
from chase.methods.audit_plan import AuditPlan
from chase.methods.audit_search import SearchSettings
from chase.methods.bounds import Between
from chase.methods.forecast import (
    Forecast,
    forecast_audit,
    forecast_evolution,
    forecast_repair,
)
from chase.methods.repair_audited import RepairPlan
from chase.methods.repair_measurement import AuditedCounterfactual
from chase.protocol.kit import ProtocolKit
from chase.testing.ledger import H0
from tests.engine.rollouts import make_harness
from tests.methods.runs import ROLLOUTS, SIZES, few_tasks, plan, running
from tests.testing.almanacs import make_harness as in_almanac
from tests.testing.almanacs import open_once


class Writes(AnswersOnce):
    """A Challenger whose drafts have at most so many operators."""

    name = "writes"

    def __init__(self, operators: int | None) -> None:
        self.bounds = EpisodeBounds(operators=operators)

    async def challenge(self, context: Any) -> list[Draft]:
        return []


def by_role(forecast: Forecast) -> dict[str, Between]:
    found: dict[str, Between] = {}
    for row in forecast.rollouts:
        found[row.role] = found.get(row.role, Between(least=0, most=0)) + row.count
    return found


def worst_cells(rounds: int, operators: int, *, reduce: bool, sets: int = 3) -> Counter[str]:
    """Algorithm 1 with three new candidates and an archived entry in every round, and every part evaluated."""
    cells: set[tuple[str, str, str]] = set()
    variants, line = ["rel"], ["H0"]
    for t in range(1, rounds + 1):
        pool = ["H0", line[-1], *(f"H{t}" if place == 0 else f"r{t}-{place}" for place in range(3))]
        cells |= {("evo", harness, variant) for harness in pool for variant in variants}
        line.append(f"H{t}")
        parts = [frozenset({operator}) for operator in range(operators)] if operators > 1 and reduce else []
        if operators > 2 and reduce:
            every_pair = list(combinations(range(operators), 2))
            with_best = [pair for pair in every_pair if 0 in pair]
            both = [*parts, *map(frozenset, with_best)]
            parts = max(both, list(map(frozenset, every_pair)), key=len)
        tried = [f"{t}-first", f"{t}-second", *(f"{t}-{sorted(part)}" for part in parts)]
        cells |= {("disc", harness, variant) for harness in ("H0", f"H{t}") for variant in ("rel", *tried)}
        role = f"conf{(t - 1) % sets + 1}"
        cells |= {(role, harness, variant) for harness in ("H0", f"H{t}") for variant in ("rel", f"b{t}")}
        variants.append(f"b{t}")
    cells |= {("evo", harness, variant) for harness in line for variant in variants}
    cells |= {("cert", harness, variant) for harness in ("H0", line[-1]) for variant in (*variants, "neutral")}
    return Counter(role for role, _, _ in cells)


@pytest.mark.parametrize("rounds", [1, 2, 3, 4, 7])
@pytest.mark.parametrize(("operators", "reduce"), [(1, True), (2, True), (3, True), (4, False), (4, True), (12, True)])
def test_the_most_is_the_worst_case_played_cell_by_cell(
    ledger: SynLedger, rounds: int, operators: int, reduce: bool
) -> None:
    few = few_tasks(ledger)
    made = plan(few, kit=kit_of(ledger), challenger=Writes(operators), rounds=rounds, reduce=reduce)
    found = by_role(forecast_evolution(made))
    expected = worst_cells(rounds, operators, reduce=reduce)
    assert {role: count.most for role, count in found.items()} == {r: n * SIZES[r] for r, n in expected.items()}


_KITS: dict[str, Any] = {}


def kit_of(benchmark: Benchmark[Any]) -> Any:
    return _KITS.setdefault(benchmark.name, ProtocolKit(benchmark))


def test_the_least_is_the_initial_harness_alone(ledger: SynLedger) -> None:
    found = by_role(forecast_evolution(plan(few_tasks(ledger), kit=kit_of(ledger), rounds=3)))
    least = {role: count.least for role, count in found.items()}
    assert least == {"evo": 16, "disc": 8, "conf1": 0, "conf2": 0, "conf3": 0, "cert": 8}


def test_without_certification_the_sealed_tasks_are_not_in_it(ledger: SynLedger) -> None:
    assert "cert" not in by_role(forecast_evolution(plan(few_tasks(ledger), kit=kit_of(ledger)), certify=False))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["chase", "chase-without-challenger"])
async def test_a_real_run_lies_between_least_and_most(ledger: SynLedger, tmp_path: Path, method: Any) -> None:
    made = plan(
        few_tasks(ledger), kit=kit_of(ledger), method=method, challenger=MiningChallenger(), seed=3, eta="0", rounds=2
    )
    forecast = forecast_evolution(made)
    async with running(made, tmp_path) as run:
        await run.certify(await run.evolve())
        executed = Counter(used.rollout.key.role for used in run.store.used("run-1"))
    bounds = by_role(forecast)
    assert executed.keys() <= bounds.keys()
    for role, count in bounds.items():
        assert count.least <= executed[role] <= count.most, role
    assert method == "chase-without-challenger" or executed["conf1"]  # the Challenger was asked
    if method == "chase-without-challenger":
        assert set(bounds) == {"evo", "cert"}
        assert [episodes.agent for episodes in forecast.agents] == ["proposer"]


# An audit


def audit_plan(benchmark: Benchmark[Any], **more: Any) -> AuditPlan:
    settings = {
        "benchmark": few_tasks(benchmark) if isinstance(benchmark, SynLedger) else benchmark,
        "kit": kit_of(benchmark),
        "baseline": H0,
        "harness": make_harness(memory="x"),
        "challenger": Writes(2),
        "settings": SearchSettings(rounds=2, battery=False),
        "rollouts": ROLLOUTS,
        "seed": 0,
        **more,
    }
    return AuditPlan(**settings)


def test_an_audit_searches_on_two_sets_and_confirms_on_the_others(ledger: SynLedger) -> None:
    found = by_role(forecast_audit(audit_plan(ledger)))
    # Each round: two proposals, two parts of the better one, both harnesses; as released once. It may not be searched.
    assert found["evo"] == Between(least=0, most=(2 + 2 * 8) * 16)
    # As released, and under what each round finds.
    assert found["conf1"] == Between(least=2 * 8, most=2 * 3 * 8)
    assert "cert" not in found
    assert "cert" in by_role(forecast_audit(audit_plan(ledger, use_cert="to see")))


def test_an_audit_of_given_transformations_searches_nothing(ledger: SynLedger) -> None:
    forecast = forecast_audit(audit_plan(ledger, given=(Draft(form={}),), confirm_size=10))
    found = by_role(forecast)
    assert sum(count.least for count in found.values()) == 2 * 10
    assert sum(count.most for count in found.values()) == 4 * 10
    assert set(found) <= {"conf1", "conf2", "conf3"}
    assert forecast.agents[0].count == Between(least=0, most=0)


def almanac_plan(**more: Any) -> AuditPlan:
    """With a battery of four probes and eight variants of single aspects, on 70 tasks."""
    almanac = open_once("almanac@1-large")
    return audit_plan(almanac, baseline=initial_harness(almanac), rollouts=dict.fromkeys(almanac.roles, 1), **more)


def of_stage(forecast: Forecast, stage: str) -> Between:
    return sum((row.count for row in forecast.rollouts if row.stage == stage), Between(least=0, most=0))


def saying(*sentences: str) -> Harness:
    return in_almanac(open_once("almanac@1-large"), say=" ".join(sentences))


def test_a_battery_adds_its_draws_and_edits_the_harnesses_that_they_make() -> None:
    settings = SearchSettings(rounds=0)
    plain = forecast_audit(almanac_plan(harness=saying("One.", "Two two."), settings=replace(settings, whole=True)))
    assert {row.stage for row in plain.rollouts} == {"battery", "confirmation"}
    assert of_stage(plain, "battery") == Between(least=2 * 70, most=2 * (1 + 4) * 70)
    two, three = (
        forecast_audit(almanac_plan(harness=saying(*said), settings=settings))
        for said in (["One.", "Two two."], ["One.", "Two two.", "Three three three."])
    )
    # Two edits make two harnesses, three make six; beside them the gain of the honest ones and without the shortcuts.
    assert of_stage(two, "edits") == Between(least=0, most=(2 * 5 + 2) * 70)
    assert of_stage(three, "edits") == Between(least=0, most=(6 * 5 + 2) * 70)
    # Of a shortcut one draw of each of four aspects, of the harness both.
    assert of_stage(three, "aspects") == Between(least=0, most=(3 * 4 + 8) * 70)
    one = forecast_audit(almanac_plan(harness=saying("One."), settings=settings))
    assert of_stage(one, "edits").most == 0


def test_an_audit_may_end_on_its_first_look_where_aspects_are_measured_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chase.methods.looks.FIRST_LOOK", 2)
    found = forecast_audit(almanac_plan(harness=saying("One.", "Two two."), settings=SearchSettings(rounds=0)))
    assert of_stage(found, "battery") == Between(least=2 * 35, most=2 * 5 * 70)
    assert of_stage(found, "aspects").most == (2 * 4 + 8) * 35


@pytest.mark.parametrize("counterfactuals", [0, 1, 3])
def test_a_repair_measures_three_harnesses_at_most_and_searches_six_forms(
    ledger: SynLedger, counterfactuals: int
) -> None:
    """Cells of harness and baseline under every variant, of six forms in the search, of three harnesses at the end."""
    benchmark = few_tasks(ledger)
    draw = Variant(name="c", transformation=ledger.variant("released"))
    against = tuple(
        AuditedCounterfactual(name=f"c{i}", what="", source="search", confirmed=True, draws=(draw,))
        for i in range(counterfactuals)
    )
    repair = RepairPlan(
        benchmark=benchmark, kit=ProtocolKit(benchmark), rollouts=ROLLOUTS, seed=0, audit="a", verdict="not supported",
        baseline=H0, harness=make_harness(memory="x"), counterfactuals=against, epsilon="0.05", level=0.95,
    )  # fmt: skip
    variants = 1 + counterfactuals if counterfactuals else 0
    found = forecast_repair(repair)
    assert found.agents == ()
    assert by_role(found) == (
        {role: Between(least=2 * variants * SIZES[role], most=8 * variants * SIZES[role]) for role in ("evo", "disc")}
        | {role: Between(least=0, most=3 * variants * SIZES[role]) for role in ("conf1", "conf2", "conf3")}
        if counterfactuals
        else {}
    )
