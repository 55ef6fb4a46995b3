"""A transformation `Φ_b`: an ordered list of typed operators with a seed. Data, never code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from chase.core.interfaces import Operator
from chase.core.keyed import digest, key_bits
from chase.core.values import Json

State = TypeVar("State")


@dataclass(frozen=True, kw_only=True)
class OperatorList(Generic[State]):
    """The transformation that applies its operators in order. The empty list is identity (`B_rel`)."""

    operators: tuple[Operator[State], ...] = ()
    seed: int = 0

    @property
    def declared(self) -> frozenset[str]:
        """The protocol fields that the operators say they change."""
        return frozenset().union(*(operator.fields for operator in self.operators))

    def canonical(self) -> Json:
        """The ordered operator–argument representation; identity has no seed."""
        if not self.operators:
            return {"operators": []}
        return {"operators": [_canonical(operator) for operator in self.operators], "seed": self.seed}

    @cached_property
    def hash(self) -> str:
        return digest(self.canonical())

    def apply(self, state: State) -> State:
        """The state after every operator in turn.

        Each draws from a seed of its own, decided by the transformation's seed and its place, so that two
        equal operators in one list do not repeat each other's draws.
        """
        for place, operator in enumerate(self.operators):
            state = operator.apply(state, seed=key_bits("operator", self.seed, place) & 0xFFFFFFFFFFFF)
        return state


def _canonical(operator: Operator[State]) -> Mapping[str, Json]:
    return {"name": operator.name, "version": operator.version, "arguments": dict(operator.arguments)}
