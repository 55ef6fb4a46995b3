"""HarnessEvolve in the paper's three-epoch adaptation ("Budget-Constrained HarnessEvolve Adaptation").

A round is one batch of tasks and one chance to update `H_{t-1}`. An epoch cuts `D_evo ∪ D_conf,1 ∪ D_conf,2 ∪ D_conf,3`
anew into batches; at its end `D_disc` selects from all harnesses accepted so far what the next one starts from.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from pydantic import Field

from chase.agents.history import RELEASED, History
from chase.core.agents import Agent
from chase.core.errors import UserError
from chase.core.events import (
    EpochSelected,
    EpochStarted,
    FailuresGrouped,
    FinalSelected,
    PoolEntry,
    RoundStarted,
    Selected,
)
from chase.core.values import Json
from chase.methods.arena import Contender
from chase.methods.batches import Batch, batch_scores, batch_sizes, partition
from chase.methods.bounds import Between, EvolutionBounds, ForecastRequest, Rollouts
from chase.methods.contract import Traits, World, confirmation_roles
from chase.methods.desks import Assignment
from chase.methods.evolution import Choice, EvolutionOutcome, Round, choose, distinct
from chase.methods.failures import Group, brief, diagnosed, grouped
from chase.methods.options import ExactDecimal
from chase.methods.performance_gate import Verdict, performance_gate, pool_entry
from chase.methods.quality_gate import QualityGate
from chase.methods.references import REFERENCE, ReferenceOptions, Verified
from chase.methods.rounds import EVO
from chase.methods.selection import SelectionRule
from chase.methods.task_leaks import secrets_of

DISC = "disc"
"""The role that selects at the end of an epoch. No agent reads of it."""
FAILURES = "failure groups"
"""The brief that the Proposer is given."""
NOTHING_FAILED = "nothing failed on the batch: there is nothing to mend"


class HarnessEvolveOptions(ReferenceOptions):
    """The paper's table of adjusted settings, and what it leaves open."""

    epochs: int = Field(default=3, ge=1, le=20, description="Epochs, 1 to 20.")
    batches: int = Field(default=3, ge=1, le=20, description="Batches of an epoch, 1 to 20: one round each.")
    epsilon_he: ExactDecimal = Field(
        default="0.05", description="Most that a candidate's score may fall on an earlier batch, from 0 to 1."
    )
    recent: int = Field(default=2, ge=0, le=20, description="Earlier rounds whose batches a candidate is tried on (R).")
    per_task: int = Field(
        default=2, ge=1, le=100, description="Rollouts of a task, at most: the first of those that its role has."
    )


@dataclass(kw_only=True)
class Course:
    """Where an evolution stands."""

    line: list[Contender]
    """`H_0 … H_t`."""
    current: Contender
    """What the next round starts from: `H_t`, or what `D_disc` selected at the end of an epoch."""
    gate: QualityGate
    pool: list[Contender]
    """`H_0` and everything that was accepted."""
    batches: list[Batch] = field(default_factory=list)
    """Those of the rounds so far, over all epochs."""
    rounds: list[Round] = field(default_factory=list)


