"""The repair of an audited harness: the form of it without its shortcut, and what that form keeps on fresh tasks.

Beyond the paper. The search is on the audit's search tasks, under its battery and the counterfactuals that it
confirmed. Its result is measured on tasks that the audit did not use, where there are enough of them. Sealed tasks are
not held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from chase.agents.history import RELEASED
from chase.core.events import Repaired, RepairMeasurementStarted, ShortcutShown, Tell
from chase.core.interfaces import HasClusters
from chase.core.values import Json
from chase.engine.runner import Pace, Progress, Runner
from chase.engine.sandbox import Sandbox
from chase.harness.parts import parts_of
from chase.harness.spec import Harness
from chase.methods.arena import Contender, Variant
from chase.methods.audit_plan import check_mixture, fresh_roles, pooled_arena
from chase.methods.audit_search import CONFIRM, SEARCH, SEARCH_ROLES
from chase.methods.repair import RepairLimits, RepairOutcome, search_repair
from chase.methods.repair_measurement import (
    AuditedCounterfactual,
    AveragedArena,
    Gains,
    measure_gains,
    tasks_to_measure,
    unexplained_standing,
    worst_of,
)
from chase.methods.run import Design
from chase.methods.selection import ArchiveGate, SelectionRule, Standing
from chase.models.chat import ChatModel
from chase.stats.estimates import INDEPENDENT, Clusters, Estimate, mean
from chase.store.records import Use
from chase.store.store import Store

MOST_FORMS = 6
"""Forms of the harness that can be measured under every variant."""
NAME = "repaired"
"""Of the repaired harness, in a run and in its folder."""

Ending = Literal["repaired", "nothing to repair", "nothing left"]


@dataclass(frozen=True, kw_only=True)
class RepairPlan(Design):
    """What a repair is: everything that decides its result."""

    audit: str
    """The run that measured the counterfactuals."""
    verdict: str
    """The audit's."""
    baseline: Harness
    harness: Harness
    counterfactuals: tuple[AuditedCounterfactual, ...]
    """The audit's battery, and what else it confirmed."""
    shortcuts: tuple[str, ...] = ()
    """Parts of the change that the audit called shortcuts, and that lose more than epsilon."""
    honest: tuple[str, ...] = ()
    """Parts that it called honest."""
    seen: frozenset[str] = frozenset()
    """Tasks that the audit used."""
    epsilon: str
    """Most gain destruction of a form that is kept, beside what the base rate explains."""
    level: float
    confirm_size: int | None = None

    @property
    def accused(self) -> bool:
        """The audit found something against the gain."""
        return bool(self.shortcuts) or any(found.confirmed for found in self.counterfactuals)

    @property
    def cells(self) -> int:
        """Most cells (one form under one counterfactual) that the search evaluates."""
        return MOST_FORMS * (1 + len(self.counterfactuals))

    @property
    def draws(self) -> dict[str, tuple[Variant, ...]]:
        """The variants that each counterfactual is measured under."""
        return {found.name: found.draws for found in self.counterfactuals}

    @property
    def clusters(self) -> Clusters:
        return self.benchmark.clusters() if isinstance(self.benchmark, HasClusters) else INDEPENDENT

    @cached_property
    def measured_tasks(self) -> tuple[str, ...]:
        """The tasks of the measurement: those that the audit left, or, where it left too few, those that it used."""
        fresh = [task for role in fresh_roles(self.benchmark) for task in self.benchmark.tasks(role)]
        return tasks_to_measure(fresh, self.seen, self.clusters, self.confirm_size)

    @property
    def headline(self) -> list[str]:
        """Counterfactuals that a headline may be about. On tasks that the audit used: its battery, where it had one."""
        fixed = [found.name for found in self.counterfactuals if found.fixed]
        every = [found.name for found in self.counterfactuals]
        return fixed if fixed and not self.seen.isdisjoint(self.measured_tasks) else every

    @property
    def rule(self) -> SelectionRule:
        return SelectionRule(gates=(ArchiveGate(epsilon=self.epsilon),))

    def limits(self, more_than: Fraction) -> RepairLimits:
        """What the search may use; `more_than` is the baseline's released score."""
        kit = self.kit
        confirmed = [found for found in self.counterfactuals if found.confirmed]
        changed = [kit.touched(found.variant.transformation, kit.example) for found in confirmed]
        return RepairLimits(
            more_than=more_than,
            cells=self.cells,
            observables=[observable.name for observable in self.benchmark.observables],
            suspected={name for touched in changed for name in touched},
            shortcuts=self.shortcuts,
            honest=self.honest,
            measure=unexplained_standing,
            check=lambda harness, _: check_mixture(harness, self.baseline, self.harness, self.benchmark),
        )

    def describe(self, fingerprint: str) -> dict[str, Json]:
        """The repair's identity; `fingerprint` is the connected model's."""
        return {
            "command": "repair",
            "audit": self.audit,
            "benchmark": self.benchmark.name,
            "content_hash": self.benchmark.content_hash,
            "model_fingerprint": fingerprint,
            "baseline": self.baseline.hash,
            "harness": self.harness.hash,
            "counterfactuals": [v.transformation.hash for found in self.counterfactuals for v in found.draws],
            "epsilon": self.epsilon,
            "level": self.level,
            "rollouts": dict(self.rollouts),
            "tasks": self.sizes,
            "seed": self.seed,
            "confirm_size": self.confirm_size,
        }


