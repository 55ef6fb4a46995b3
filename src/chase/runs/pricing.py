"""A forecast in requests, tokens and money: what the store knows of rollouts and the models of prices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from chase.core.interfaces import Benchmark, Judged
from chase.core.values import Json, TypicalRollout
from chase.engine.judging import judge_of
from chase.methods.bounds import Between
from chase.methods.forecast import Asked, Episodes, Forecast
from chase.models.chat import ChatModel
from chase.runs.models import Models
from chase.runs.opening import locate
from chase.runs.results import ForecastResult
from chase.runs.settings import AuditSettings, CompareSettings, EvolveSettings, Proposers
from chase.store.reader import Reader
from chase.store.store import Store

REPLY_TOKENS = 4_096
"""In a bound: of a reply of a model whose settings have no max_tokens."""

Price = Callable[[int, int, int], float | None]
"""USD for one request's input tokens, cached ones among them, and output tokens; None if unknown."""


def priced(
    forecast: Forecast, command: str, method: str | None, benchmark: Benchmark[Any], models: Models,
    settings: EvolveSettings | CompareSettings | AuditSettings,
) -> ForecastResult:  # fmt: skip
    """What a run would take at least and at most, with what is known of rollouts and prices."""
    forecast = _with_judge(forecast, benchmark)
    model = models.get(str(settings.model))
    workspace = locate(settings.workspace)
    if workspace.database.exists():
        with Store.open(workspace, write=False) as store:
            typical = typical_rollout(store, benchmark, model.fingerprint)
    else:
        typical = typical_rollout(None, benchmark, model.fingerprint)
    most = model.config.settings.get("max_tokens")
    own: Mapping[Asked, str | None] = {
        "proposer": settings.proposer_model if isinstance(settings, Proposers) else None,
        "challenger": settings.challenger_model,
    }
    rates = Rates(
        typical=typical,
        reply_tokens=most if isinstance(most, int) else None,
        price=_price(model),
        agent_prices={
            **{agent: _price(models.get(name or model.config.name)) for agent, name in own.items()},
            **_judge_price(benchmark, models),
        },
    )
    payload = {
        "command": command,
        "method": method,
        "benchmark": benchmark.name,
        "model": model.config.name,
        **describe(forecast, rates),
    }
    return ForecastResult(payload=payload, steps=forecast.limits.steps)


def _with_judge(forecast: Forecast, benchmark: Benchmark[Any]) -> Forecast:
    """With a verdict for each rollout, at most: two that answer alike share one, and no answer needs none."""
    judge = judge_of(benchmark)
    if judge is None or not isinstance(benchmark, Judged) or benchmark.asks is None:
        return forecast
    count = Between(least=0, most=forecast.rollouts_between[1])
    verdicts = Episodes(agent="judge", name=benchmark.asks.name, count=count, bounds=judge.bounds)
    return replace(forecast, agents=(*forecast.agents, verdicts))


def _judge_price(benchmark: Benchmark[Any], models: Models) -> dict[Asked, Price]:
    asks = benchmark.asks if isinstance(benchmark, Judged) else None
    return {} if asks is None else {"judge": _price(models.judge(asks))}


def _price(model: ChatModel) -> Price:
    return lambda given, cached, said: model.expected_usd(given, said, cached_tokens=cached)


def typical_rollout(store: Reader | None, benchmark: Benchmark[Any], fingerprint: str) -> TypicalRollout | None:
    """What a rollout takes: of this model in the store, else of any, else as measured once; None if nobody knows."""
    for model, whose in ((fingerprint, "of this model"), (None, "of other models")):
        count, used = (0, None) if store is None else store.measured(benchmark.content_hash, model)
        if used is not None and count:
            return TypicalRollout(
                source=f"{count} rollouts {whose} in the store",
                measured=count,
                requests=used.requests / count,
                input_tokens=used.input_tokens / count,
                cached_tokens=used.cached_tokens / count,
                output_tokens=used.output_tokens / count,
            )
    return benchmark.defaults.typical