class HarnessEvolve:
    """Trains on `evo` and the confirmation sets, selects on `disc`. Its Proposer reads of what it trains on."""

    name = "harness-evolve"
    summary = "batch updates from reference trajectories, held to recent batches and selected on held-out tasks"
    Options = HarnessEvolveOptions
    traits = Traits(shortcut_aware=True, worst_case=True)
    agents: tuple[Agent, ...] = ("proposer",)

    def roles(self, roles: tuple[str, ...], sealed: Collection[str]) -> tuple[str, ...]:
        held = tuple(role for role in roles if role in (EVO, DISC, *confirmation_roles(roles)) and role not in sealed)
        if missing := [role for role in (EVO, DISC, "conf1") if role not in held]:
            raise UserError(f"{self.name} needs the task sets {EVO}, {DISC}, conf1, …: there is no {missing[0]}.")
        return held

    def reader(self, role: str) -> Agent | None:
        return None if role == DISC else "proposer"

    def forecast(self, request: ForecastRequest[HarnessEvolveOptions]) -> EvolutionBounds:
        options, training = request.options, [role for role in request.roles if role != DISC]
        rounds, tasks = options.epochs * options.batches, sum(request.tasks[role] for role in training)
        made = Between(least=tasks, most=tasks * options.attempts)
        return EvolutionBounds(
            rollouts=(
                Rollouts(stage="reference trajectories", role=REFERENCE, count=made),
                # Every task is met by some harness; at most H_0 and each round's candidate meet all of them.
                *(
                    request.cells("rounds", role, least=1, most=1 + rounds, rollouts=options.per_task)
                    for role in training
                ),
                request.cells("selection after epochs", DISC, least=1, most=1 + rounds, rollouts=options.per_task),
            ),
            episodes={"proposer": Between(least=0, most=rounds)},
        )

    async def evolve(self, world: World[HarnessEvolveOptions]) -> EvolutionOutcome:
        options, h0 = world.options, world.initial
        training = {role: world.tasks(role) for role in world.roles if role != DISC}
        _check_sizes(training, options.batches)
        secrets = secrets_of(world.kit.benchmark, [task for tasks in training.values() for task in tasks])
        gate = QualityGate(initial=h0.harness, secrets=secrets)
        course = Course(line=[h0], current=h0, gate=gate, pool=[h0])
        for epoch in range(1, options.epochs + 1):
            batches = partition(training, options.batches, seed=world.seed, epoch=epoch)
            sizes = tuple(len(batch.every) for batch in batches)
            world.tell(EpochStarted(epoch=epoch, epochs=options.epochs, batches=sizes, current=course.current.name))
            for batch in batches:
                await self._update(world, course, epoch, batch)
            selected = await self._select(world, course, epoch)  # on D_disc, from H_0 and all accepted so far
            course.current = selected.harness
        world.tell(FinalSelected(pool=selected.pool, selected=selected.harness.name))
        return EvolutionOutcome(
            final=selected.harness,
            harnesses=tuple(course.line),
            archive=world.archive,
            variants=(world.released,),
            rounds=tuple(course.rounds),
            selection={**selected.to_json(), "role": DISC},
            warnings=_warnings(course),
        )

    async def _update(self, world: World[HarnessEvolveOptions], course: Course, epoch: int, batch: Batch) -> None:
        """Round t: from `H_{t-1}` to `H_t`."""
        options, current = world.options, course.current
        rounds = options.epochs * options.batches
        world.tell(RoundStarted(round=batch.round, rounds=rounds, current=current.name, archive=(world.released.name,)))
        references = await world.references.verified(batch.every)
        executed = await batch_scores(world, [current], batch, options.per_task)  # without the answers
        groups, executions = _failures(world, current, batch, references)
        record = _record(epoch, batch, references, groups)
        world.tell(FailuresGrouped(**{key: record[key] for key in ("round", "tasks", "references", "groups")}))
        candidate, refused = await self._propose(world, course, batch.round, brief(groups, executions))
        verdict = None
        if candidate is not None:
            earlier = course.batches[-options.recent :] if options.recent else []
            verdict = await performance_gate(
                world, candidate, current, (batch, earlier), epsilon=options.epsilon_he, rollouts=options.per_task
            )
            if verdict.accepted:
                course.current = candidate
                course.pool.append(candidate)
        record["selection"] = _selection(current, executed[current.name], course.current, verdict, refused)
        self._close(world, course, batch, record)

    async def _propose(
        self, world: World[HarnessEvolveOptions], course: Course, round: int, told: Mapping[str, Json]
    ) -> tuple[Contender | None, list[str]]:
        """One edit of `H_{t-1}` that passed the quality gate, or why there is none."""
        if not told["groups"]:
            return None, [NOTHING_FAILED]
        asked = Assignment(tracks=(), candidates=1, briefs={FAILURES: told})
        found, refused = await world.proposer.candidates(round, course.current, world.initial, asked, [course.gate])
        return (found[0] if found else None), refused

    def _close(self, world: World[HarnessEvolveOptions], course: Course, batch: Batch, record: Round) -> None:
        course.line.append(course.current)
        course.batches.append(batch)
        course.rounds.append(record)
        selection = record["selection"]
        world.proposer.tree.add_round({"round": batch.round, **selection})
        pool = tuple(PoolEntry(**entry) for entry in selection["pool"])
        world.tell(
            Selected(round=batch.round, pool=pool, selected=selection["selected"], refused=tuple(selection["refused"]))
        )

    async def _select(self, world: World[HarnessEvolveOptions], course: Course, epoch: int) -> Choice:
        """The epoch's selection: the highest score on `D_disc`, of equals the earlier."""
        pool = distinct(course.pool)
        means = await world.arena.means(pool, [world.released], DISC, None, world.options.per_task)
        choice = choose(pool, means, [world.released], SelectionRule())
        course.rounds[-1]["epoch_selection"] = {"epoch": epoch, "role": DISC, **choice.to_json()}
        world.tell(EpochSelected(epoch=epoch, pool=choice.pool, selected=choice.harness.name))
        return choice