@dataclass(frozen=True, kw_only=True)
class AuditedRepair:
    """What a repair of an audited harness came to."""

    ending: Ending
    reason: str
    """In one sentence, without its full stop."""
    search: RepairOutcome | None = None
    """None where there was nothing to search for."""
    parts: tuple[str, ...] = ()
    """The harness's edits by name."""
    before: Gains | None = None
    """Of the harness; None where nothing was measured."""
    after: Gains | None = None
    """Of the repaired harness; None where there is none."""
    search_tasks: int = 0
    confirm_tasks: int = 0

    @property
    def harness(self) -> Harness | None:
        """The repaired harness."""
        found = None if self.search is None else self.search.repaired
        return None if found is None else found.harness

    def to_json(self) -> dict[str, Json]:
        return {
            "outcome": self.ending,
            "reason": self.reason,
            "repaired": self._repaired(),
            "measured": None if self.before is None else {
                "harness": self.before.to_json(),
                "repaired": None if self.after is None else self.after.to_json(),
            },
            "tried": [] if self.search is None else [attempt.to_json() for attempt in self.search.attempts],
            "search_tasks": self.search_tasks,
            "confirm_tasks": self.confirm_tasks,
        }  # fmt: skip

    def _repaired(self) -> dict[str, Json] | None:
        if self.harness is None or self.search is None or self.search.best is None:
            return None
        best = self.search.best
        kept = [part for part in self.parts if part not in (*best.dropped, *best.generalised)]
        return {
            "hash": self.harness.hash,
            "dropped": list(best.dropped),
            "generalised": list(best.generalised),
            "kept": list(kept),
        }


async def repair_harness(
    plan: RepairPlan, *, run: str, store: Store, model: ChatModel, sandbox: Sandbox, tell: Tell,
    progress: Progress | None = None, pace: Pace | None = None,
) -> AuditedRepair:  # fmt: skip
    """Carry out a repair under a run id that the store knows. Run again, it goes on where it stopped."""
    if not plan.accused:
        reason = f"the audit confirmed nothing that counts against the gain (its verdict: {plan.verdict})"
        return AuditedRepair(ending="nothing to repair", reason=reason)
    confirm = fresh_roles(plan.benchmark)
    use = Use(run=run, method="repair")
    runner = Runner(model=model, store=store, sandbox=sandbox, use=use, pace=pace, progress=progress)
    evaluator = plan.evaluator(runner, store, (*SEARCH_ROLES, *confirm))
    pool = pooled_arena(evaluator, confirm, None, {})
    arena = AveragedArena(arena=pool, draws=plan.draws)
    return await _Repair(plan=plan, arena=arena, tell=tell, tasks=len(pool.tasks(SEARCH))).run()


