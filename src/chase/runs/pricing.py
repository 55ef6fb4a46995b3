"""A forecast in tokens and money: what the workspace's store and the models' prices add to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chase.core.agents import Agent
from chase.core.interfaces import Benchmark
from chase.methods.forecast import Forecast, Price, Rates, describe, typical_rollout
from chase.models.chat import ChatModel
from chase.runs.models import Models
from chase.runs.opening import locate
from chase.runs.results import ForecastResult
from chase.runs.settings import AuditSettings, EvolveSettings
from chase.store.store import Store


def priced(
    forecast: Forecast, command: str, method: str | None, benchmark: Benchmark[Any], models: Models,
    settings: EvolveSettings | AuditSettings,
) -> ForecastResult:  # fmt: skip
    """What a run would take at least and at most, with what is known of rollouts and prices."""
    model = models.get(str(settings.model))
    workspace = locate(settings.workspace)
    if workspace.database.exists():
        with Store.open(workspace, write=False) as store:
            typical = typical_rollout(store, benchmark, model.fingerprint)
    else:
        typical = typical_rollout(None, benchmark, model.fingerprint)
    most = model.config.settings.get("max_tokens")
    own: Mapping[Agent, str | None] = {
        "proposer": settings.proposer_model if isinstance(settings, EvolveSettings) else None,
        "challenger": settings.challenger_model,
    }
    rates = Rates(
        typical=typical,
        reply_tokens=most if isinstance(most, int) else None,
        price=_price(model),
        agent_prices={agent: _price(models.get(name or model.config.name)) for agent, name in own.items()},
    )
    payload = {
        "command": command,
        "method": method,
        "benchmark": benchmark.name,
        "model": model.config.name,
        **describe(forecast, rates),
    }
    return ForecastResult(payload=payload, steps=forecast.limits.steps)


def _price(model: ChatModel) -> Price:
    return lambda given, cached, said: model.expected_usd(given, said, cached_tokens=cached)
