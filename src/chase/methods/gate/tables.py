"""Look-up tables: collections of constants that stand for data, in code and in texts."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from chase.harness.parts import INSTRUCTIONS
from chase.methods.gate.code import Code
from chase.methods.gate.features import ASKING
from chase.methods.gate.finding import Found, Spot
from chase.methods.gate.known import Known
from chase.methods.gate.scan import CONTROL, Scan
from chase.methods.gate.words import plain

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
    texts = [(p.place, p.text) for p in (*scan.prose, *(p for p in scan.passages if p.place == INSTRUCTIONS))]
    if scan.code is not None:
        tables = ((node, kind) for node in scan.code.nodes if (kind := _table(node, scan.code, known)))
        yield from (Spot(CONTROL, scan.code.told(node), kind) for node, kind in tables)
        yield from (Spot(CONTROL, subject, kind) for subject, kind in _told_apart(scan.code))
        texts += [(CONTROL, plain(text)) for text in (*scan.code.strings, "\n".join(scan.code.comments))]
    for place, text in texts:
        rows = sorted(set(_ROW.findall(text)))
        if len(rows) > MOST_ROWS:
            yield Spot(place, "; ".join(rows), "rows of numbers")


def _table(node: ast.AST, code: Code, known: Known) -> str:
    match node:
        case ast.Dict() | ast.Call(func=ast.Name(id="dict" | "zip")):
            entries = _entries(node, code)
            if len(entries) > MOST_ENTRIES:
                return "a mapping"
            if any(_is_data(item, known) for entry in entries for item in entry):
                return "a mapping of task data"
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return _collection([value for item in items if (value := code.constant(item)) is not None], known)
        case ast.If():
            if len(_compared(node, code)) > MOST_ENTRIES:
                return "a chain of comparisons"
    return ""


def _entries(node: ast.expr, code: Code) -> list[tuple[object, object]]:
    """The entries of a mapping of constants; those of a mapping in it are its own."""
    match node:
        case ast.Dict(keys=keys, values=values):
            pairs = [(key, value) for key, value in zip(keys, values, strict=True) if key is not None]
            inner = [entry for _, value in pairs for entry in _entries(value, code)]
            constants = [(code.constant(key), code.constant(value)) for key, value in pairs]
            return [(key, value) for key, value in constants if key is not None and value is not None] + inner
        case ast.Call(func=ast.Name(id="dict"), keywords=[*keywords]) if keywords:
            named = [(keyword.arg, code.constant(keyword.value)) for keyword in keywords if keyword.arg]
            return [(key, value) for key, value in named if value is not None]
        case ast.Call(func=ast.Name(id="zip"), args=[first, _, *_]):
            listed = code.constant(first)
            return [(key, None) for key in listed] if isinstance(listed, list) else []
    return []


def _told_apart(code: Code) -> Iterator[tuple[str, str]]:
    """What is compared with many constants, or set under many, wherever that is done."""
    compared: dict[str, set[str]] = defaultdict(set)
    entries: dict[str, set[str]] = defaultdict(set)
    for node in code.nodes:
        for subject, value in _comparisons(node):
            if isinstance(constant := code.constant(value), str | int | float):
                compared[code.told(subject)].add(repr(constant))
    for target, value in code.settings:
        if isinstance(target, ast.Subscript):
            key, entry = code.constant(target.slice), code.constant(value)
            entries[code.told(target.value)] |= set() if key is None or entry is None else {repr(key)}
    for found, kind in ((compared, "a chain of comparisons"), (entries, "a mapping")):
        yield from ((subject, kind) for subject, values in found.items() if len(values) > MOST_ENTRIES)


def _comparisons(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(what is compared, with what)."""
    match node:
        case ast.Compare(left=left, comparators=[right]):
            yield from ((left, right), (right, left))
        case ast.Call(func=ast.Attribute(value=value, attr=method), args=[given, *_]) if method in ASKING:
            yield value, given
        case ast.Match(subject=subject, cases=cases):
            patterns = (part for case in cases for part in ast.walk(case.pattern))
            yield from ((subject, part.value) for part in patterns if isinstance(part, ast.MatchValue))


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
