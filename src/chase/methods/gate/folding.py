"""Expressions of constants, worked out without running anything."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

LONGEST = 10_000
"""Characters of a constant that is folded."""
_TEXT_METHODS = ("lower", "upper", "strip", "title", "capitalize", "casefold", "swapcase")


class NotConstant(Exception):
    """An expression whose value is not known without running it."""


class Folding:
    """Works expressions out, with the names that are set once and what they are set to."""

    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self._names = names
        self._values: dict[str, Any] = {}
        """None: not constant, or being worked out."""

    def value(self, node: ast.expr) -> Any:
        """The value of an expression of constants; None where it has none. Of a loop's variable: all its values."""
        try:
            return self._folded(node)
        except (NotConstant, RecursionError):
            return None

    def _folded(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value) if isinstance(value, str | int | float):
                return value
            case ast.Name(id=name) if name in self._names:
                return self._named(name)
            case ast.NamedExpr(value=value):
                return self._folded(value)
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                return [self._folded(item) for item in items]
            case (
                ast.GeneratorExp(elt=ast.Name(id=shown), generators=[ast.comprehension(ast.Name(id=name), over, [])])
                | ast.ListComp(elt=ast.Name(id=shown), generators=[ast.comprehension(ast.Name(id=name), over, [])])
            ) if shown == name:
                return self._folded(over)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as op, operand=operand):
                value = self._folded(operand)
                known = isinstance(value, int | float)
                return _none() if not known else -value if isinstance(op, ast.USub) else value
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return _added(self._folded(left), self._folded(right))
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                return _filled(self._folded(left), self._folded(right))
            case ast.JoinedStr(values=parts):
                return "".join(self._shown(part) for part in parts)
            case ast.Call(func=func, args=args, keywords=[]):
                return self._called(func, [self._folded(arg) for arg in args])
            case ast.Subscript(value=value, slice=ast.Slice() as part):
                return self._part(self._folded(value), part)
        return _none()

    def _named(self, name: str) -> Any:
        if name not in self._values:
            self._values[name] = None
            self._values[name] = self.value(self._names[name])
        value = self._values[name]
        return _none() if value is None else value

    def _called(self, func: ast.expr, args: list[Any]) -> Any:
        """Those calls by which texts are put together."""
        if isinstance(func, ast.Name):
            match func.id, args:
                case "chr", [int(code)] if 0 <= code < 0x110000:
                    return chr(code)
                case "str", [str() | int() as value]:
                    return str(value)
                case "list" | "tuple" | "set" | "frozenset" | "sorted", [list() | str() as value]:
                    return list(value)
            return _none()
        if not isinstance(func, ast.Attribute):
            return _none()
        on = self._folded(func.value)
        return _of_text(on, func.attr, args) if isinstance(on, str) else _none()

    def _shown(self, part: ast.expr) -> str:
        """A part of an f-string; a gap where its value is not known."""
        if isinstance(part, ast.FormattedValue):
            try:
                return str(self._folded(part.value))
            except NotConstant:
                return " "
        return str(self._folded(part))

    def _part(self, value: Any, part: ast.Slice) -> Any:
        ends = [None if end is None else self._folded(end) for end in (part.lower, part.upper, part.step)]
        known = isinstance(value, str | list) and all(end is None or type(end) is int for end in ends)
        return value[slice(*ends)] if known and ends[2] != 0 else _none()


def _of_text(on: str, method: str, args: list[Any]) -> Any:
    match method, args:
        case "join", [list(items)] if all(isinstance(item, str) for item in items):
            return on.join(items)[:LONGEST]
        case "split", [] | [str()] if args != [""]:
            return on.split(*args)
        case _, [] if method in _TEXT_METHODS:
            return getattr(on, method)()
        case "replace", [str(old), str(new)]:
            return on.replace(old, new)[:LONGEST]
        case "format", [*given] if on.count("{}") == on.count("{") == len(given):
            return on.format(*map(str, given))[:LONGEST]
    return _none()


def _added(left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        return (left + right)[:LONGEST]
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left + right
    return (left + right)[:LONGEST] if isinstance(left, list) and isinstance(right, list) else _none()


def _filled(form: Any, given: Any) -> str:
    """`"%s%s" % ("a", "b")`."""
    values = given if isinstance(given, list) else [given]
    if not isinstance(form, str) or form.count("%") != form.count("%s") or form.count("%s") != len(values):
        return str(_none())
    return form.replace("%s", "{}").format(*map(str, values)) if "{" not in form else str(_none())


def _none() -> Any:
    raise NotConstant
