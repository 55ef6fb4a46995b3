"""What a method can take, before it runs: the bounds that it gives, and what it is told for that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic

from chase.core.agents import Agent
from chase.methods.options import OptionsT


@dataclass(frozen=True, kw_only=True, slots=True)
class Between:
    """A count that is known but for its bounds."""

    least: float
    most: float

    def __add__(self, other: Between) -> Between:
        return Between(least=self.least + other.least, most=self.most + other.most)

    def __mul__(self, each: float) -> Between:
        return Between(least=self.least * each, most=self.most * each)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rollouts:
    """Rollouts of one stage ('round 1', 'final selection', 'certification', …) on one task set."""

    stage: str
    role: str
    count: Between


@dataclass(frozen=True, kw_only=True)
class EvolutionBounds:
    """What an evolution takes in an empty store, its certification left out."""

    rollouts: tuple[Rollouts, ...]
    episodes: Mapping[Agent, Between]
    """Of each agent that the method asks."""
    archived: int = 0
    """Counterfactuals that it archives at most: certification measures under each."""


@dataclass(frozen=True, kw_only=True)
class ForecastRequest(Generic[OptionsT]):
    """A run that a method is asked to give bounds of."""

    options: OptionsT
    roles: Mapping[str, int]
    """Each role that the method holds → the rollouts of one cell: its tasks, as often as each is run."""
    operators: int
    """Most operators in a draft of the run's Challenger."""
    tasks: Mapping[str, int] = field(default_factory=dict)
    """Each role that the method holds → its tasks."""

    def cells(self, stage: str, role: str, *, least: int, most: int, rollouts: int | None = None) -> Rollouts:
        """So many cells (one harness under one variant) on a role's tasks, with all of its rollouts or the first so
        many of a task.
        """
        each = self.roles[role] if rollouts is None else min(self.roles[role], self.tasks[role] * rollouts)
        return Rollouts(stage=stage, role=role, count=Between(least=least, most=most) * each)


def released_rounds(
    request: ForecastRequest[OptionsT], role: str, rounds: int, candidates: int, *, variants: int = 1
) -> EvolutionBounds:
    """Rounds of candidates on one role, without an archive: `H_0` once, then every candidate of a round."""
    cells = (
        request.cells(f"round {t}", role, least=variants * (t == 1), most=variants * ((t == 1) + candidates))
        for t in range(1, rounds + 1)
    )
    return EvolutionBounds(rollouts=tuple(cells), episodes={"proposer": Between(least=rounds, most=rounds)})
