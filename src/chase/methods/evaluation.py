"""How a pool is evaluated before one of it is selected: in full, or as far as the decision needs (beyond the paper).

`curtailed` stops where the scores that are missing cannot change what is selected, `racing` where they very likely do
not. Which cells are needed next is decided in `stats/curtailment.py`; here they are evaluated, some tasks at a time, in
one order for all harnesses. A task is evaluated with all its rollouts or not at all. What is selected is evaluated in
full before it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from pydantic import Field

from chase.core.events import PoolEntry, Stopped
from chase.core.keyed import sorted_by_key
from chase.core.values import Json
from chase.methods.arena import Arena, Contender, Means, Variant, standing
from chase.methods.contract import World
from chase.methods.evolution import Choice, choose, entry_of
from chase.methods.options import MethodOptions
from chase.methods.selection import PlainRule, SelectionRule
from chase.stats.curtailment import Cell, Contest, Ends, Step, Stop, certain, next_step
from chase.stats.estimates import PerTask
from chase.stats.racing import Likely

Kind = Literal["full", "curtailed", "racing"]
STEPS = 8
"""Parts of a task set that are evaluated one after the other."""
FIRST: Mapping[Kind, int] = {"curtailed": 4, "racing": 2}
"""So many of them come first, at once: before that nothing would be decided."""
RACE_ERROR = 0.05


class EvaluationOptions(MethodOptions):
    """Of methods that select from a pool."""

    evaluation: Kind = Field(
        default="full",
        description="How candidates are evaluated: full, curtailed (until the choice is certain) or racing (until it "
        "is very likely); not in the paper.",
    )


@dataclass(kw_only=True)
class Evaluation:
    """Evaluates pools on one role, and knows what was evaluated there in this run."""

    arena: Arena
    role: str
    order: Sequence[str]
    """The role's tasks in the order in which they are evaluated."""
    rollouts: int
    """Of a task."""
    kind: Kind = "full"
    known: dict[Cell, dict[str, Fraction]] = field(default_factory=dict)
    """(a harness's hash, variant) → each task's mean score."""

    @classmethod
    def of(cls, world: World[Any], role: str) -> Evaluation:
        kind = world.options.evaluation if isinstance(world.options, EvaluationOptions) else "full"
        return cls(
            arena=world.arena,
            role=role,
            order=evaluation_order(world.tasks(role), world.seed),
            rollouts=world.rollouts[role],
            kind=kind,
        )

    async def in_full(self, harnesses: Sequence[Contender], variants: Sequence[Variant]) -> Means:
        """Each harness under each variant on all tasks."""
        means = await self.arena.means(harnesses, variants, self.role)
        self._note(harnesses, means)
        return means

    async def choose(self, pool: Sequence[Contender], variants: Sequence[Variant], rule: SelectionRule) -> Choice:
        """What selection takes from a pool that begins with `H_0`. A rule that only whole scores can decide is decided
        by them.
        """
        plain = rule.plain()
        if self.kind == "full" or plain is None:
            return choose(pool, await self.in_full(pool, variants), variants, rule)
        await self.in_full(pool[:1], variants)
        contest = self._contest(pool, variants, plain)
        step = self._next(contest, pool)
        while step.wanted:
            await self._extend(step, pool, variants)
            step = self._next(contest, pool)
        return self._choice(contest, step, pool, variants, rule)

    @property
    def record(self) -> dict[str, Json]:
        """Episodes that were evaluated, against those of the full schedule, each counted once in a run; nothing where
        all were.
        """
        if self.kind == "full":
            return {}
        made = sum(len(tasks) for tasks in self.known.values()) * self.rollouts
        return {"kind": self.kind, "episodes": made, "full": len(self.known) * len(self.order) * self.rollouts}

    def _contest(self, pool: Sequence[Contender], variants: Sequence[Variant], plain: PlainRule) -> Contest:
        for named in pool:
            for variant in variants:
                self.known.setdefault((named.harness.hash, variant.name), {})
        names = tuple(variant.name for variant in variants)
        return Contest(
            pool=tuple(named.name for named in pool),
            tasks=len(self.order),
            objective=names[0] if plain.objective is None else plain.objective,
            variants=names,
            constraints=() if plain.tolerance is None else names[1:],
            tolerance=Fraction(plain.tolerance or 0),
        )

    def _next(self, contest: Contest, pool: Sequence[Contender]) -> Step:
        return next_step(contest, self._cells(pool, contest.variants), self._ends)

    @property
    def _ends(self) -> Ends:
        return certain if self.kind == "curtailed" else Likely(error=RACE_ERROR, least=self._after(0))

    def _after(self, done: int) -> int:
        """How many tasks of a cell are known after its next part."""
        return next(upto for upto in parts(len(self.order), self.kind) if upto > done)

    async def _extend(self, step: Step, pool: Sequence[Contender], variants: Sequence[Variant]) -> None:
        """The next part of every cell that is wanted; all that is left of what is selected."""
        named, by_name = {one.name: one for one in pool}, {variant.name: variant for variant in variants}
        for (done, under), harnesses in self._together(step.wanted, named).items():
            tasks = self.order[done : None if step.selected is not None else self._after(done)]
            asked = [by_name[variant] for variant in under]
            self._note(harnesses, await self.arena.means(harnesses, asked, self.role, tasks))

    def _together(
        self, wanted: Iterable[Cell], named: Mapping[str, Contender]
    ) -> dict[tuple[int, tuple[str, ...]], list[Contender]]:
        """(tasks that are known, variants) → the harnesses whose next tasks they are: one evaluation each."""
        under: dict[tuple[str, int], list[str]] = {}
        for harness, variant in wanted:
            done = len(self.known[named[harness].harness.hash, variant])
            under.setdefault((harness, done), []).append(variant)
        found: dict[tuple[int, tuple[str, ...]], list[Contender]] = {}
        for (harness, done), variants in under.items():
            found.setdefault((done, tuple(variants)), []).append(named[harness])
        return found

    def _note(self, harnesses: Iterable[Contender], means: Means) -> None:
        hashes = {named.name: named.harness.hash for named in harnesses}
        for (harness, variant), per_task in means.items():
            self.known.setdefault((hashes[harness], variant), {}).update(per_task)

    def _cells(self, pool: Sequence[Contender], variants: Iterable[str]) -> dict[Cell, PerTask]:
        return {(named.name, name): self.known[named.harness.hash, name] for name in variants for named in pool}

    def _choice(
        self, contest: Contest, step: Step, pool: Sequence[Contender], variants: Sequence[Variant], rule: SelectionRule
    ) -> Choice:
        cells, stopped = self._cells(pool, contest.variants), step.stopped or {}
        entries = list[PoolEntry]()
        for named in pool:
            covered = {name: len(cells[named.name, name]) for name in contest.variants}
            whole = [variant for variant in variants if covered[variant.name] == contest.tasks]
            found = standing(cells, named.name, pool[0].name, whole) if variants[0] in whole else None
            stop = None if len(whole) == len(variants) else self._stopped(stopped[named.name], covered)
            entries.append(entry_of(named, found, rule, stop))
        return Choice(harness=next(named for named in pool if named.name == step.selected), pool=tuple(entries))

    def _stopped(self, stop: Stop, covered: Mapping[str, int]) -> Stopped:
        return Stopped(
            after=sum(covered.values()) * self.rollouts,
            of=len(covered) * len(self.order) * self.rollouts,
            tasks=covered,
            why=stop.why,
            by=stop.by,
            bound=float(stop.bound),
            certain=self.kind == "curtailed",
        )


def parts(tasks: int, kind: Kind) -> tuple[int, ...]:
    """How many tasks are known after each part of a task set."""
    return tuple(sorted({math.ceil(tasks * part / STEPS) for part in range(FIRST[kind], STEPS + 1)}))


def evaluation_order(tasks: Iterable[str], seed: int) -> list[str]:
    """Tasks in an order that the run's seed decides, the same for all harnesses: comparisons are paired."""
    return sorted_by_key(tasks, "evaluation", seed)
