"""The measurement of a repair: what of a gain survives each counterfactual, and how far beyond the base rate it falls.

The counterfactual of the headline is chosen on the search tasks, so no maximum is taken over the tasks that are
reported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from chase.agents.history import RELEASED
from chase.core.keyed import sorted_by_key
from chase.core.values import Json
from chase.methods.arena import Arena, Entrant, Means, Roles, SomeTasks, Variant, standing
from chase.methods.counterfactuals import estimate_json
from chase.methods.selection import Standing
from chase.methods.verdict import Source
from chase.stats.contrasts import Cell, Contrast, averaged, gain_sample
from chase.stats.estimates import Clusters, Estimate, Sample, mean
from chase.stats.simultaneous import simultaneous

LEAST_UNSEEN = 48
"""With fewer tasks that an audit did not use, a repair is measured on those that it used, and says so."""


@dataclass(frozen=True, kw_only=True)
class AuditedCounterfactual:
    """A counterfactual of an audit, with the variants that its draws are measured under."""

    name: str
    what: str
    source: Source
    confirmed: bool
    """Counted against the gain by the audit."""
    draws: tuple[Variant, ...]

    @property
    def fixed(self) -> bool:
        """Measured whatever the audit's tasks showed."""
        return self.source == "battery"

    @property
    def variant(self) -> Variant:
        """The first draw, under the name of all."""
        return replace(self.draws[0], name=self.name)


@dataclass(frozen=True, kw_only=True)
class AveragedArena:
    """An arena that answers for a counterfactual with the mean over its draws."""

    arena: Arena
    draws: Mapping[str, tuple[Variant, ...]]
    """By the counterfactual's name; any other variant is its own only draw."""

    async def means(
        self,
        harnesses: Sequence[Entrant],
        variants: Sequence[Variant],
        role: Roles,
        tasks: SomeTasks = None,
        rollouts: int | None = None,
    ) -> Means:
        draws = {variant.name: self.draws.get(variant.name, (variant,)) for variant in variants}
        every = [draw for drawn in draws.values() for draw in drawn]
        found = await self.arena.means(harnesses, every, role, tasks, rollouts)
        return {
            (harness.name, name): averaged([found[harness.name, draw.name] for draw in drawn])
            for harness in harnesses
            for name, drawn in draws.items()
        }


@dataclass(frozen=True, kw_only=True)
class Gains:
    """A harness's gain over the baseline, as released and under each counterfactual."""

    by_variant: Mapping[str, Estimate]
    """All intervals of a measurement hold together."""
    unexplained: Mapping[str, Estimate]
    """Counterfactual → the part of the gain that goes under it and that the base rate does not explain."""
    expected_share: Mapping[str, float]
    """Counterfactual → the share of the gain that the base rate leaves under it."""
    worst: str
    """The counterfactual under which least of the gain survived on the search tasks."""

    @property
    def released(self) -> Estimate:
        return self.by_variant[RELEASED]

    @property
    def surviving(self) -> Estimate:
        return self.by_variant[self.worst]

    def doubts(self, epsilon: str, said: Mapping[str, str]) -> list[str]:
        """The measurement's evidence against a repaired harness; `said` has the counterfactuals in words."""
        found = []
        for name, lost in self.unexplained.items():
            under = f"on these tasks {100 * lost.value:.1f} points of the repaired gain are %s under {said[name]}"
            if lost.low > 0:
                found.append(under % "surely destroyed")
            elif name == self.worst and lost.value > float(epsilon):
                found.append(f"{under % 'destroyed'}, more than epsilon; it may be chance")
        if self.surviving.low <= 0:
            found.append("on these tasks the gain that survives the repair is not told from 0")
        return found

    def to_json(self) -> dict[str, Json]:
        return {
            "released": estimate_json(self.released),
            "surviving": estimate_json(self.surviving),
            "worst": self.worst,
            "gains": {name: estimate_json(found) for name, found in self.by_variant.items()},
            "unexplained": {name: estimate_json(found) for name, found in self.unexplained.items()},
            "expected_share": dict(self.expected_share),
        }


def contrast(means: Means, harness: str, baseline: str, variant: str, clusters: Clusters | None = None) -> Contrast:
    """A harness's gain as released beside its gain under a variant."""
    released, changed = (
        Cell(more=means[harness, name], less=means[baseline, name]) for name in (RELEASED, variant)
    )  # fmt: skip
    return Contrast(released=released, changed=changed, clusters=clusters or {})


def unexplained_standing(means: Means, harness: str, baseline: str, variants: Sequence[Variant]) -> Standing:
    """A harness's estimates with the destruction that the base rate does not explain, as an audit counts it."""
    names = [variant.name for variant in variants if variant.name != RELEASED]
    destroyed = {name: mean(contrast(means, harness, baseline, name).unexplained.per_task) for name in names}
    return replace(standing(means, harness, baseline, variants), destruction=destroyed)


def worst_of(means: Means, harness: str, baseline: str, names: Iterable[str]) -> str:
    """The variant under which least of a harness's gain survives; the released one where there is no other."""
    return min(names, key=lambda name: mean(means[harness, name]) - mean(means[baseline, name]), default=RELEASED)


def measure_gains(
    means: Means, worst: Mapping[str, str], baseline: str, *, level: float, clusters: Clusters
) -> dict[str, Gains]:
    """Each harness's gains. `worst` has the harnesses, each with the counterfactual of its headline."""
    variants = [variant for harness, variant in means if harness == baseline]
    changed = [name for name in variants if name != RELEASED]
    contrasts = {(h, v): contrast(means, h, baseline, v, clusters) for h in worst for v in variants}
    together = simultaneous({f"{h} {v}": _gain(contrasts[h, v]) for h in worst for v in variants}, level=level)
    return {
        harness: Gains(
            by_variant={v: together[f"{harness} {v}"] for v in variants},
            unexplained=simultaneous({v: contrasts[harness, v].unexplained for v in changed}, level=level),
            expected_share={v: contrasts[harness, v].expected_share for v in changed},
            worst=name,
        )
        for harness, name in worst.items()
    }


def _gain(found: Contrast) -> Sample:
    return gain_sample(found.changed, found.clusters)


def tasks_to_measure(
    tasks: Iterable[str], seen: Collection[str], clusters: Clusters, most: int | None
) -> tuple[str, ...]:
    """The tasks that an audit did not use, `most` of them at most; where there are too few, those that it used.

    A task in one cluster with a used one counts as used.
    """
    every = sorted(tasks)
    touched = {clusters.get(task, task) for task in seen}
    unseen = [task for task in every if clusters.get(task, task) not in touched]
    if len(unseen) >= LEAST_UNSEEN or len(unseen) == len(every):
        return tuple(sorted(sorted_by_key(unseen, "measurement")[:most]))
    return tuple(task for task in every if task in seen)
