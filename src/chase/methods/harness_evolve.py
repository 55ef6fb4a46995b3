"""HarnessEvolve in the paper's three-epoch adaptation ("Budget-Constrained HarnessEvolve Adaptation").

A round is one batch of tasks and one chance to update `H_{t-1}`. An epoch cuts `D_evo ∪ D_conf,1 ∪ D_conf,2 ∪ D_conf,3`
anew into batches; at its end `D_disc` selects from `H_0` and all harnesses accepted so far what the next one starts
from. `HarnessEvolve.evolve` and `HarnessEvolve.update` are to be read beside the paper's section.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pydantic import Field

from chase.agents.history import RELEASED, History
from chase.core.agents import FAILURE_GROUPS, Agent
from chase.core.errors import UserError
from chase.core.events import EpochSelected, EpochStarted, FailuresGrouped, FinalSelected, RoundStarted, Selected
from chase.methods.arena import Contender
from chase.methods.batches import Batch, Training, batch_sizes, partition
from chase.methods.bounds import Between, EvolutionBounds, ForecastRequest, Rollouts
from chase.methods.contract import Traits, World, confirmation_roles
from chase.methods.desks import Assignment
from chase.methods.evolution import Choice, EvolutionOutcome, Round, choose, distinct
from chase.methods.failures import Group, brief, diagnosed, grouped
from chase.methods.options import ExactDecimal
from chase.methods.performance_gate import performance_gate
from chase.methods.quality_gate import QualityGate
from chase.methods.references import REFERENCE, ReferenceOptions, Verified
from chase.methods.rounds import EVO
from chase.methods.selection import SelectionRule

DISC = "disc"
"""The role that selects at the end of an epoch. No agent reads of it."""
NOTHING_FAILED = "the whole round: nothing failed on the batch, so there is nothing to mend"


class HarnessEvolveOptions(ReferenceOptions):
    """The paper's table of adjusted settings, and what it leaves open."""

    epochs: int = Field(default=3, ge=1, le=20, description="Epochs, 1 to 20.")
    batches: int = Field(default=3, ge=1, le=20, description="Batches of an epoch, 1 to 20: one round each.")
    epsilon_he: ExactDecimal = Field(
        default="0.05", description="Most that a candidate's score may fall on an earlier batch, from 0 to 1."
    )
    recent: int = Field(default=2, ge=0, le=20, description="Earlier rounds whose batches a candidate is tried on (R).")
    per_task: int = Field(
        default=2, ge=1, le=100, description="Most rollouts of a task: the first of those that its role has, 1 to 100."
    )

    @property
    def rounds(self) -> int:
        return self.epochs * self.batches


