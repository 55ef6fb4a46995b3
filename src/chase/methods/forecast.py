"""What a run or an audit can take: rollouts by stage and role, and agents' episodes, at least and at most.

What an evolution takes its method says. A cell (harness, variant) that was evaluated before counts once. Rollouts that
the store has from other runs are not taken off: a forecast is of a run in an empty store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from chase.core.agents import MOST_OPERATORS, Agent, EpisodeBounds, HasBounds
from chase.core.interfaces import Benchmark
from chase.core.values import Limits
from chase.methods.arena import pooled
from chase.methods.audit_plan import AuditPlan, fresh_roles
from chase.methods.audit_search import CONFIRM, SEARCH_ROLES
from chase.methods.bounds import Between, ForecastRequest, Rollouts
from chase.methods.counterfactuals import most_parts
from chase.methods.edits import further_harnesses
from chase.methods.evaluation import EvaluationOptions, Kind
from chase.methods.looks import in_order, looks_at
from chase.methods.repair_audited import RepairPlan
from chase.methods.run import Plan
from chase.protocol.battery import battery_of

Asked = Agent | Literal["judge"]
"""Who is asked beside rollouts: the agents, and a judge of answers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Episodes:
    """An agent's episodes, with what one can use at most; None if that is unknown."""

    agent: Asked
    name: str
    count: Between
    bounds: EpisodeBounds | None


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """Everything that a run can make."""

    rollouts: tuple[Rollouts, ...]
    agents: tuple[Episodes, ...]
    limits: Limits
    evaluation: Kind = "full"
    """How candidates are evaluated. Where it is not in full, the most is still the full schedule."""

    @property
    def rollouts_between(self) -> tuple[int, int]:
        """How many in all, at least and at most."""
        return round(sum(r.count.least for r in self.rollouts)), round(sum(r.count.most for r in self.rollouts))


def forecast_evolution(plan: Plan, *, certify: bool = True) -> Forecast:
    """The bounds of `chase evolve`."""
    benchmark = plan.benchmark
    request = ForecastRequest(
        options=plan.options,
        roles={role: len(benchmark.tasks(role)) * plan.rollouts[role] for role in plan.roles},
        operators=_operators(plan.challenger),
        tasks={role: len(benchmark.tasks(role)) for role in plan.roles},
    )
    bounds = plan.method.forecast(request)
    found = list(bounds.rollouts)
    if certify:
        variants = 1 + (benchmark.neutral is not None)
        most = 2 * (variants + bounds.archived)
        found.append(_cells(benchmark, plan.rollouts, "certification", "cert", variants, most))
        for role in sorted(benchmark.sealed - {"cert"}):
            found.append(_cells(benchmark, plan.rollouts, "certification", role, 1, 2))
    agents = tuple(_episodes(agent, plan.agents[agent], bounds.episodes[agent]) for agent in plan.method.agents)
    kind = plan.options.evaluation if isinstance(plan.options, EvaluationOptions) else "full"
    return Forecast(rollouts=tuple(found), agents=agents, limits=benchmark.limits, evaluation=kind)


def forecast_audit(plan: AuditPlan) -> Forecast:
    """The bounds of `chase audit`, in the order in which it goes.

    Both are run as released on the tasks of its first look; there it may end.
    """
    settings = plan.settings
    battery = battery_of(plan.kit, seed=plan.seed) if settings.battery else None
    probes = 0 if battery is None else sum(len(probe.draws) for probe in battery.probes)
    every, first = _fresh_rollouts(plan)
    found = [
        Rollouts(stage="battery", role=role, count=Between(least=2 * first[role], most=2 * (1 + probes) * each))
        for role, each in every.items()
    ]
    if plan.by_edit and battery is not None:
        edits = plan.edits()
        further = len(further_harnesses(*plan.harnesses, edits))
        # Beside each edit's mixtures: the honest edits alone and the gain without shortcuts, as released.
        found += _at_most("edits", further * (1 + probes) + 2 * (len(edits) > 1), every)
        # Each shortcut takes a draw of every aspect; what it is taken out of, or put into, all draws.
        draws, ways = sum(len(a.draws) for a in battery.aspects), 1 + any(edit.without is None for edit in edits)
        found += _at_most("aspects", len(edits) * len(battery.aspects) + ways * draws, first)
    searched = not plan.given and settings.rounds > 0
    if searched:
        found += _search(plan)
    tested = len(plan.given) if plan.given else settings.rounds
    found += _at_most("confirmation", 2 * tested, every)
    agents = (_episodes("challenger", plan.challenger, Between(least=0, most=settings.rounds if searched else 0)),)
    return Forecast(rollouts=tuple(found), agents=agents, limits=plan.benchmark.limits)


