"""Operator kinds: what an allowlist holds. A kind with typed arguments makes an operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from chase.core import interfaces
from chase.core.errors import UserError, choose
from chase.core.values import Json, Neutral

State = TypeVar("State")


class Arguments(BaseModel):
    """Typed arguments of an operator. Nothing but the named ones, and no coercion."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _unseeded(arguments: Any) -> bool:
    return False


def _irreversible(arguments: Any) -> Mapping[str, Json] | None:
    return None


def _values(schema: Mapping[str, Json]) -> Sequence[Json]:
    if "anyOf" in schema:
        return [value for option in schema["anyOf"] for value in _values(option)]
    if "const" in schema:
        return [schema["const"]]
    return schema.get("enum") or range(schema["minimum"], schema["maximum"] + 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class OperatorKind(Generic[State]):
    """A typed change that proposals may ask for. `run` looks at protocol state, arguments and seed alone."""

    name: str
    version: int
    summary: str
    arguments: type[Arguments]
    fields: Callable[[Any], frozenset[str]]
    """The protocol fields that it changes with given arguments."""
    in_words: Callable[[Any], str]
    """What it does with given arguments, for a person: "file formats swapped"."""
    run: Callable[[State, Any, int], State]
    seeded: Callable[[Any], bool] = _unseeded
    """Whether it draws from the seed with given arguments."""
    inverse: Callable[[Any], Mapping[str, Json] | None] = _irreversible
    """Arguments with which the same kind undoes it, or None."""
    neutral: tuple[Neutral, ...] = ()
    """Arguments that take from an aspect what tells documents apart; none where forms can only be exchanged."""

    def schema(self) -> Json:
        """JSON schema of the arguments."""
        return self.arguments.model_json_schema()

    def choices(self) -> Mapping[str, Sequence[Json]]:
        """Each argument's values, all of them: what an allowlist offers is finite."""
        properties = self.schema().get("properties", {})
        return {name: _values(schema) for name, schema in properties.items()}

    def forms(self) -> Sequence[KindOperator[State]]:
        """Every operator that this kind can make, once each."""
        choices = self.choices()
        made = (self.make(dict(zip(choices, values, strict=True))) for values in product(*choices.values()))
        return tuple({str(operator.arguments): operator for operator in made}.values())

    def make(self, arguments: Mapping[str, Json]) -> KindOperator[State]:
        """The operator with these arguments, normalised; a `UserError` says what is wrong with them."""
        try:
            parsed = self.arguments.model_validate(dict(arguments))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "arguments"
            takes = ", ".join(self.arguments.model_fields) or "no arguments"
            raise UserError(f"operator '{self.name}': {where}: {first['msg']}. It takes {takes}.") from None
        return KindOperator(kind=self, parsed=parsed)


@dataclass(frozen=True, kw_only=True)
class KindOperator(Generic[State]):
    """An operator made from a kind of an allowlist."""

    kind: OperatorKind[State]
    parsed: Arguments

    @property
    def name(self) -> str:
        return self.kind.name

    @property
    def version(self) -> int:
        return self.kind.version

    @property
    def arguments(self) -> Mapping[str, Json]:
        arguments: Mapping[str, Json] = self.parsed.model_dump(mode="json")
        return arguments

    @property
    def fields(self) -> frozenset[str]:
        return self.kind.fields(self.parsed)

    @property
    def in_words(self) -> str:
        return self.kind.in_words(self.parsed)

    @property
    def seeded(self) -> bool:
        return self.kind.seeded(self.parsed)

    def apply(self, state: State, *, seed: int) -> State:
        return self.kind.run(state, self.parsed, seed)

    def inverse(self) -> KindOperator[State] | None:
        arguments = self.kind.inverse(self.parsed)
        return None if arguments is None else self.kind.make(arguments)


def make_operator(
    allowlist: Mapping[str, interfaces.OperatorKind[State]],
    name: str,
    arguments: Mapping[str, Json],
    version: int | None = None,
) -> interfaces.Operator[State]:
    """An operator of the allowlist; anything else is refused with the reason."""
    kind = allowlist[choose("operator", name, sorted(allowlist))]
    if version is not None and version != kind.version:
        raise UserError(f"operator '{name}' has version {kind.version} here, not {version}: it may have changed.")
    return kind.make(arguments)
