"""The paper's OfficeQA run as figures: an arena that gives its estimates back, desks that answer as it tells.

Appendix "Tracing Counterfactual Harness Search and Evolution": 49 evolution and discovery questions with two rollouts
each (every percentage is a multiple of 1/98), 24 confirmation questions with five. The transformations are the paper's,
`wrap-text` (`Φ_b1`) and `shift-passages` by ten lines, and the harnesses those of `configs/officeqa-harnesses/`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from chase.agents.history import RELEASED
from chase.core import events
from chase.core.agents import Draft
from chase.core.interfaces import Benchmark
from chase.core.values import Json
from chase.harness.folder import initial_harness, load_harness
from chase.methods.arena import Contender, Means, SomeTasks, Variant
from chase.methods.chase import Chase, ChaseOptions
from chase.methods.contract import Desks, World
from chase.methods.desks import Assignment
from chase.methods.evolution import EvolutionOutcome
from chase.methods.journal import Journal
from chase.methods.selection import Gate
from chase.protocol.archive import Archive
from chase.protocol.kit import ProtocolKit
from chase.store.workspace import Workspace

CONTEXT = {"name": "wrap-text", "arguments": {}}
BOUNDARY = {"name": "shift-passages", "arguments": {"by": 10}}
OTHER = {"name": "order-listing", "arguments": {"way": "reversed"}}
"""What stands beside the boundary shift in round 3, of which the paper gives no figure."""

EVOLUTION = {
    # harness: (gain under the released benchmark, gain under b1), in 98ths
    "r1-structural": (3, 0),
    "r1-guidance": (5, 0),
    "r1-integrated": (8, -5),  # H_1; of the other two the paper gives no figure
    "r2-structural": (15, 9),
    "r2-guidance": (9, 3),
    "r2-integrated": (15, -2),
    "r3-structural": (-1, -1),
    "r3-guidance": (-2, -6),
    "r3-integrated": (4, 0),
}
DISCOVERY = {
    ("r1-integrated", "wrap-text"): Fraction(7, 98),
    ("r1-integrated", "shift-passages"): Fraction(4, 98),
    ("r3-integrated", "shift-passages"): Fraction(10, 98),
    ("r3-integrated", "order-listing"): Fraction(3, 98),
}
CONFIRMATION = {("conf1", "r1-integrated"): Fraction(14, 100), ("conf3", "r3-integrated"): Fraction(5, 120)}


HARNESSES = Path(__file__).parents[2] / "configs" / "officeqa-harnesses"
FOLDERS = {"r1-integrated": "h1"} | {
    f"r{round}-{track}": f"round{round}-{track}"
    for round in (2, 3)
    for track in ("structural", "guidance", "integrated")
}
"""The paper's harnesses. Of the other two of round 1 it says nothing: a memory of their own stands for them."""


def form(*operators: Mapping[str, Json]) -> dict[str, Json]:
    return {"benchmark": "officeqa", "operators": list(operators)}


def draft(*operators: Mapping[str, Json]) -> Draft:
    return Draft(form=form(*operators))


def named(name: str, initial: Contender) -> Contender:
    made = load_harness(HARNESSES / FOLDERS[name]) if name in FOLDERS else replace(initial.harness, memory=name)
    return Contender(name=name, harness=made)


@dataclass
class FiguresArena:
    """Gives the figures back as cells: `H_0` scores ½ in every task, and the others what their gain says."""

    evolution: Mapping[str, tuple[Fraction, Fraction]]
    discovery: Mapping[tuple[str, str], Fraction]
    confirmation: Mapping[tuple[str, str], Fraction]
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    """(role, harness, variant)."""
    size: int = 2
    """Tasks of a role, all alike."""
    counts: list[tuple[str, int | None]] = field(default_factory=list)
    """(role, first so many rollouts)."""

    async def means(
        self,
        harnesses: Sequence[Contender],
        variants: Sequence[Variant],
        role: str,
        tasks: SomeTasks = None,
        rollouts: int | None = None,
    ) -> Means:
        self.asked += [(role, h.name, v.name) for h in harnesses for v in variants]
        self.counts.append((role, rollouts))
        tasks = [f"{role}-{place}" for place in range(1, self.size + 1)]
        return {
            (h.name, v.name): dict.fromkeys(tasks, Fraction(1, 2) + self._gain(h.name, v, role))
            for h in harnesses
            for v in variants
        }

    def _gain(self, harness: str, variant: Variant, role: str) -> Fraction:
        if harness == "H0":
            return Fraction(0)
        if role == "evo":
            return self.evolution[harness][0 if variant.name == RELEASED else 1]
        if variant.name == RELEASED:
            return Fraction(1, 4)
        if role == "disc":
            operators = "+".join(operator.name for operator in variant.transformation.operators)
            return Fraction(1, 4) - self.discovery[harness, operators]
        return Fraction(1, 4) - self.confirmation[role, harness]


