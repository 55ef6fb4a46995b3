"""Confirmation of frozen transformations on fresh tasks: by the paper's rule, or by a calibrated test.

`paper`: confirmed if `Δ̂ ≥ η`. `calibrated` (beyond the paper): confirmed if a paired sign-flip test rejects that the
transformation changes nothing on any task and `Δ̂ ≥ η`; it looks several times, ends early, and over all rounds its
error is at most `alpha`. Beside it stands a lower bound of the mean, which a transformation that destroys on some tasks
and helps on others cannot deceive, and which needs many more tasks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

from chase.agents.history import RELEASED
from chase.benchmarks.task_sets import clusters_of
from chase.core.errors import UserError
from chase.core.interfaces import Benchmark
from chase.core.keyed import sorted_by_key
from chase.core.values import Json
from chase.methods.arena import Arena, Contender, Variant, gain_destruction
from chase.methods.counterfactuals import Discovery, destruction_under, estimate_json, proposal_of
from chase.methods.evaluation import evaluation_order, parts
from chase.protocol.firewall import FirewallRecord
from chase.protocol.kit import ProtocolKit
from chase.protocol.screening import Screening
from chase.stats.bounded import DESTRUCTIONS
from chase.stats.curtailment import certain
from chase.stats.destruction import reached_by_noise, reaches
from chase.stats.estimates import INDEPENDENT, Clusters, Estimate, PerTask, cluster_sums, estimate, mean
from chase.stats.interval_power import detection_power
from chase.stats.power import confirmation_power
from chase.stats.sequential import PLANNED, Step, looks, round_alpha, sequential_look

Rule = Literal["paper", "calibrated"]
PLACEBO = "placebo-"
"""What the names of a benchmark's no-effect variants begin with."""
CELLS = 4
"""Of a gain destruction: two harnesses under two benchmarks."""
NOT_ABOVE_ZERO = "its gain destruction on disc is not above 0"


