"""A method's capability: it evaluates harnesses on the task sets it holds and reads what it evaluated, no more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from chase.core.errors import IntegrityError
from chase.core.interfaces import Benchmark, Transformation
from chase.core.values import Json
from chase.engine.gate import Room
from chase.engine.rollout import Contestant, Job
from chase.engine.runner import Runner, ScoredRollout
from chase.stats.estimates import within_task_means
from chase.store.store import Store


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A harness under a transformation on one task set: every score, task by task."""

    role: str
    harness: str
    transformation: str
    scores: Mapping[str, tuple[float, ...]]
    """Task → the score of each rollout."""
    reasons: Mapping[str, tuple[str, ...]]
    rollouts: Mapping[str, tuple[str, ...]]
    """Task → the digest of each rollout."""

    @cached_property
    def means(self) -> Mapping[str, Fraction]:
        """Averaged within task."""
        return within_task_means(self.scores)


@dataclass(frozen=True, kw_only=True, slots=True)
class Opening:
    """That a run's certification set was opened: made by `unseal`, and worth nothing without its record."""

    subject: str
    reason: str


def unseal(
    store: Store, subject: str, hashes: Mapping[str, Json], reason: str = "", *, room: Room | None = None
) -> Opening:
    """Commit, then reveal: record what was fixed, and only then hand out the key to the sealed set.

    The first opening needs no reason, and neither does going on with one that was interrupted: the hashes are the
    same, so nothing new can be looked at. Every other needs one. Nothing is opened where a cap leaves no `room` for
    what is to be measured.
    """
    earlier = store.seals(subject)
    if reason.strip() or not earlier or dict(earlier[-1].hashes) != dict(hashes):
        if room is not None:
            room.require()
        store.record_seal(subject, hashes, reason)
    return Opening(subject=subject, reason=reason)


def jobs_of(
    benchmark: Benchmark[Any],
    pairs: Iterable[tuple[Contestant, Transformation[Any]]],
    tasks: Sequence[str],
    rollouts: int,
    run_seed: int,
) -> list[Job]:
    """So many rollouts of every task, for each harness under its transformation."""
    return [
        Job(
            benchmark=benchmark,
            transformation=transformation,
            harness=harness,
            task=task,
            index=index,
            run_seed=run_seed,
        )
        for harness, transformation in pairs
        for task in tasks
        for index in range(rollouts)
    ]


class Evaluator:
    """Evaluates and reads the task sets of some roles. Whoever holds it can reach no other through it."""

    def __init__(
        self,
        *,
        benchmark: Benchmark[Any],
        runner: Runner,
        store: Store,
        roles: Mapping[str, int],
        run_seed: int,
        opening: Opening | None = None,
    ) -> None:
        """`roles` says which roles are held and how many rollouts of each task are made."""
        if (sealed := benchmark.sealed & roles.keys()) and (opening is None or not store.seals(opening.subject)):
            raise IntegrityError(f"task set '{min(sealed)}' is sealed: open it with `unseal`, which records it.")
        self._benchmark = benchmark
        self._runner = runner
        self._store = store
        self._roles = dict(roles)
        self._run_seed = run_seed
        self._mine: set[str] = set()

    @property
    def roles(self) -> frozenset[str]:
        return frozenset(self._roles)

    def agreed(self, role: str) -> int:
        """How many rollouts of each task of a role are made."""
        self._check(role)
        return self._roles[role]

    def tasks(self, role: str) -> tuple[str, ...]:
        """The opaque ids of a role's tasks."""
        self._check(role)
        return tuple(self._benchmark.tasks(role))

    async def evaluate(self, harness: Contestant, transformation: Transformation[Any], role: str) -> Cell:
        """Every task of the role, as often as was agreed. What the store has is not run again."""
        (cell,) = await self.evaluate_all([(harness, transformation)], role)
        return cell

    async def evaluate_all(
        self,
        pairs: list[tuple[Contestant, Transformation[Any]]],
        role: str,
        tasks: tuple[str, ...] | None = None,
        rollouts: int | None = None,
    ) -> list[Cell]:
        """Several harnesses and transformations at once, on all tasks of the role or on some; of each task all rollouts
        that were agreed, or the first so many of them.
        """
        found = await self._results(pairs, role, tasks, rollouts)
        return [
            Cell(
                role=role,
                harness=harness.hash,
                transformation=transformation.hash,
                scores={task: tuple(r.outcome.score or 0.0 for r in rs) for task, rs in by_task.items()},
                reasons={task: tuple(r.outcome.reason for r in rs) for task, rs in by_task.items()},
                rollouts={task: tuple(r.digest for r in rs) for task, rs in by_task.items()},
            )
            for (harness, transformation), by_task in zip(pairs, found, strict=True)
        ]

    async def rollouts(
        self, harness: Contestant, transformation: Transformation[Any], role: str, tasks: tuple[str, ...] | None = None
    ) -> dict[str, list[ScoredRollout]]:
        """Task → each of its rollouts, with what it used and whether it was in the store already."""
        (found,) = await self._results([(harness, transformation)], role, tasks)
        return found

    async def _results(
        self,
        pairs: list[tuple[Contestant, Transformation[Any]]],
        role: str,
        tasks: tuple[str, ...] | None,
        rollouts: int | None = None,
    ) -> list[dict[str, list[ScoredRollout]]]:
        chosen = self.tasks(role) if tasks is None else tasks
        if strange := set(chosen) - set(self.tasks(role)):
            raise IntegrityError(f"task {min(strange)} is not of role '{role}', which is what is held here.")
        count = self._roles[role] if rollouts is None else min(rollouts, self._roles[role])
        jobs = jobs_of(self._benchmark, pairs, chosen, count, self._run_seed)
        results = iter(await self._runner.evaluate(jobs))
        found = [{task: [next(results) for _ in range(count)] for task in chosen} for _ in pairs]
        self._mine.update(result.digest for by_task in found for of_task in by_task.values() for result in of_task)
        return found

    def trace(self, digest: str) -> Json:
        """The trace of a rollout that was evaluated here; any other is refused, in the store or not."""
        if digest not in self._mine:
            raise IntegrityError(f"rollout {digest[:12]} was not evaluated here: its trace is not readable.")
        stored = self._store.get(digest)
        if stored is None:
            raise IntegrityError(f"rollout {digest[:12]} is gone from the store.")
        self._check(stored.key.role)
        return self._store.trace(stored.trace_digest)

    def _check(self, role: str) -> None:
        if role not in self._roles:
            held = ", ".join(sorted(self._roles)) or "none"
            raise IntegrityError(f"role '{role}' is not held here. Held: {held}.")
