"""Forecasts hold: against an oracle that plays the worst case cell by cell, and against what real runs make."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.firewall import ledger_kit
from chase.challengers.mining import MiningChallenger
from chase.core.agents import AnswersOnce, Draft, EpisodeBounds
from chase.core.values import Outcome, Rollout, RolloutKey, Usage
from chase.harness.spec import initial_harness
from chase.methods.audit import AuditPlan, AuditSettings
from chase.methods.bounds import Between
from chase.methods.forecast import (
    MEASURED,
    Forecast,
    Rates,
    TypicalRollout,
    describe,
    forecast_audit,
    forecast_evolution,
    typical_rollout,
)
from chase.store.store import Store
from chase.store.workspace import Workspace
from tests.engine.rollouts import make_harness
from tests.methods.runs import ROLLOUTS, SIZES, few_tasks, plan, running


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


def kit_of(ledger: SynLedger) -> Any:
    return _KITS.setdefault(ledger.name, ledger_kit(ledger))


def test_the_least_is_the_initial_harness_alone(ledger: SynLedger) -> None:
    found = by_role(forecast_evolution(plan(few_tasks(ledger), kit=kit_of(ledger), rounds=3)))
    least = {role: count.least for role, count in found.items()}
    assert least == {"evo": 16, "disc": 8, "conf1": 0, "conf2": 0, "conf3": 0, "cert": 8}


def test_without_certification_the_sealed_tasks_are_not_in_it(ledger: SynLedger) -> None:
    assert "cert" not in by_role(forecast_evolution(plan(few_tasks(ledger), kit=kit_of(ledger)), certify=False))


@pytest.mark.parametrize("method", ["chase", "meta-harness"])
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
    assert method == "meta-harness" or executed["conf1"]  # the Challenger was asked
    if method == "meta-harness":
        assert set(bounds) == {"evo", "cert"}
        assert [episodes.agent for episodes in forecast.agents] == ["proposer"]


# An audit


def audit_plan(ledger: SynLedger, **more: Any) -> AuditPlan:
    settings = {
        "benchmark": few_tasks(ledger),
        "kit": kit_of(ledger),
        "baseline": initial_harness("syn-ledger"),
        "harness": make_harness(memory="x"),
        "challenger": Writes(2),
        "settings": AuditSettings(rounds=2),
        "rollouts": ROLLOUTS,
        "seed": 0,
        **more,
    }
    return AuditPlan(**settings)


def test_an_audit_searches_on_two_sets_and_confirms_on_the_others(ledger: SynLedger) -> None:
    found = by_role(forecast_audit(audit_plan(ledger)))
    # Each round: two proposals, two parts of the better one, both harnesses; as released once.
    assert found["evo"] == Between(least=2 * 16, most=(2 + 2 * 8) * 16)
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


# Tokens and cost


def rates(**more: Any) -> Rates:
    typical = TypicalRollout(
        source="x", measured=1, requests=4, input_tokens=4_000, cached_tokens=400, output_tokens=40
    )

    def price(given: int, cached: int, said: int) -> float | None:
        return (given - cached) * 1e-6 + cached * 1e-7 + said * 1e-5

    prices = {"proposer": price, "challenger": price}
    return Rates(**{"typical": typical, "reply_tokens": None, "price": price, "agent_prices": prices, **more})


def test_expected_tokens_and_cost_follow_from_what_a_rollout_takes(ledger: SynLedger) -> None:
    forecast = forecast_evolution(plan(few_tasks(ledger), kit=kit_of(ledger), method="meta-harness", rounds=1))
    found = describe(forecast, rates())
    evo = found["rollouts"][0]
    assert evo["episodes"] == {"least": 16, "most": 64}
    assert evo["requests"] == {"expected": {"least": 64, "most": 256}, "bound": 64 * 16}
    assert evo["tokens"]["expected"] == {"least": 16 * 4_040, "most": 64 * 4_040}
    assert evo["tokens"]["bound"] == 64 * 16 * (65_536 + 4_096)
    each = 4 * (900 * 1e-6 + 100 * 1e-7 + 10 * 1e-5)
    assert evo["cost_usd"]["most"] == pytest.approx(64 * each)
    assert found["per_rollout"]["cost_usd"] == pytest.approx(each)
    assert found["total"]["episodes"] == {"least": 16 + 8 + 1, "most": 64 + 16 + 1}


def test_an_agents_bounds_are_in_the_most_and_an_unknown_one_makes_the_sum_unknown(ledger: SynLedger) -> None:
    asking = Writes(None)
    asking.bounds = EpisodeBounds(requests=10, input_tokens=50_000, output_tokens=1_000)
    made = plan(few_tasks(ledger), kit=kit_of(ledger), challenger=asking, rounds=2)
    found = describe(forecast_evolution(made), rates())
    challenger = found["agents"][1]
    assert (challenger["requests"], challenger["tokens"]) == (20, 102_000)
    assert challenger["cost_usd"] == pytest.approx(2 * (50_000 * 1e-6 + 1_000 * 1e-5))
    rollouts = sum(row["tokens"]["expected"]["most"] for row in found["rollouts"])
    assert found["total"]["tokens"]["expected"]["most"] == pytest.approx(rollouts + 102_000, abs=20)

    class Silent:
        name = "silent"

    silent = describe(forecast_evolution(plan(few_tasks(ledger), kit=kit_of(ledger), challenger=Silent())), rates())  # type: ignore[arg-type]
    assert silent["agents"][1]["tokens"] is None
    assert silent["total"]["tokens"] == {"expected": None, "bound": None}
    assert silent["total"]["cost_usd"] is None


def test_a_price_that_is_not_known_leaves_the_cost_unknown(ledger: SynLedger) -> None:
    found = describe(forecast_audit(audit_plan(ledger)), rates(price=lambda *tokens: None))
    assert found["total"]["cost_usd"] is None
    assert found["total"]["tokens"]["expected"] is not None


def scored(ledger: SynLedger, task: str, model: str, tokens: int) -> Rollout:
    key = RolloutKey(
        model=model,
        harness="h",
        transformation="t",
        benchmark=ledger.content_hash,
        versions="v",
        task=task,
        role="evo",
        index=0,
        run_seed=0,
    )
    used = Usage(requests=2, input_tokens=tokens, output_tokens=10, cost_usd=0.0)
    return Rollout(key=key, outcome=Outcome(status="scored", score=1.0, reason="answered"), answer="1", usage=used)


def test_what_a_rollout_takes_comes_from_the_store_where_it_is_known(ledger: SynLedger, tmp_path: Path) -> None:
    assert typical_rollout(None, ledger, "m") == MEASURED["syn-ledger"]
    with Store.open(Workspace(tmp_path), write=True) as store:
        assert typical_rollout(store, ledger, "m") == MEASURED["syn-ledger"]
        for place, (model, tokens) in enumerate([("m", 100), ("m", 300), ("other", 800)]):
            store.record_sync(scored(ledger, f"task-{place}", model, tokens))
        mine, any_ = typical_rollout(store, ledger, "m"), typical_rollout(store, ledger, "third")
    assert mine is not None
    assert any_ is not None
    assert (mine.measured, mine.input_tokens, mine.requests) == (2, 200, 2)
    assert (any_.measured, any_.input_tokens) == (3, 400)
    assert "of this model" in mine.source
    assert "of other models" in any_.source
