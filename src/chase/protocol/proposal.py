"""Transformations as JSON: parsed as data against an allowlist; anything outside it is refused with the reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chase.core.agents import MOST_OPERATORS
from chase.core.errors import UserError
from chase.core.interfaces import Benchmark, FirewallSubject, Operator, OperatorKind
from chase.core.outside import NotPlain, parse_json, plain
from chase.core.values import Json
from chase.protocol.operators import make_operator
from chase.protocol.transformation import OperatorList

State = TypeVar("State")
Whole = TypeVar("Whole")
LONGEST = 65_536
"""Characters of a proposal."""


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class OperatorForm(_Form):
    name: str = Field(max_length=100)
    version: int | None = None
    arguments: dict[str, Any] = {}
    seed: int | None = Field(default=None, ge=0, lt=2**48)
    """Its own seed; without it, it follows from the transformation's."""


class TransformationForm(_Form):
    """What a person or a Challenger writes."""

    schema_: Literal["chase.transformation/1"] = Field(default="chase.transformation/1", alias="schema")
    benchmark: str
    operators: list[OperatorForm] = Field(max_length=MOST_OPERATORS)
    seed: int = Field(default=0, ge=0, lt=2**48)
    declared: list[str] | None = None
    """The protocol fields it says it changes; without it, those of its operators."""
    description: str = Field(default="", max_length=4000)
    claims: list[str] = Field(default_factory=list, max_length=20)
    """Validity claims in words: kept in the record, never used as a check."""


@dataclass(frozen=True, kw_only=True)
class Proposal(Generic[State]):
    """A transformation that passed parsing, with what its author says about it."""

    benchmark: str
    transformation: OperatorList[State]
    declared: frozenset[str]
    description: str = ""
    claims: tuple[str, ...] = ()

    def lifted(self, subject: FirewallSubject[Whole]) -> Proposal[Whole]:
        """The same proposal, with the same canonical form, on the states that the firewall examines."""
        seeded = list(self.transformation.pinned())
        operators = tuple(subject.lift(pinned.operator) for pinned in seeded)
        pins = tuple(pinned.seed for pinned in seeded) or None
        return Proposal(
            benchmark=self.benchmark,
            transformation=OperatorList(operators=operators, pins=pins),
            declared=self.declared,
            description=self.description,
            claims=self.claims,
        )

    def to_json(self) -> Json:
        """The form that parses back to this proposal, with every default written out."""
        return {
            "schema": "chase.transformation/1",
            "benchmark": self.benchmark,
            "operators": [
                {
                    "name": pinned.operator.name,
                    "version": pinned.operator.version,
                    "arguments": dict(pinned.operator.arguments),
                    "seed": pinned.seed,
                }
                for pinned in self.transformation.pinned()
            ],
            "declared": sorted(self.declared),
            "description": self.description,
            "claims": list(self.claims),
        }


def parse_proposal(
    data: str | Mapping[str, Json],
    *,
    benchmark: str,
    allowlist: Mapping[str, OperatorKind[State]],
    fields: frozenset[str],
) -> Proposal[State]:
    """The proposal in a JSON text or object; a `UserError` names the first thing that is not allowed.

    `benchmark` is the base name it must be for, `fields` the protocol fields that may be declared.
    """
    form = _form(data)
    if form.benchmark != benchmark:
        raise UserError(f"the transformation is for benchmark '{form.benchmark}', not for '{benchmark}'.")
    operators = tuple(make_operator(allowlist, o.name, o.arguments, o.version) for o in form.operators)
    declared = _declared(form, operators, fields)
    unpinned = OperatorList(operators=operators, seed=form.seed)
    pins = tuple(
        own.seed if given.seed is None else given.seed
        for own, given in zip(unpinned.pinned(), form.operators, strict=True)
    )
    return Proposal(
        benchmark=form.benchmark,
        transformation=OperatorList(operators=operators, pins=pins or None),
        declared=declared,
        description=form.description,
        claims=tuple(form.claims),
    )


def parse_for(benchmark: Benchmark[Any], data: str | Mapping[str, Json]) -> Proposal[Any]:
    """A proposal for a benchmark; anything outside its allowlist is a `UserError`."""
    return parse_proposal(
        data, benchmark=benchmark.base, allowlist=benchmark.allowlist, fields=benchmark.protocol_fields
    )


def _form(data: str | Mapping[str, Json]) -> TransformationForm:
    try:
        given = data if isinstance(data, str) else json.dumps(plain(data), ensure_ascii=False)
        if len(given) > LONGEST:
            raise UserError(f"the transformation is longer than {LONGEST} characters.")
        form = parse_json(given)
    except NotPlain as error:
        raise UserError(f"the transformation is {error}.") from None
    try:
        return TransformationForm.model_validate(form)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the transformation"
        raise UserError(f"{where}: {first['msg']}. See docs/transformations.md for the form.") from None


def _declared(form: TransformationForm, operators: tuple[Operator[Any], ...], fields: frozenset[str]) -> frozenset[str]:
    if form.declared is None:
        return frozenset().union(*(operator.fields for operator in operators))
    unknown = sorted(set(form.declared) - fields)
    if unknown:
        raise UserError(f"declared: '{unknown[0]}' is no protocol field. Valid: {', '.join(sorted(fields))}.")
    return frozenset(form.declared)
