"""What a comparison can take: the bounds of all its members, and of the sealed tasks at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from chase.methods.bounds import Between, Rollouts
from chase.methods.forecast import Forecast, forecast_evolution
from chase.runs.members import Member, Spec, with_budget
from chase.runs.sealed import CERT
from chase.runs.settings import CompareSettings


def forecast_comparison(
    members: Sequence[Member], specs: Sequence[Spec], settings: CompareSettings, match: str | None
) -> Forecast:
    """All members' bounds. A control gets the most that the method can use whose budget it has."""
    most = {
        member.seed: sum(rollouts.count.most for rollouts in forecast_evolution(member.plan, certify=False).rollouts)
        for member in members
        if member.label == match
    }
    matched = {spec.label for spec in specs if spec.matched}
    found: list[Forecast] = []
    for member in members:
        if member.label in matched and member.seed in most:
            member = with_budget(member, max(1, round(most[member.seed])))
        found.append(forecast_evolution(member.plan, certify=False))
    rollouts = [
        replace(each, stage=f"{member.label}: {each.stage}")
        for member, bounds in zip(members, found, strict=True)
        for each in bounds.rollouts
        if member.seed == members[0].seed
    ]
    seeds = len({member.seed for member in members})
    rollouts = [replace(each, count=each.count * seeds) for each in rollouts]
    if not settings.no_certify:
        rollouts.append(_certification(members, specs, seeds))
        rollouts += _elsewhere(members, specs, seeds)
    agents = [
        replace(each, name=f"{each.name} ({member.label})", count=each.count * seeds)
        for member, bounds in zip(members, found, strict=True)
        for each in bounds.agents
        if member.seed == members[0].seed
    ]
    partial = {bounds.evaluation for bounds in found} - {"full"}
    return Forecast(
        rollouts=tuple(rollouts),
        agents=tuple(agents),
        limits=members[0].plan.benchmark.limits,
        evaluation=max(partial, default="full"),
    )


def _certification(members: Sequence[Member], specs: Sequence[Spec], seeds: int) -> Rollouts:
    """Each `H*` and `H_0` under every variant; at least `H_0` alone, where nothing better is found by anybody.

    Where `B_0` is known each `H*` with an archive is measured under its own, else all are under one.
    """
    plan = members[0].plan
    each = len(plan.benchmark.tasks(CERT)) * plan.rollouts[CERT] * seeds
    challenged = [m for m in members if "challenger" in m.plan.agents and m.seed == members[0].seed]
    rounds = [m.plan.options.model_dump().get("rounds", 0) for m in challenged]
    if plan.benchmark.neutral is not None:
        least, most = 2, 2 * (1 + len(specs)) + 2 * sum(rounds)  # its own archive: H* and H_0 under every entry
    else:
        least, most = 1, (1 + max(rounds, default=0)) * (1 + len(specs))
    return Rollouts(stage="certification", role=CERT, count=Between(least=least, most=most) * each)


def _elsewhere(members: Sequence[Member], specs: Sequence[Spec], seeds: int) -> Iterator[Rollouts]:
    """Each `H*` and `H_0` as released on what is opened with the certification tasks: a second corpus, say."""
    plan = members[0].plan
    for role in sorted(plan.benchmark.sealed - {CERT}):
        each = len(plan.benchmark.tasks(role)) * plan.rollouts[role] * seeds
        yield Rollouts(stage="certification", role=role, count=Between(least=1, most=1 + len(specs)) * each)