@dataclass(frozen=True, kw_only=True)
class _Repair:
    """One repair, with the arena that its search and its measurement share."""

    plan: RepairPlan
    arena: AveragedArena
    tell: Tell
    tasks: int
    """Of the search."""

    @property
    def baseline(self) -> Contender:
        return Contender(name="H0", harness=self.plan.baseline)

    @property
    def harness(self) -> Contender:
        return Contender(name="H", harness=self.plan.harness)

    @property
    def variants(self) -> list[Variant]:
        return [self.plan.released, *(found.variant for found in self.plan.counterfactuals)]

    async def run(self) -> AuditedRepair:
        plan = self.plan
        means = await self.arena.means([self.baseline, self.harness], self.variants, SEARCH)
        whole = unexplained_standing(means, self.harness.name, self.baseline.name, self.variants)
        broken = [violation.name for violation in plan.rule.violations(whole)]
        if not broken and not plan.shortcuts:
            return AuditedRepair(ending="nothing to repair", reason=self._tolerated(whole), search_tasks=self.tasks)
        parts = tuple(part.name for part in parts_of(plan.baseline, plan.harness))
        destroyed = {name: float(whole.destruction[name]) for name in broken}
        self.tell(ShortcutShown(breaks=destroyed, shortcuts=plan.shortcuts, parts=len(parts)))
        limits = plan.limits(mean(means[self.baseline.name, RELEASED]))
        found = await search_repair(
            self.arena, self.baseline, self.harness, self.variants, plan.rule, SEARCH, name=NAME, limits=limits
        )
        self.tell(_searched(found))
        before, after = await self._measured([self.harness, *([] if found.repaired is None else [found.repaired])])
        return AuditedRepair(
            ending="nothing left" if after is None else "repaired", reason=_in_words(before, after), search=found,
            parts=parts, before=before, after=after, search_tasks=self.tasks, confirm_tasks=len(plan.measured_tasks),
        )  # fmt: skip

    def _tolerated(self, whole: Standing) -> str:
        """The reason why a harness that keeps all constraints on the search tasks is left as it is."""
        most = max(whole.destruction.values())
        return (
            f"on the search tasks no counterfactual destroys more than epsilon = {self.plan.epsilon} (at most "
            f"{float(most):.3f}): a smaller --epsilon asks for more"
        )

    async def _measured(self, harnesses: Sequence[Contender]) -> tuple[Gains, Gains | None]:
        """The gain of the harness and, where there is one, of the repaired one; all intervals hold together.

        The counterfactual of each headline is chosen on the search tasks.
        """
        plan, everyone = self.plan, [self.baseline, *harnesses]
        searched = await self.arena.means(everyone, self.variants, SEARCH)
        worst = {h.name: worst_of(searched, h.name, self.baseline.name, plan.headline) for h in harnesses}
        self.tell(RepairMeasurementStarted(harnesses=len(harnesses), tasks=len(plan.measured_tasks)))
        means = await self.arena.means(everyone, self.variants, CONFIRM, plan.measured_tasks)
        gains = measure_gains(means, worst, self.baseline.name, level=plan.level, clusters=plan.clusters)
        before, *after = (gains[harness.name] for harness in harnesses)
        return before, after[0] if after else None


def _searched(found: RepairOutcome) -> Repaired:
    best = found.best
    return Repaired(
        round=None,
        of=found.of.name,
        repaired=None if best is None else "H'",
        dropped=() if best is None else best.dropped,
        generalised=() if best is None else best.generalised,
        tried=len(found.attempts),
        cells=found.cells,
    )


def _in_words(before: Gains, after: Gains | None) -> str:
    """ "gain +12.2 points as released and +1.3 surviving; repaired +7.9 and +7.4"."""
    had = f"gain {_points(before.released)} points as released and {_points(before.surviving)} surviving"
    if after is None:
        return f"{had}; on the search tasks nothing of it is left without the shortcut: keep the baseline"
    return f"{had}; repaired {_points(after.released)} and {_points(after.surviving)}"


def _points(found: Estimate) -> str:
    return f"{100 * found.value:+.1f}"