@dataclass(frozen=True, kw_only=True)
class Look:
    """What the calibrated test saw after some rollouts of every task."""

    rollouts: int
    destruction: Estimate
    p: float
    step: Step

    def to_json(self) -> dict[str, Json]:
        return {
            "rollouts": self.rollouts, "destruction": estimate_json(self.destruction), "p": self.p, "step": self.step
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class MeanBound:
    """The mean at the last look, at a share of the round's error that allows for every look."""

    low: float
    power: float
    """Power of the bound where `PLANNED` is destroyed, with the noise that was seen."""


@dataclass(frozen=True, kw_only=True)
class Cut:
    """That a confirmation ended when it could not reach `η` any more."""

    after: int
    """Episodes."""
    of: int
    """Episodes in full."""
    bound: float
    """The most that `Δ̂` could have come to."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A transformation under a rule."""

    estimate: Estimate
    confirmed: bool
    by_noise: float | None
    """How often noise alone would have passed; None where it is not known."""
    looks: tuple[Look, ...] = ()
    power: float | None = None
    """Power of a calibrated test for `PLANNED`, with the noise that was seen."""
    mean: MeanBound | None = None
    """Of a calibrated test."""
    cut: Cut | None = None
    """Where it was not measured on all tasks: then the estimate is of those that were."""


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """The frozen transformation on fresh tasks."""

    measured: Measurement | None
    """None where it is not valid on these tasks: that costs no rollout."""
    firewall: FirewallRecord
    """The seven checks on the confirmation tasks."""
    alpha: float | None = None
    """The error that the round could spend, of a calibrated test."""
    rollouts: int | None = None
    """Those of each task that it had at most."""
    placebos: Mapping[str, Measurement]
    """What does nothing, by its variant's name, under the same rule."""

    @property
    def estimate(self) -> Estimate | None:
        return None if self.measured is None else self.measured.estimate

    @property
    def confirmed(self) -> bool:
        return self.measured is not None and self.measured.confirmed

    @property
    def by_noise(self) -> float | None:
        return None if self.measured is None else self.measured.by_noise

    def details(self) -> dict[str, Json]:
        """What the record of a round has beside the paper's rule: of a calibrated test, and of placebos."""
        found: dict[str, Json] = {}
        if self.alpha is not None and self.measured is not None and self.measured.mean is not None:
            found["test"] = {
                "alpha": self.alpha,
                "rollouts": self.rollouts,
                "looks": [look.to_json() for look in self.measured.looks],
                "power": self.measured.power,
                "mean_low": self.measured.mean.low,
                "mean_power": self.measured.mean.power,
            }
        if self.measured is not None and self.measured.cut is not None:
            found["stopped"] = asdict(self.measured.cut)
        if self.placebos:
            found["placebos"] = [
                {"name": name, "destruction": estimate_json(tried.estimate), "confirmed": tried.confirmed}
                for name, tried in self.placebos.items()
            ]
        return found


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Where a transformation is measured: two harnesses on one confirmation set."""

    arena: Arena
    kit: ProtocolKit
    pair: tuple[Contender, Contender]
    role: str
    order: Sequence[str] = ()
    """The set's tasks in the order in which a curtailed measurement meets them; none: all at once."""
    clusters: Clusters = field(default_factory=lambda: INDEPENDENT)

    def estimate(self, delta: PerTask) -> Estimate:
        return estimate(delta, DESTRUCTIONS, clusters=self.clusters)

    async def destruction(self, variant: Variant, rollouts: int | None = None) -> PerTask:
        """`Δ̂` task by task, of all rollouts or the first so many."""
        return await destruction_under(self.arena, self.kit, self.pair, variant, self.role, rollouts)

    async def curtailed(self, variant: Variant, eta: str) -> tuple[PerTask, Fraction]:
        """`Δ̂` task by task, and the most that it can be on all tasks. The harness meets the variant last, a part of the
        tasks at a time, until `Δ̂ < η` is certain: what is confirmed is measured on all tasks.
        """
        (harness, initial), released = self.pair, Variant(name=RELEASED, transformation=self.kit.identity)
        means = dict(await self.arena.means(self.pair, [released], self.role))
        means |= await self.arena.means([initial], [variant], self.role)
        order, known = self.order, dict[str, Fraction]()
        for upto in parts(len(order), "curtailed"):
            met = await self.arena.means([harness], [variant], self.role, order[len(known) : upto])
            known |= met[harness.name, variant.name]
            most = certain(
                [
                    (1, means[harness.name, RELEASED]), (-1, means[initial.name, RELEASED]), (-1, known),
                    (1, means[initial.name, variant.name]),
                ],
                len(order),
            ).high  # fmt: skip
            if not reaches(most, eta):
                break
        means[harness.name, variant.name] = known
        tasks = [task for task in means[initial.name, RELEASED] if task in known]
        seen = {cell: {task: per_task[task] for task in tasks} for cell, per_task in means.items()}
        return gain_destruction(seen, harness.name, initial.name, variant.name), most


async def by_papers_rule(trial: Trial, variant: Variant, *, eta: str) -> Measurement:
    """Confirmed if `Δ̂ ≥ η`."""
    delta = await trial.destruction(variant)
    found = trial.estimate(delta)
    return Measurement(estimate=found, confirmed=reaches(mean(delta), eta), by_noise=reached_by_noise(found, eta))


async def by_papers_rule_curtailed(trial: Trial, variant: Variant, *, eta: str, rollouts: int) -> Measurement:
    """The same decision; one that is certain not to be confirmed is measured no further."""
    delta, most = await trial.curtailed(variant, eta)
    tasks, found = len(trial.order), trial.estimate(delta)
    missing, every = tasks - found.n, CELLS * tasks * rollouts
    spread = replace(found, se=found.se * math.sqrt(found.n / tasks))
    return Measurement(
        estimate=found,
        confirmed=not missing and reaches(mean(delta), eta),
        by_noise=reached_by_noise(spread, eta),
        cut=Cut(after=every - missing * rollouts, of=every, bound=float(most)) if missing else None,
    )


async def by_calibrated_test(trial: Trial, variant: Variant, *, eta: str, alpha: float, rollouts: int) -> Measurement:
    """Confirmed if the test rejects at some look, and `Δ̂ ≥ η` there. Signs are those of whole clusters."""
    seen: list[list[float]] = []
    found: list[Look] = []
    for count in looks(rollouts):
        delta = await trial.destruction(variant, count)
        seen.append(_units(delta, trial.clusters))
        looked = sequential_look(seen, rollouts=rollouts, alpha=alpha, least=float(eta))
        now = trial.estimate(delta)
        found.append(Look(rollouts=count, destruction=now, p=looked.p, step=looked.step))
        if looked.step != "go on":
            break
    confirmed = found[-1].step == "reject" and reaches(mean(delta), eta)
    units, last = len(seen[-1]), found[-1].destruction
    spread = last.se * math.sqrt(units)
    each = alpha / len(looks(rollouts))
    low = estimate(delta, DESTRUCTIONS, level=1 - 2 * each, clusters=trial.clusters).low
    return Measurement(
        estimate=last,
        confirmed=confirmed,
        by_noise=alpha,
        looks=tuple(found),
        power=confirmation_power(PLANNED, spread, units, alpha),
        mean=MeanBound(low=low, power=detection_power(PLANNED, spread, units, each)),
    )


def _units(delta: PerTask, clusters: Clusters) -> list[float]:
    """Each cluster's sum, so that their mean is that of the tasks."""
    sums = cluster_sums({task: delta[task] for task in sorted(delta)}, clusters)
    return [float(total * len(sums) / len(delta)) for total, _ in sums]


@dataclass(kw_only=True)
class Confirmer:
    """Puts what was frozen to the test, round by round, and keeps account of the error that is left."""

    arena: Arena
    kit: ProtocolKit
    rule: Rule
    eta: str
    rounds: int
    alpha: float
    """The error that is left for the rounds to come."""
    rollouts: Mapping[str, int]
    placebos: Sequence[Variant] = ()
    curtailed_by: int | None = None
    """The seed that decides the order of tasks, where the paper's rule ends once it is certain."""

    def refuses(self, found: Discovery) -> str | None:
        """Why what was frozen is not put to the test, where it is not."""
        if self.rule == "paper" or found.destruction is None or found.destruction.value > 0:
            return None
        return NOT_ABOVE_ZERO

    async def confirm(
        self, frozen: Screening, *, pair: tuple[Contender, Contender], role: str, tasks: Sequence[str], round: int
    ) -> Confirmation:
        """The seven checks on the confirmation tasks and, if valid there, the rule; the placebos under the same."""
        proposal = proposal_of(frozen)
        record = self.kit.run_checks(proposal, tasks)
        if not record.valid:
            return Confirmation(measured=None, firewall=record, placebos={})
        alpha = None if self.rule == "paper" else round_alpha(self.alpha, self.rounds - round + 1)
        order = () if self.curtailed_by is None else evaluation_order(tasks, self.curtailed_by)
        clusters = clusters_of(self.kit.benchmark)
        trial = Trial(arena=self.arena, kit=self.kit, pair=pair, role=role, order=order, clusters=clusters)
        name = proposal.transformation.hash
        on_trial = Variant(name=name, transformation=proposal.transformation, told=False)
        measured = await self._measure(trial, on_trial, alpha)
        self.alpha -= alpha or 0.0
        placebos = {placebo.name: await self._measure(trial, placebo, alpha) for placebo in self.placebos}
        rollouts = self.rollouts[role]
        return Confirmation(measured=measured, firewall=record, alpha=alpha, rollouts=rollouts, placebos=placebos)

    async def _measure(self, trial: Trial, variant: Variant, alpha: float | None) -> Measurement:
        rollouts = self.rollouts[trial.role]
        if alpha is not None:
            return await by_calibrated_test(trial, variant, eta=self.eta, alpha=alpha, rollouts=rollouts)
        if trial.order:
            return await by_papers_rule_curtailed(trial, variant, eta=self.eta, rollouts=rollouts)
        return await by_papers_rule(trial, variant, eta=self.eta)


def placebos_of(benchmark: Benchmark[Any], count: int, seed: int) -> list[Variant]:
    """So many of a benchmark's no-effect variants, in an order that the run's seed decides."""
    there = [name for name in benchmark.variants() if name.startswith(PLACEBO)]
    if count > len(there):
        raise UserError(f"placebos={count}: {benchmark.name} has {len(there)}. Give at most that many.")
    chosen = sorted_by_key(there, "placebos", seed)[:count]
    return [Variant(name=name, transformation=benchmark.variant(name), told=False) for name in chosen]
