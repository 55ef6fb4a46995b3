"""A method's options as a typed model: where their values come from, and what is said of one that does not fit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from decimal import Decimal
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from chase.core.errors import UserError, choose
from chase.core.values import Defaults, Json


class MethodOptions(BaseModel):
    """The options of a method. Every field has a description and bounds; one that is required and that a benchmark has
    a default of (`Defaults`: rounds, epsilon, eta) is the benchmark's where nothing is said.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


OptionsT = TypeVar("OptionsT", bound=BaseModel)


def exact_decimal(value: object) -> str:
    """A decimal from 0 to 1 as text in its shortest form, however it was written."""
    plain = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    given = str(value) if plain else value
    if not isinstance(given, str) or not re.fullmatch(r"(0?\.[0-9]{1,12})|(0|1)(\.0{1,12})?", given):
        raise ValueError("must be a decimal number from 0 to 1, such as 0.05")
    return format(Decimal(given).normalize(), "f")


ExactDecimal = Annotated[str, BeforeValidator(exact_decimal)]
"""A threshold: comparisons with it are made in rationals."""


def settle_options(
    method: str, form: type[OptionsT], given: Mapping[str, Json], defaults: Defaults | None = None
) -> OptionsT:
    """The options that were given (None: not given), the benchmark's defaults and the form's own below them."""
    check_options(method, form, given)
    suggested = {} if defaults is None else asdict(defaults)
    values = {name: suggested[name] for name, field in form.model_fields.items() if _suggested(name, field, suggested)}
    values |= {name: value for name, value in given.items() if value is not None}
    try:
        return form.model_validate(values)
    except ValidationError as error:
        raise UserError(f"{_flaw(form, error.errors()[0])}.") from None


def check_options(method: str, form: type[BaseModel], given: Mapping[str, Json]) -> dict[str, Json]:
    """What was given, in one form each. An option that there is not and a value that does not fit are refused before a
    benchmark is built for them.
    """
    for name in given:
        choose(f"option of {method}", name, form.model_fields)
    found: dict[str, Json] = {}
    for name, value in given.items():
        try:
            if value is not None:
                found[name] = TypeAdapter(_annotated(form.model_fields[name])).validate_python(value, strict=True)
        except ValidationError as error:
            raise UserError(f"{_flaw(form, {**error.errors()[0], 'loc': (name,)})}.") from None
    return found


def _annotated(field: FieldInfo) -> Any:
    """A field's type with its bounds, to check a value of it alone."""
    return Annotated[field.annotation, field]


def _suggested(name: str, field: FieldInfo, suggested: Mapping[str, Json]) -> bool:
    return field.is_required() and name in suggested


def _flaw(form: type[BaseModel], error: Any) -> str:
    """What is wrong with one value, in the words that all settings have."""
    name = str(error["loc"][0]) if error["loc"] else "the options"
    if error["type"] == "missing":
        return f"{name} is missing: give it with --option {name}=VALUE"
    said = f"{name}={error['input']}"
    if error["type"] == "value_error":
        return f"{said} {error['ctx']['error']}"
    field = form.model_fields.get(name)
    if field is not None and field.annotation is bool:
        return f"{said} must be true or false"
    if field is not None and int in (field.annotation, *get_args(field.annotation)) and (bounds := _bounds(field)):
        return f"{said} must be a whole number {bounds}"
    return f"{said}: {error['msg']}"


def _bounds(field: FieldInfo) -> str:
    """The lowest and the highest value in words, where a field has them."""
    ends = {end: getattr(bound, end) for bound in field.metadata for end in ("ge", "le") if hasattr(bound, end)}
    if len(ends) == 2:
        return f"from {ends['ge']} to {ends['le']}"
    return f"of at least {ends['ge']}" if "ge" in ends else ""
