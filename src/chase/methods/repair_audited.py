"""The repair of an audited harness: the form of it without its shortcut, and what that form keeps on fresh tasks.

Beyond the paper. The search is on the audit's search tasks, under the counterfactuals that count against the gain. What
it leads to is measured on the audit's confirmation tasks, which the search never sees. Sealed tasks are not held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from chase.agents.history import RELEASED
from chase.core.events import Repaired, RepairMeasurementStarted, ShortcutShown, Tell
from chase.core.values import Json
from chase.engine.runner import Pace, Progress, Runner
from chase.engine.sandbox import Sandbox
from chase.harness.parts import parts_of
from chase.harness.spec import Harness
from chase.methods.arena import Contender, StoreArena, Variant, standing
from chase.methods.audit_plan import check_mixture, fresh_roles, pooled_arena
from chase.methods.audit_search import CONFIRM, SEARCH, SEARCH_ROLES
from chase.methods.counterfactuals import estimate_json
from chase.methods.repair import RepairLimits, RepairOutcome, search_repair
from chase.methods.run import Design
from chase.methods.selection import ArchiveGate, SelectionRule, Standing
from chase.models.chat import ChatModel
from chase.stats.bounded import GAINS
from chase.stats.destruction import gain
from chase.stats.estimates import Estimate, Sample, mean
from chase.stats.simultaneous import simultaneous
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
    """The run that confirmed the counterfactuals."""
    verdict: str
    """The audit's."""
    baseline: Harness
    harness: Harness
    counterfactuals: tuple[Variant, ...]
    """Those that count against the gain."""
    epsilon: str
    """Most gain destruction of a form that is kept."""
    level: float
    confirm_size: int | None = None

    @property
    def cells(self) -> int:
        """Most cells (one form under one variant) that the search evaluates."""
        return MOST_FORMS * (1 + len(self.counterfactuals))

    @property
    def rule(self) -> SelectionRule:
        return SelectionRule(gates=(ArchiveGate(epsilon=self.epsilon),))

    def limits(self, more_than: Fraction) -> RepairLimits:
        """What the search may use; `more_than` is the baseline's released score."""
        kit = self.kit
        changed = [kit.touched(variant.transformation, kit.example) for variant in self.counterfactuals]
        return RepairLimits(
            more_than=more_than,
            cells=self.cells,
            observables=[observable.name for observable in self.benchmark.observables],
            suspected={name for touched in changed for name in touched},
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
            "counterfactuals": [variant.transformation.hash for variant in self.counterfactuals],
            "epsilon": self.epsilon,
            "level": self.level,
            "rollouts": dict(self.rollouts),
            "tasks": self.sizes,
            "seed": self.seed,
            "confirm_size": self.confirm_size,
        }


