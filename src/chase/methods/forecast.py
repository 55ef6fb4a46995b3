"""What a run or an audit can take: rollouts by stage and role, at least and at most, then requests, tokens and cost.

What an evolution takes its method says. A cell (harness, variant) that was evaluated before counts once. Rollouts that
the store has from other runs are not taken off: a forecast is of a run in an empty store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from chase.core.agents import Agent, Bounded, EpisodeBounds
from chase.core.interfaces import Benchmark
from chase.core.values import Json, Limits, TypicalRollout
from chase.methods.arena import pooled
from chase.methods.audit import CONFIRM, SEARCH_ROLES, AuditPlan
from chase.methods.bounds import Between, ForecastRequest, Rollouts
from chase.methods.counterfactuals import most_parts
from chase.methods.run import Plan
from chase.protocol.proposal import MOST_OPERATORS
from chase.store.reader import Reader

REPLY_TOKENS = 4_096
"""In a bound: of a reply of a model whose settings have no max_tokens."""

Price = Callable[[int, int, int], float | None]
"""USD for one request's input tokens, cached ones among them, and output tokens; None if unknown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Episodes:
    """An agent's episodes, with what one can use at most; None if that is unknown."""

    agent: Agent
    name: str
    count: Between
    bounds: EpisodeBounds | None


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """Everything that a run can make."""

    rollouts: tuple[Rollouts, ...]
    agents: tuple[Episodes, ...]
    limits: Limits


def forecast_evolution(plan: Plan, *, certify: bool = True) -> Forecast:
    """The bounds of `chase evolve`."""
    benchmark = plan.benchmark
    request = ForecastRequest(
        options=plan.options,
        roles={role: len(benchmark.tasks(role)) * plan.rollouts[role] for role in plan.roles},
        operators=_operators(plan.challenger),
    )
    bounds = plan.method.forecast(request)
    found = list(bounds.rollouts)
    if certify:
        variants = 1 + (benchmark.neutral is not None)
        most = 2 * (variants + bounds.archived)
        found.append(_cells(benchmark, plan.rollouts, "certification", "cert", variants, most))
    agents = tuple(_episodes(agent, plan.agents[agent], bounds.episodes[agent]) for agent in plan.method.agents)
    return Forecast(rollouts=tuple(found), agents=agents, limits=benchmark.limits)


def forecast_audit(plan: AuditPlan) -> Forecast:
    """The bounds of `chase audit`."""
    settings, benchmark = plan.settings, plan.benchmark
    searched = not plan.given
    found: list[Rollouts] = []
    if searched:
        parts = most_parts(_operators(plan.challenger)) if settings.reduce else 0
        tried = settings.evaluated + parts
        for role in SEARCH_ROLES:
            found.append(_cells(benchmark, plan.rollouts, "search, as released", role, 2, 2))
            for t in range(1, settings.rounds + 1):
                found.append(_cells(benchmark, plan.rollouts, f"search, round {t}", role, 0, 2 * tried))
    roles = [role for role in benchmark.roles if role not in SEARCH_ROLES]
    held = {role: benchmark.tasks(role) for role in roles if role not in benchmark.sealed or plan.use_cert is not None}
    most = 2 * (1 + (settings.rounds if searched else len(plan.given)))
    for role, tasks in pooled(held, CONFIRM, plan.confirm_size).items():
        each = len(tasks) * plan.rollouts[role]
        found.append(Rollouts(stage="confirmation", role=role, count=Between(least=2, most=most) * each))
    episodes = settings.rounds if searched else 0
    agents = (_episodes("challenger", plan.challenger, Between(least=episodes, most=episodes)),)
    return Forecast(rollouts=tuple(found), agents=agents, limits=benchmark.limits)


def _cells(
    benchmark: Benchmark[Any], rollouts: Mapping[str, int], stage: str, role: str, least: int, most: int
) -> Rollouts:
    each = len(benchmark.tasks(role)) * rollouts[role]
    return Rollouts(stage=stage, role=role, count=Between(least=least, most=most) * each)


def _operators(challenger: object) -> int:
    """Most operators in a draft."""
    bounds = challenger.bounds if isinstance(challenger, Bounded) else None
    return MOST_OPERATORS if bounds is None or bounds.operators is None else bounds.operators


def _episodes(agent: Agent, made: Any, count: Between) -> Episodes:
    bounds = made.bounds if isinstance(made, Bounded) else None
    return Episodes(agent=agent, name=made.name, count=count, bounds=bounds)


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
    agent_prices: Mapping[Agent, Price]


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
