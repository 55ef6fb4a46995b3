"""Operators on protocol state as changes of everything that a view is made from.

What the firewall examines holds more than the protocol: question, contents, tools, scorer. Lifted, an honest operator
can be compared with one that reaches for more, which is how the firewall's own controls show that it would notice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from chase.core.controls import NegativeControl
from chase.core.interfaces import Operator
from chase.core.values import Json
from chase.protocol.operators import Arguments, OperatorKind


@dataclass(frozen=True, slots=True)
class LiftedOperator:
    """An operator on one part of a dataclass, as a change of the whole that touches this part alone."""

    operator: Operator[Any]
    part: str
    """The name of the field that holds the protocol state."""

    @property
    def name(self) -> str:
        return self.operator.name

    @property
    def version(self) -> int:
        return self.operator.version

    @property
    def arguments(self) -> Mapping[str, Json]:
        return self.operator.arguments

    @property
    def fields(self) -> frozenset[str]:
        return self.operator.fields

    @property
    def in_words(self) -> str:
        return self.operator.in_words

    @property
    def seeded(self) -> bool:
        return self.operator.seeded

    def apply(self, state: Any, *, seed: int) -> Any:
        return replace(state, **{self.part: self.operator.apply(getattr(state, self.part), seed=seed)})

    def inverse(self) -> LiftedOperator | None:
        inverse = self.operator.inverse()
        return None if inverse is None else LiftedOperator(inverse, self.part)


class NoArguments(Arguments):
    """An operator that takes none."""


def negative_control(
    name: str,
    check: str,
    run: Callable[[Any], Any],
    *,
    declared: frozenset[str] = frozenset(),
    alone: bool = True,
    inverse: Callable[[Any], Mapping[str, Json] | None] = lambda _: None,
) -> NegativeControl:
    """An operator for the self-test alone, from a change of what the firewall examines."""
    kind: OperatorKind[Any] = OperatorKind(
        name=f"selftest.{name}",
        version=1,
        summary="a negative control",
        arguments=NoArguments,
        fields=lambda _: declared,
        in_words=lambda _: f"a negative control: {name}",
        run=lambda state, arguments, seed: run(state),
        inverse=inverse,
    )
    return NegativeControl(name=name, check=check, operator=kind.make({}), declared=declared, alone=alone)