@dataclass(frozen=True, kw_only=True)
class Gains:
    """A harness's gain over the baseline on tasks that the repair did not use."""

    by_variant: Mapping[str, Estimate]
    """As released, and under each counterfactual."""

    @property
    def released(self) -> Estimate:
        return self.by_variant[RELEASED]

    @property
    def worst(self) -> str:
        """The variant under which least of the gain survives."""
        return min(self.by_variant, key=lambda name: self.by_variant[name].value)

    @property
    def surviving(self) -> Estimate:
        return self.by_variant[self.worst]

    def doubts(self, epsilon: str) -> list[str]:
        """What fresh tasks say against a repaired harness."""
        found = []
        if (lost := self.released.value - self.surviving.value) > float(epsilon):
            found.append(
                f"on these tasks {100 * lost:.1f} points of the repaired gain are destroyed, more than epsilon"
            )
        if self.surviving.low <= 0:
            found.append("on these tasks the gain that survives the repair is not told from 0")
        return found

    def to_json(self) -> dict[str, Json]:
        return {
            "released": estimate_json(self.released),
            "surviving": estimate_json(self.surviving),
            "worst": self.worst,
            "gains": {name: estimate_json(found) for name, found in self.by_variant.items()},
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
    if not plan.counterfactuals:
        reason = f"the audit confirmed nothing that counts against the gain (its verdict: {plan.verdict})"
        return AuditedRepair(ending="nothing to repair", reason=reason)
    confirm = fresh_roles(plan.benchmark)
    use = Use(run=run, method="repair")
    runner = Runner(model=model, store=store, sandbox=sandbox, use=use, pace=pace, progress=progress)
    evaluator = plan.evaluator(runner, store, (*SEARCH_ROLES, *confirm))
    arena = pooled_arena(evaluator, confirm, plan.confirm_size, {})
    return await _Repair(plan=plan, arena=arena, tell=tell).run()


@dataclass(frozen=True, kw_only=True)
class _Repair:
    """One repair, with the arena that its search and its measurement share."""

    plan: RepairPlan
    arena: StoreArena
    tell: Tell

    @property
    def baseline(self) -> Contender:
        return Contender(name="H0", harness=self.plan.baseline)

    @property
    def harness(self) -> Contender:
        return Contender(name="H", harness=self.plan.harness)

    @property
    def variants(self) -> list[Variant]:
        return [self.plan.released, *self.plan.counterfactuals]

    async def run(self) -> AuditedRepair:
        plan, tasks = self.plan, len(self.arena.tasks(SEARCH))
        means = await self.arena.means([self.baseline, self.harness], self.variants, SEARCH)
        whole = standing(means, self.harness.name, self.baseline.name, self.variants)
        broken = [violation.name for violation in plan.rule.violations(whole)]
        if not broken:
            return AuditedRepair(ending="nothing to repair", reason=self._tolerated(whole), search_tasks=tasks)
        parts = tuple(part.name for part in parts_of(plan.baseline, plan.harness))
        destroyed = {name: float(whole.destruction[name]) for name in broken}
        self.tell(ShortcutShown(breaks=destroyed, parts=len(parts)))
        limits = plan.limits(mean(means[self.baseline.name, RELEASED]))
        found = await search_repair(
            self.arena, self.baseline, self.harness, self.variants, plan.rule, SEARCH, name=NAME, limits=limits
        )
        self.tell(_searched(found))
        before, after = await self._measured([self.harness, *([] if found.repaired is None else [found.repaired])])
        return AuditedRepair(
            ending="nothing left" if after is None else "repaired", reason=_in_words(before, after), search=found,
            parts=parts, before=before, after=after, search_tasks=tasks, confirm_tasks=len(self.arena.tasks(CONFIRM)),
        )  # fmt: skip

    def _tolerated(self, whole: Standing) -> str:
        """Why a harness that keeps all constraints on the search tasks is left as it is."""
        most = max(whole.destruction.values())
        return (
            f"on the search tasks no confirmed counterfactual destroys more than epsilon = {self.plan.epsilon} (at "
            f"most {float(most):.3f}): a smaller --epsilon asks for more"
        )

    async def _measured(self, harnesses: Sequence[Contender]) -> tuple[Gains, Gains | None]:
        """The gain of the harness and, where there is one, of the repaired one; all intervals hold together."""
        self.tell(RepairMeasurementStarted(harnesses=len(harnesses), tasks=len(self.arena.tasks(CONFIRM))))
        means = await self.arena.means([self.baseline, *harnesses], self.variants, CONFIRM)
        h0, names = self.baseline.name, [variant.name for variant in self.variants]
        gains = {
            f"{h.name} {v}": Sample(per_task=gain(means[h.name, v], means[h0, v]), support=GAINS)
            for h in harnesses
            for v in names
        }
        together = simultaneous(gains, level=self.plan.level)
        before, *after = (Gains(by_variant={v: together[f"{h.name} {v}"] for v in names}) for h in harnesses)
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
    """ "+12.2 released, of which +1.3 survived; repaired: +7.9, of which +7.4 survives"."""
    had = f"{_points(before.released)} points released, of which {_points(before.surviving)} survived"
    if after is None:
        return f"{had}; on the search tasks nothing of it is left without the shortcut: keep the baseline"
    return f"{had}; repaired: {_points(after.released)}, of which {_points(after.surviving)} survives"


def _points(found: Estimate) -> str:
    return f"{100 * found.value:+.1f}"
