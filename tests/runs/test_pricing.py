"""A forecast in tokens and money: from what rollouts take and models cost; what is not known stays unknown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.agents import EpisodeBounds
from chase.core.values import Outcome, Rollout, RolloutKey, TypicalRollout, Usage
from chase.methods.forecast import forecast_audit, forecast_evolution
from chase.runs.pricing import Rates, describe, typical_rollout
from chase.store.store import Store
from chase.store.workspace import Workspace
from tests.methods.runs import few_tasks, plan
from tests.methods.test_forecast import Writes, audit_plan, kit_of


def rates(**more: Any) -> Rates:
    typical = TypicalRollout(
        source="x", measured=1, requests=4, input_tokens=4_000, cached_tokens=400, output_tokens=40
    )

    def price(given: int, cached: int, said: int) -> float | None:
        return (given - cached) * 1e-6 + cached * 1e-7 + said * 1e-5

    prices = {"proposer": price, "challenger": price}
    return Rates(**{"typical": typical, "reply_tokens": None, "price": price, "agent_prices": prices, **more})


def test_expected_tokens_and_cost_follow_from_what_a_rollout_takes(ledger: SynLedger) -> None:
    forecast = forecast_evolution(
        plan(few_tasks(ledger), kit=kit_of(ledger), method="chase-without-challenger", rounds=1)
    )
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
    assert typical_rollout(None, ledger, "m") == ledger.defaults.typical
    with Store.open(Workspace(tmp_path), write=True) as store:
        assert typical_rollout(store, ledger, "m") == ledger.defaults.typical
        for place, (model, tokens) in enumerate([("m", 100), ("m", 300), ("other", 800)]):
            store.record_sync(scored(ledger, f"task-{place}", model, tokens))
        mine, any_ = typical_rollout(store, ledger, "m"), typical_rollout(store, ledger, "third")
    assert mine is not None
    assert any_ is not None
    assert (mine.measured, mine.input_tokens, mine.requests) == (2, 200, 2)
    assert (any_.measured, any_.input_tokens) == (3, 400)
    assert "of this model" in mine.source
    assert "of other models" in any_.source
