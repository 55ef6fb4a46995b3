"""Look-up tables: collections of constants that stand for data, in code and in texts."""

from __future__ import annotations

import ast
import re

from chase.harness.parts import INSTRUCTIONS
from chase.methods.gate.code import Code
from chase.methods.gate.finding import Found, Spot
from chase.methods.gate.known import Known
from chase.methods.gate.scan import CONTROL, Scan

MOST_ENTRIES = 6
"""Entries of a mapping of constants, values that a chain of comparisons tells apart, and codes in a list that need no
explanation: more are a look-up table, whatever is in them."""
MOST_ROWS = 2
"""Rows 'something: number' of a text; more are a look-up table."""
_ROW = re.compile(r"^[^\w\n]{0,20}([^:=|→>\n]{1,60}?)[ \t]{0,20}(?::|=>|->|→|=|\|)[^\n]{0,200}\d", re.M)
_CODE = re.compile(r"[^\W\d_]*\d|[A-Z]")
"""Something that is no plain word: with a digit, or capitals."""


def lookup_tables(scan: Scan, known: Known) -> Found:
    """Collections with data of tasks in them, and collections that are long for anything else."""
    if scan.code is not None:
        tables = ((node, kind) for node in scan.code.walk() if (kind := _table(node, scan.code, known)))
        yield from (Spot(CONTROL, ast.dump(node), kind) for node, kind in tables)
    for passage in (*scan.prose, *(p for p in scan.passages if p.place == INSTRUCTIONS)):
        rows = sorted(set(_ROW.findall(passage.text)))
        if len(rows) > MOST_ROWS:
            yield Spot(passage.place, "; ".join(rows), "rows of numbers")


def _table(node: ast.AST, code: Code, known: Known) -> str:
    match node:
        case ast.Dict(keys=keys, values=values):
            entries = [(key, value) for key, value in zip(keys, values, strict=True) if key is not None]
            constants = [(code.constant(key), code.constant(value)) for key, value in entries]
            known_entries = [(key, value) for key, value in constants if key is not None and value is not None]
            if len(known_entries) > MOST_ENTRIES:
                return "a mapping"
            if any(_is_data(item, known) for entry in known_entries for item in entry):
                return "a mapping of task data"
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return _collection([value for item in items if (value := code.constant(item)) is not None], known)
        case ast.If():
            if len(_compared(node, code)) > MOST_ENTRIES:
                return "a chain of comparisons"
        case ast.Match(cases=cases):
            if len(cases) > MOST_ENTRIES:
                return "a chain of comparisons"
    return ""


def _collection(values: list[object], known: Known) -> str:
    if len(values) > 1 and any(_is_data(value, known) for value in values):
        return "a list of task data"
    if len(values) > 2 and all(_number(value) in known.answer_numbers for value in values):
        return "a list of answers"
    pairs = [value for value in values if isinstance(value, list) and len(value) == 2]
    codes = [value for value in values if not isinstance(value, str) or _CODE.match(value)]
    return "a list" if len(pairs) > MOST_ENTRIES or len(codes) > MOST_ENTRIES else ""


def _is_data(value: object, known: Known) -> bool:
    if isinstance(value, list):
        return any(_is_data(item, known) for item in value)
    return isinstance(value, str) and bool(known.data.within(value))


def _number(value: object) -> str:
    return str(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else ""


def _compared(node: ast.If, code: Code) -> list[object]:
    """The constants that an if with its elifs compares with."""
    found: list[object] = []
    step: ast.stmt | None = node
    while isinstance(step, ast.If):
        for part in ast.walk(step.test):
            if isinstance(part, ast.Compare):
                found += [v for side in (part.left, *part.comparators) if (v := code.constant(side)) is not None]
        step = step.orelse[0] if len(step.orelse) == 1 else None
    return found