def _check_sizes(training: Mapping[str, Sequence[str]], batches: int) -> None:
    tasks = sum(map(len, training.values()))
    if min(batch_sizes(tasks, batches)) < 1:
        raise UserError(f"batches={batches}: there are {tasks} tasks to train on, fewer than batches of an epoch.")


def _failures(
    world: World[Any], current: Contender, batch: Batch, references: Mapping[str, Verified]
) -> tuple[tuple[Group, ...], int]:
    """The failed executions of `H_{t-1}` on a batch by cause, and how many executions there were."""
    benchmark, tasks = world.kit.benchmark, frozenset(batch.every)
    history = History(world.proposer.tree.root)
    executed = [found for found in history.traces(current.name, RELEASED) if found[1]["task"] in tasks]
    failed = [
        diagnosed(path, trace, references[trace["task"]].reference, benchmark.interface, benchmark.answer_form.pattern)
        for path, trace in executed
        if (trace["score"] or 0.0) < 1
    ]
    return grouped(failed), len(executed)


def _record(epoch: int, batch: Batch, references: Mapping[str, Verified], groups: Sequence[Group]) -> Round:
    refused = [found for found in references.values() if found.reference is None]
    return {
        "round": batch.round,
        "epoch": epoch,
        "tasks": len(batch.every),
        "references": {
            "admitted": len(references) - len(refused),
            "fallback": len(refused),
            "attempts_refused": sum(len(found.refused) for found in references.values()),
        },
        "groups": [group.summary() for group in groups],
    }


def _selection(
    current: Contender, score: Fraction, selected: Contender, verdict: Verdict | None, refused: list[str]
) -> dict[str, Json]:
    """What the gates made of a round's edit, in the form that every method's selection has."""
    pool = (pool_entry(current, score),) if verdict is None else verdict.pool
    return {
        "pool": [asdict(entry) for entry in pool],
        "selected": selected.name,
        "hash": selected.harness.hash,
        "refused": refused,
        "performance_gate": None if verdict is None else [found.to_json() for found in verdict.compared],
        "accepted": verdict is not None and verdict.accepted,
    }


def _warnings(course: Course) -> tuple[str, ...]:
    first = [record["references"] for record in course.rounds if record["epoch"] == 1]
    without = sum(found["fallback"] for found in first)
    of = without + sum(found["admitted"] for found in first)
    if not without:
        return ()
    return (f"{without} of {of} training tasks have no verified reference trajectory: their failures stood alone",)
