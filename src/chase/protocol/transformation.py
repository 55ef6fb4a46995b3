"""A transformation `Φ_b`: an ordered list of typed operators, each with the seed it draws from. Data, never code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from chase.core.interfaces import Operator
from chase.core.keyed import digest, key_bits
from chase.core.values import Json

State = TypeVar("State")


@dataclass(frozen=True, kw_only=True)
class SeededOperator(Generic[State]):
    """An operator with the seed it draws from, wherever it stands in a list."""

    operator: Operator[State]
    seed: int


@dataclass(frozen=True, kw_only=True)
class OperatorList(Generic[State]):
    """The transformation that applies its operators in order. The empty list is identity (`B_rel`)."""

    operators: tuple[Operator[State], ...] = ()
    seed: int = 0
    pins: tuple[int, ...] | None = None
    """Each operator's own seed; without them they follow from `seed` and the operator's place."""

    @property
    def declared(self) -> frozenset[str]:
        """The protocol fields that the operators say they change."""
        return frozenset().union(*(operator.fields for operator in self.operators))

    def pinned(self) -> Iterator[SeededOperator[State]]:
        """The operators with their seeds. Two equal operators in one list draw differently."""
        for place, operator in enumerate(self.operators):
            own = self.pins[place] if self.pins else key_bits("operator", self.seed, place) & 0xFFFFFFFFFFFF
            yield SeededOperator(operator=operator, seed=own)

    def canonical(self) -> Json:
        """The ordered operator–argument representation. A seed stands where an operator draws from it."""
        return {"operators": [_canonical(pinned) for pinned in self.pinned()]}

    @cached_property
    def hash(self) -> str:
        return digest(self.canonical())

    def apply(self, state: State) -> State:
        """The state after every operator in turn."""
        for pinned in self.pinned():
            state = pinned.operator.apply(state, seed=pinned.seed)
        return state

    def then(self, after: OperatorList[State]) -> OperatorList[State]:
        """The composition that applies this one first: `B_{after ∘ self}`. Every operator keeps its draws."""
        pins = tuple(pinned.seed for pinned in (*self.pinned(), *after.pinned()))
        return OperatorList(operators=self.operators + after.operators, pins=pins or None)

    def inverse(self) -> OperatorList[State] | None:
        """The transformation that undoes this one, or None where an operator is not reversible."""
        inverses: list[tuple[Operator[State], int]] = []
        for pinned in self.pinned():
            operator = pinned.operator.inverse()
            if operator is None:
                return None
            inverses.insert(0, (operator, pinned.seed))
        pins = tuple(seed for _, seed in inverses)
        return OperatorList(operators=tuple(operator for operator, _ in inverses), pins=pins or None)

    def describe(self) -> str:
        """One line for a person, in the operators' own words: "folder depths made equal, then file formats swapped"."""
        if not self.operators:
            return "the released benchmark, unchanged"
        return ", then ".join(operator.in_words for operator in self.operators)

    def symbols(self) -> str:
        """The operators as a proposal names them: "reverse (aspect format)"."""
        return ", then ".join(_symbols(operator) for operator in self.operators)


def _canonical(pinned: SeededOperator[Any]) -> Mapping[str, Json]:
    operator = pinned.operator
    form = {"name": operator.name, "version": operator.version, "arguments": dict(operator.arguments)}
    return {**form, "seed": pinned.seed} if operator.seeded else form


def _symbols(operator: Operator[Any]) -> str:
    arguments = ", ".join(f"{name} {value}" for name, value in operator.arguments.items())
    return f"{operator.name} ({arguments})" if arguments else operator.name
