"""Which expressions and variables of code hold a value of the task at hand: its question, a path, a slot.

A value counts as it is, in other letters, or in part; what is computed from it is something else. So a name that was
set from a test on the question does not hold the question.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from chase.methods.gate.code import Code

_SAME = frozenset(
    {"lower", "upper", "strip", "lstrip", "rstrip", "casefold", "title", "get", "replace", "removesuffix"}
)
"""Methods whose result is still the value."""
Test = Callable[[ast.expr, frozenset[str]], bool]
"""(expression, variables that hold the value) → whether it holds it."""


def holders(code: Code, test: Test) -> frozenset[str]:
    """The variables that are set to an expression which passes the test, through other variables too."""
    names: frozenset[str] = frozenset()
    pairs = [pair for node in code.walk() for pair in _assignments(node)]
    while True:
        found = names | {name for value, name in pairs if test(value, names)}
        if found == names:
            return names
        names = found


def _assignments(node: ast.AST) -> list[tuple[ast.expr, str]]:
    """(value, variable): of a loop, what is looped over."""
    match node:
        case ast.Assign(targets=targets, value=value):
            return [(value, target.id) for target in targets if isinstance(target, ast.Name)]
        case (
            ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            | ast.NamedExpr(target=ast.Name(id=name), value=value)
            | ast.For(target=ast.Name(id=name), iter=value)
            | ast.comprehension(target=ast.Name(id=name), iter=value)
        ):
            return [(value, name)]
    return []


def under(key: str) -> Test:
    """Passed by what stands under a key (`hit["path"]`, `hit.get("path", "")`)."""

    def test(node: ast.expr, names: frozenset[str]) -> bool:
        match node:
            case ast.Subscript(slice=ast.Constant(value=found)) if found == key:
                return True
            case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=found), *_]) if found == key:
                return True
            case ast.Subscript(value=value) | ast.Call(func=ast.Attribute(value=value, attr="get")):
                return test(value, names)
            case ast.Call(func=ast.Attribute(value=value, attr=method)) if method in _SAME:
                return test(value, names)
            case ast.BoolOp(values=values):
                return any(test(value, names) for value in values)
            case ast.Name(id=name):
                return name in names
        return False

    return test


def inside(key: str, holding: frozenset[str]) -> Test:
    """Passed by what stands under any key of what stands under this one: `state["slots"]["entity"][0]`."""
    outer = under(key)

    def test(node: ast.expr, names: frozenset[str]) -> bool:
        match node:
            case ast.Subscript(value=value) | ast.Call(func=ast.Attribute(value=value, attr="get")):
                return outer(value, holding) or test(value, names)
            case ast.Call(func=ast.Attribute(value=value, attr=method)) if method in _SAME:
                return test(value, names)
            case ast.Name(id=name):
                return name in names
        return False

    return test