def _search(plan: AuditPlan) -> list[Rollouts]:
    """An audit's search, on each of its task sets."""
    settings = plan.settings
    parts = most_parts(_operators(plan.challenger)) if settings.reduce else 0
    stages = {"search, as released": 2}
    stages |= {f"search, round {t}": 2 * (settings.evaluated + parts) for t in range(1, settings.rounds + 1)}
    return [
        _cells(plan.benchmark, plan.rollouts, stage, role, 0, most)
        for stage, most in stages.items()
        for role in SEARCH_ROLES
    ]


def _at_most(stage: str, cells: int, rollouts: Mapping[str, int]) -> list[Rollouts]:
    """A stage of an audit that may be left out. `rollouts`: those of one cell, by task set."""
    return [Rollouts(stage=stage, role=role, count=Between(least=0, most=cells * n)) for role, n in rollouts.items()]


def _fresh_rollouts(plan: AuditPlan) -> tuple[dict[str, int], dict[str, int]]:
    """The rollouts of one cell by task set: on all tasks of the confirmation, and on those of the first look."""
    held = {role: plan.benchmark.tasks(role) for role in plan.confirmation_roles}
    chosen = pooled(held, CONFIRM, plan.confirm_size)
    every = in_order((task for tasks in chosen.values() for task in tasks), plan.seed)
    first = frozenset(looks_at(every, plan.settings.level)[0].tasks)
    return (
        {role: len(tasks) * plan.rollouts[role] for role, tasks in chosen.items()},
        {role: len(first.intersection(tasks)) * plan.rollouts[role] for role, tasks in chosen.items()},
    )


def forecast_repair(plan: RepairPlan) -> Forecast:
    """The bounds of `chase repair`."""
    benchmark, draws = plan.benchmark, [len(drawn) for drawn in plan.draws.values()]
    variants = 1 + sum(draws)
    found: list[Rollouts] = []
    if plan.accused:
        for role in SEARCH_ROLES:
            both = 2 * variants
            found.append(_cells(benchmark, plan.rollouts, "harness and baseline", role, both, both))
            found.append(_cells(benchmark, plan.rollouts, "search", role, 0, plan.cells * max(draws, default=1)))
        for role in fresh_roles(benchmark):
            tasks = set(benchmark.tasks(role)) & set(plan.measured_tasks)
            count = Between(least=0, most=3 * variants) * (len(tasks) * plan.rollouts[role])
            found.append(Rollouts(stage="measurement", role=role, count=count))
    return Forecast(rollouts=tuple(found), agents=(), limits=benchmark.limits)


def _cells(
    benchmark: Benchmark[Any], rollouts: Mapping[str, int], stage: str, role: str, least: int, most: int
) -> Rollouts:
    each = len(benchmark.tasks(role)) * rollouts[role]
    return Rollouts(stage=stage, role=role, count=Between(least=least, most=most) * each)


def _operators(challenger: object) -> int:
    """Most operators in a draft."""
    bounds = challenger.bounds if isinstance(challenger, HasBounds) else None
    return MOST_OPERATORS if bounds is None or bounds.operators is None else bounds.operators


def _episodes(agent: Agent, made: Any, count: Between) -> Episodes:
    bounds = made.bounds if isinstance(made, HasBounds) else None
    return Episodes(agent=agent, name=made.name, count=count, bounds=bounds)