@dataclass
class Tree:
    """What would be written for an agent to read."""

    rounds: list[Mapping[str, Json]] = field(default_factory=list)
    entries: dict[str, Mapping[str, Json]] = field(default_factory=dict)

    def add_round(self, record: Mapping[str, Json]) -> None:
        self.rounds.append(record)

    def add_entry(self, name: str, entry: Mapping[str, Json]) -> None:
        self.entries[name] = entry


@dataclass
class ProposingDesk:
    tree: Tree = field(default_factory=Tree)
    currents: list[str] = field(default_factory=list)
    asked: list[tuple[Assignment, Sequence[Gate]]] = field(default_factory=list)

    async def candidates(
        self, round: int, current: Contender, initial: Contender, assignment: Assignment, gates: Sequence[Gate] = ()
    ) -> tuple[list[Contender], list[str]]:
        self.currents.append(current.name)
        self.asked.append((assignment, gates))
        return [named(f"r{round}-{track}", initial) for track in ("structural", "guidance", "integrated")], []


@dataclass
class ChallengingDesk:
    drafts_of: Mapping[int, list[Draft]]
    tree: Tree = field(default_factory=Tree)
    asked: list[tuple[int, str]] = field(default_factory=list)

    async def drafts(
        self,
        round: int,
        current: Contender,
        initial: Contender,
        *,
        proposals: int,
        evaluated: int,
        archived: Collection[str] = (),
        most_operators: int = 12,
    ) -> list[Draft]:
        self.asked.append((round, current.name))
        return self.drafts_of[round]


@dataclass
class Replay:
    world: World[ChaseOptions]
    arena: FiguresArena
    proposing: ProposingDesk
    challenging: ChallengingDesk
    told: list[events.Event]

    async def evolve(self) -> EvolutionOutcome:
        return await Chase().evolve(self.world)


def replay(
    kit: ProtocolKit,
    *,
    drafts: Mapping[int, list[Draft]] | None = None,
    evolution: Mapping[str, tuple[Any, Any]] = EVOLUTION,
    discovery: Mapping[tuple[str, str], Fraction] = DISCOVERY,
    confirmation: Mapping[tuple[str, str], Fraction] = CONFIRMATION,
    size: int = 2,
    rule: str = "paper",
    **options: Any,
) -> Replay:
    benchmark: Benchmark[Any] = kit.benchmark
    gains = {name: (Fraction(g, 98), Fraction(b, 98)) for name, (g, b) in evolution.items()}
    arena = FiguresArena(gains, discovery, confirmation, size=size)
    proposing = ProposingDesk()
    paper = {1: [draft(BOUNDARY), draft(CONTEXT)], 3: [draft(CONTEXT), draft(BOUNDARY), draft(OTHER)]}
    challenging = ChallengingDesk(paper if drafts is None else drafts)
    told: list[events.Event] = []
    world = World(
        initial=Contender(name="H0", harness=initial_harness(benchmark)),
        arena=arena,
        desks=Desks(proposer=proposing, challenger=challenging),  # type: ignore[arg-type]
        kit=kit,
        journal=Journal(Workspace(Path("nowhere")), "run"),
        released=Variant(name=RELEASED, transformation=benchmark.variant("released")),
        options=ChaseOptions(**{"rounds": 3, "epsilon": "0.05", "eta": "0.075", "confirmation": rule, **options}),
        roles=("evo", "disc", "conf1", "conf2", "conf3"),
        tasks=lambda role: benchmark.tasks(role)[:4],
        rollouts=benchmark.defaults.rollouts,
        archive=Archive(benchmark=benchmark.name, content_hash=benchmark.content_hash),
        seed=0,
        tell=told.append,
    )
    return Replay(world, arena, proposing, challenging, told)
