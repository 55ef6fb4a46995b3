"""Selection in parts: an objective says which harness is better, gates say which may be selected.

With the released score and the archive's gate it is the paper's constrained selection (Proposer update and final
selection), on estimates. Comparisons are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from chase.core.agents import CandidateTrack
from chase.core.values import Json
from chase.harness.spec import Harness
from chase.stats.destruction import within


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """A harness's estimates on `D_evo`."""

    name: str
    released: Fraction
    """`R̂_rel`."""
    gain: Fraction
    """`Ĝ_rel` over `H_0`."""
    destruction: Mapping[str, Fraction]
    """`Δ̂_b` for every variant but the released one."""
    scores: Mapping[str, Fraction] = field(default_factory=dict)
    """`R̂_b` for every variant."""


Objective = Callable[[Standing], tuple[Fraction, ...]]
"""The key by which a standing is compared, the higher the better; the first number that differs decides."""


def released_score(standing: Standing) -> tuple[Fraction, ...]:
    """`R̂_rel`, the paper's objective."""
    return (standing.released,)


@dataclass(frozen=True, slots=True)
class ScoreUnder:
    """`R̂_b` as an objective."""

    variant: str

    def __call__(self, standing: Standing) -> tuple[Fraction, ...]:
        return (standing.scores[self.variant],)


@dataclass(frozen=True, kw_only=True, slots=True)
class Violation:
    """Something that keeps a harness from being selected."""

    name: str
    by: Fraction | None = None
    """How far it is beyond what is allowed, where that is a number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Submitted:
    """A candidate before it is evaluated, as gates see it."""

    name: str
    """Its name in the run."""
    harness: Harness
    current: Harness
    """`H_{t-1}`, which it was made from."""
    track: CandidateTrack | None = None
    record: Mapping[str, Json] = field(default_factory=dict)
    """What its Proposer wrote about it."""
    accepted: Mapping[str, Harness] = field(default_factory=dict)
    """Track (number, of a free one) → harness of the round's candidates that were accepted before it."""
    evaluated: Mapping[str, Harness] = field(default_factory=dict)
    """Name → harness of every candidate of earlier rounds."""


class Gate(Protocol):
    """Says which harnesses may be evaluated and which selected. Pure.

    `H_0` must pass every gate, so that there is always a harness to select.
    """

    @property
    def name(self) -> str: ...
    @property
    def contract(self) -> str | None:
        """What the Proposer is told of it before the first round: in its system prompt, and as a file of its history.
        The same in every round. None: nothing.
        """
        ...

    def admit(self, submitted: Submitted) -> None:
        """Refuse (`UserError`) a candidate before it is evaluated. Called by the desk once for each answer; the reason
        goes back to the Proposer.
        """
        ...

    def violations(self, standing: Standing) -> tuple[Violation, ...]:
        """What a harness violates; empty: it passes. Called once for each standing of a pool."""
        ...


class AdmissionGate:
    """What is decided before evaluation: no standing violates it."""

    def violations(self, standing: Standing) -> tuple[Violation, ...]:
        return ()


@dataclass(frozen=True, kw_only=True)
class ArchiveGate:
    """The archive's constraints: `Δ̂_b ≤ ε` for every archived counterfactual."""

    epsilon: str
    name = "archive"
    contract = None
    """The tolerance is a part of every Proposer's context, and the archive of its history."""

    def admit(self, submitted: Submitted) -> None:
        """Nothing can be said before it is evaluated."""

    def violations(self, standing: Standing) -> tuple[Violation, ...]:
        return tuple(
            Violation(name=name, by=delta - Fraction(self.epsilon))
            for name, delta in standing.destruction.items()
            if not within(delta, self.epsilon)
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class PlainRule:
    """A rule that is no more than a score and constraints on gain destruction."""

    objective: str | None
    """The variant whose score decides; None: the released benchmark."""
    tolerance: str | None
    """Most gain destruction under every archived counterfactual; None: any."""


@dataclass(frozen=True, kw_only=True)
class SelectionRule:
    """What a method selects by: of the harnesses that pass every gate the one with the highest objective."""

    objective: Objective = released_score
    gates: tuple[Gate, ...] = ()

    def violations(self, standing: Standing) -> tuple[Violation, ...]:
        return tuple(violation for gate in self.gates for violation in gate.violations(standing))

    def plain(self) -> PlainRule | None:
        """The rule as a score and a tolerance, where it is no more than that: then a part of the scores can decide it.
        None where an objective or a gate looks at standings in a way of its own.
        """
        archive = [gate for gate in self.gates if type(gate) is ArchiveGate]
        others = [gate for gate in self.gates if type(gate) is not ArchiveGate]
        own = self.objective is not released_score and not isinstance(self.objective, ScoreUnder)
        if own or not all(isinstance(gate, AdmissionGate) for gate in others):
            return None
        objective = self.objective.variant if isinstance(self.objective, ScoreUnder) else None
        tolerance = min((gate.epsilon for gate in archive), key=Fraction, default=None)
        return PlainRule(objective=objective, tolerance=tolerance)


def select(pool: Sequence[Standing], rule: SelectionRule) -> Standing:
    """The feasible standing with the highest objective; ties go to the earlier one."""
    feasible = [standing for standing in pool if not rule.violations(standing)]
    if not feasible:
        raise ValueError("no harness passes every gate: a gate must let the initial harness pass")
    return max(feasible, key=rule.objective)