@dataclass(frozen=True, kw_only=True)
class Rates:
    """What turns counts into tokens and money."""

    typical: TypicalRollout | None
    reply_tokens: int | None
    """The model's max_tokens."""
    price: Price
    agent_prices: Mapping[Asked, Price]


def describe(forecast: Forecast, rates: Rates) -> dict[str, Json]:
    """The forecast as results carry it. `expected` is at what rollouts typically take, `bound` at what they may."""
    rows = [{"stage": r.stage, "role": r.role, **_of_rollouts(r.count, forecast, rates)} for r in forecast.rollouts]
    agents = [_of_agent(episodes, rates) for episodes in forecast.agents]
    every = sum((r.count for r in forecast.rollouts), Between(least=0, most=0))
    typical = rates.typical
    return {
        "per_rollout": typical and {**asdict(typical), "cost_usd": _usd_each(rates)},
        "rollouts": rows,
        "agents": agents,
        "total": _total(_of_rollouts(every, forecast, rates), agents),
        **({} if forecast.evaluation == "full" else {"evaluation": forecast.evaluation}),
    }


def _of_rollouts(count: Between, forecast: Forecast, rates: Rates) -> dict[str, Json]:
    typical, steps = rates.typical, forecast.limits.steps
    request = forecast.limits.context_tokens + (rates.reply_tokens or REPLY_TOKENS)
    usd = _usd_each(rates)
    return {
        "episodes": _whole(count),
        "requests": {"expected": typical and _whole(count * typical.requests), "bound": round(count.most * steps)},
        "tokens": {
            "expected": typical and _whole(count * typical.tokens),
            "bound": round(count.most * steps * request),
        },
        "cost_usd": None if usd is None else asdict(count * usd),
    }


def _usd_each(rates: Rates) -> float | None:
    """The expected cost of a rollout: its mean request, as often as it makes one."""
    typical = rates.typical
    if typical is None or not typical.requests:
        return None
    tokens = (typical.input_tokens, typical.cached_tokens, typical.output_tokens)
    each = rates.price(*(round(count / typical.requests) for count in tokens))
    return None if each is None else each * typical.requests


def _of_agent(episodes: Episodes, rates: Rates) -> dict[str, Json]:
    """An agent's episodes. What it uses is known as a bound only; an offline one uses nothing."""
    bounds, most = episodes.bounds, episodes.count.most
    usd: float | None = None
    if bounds is not None:
        requests = max(1, bounds.requests)
        each = rates.agent_prices[episodes.agent](bounds.input_tokens // requests, 0, bounds.output_tokens // requests)
        usd = 0.0 if not bounds.requests else None if each is None else each * requests * most
    return {
        "agent": episodes.agent,
        "name": episodes.name,
        "episodes": _whole(episodes.count),
        "requests": None if bounds is None else round(most * bounds.requests),
        "tokens": None if bounds is None else round(most * (bounds.input_tokens + bounds.output_tokens)),
        "cost_usd": usd,
    }


def _total(rollouts: Mapping[str, Json], agents: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """Rollouts and agents together, agents at their bounds. One unknown part makes a sum unknown."""
    episodes = {
        end: rollouts["episodes"][end] + sum(agent["episodes"][end] for agent in agents) for end in ("least", "most")
    }
    found: dict[str, Json] = {"episodes": episodes}
    for name in ("requests", "tokens"):
        beside = [agent[name] for agent in agents]
        known = None not in beside
        expected = rollouts[name]["expected"]
        found[name] = {
            "expected": {**expected, "most": expected["most"] + sum(beside)} if expected and known else None,
            "bound": rollouts[name]["bound"] + sum(beside) if known else None,
        }
    costs = [agent["cost_usd"] for agent in agents]
    usd = rollouts["cost_usd"]
    priced = usd is not None and None not in costs
    found["cost_usd"] = {**usd, "most": usd["most"] + sum(costs)} if priced else None
    return found


def _whole(count: Between) -> dict[str, int]:
    return {"least": round(count.least), "most": round(count.most)}
