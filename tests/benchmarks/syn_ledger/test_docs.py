"""docs/transformations.md says what the allowlist says, and its figures are those of the committed study."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.operators import ALLOWLIST, ASPECTS
from chase.protocol.operators import KindOperator

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "transformations.md").read_text(encoding="utf-8")
STUDY = json.loads((ROOT / "studies" / "results" / "transformations_on_raw.json").read_text())

Operator = KindOperator[Any]


def table(*head: str) -> list[list[str]]:
    """The rows of the table with these columns."""
    lines = iter(TEXT.splitlines())
    next(line for line in lines if line.startswith(f"| {' | '.join(head)} |"))
    next(lines)
    rows = []
    for line in lines:
        if not line.startswith("|"):
            return rows
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


OPERATORS = {names(row[0])[0]: row for row in table("Operator", "Arguments")}

DECLARES: Mapping[str, Callable[[Operator], set[str]]] = {
    "the aspect's fields; `order`": lambda o: aspect_fields(o) if o.arguments["aspect"] != "records" else {"order"},
    "the aspect's fields": lambda o: aspect_fields(o),
    "`format`": lambda _: {"format"},
    "`folders`": lambda _: {"folders"},
    "`rank` or `listing`": lambda o: {o.arguments["order"]},
    "`order`": lambda _: {"order"},
    "`newline`, `trailing`, `metadata` or `section`": lambda o: {
        dict(
            zip(
                ("line-endings", "trailing-whitespace", "metadata-order", "section-labels"),
                ("newline", "trailing", "metadata", "section"),
                strict=True,
            )
        )[o.arguments["detail"]]
    },
}
SEEDED: Mapping[str, Callable[[Operator], bool]] = {
    "yes": lambda _: True,
    "no": lambda _: False,
    "for `name`, `rank`, `listing`": lambda o: o.arguments["aspect"] in ("name", "rank", "listing"),
    "unless `depth` is 0": lambda o: o.arguments["depth"] != 0,
    "with `by = seed`": lambda o: o.arguments["by"] == "seed",
}
INVERSE: Mapping[str, Callable[[Operator], Mapping[str, Any] | None]] = {
    "none": lambda _: None,
    "itself": lambda o: o.arguments,
    "itself, for `rank` and `records`; else none": lambda o: (
        o.arguments if o.arguments["aspect"] in ("rank", "records") else None
    ),
    "`shift` by 6 − `by`": lambda o: {"by": 6 - o.arguments["by"]},
}
"""What each phrase of the table means, for an operator with its arguments."""


def aspect_fields(operator: Operator) -> set[str]:
    documented = {aspect: names(row[1]) for row in table("Aspect", "Fields") for aspect in names(row[0])}
    aspect = operator.arguments["aspect"]
    return {aspect} if aspect in ("rank", "listing") else set(documented[aspect])


def test_the_table_of_operators_is_the_allowlist() -> None:
    assert list(OPERATORS) == list(ALLOWLIST)
    assert {kind.version for kind in ALLOWLIST.values()} == {1}
    assert "All have version 1." in TEXT
    aspects = [name for row in table("Aspect", "Fields") for name in names(row[0])]
    assert aspects == list(ASPECTS)


@pytest.mark.parametrize("name", ALLOWLIST)
def test_every_form_declares_draws_and_undoes_as_documented(name: str) -> None:
    _, _, _, declares, seeded, inverse = OPERATORS[name]
    for operator in ALLOWLIST[name].forms():
        assert operator.fields == DECLARES[declares](operator), operator.arguments
        assert operator.seeded == SEEDED[seeded](operator), operator.arguments
        undone = operator.inverse()
        assert (undone.arguments if undone else None) == INVERSE[inverse](operator), operator.arguments


@pytest.mark.parametrize("name", ALLOWLIST)
def test_every_argument_is_documented_with_its_values(name: str) -> None:
    cell = OPERATORS[name][1]
    for argument, values in ALLOWLIST[name].choices().items():
        assert f"`{argument}`" in cell
        if argument == "aspect":
            assert list(values) == [*ASPECTS, *(["records"] if "`records`" in cell else [])]
        elif isinstance(values[0], int):
            assert f"`{argument}`: {min(values)} to {max(values)}" in cell
        else:
            assert set(values) <= set(names(cell))


def spelled(estimate: Mapping[str, float], *, signed: bool) -> str:
    value, se = 100 * estimate["value"], 100 * estimate["se"]
    sign = ("−" if value < 0 else "+" if value > 0 else "") if signed else ""
    return f"{sign}{abs(value):.2f} ± {se:.2f}"


def test_the_figures_of_the_study_are_the_committed_ones() -> None:
    variants = STUDY["variants"]
    shown = table("simulated reader", "score", "difference")
    for name, score, difference in shown:
        assert score == spelled(variants[name]["score"], signed=False)
        assert difference == ("" if name == "released" else spelled(variants[name]["difference"], signed=True))
    matrix = table("aspect", "reverse", "permute", "equalise")
    for aspect, *cells in matrix:
        for verb, cell in zip(("reverse", "permute", "equalise"), cells, strict=True):
            row = variants.get(f"{verb} {aspect}")
            assert cell == (spelled(row["difference"], signed=True) if row else "")
    assert len(shown) + 3 * len(matrix) - 1 == len(variants)
    assert f"`{STUDY['command']}`" in TEXT
    assert f"n = {STUDY['tasks']} tasks" in TEXT