@dataclass(kw_only=True)
class Course:
    """Where an evolution stands after round `t`."""

    training: Training
    gate: QualityGate
    line: list[Contender]
    """`H_0 … H_t`."""
    current: Contender
    """What the next round starts from: `H_t`, or what `D_disc` selected at the end of an epoch."""
    pool: list[Contender]
    """`H_0` and every candidate that was accepted."""
    batches: list[Batch] = field(default_factory=list)
    """Of the rounds so far, over all epochs."""
    rounds: list[Round] = field(default_factory=list)
    """What is recorded of each round."""

    @classmethod
    def begin(cls, world: World[HarnessEvolveOptions]) -> Course:
        h0, roles = world.initial, tuple(role for role in world.roles if role != DISC)
        training = Training(world=world, roles=roles, rollouts=world.options.per_task)
        if min(batch_sizes(len(training.tasks), world.options.batches)) < 1:
            raise UserError(f"batches={world.options.batches}: only {len(training.tasks)} tasks are there to train on.")
        gate = QualityGate.of(world.kit.benchmark.gate, training.tasks, h0.harness)
        return cls(training=training, gate=gate, line=[h0], current=h0, pool=[h0])

    def recent(self, rounds: int) -> list[Batch]:
        """The batches of the last so many rounds, the latest first; an epoch's end is no border."""
        return self.batches[::-1][:rounds]


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
        """At least: nothing is handed in, so every task is met by `H_0` alone. At most: `H_0` and each round's
        candidate meet every task.
        """
        options, training = request.options, [role for role in request.roles if role != DISC]
        rounds, tasks = options.rounds, sum(request.tasks[role] for role in training)
        agreed = min(request.roles[role] // request.tasks[role] for role in training)
        per_task = min(options.per_task, agreed)
        references = Between(least=tasks, most=tasks * options.attempts)
        return EvolutionBounds(
            rollouts=(
                Rollouts(stage="references", role=REFERENCE, count=references),
                *(request.cells("rounds", role, least=1, most=1 + rounds, rollouts=per_task) for role in training),
                request.cells("after epochs", DISC, least=1, most=1 + rounds, rollouts=options.per_task),
            ),
            episodes={"proposer": Between(least=0, most=rounds)},
        )

    async def evolve(self, world: World[HarnessEvolveOptions]) -> EvolutionOutcome:
        course, epochs = Course.begin(world), world.options.epochs
        for epoch in range(1, epochs + 1):
            batches = partition(course.training.tasks, world.options.batches, seed=world.seed, epoch=epoch)
            sizes = tuple(len(batch.tasks) for batch in batches)
            world.tell(EpochStarted(epoch=epoch, epochs=epochs, batches=sizes, current=course.current.name))
            for batch in batches:
                await self.update(world, course, epoch, batch)
            selected = await self.select(world, course, epoch)
            course.current = selected.harness
        world.tell(FinalSelected(pool=selected.pool, selected=selected.harness.name))
        return EvolutionOutcome(
            final=selected.harness,
            harnesses=tuple(course.line),
            archive=world.archive,
            variants=(world.released,),
            rounds=tuple(course.rounds),
            selection={"role": DISC, **selected.to_json()},
            warnings=_warnings(course),
        )

    async def update(self, world: World[HarnessEvolveOptions], course: Course, epoch: int, batch: Batch) -> None:
        """Round `t`: from `H_{t-1}` to `H_t`."""
        options, current = world.options, course.current
        released = (world.released.name,)
        world.tell(RoundStarted(round=batch.round, rounds=options.rounds, current=current.name, archive=released))
        references = await world.references.verified(batch.tasks)
        await course.training.scores([current], batch)  # H_{t-1} is executed, without the answers
        groups, executions = _failures(world, current, batch, references)
        record = _record(epoch, batch, references, groups)
        world.tell(FailuresGrouped(**{key: record[key] for key in ("round", "tasks", "references", "groups")}))
        asked = Assignment(tracks=(), candidates=1, briefs={FAILURE_GROUPS: brief(groups, executions)})
        candidates, refused = [current], [NOTHING_FAILED]
        if groups:
            edits, refused = await world.proposer.candidates(
                batch.round, current, world.initial, asked, gates=[course.gate]
            )
            candidates = edits or candidates
        verdict = await performance_gate(
            course.training, candidates[0], current, batch, course.recent(options.recent), options.epsilon_he
        )
        if verdict.accepted:
            course.current = verdict.candidate  # H_t
            course.pool.append(verdict.candidate)
        course.line.append(course.current)
        course.batches.append(batch)
        record["selection"] = {**verdict.to_json(), "refused": refused}
        course.rounds.append(record)
        world.proposer.tree.add_round({"round": batch.round, **record["selection"]})
        selected = course.current.name
        world.tell(Selected(round=batch.round, pool=verdict.pool, selected=selected, refused=tuple(refused)))

    async def select(self, world: World[HarnessEvolveOptions], course: Course, epoch: int) -> Choice:
        """The epoch's selection: of `H_0` and all distinct accepted harnesses so far the one with the highest score on
        `D_disc`; of equals the earlier.
        """
        pool = distinct(course.pool)
        means = await world.arena.means(pool, [world.released], DISC, None, world.options.per_task)
        choice = choose(pool, means, [world.released], SelectionRule())
        course.rounds[-1]["epoch_selection"] = {"role": DISC, **choice.to_json()}
        world.tell(EpochSelected(epoch=epoch, pool=choice.pool, selected=choice.harness.name))
        return choice


def _failures(
    world: World[HarnessEvolveOptions], current: Contender, batch: Batch, references: Mapping[str, Verified]
) -> tuple[tuple[Group, ...], int]:
    """The failed executions of `H_{t-1}` on a batch by cause, and how many executions there were."""
    interface, form = world.kit.benchmark.interface, world.kit.benchmark.answer_form.pattern
    traces = History(world.proposer.tree.root).traces(current.name, RELEASED)
    executed = [(path, trace) for path, trace in traces if trace["task"] in batch.tasks]
    failed = [
        diagnosed(path, trace, references[trace["task"]].reference, interface, form)
        for path, trace in executed
        if (trace["score"] or 0.0) < 1
    ]
    return grouped(failed), len(executed)


def _record(epoch: int, batch: Batch, references: Mapping[str, Verified], groups: tuple[Group, ...]) -> Round:
    without = sum(found.reference is None for found in references.values())
    refused = sum(len(found.refused) for found in references.values())
    return {
        "round": batch.round,
        "epoch": epoch,
        "tasks": len(batch.tasks),
        "references": {"admitted": len(references) - without, "fallback": without, "attempts_refused": refused},
        "groups": [group.summary() for group in groups],
    }


def _warnings(course: Course) -> tuple[str, ...]:
    without = sum(record["references"]["fallback"] for record in course.rounds if record["epoch"] == 1)
    if not without:
        return ()
    tasks = len(course.training.tasks)
    return (f"{without} of {tasks} training tasks have no verified reference trajectory: their failures stood alone",)
