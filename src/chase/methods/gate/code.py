"""`control.py` as the gate reads it: a syntax tree with its names, constants and comments. Nothing is run."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

LONGEST = 10_000
"""Characters of a constant that is folded."""
_TEXT_METHODS = ("lower", "upper", "strip", "title", "capitalize", "casefold", "swapcase")


class NotConstant(Exception):
    """An expression whose value is not known without running it."""


@dataclass(frozen=True)
class Code:
    """A parsed source."""

    source: str
    tree: ast.Module

    @classmethod
    def read(cls, source: str) -> Code | None:
        """None where it is no Python, which the host refuses by itself."""
        try:
            tree = ast.parse(source)
            ast.dump(tree)  # as deep as anything below goes
            return cls(source, tree)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    @cached_property
    def names(self) -> frozenset[str]:
        """Every identifier: variables, functions, parameters, attributes, keywords."""
        found: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.alias):
                found.add(node.name)
            elif isinstance(node, ast.arg | ast.keyword) and node.arg is not None:
                found.add(node.arg)
        return frozenset(found)

    @cached_property
    def values(self) -> Mapping[str, Any]:
        """The names that are set once, to a constant, with its value."""
        bound = Counter(node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name) and _stores(node))
        values: dict[str, Any] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                value = _value(node.value, values)
                if bound[name] == 1 and value is not None:
                    values[name] = value
        return values

    @cached_property
    def constants(self) -> tuple[Any, ...]:
        """Every text and number, and what constants make together ("fi" + "le")."""
        found: list[Any] = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.expr) and not isinstance(node, ast.List | ast.Tuple | ast.Name):
                value = self.constant(node)
                found += [value] if isinstance(value, str | int | float) and not isinstance(value, bool) else []
        return tuple(dict.fromkeys(found))

    @cached_property
    def strings(self) -> tuple[str, ...]:
        return tuple(value for value in self.constants if isinstance(value, str))

    @cached_property
    def comments(self) -> tuple[str, ...]:
        try:
            read = list(tokenize.generate_tokens(io.StringIO(self.source).readline))
        except (tokenize.TokenError, SyntaxError):
            return ()
        return tuple(token.string.lstrip("# ") for token in read if token.type == tokenize.COMMENT)

    @cached_property
    def plain(self) -> str:
        """What is executed: the tree without comments, layout, docstrings and annotations."""
        return ast.dump(_Bare().visit(ast.parse(self.source)))

    def constant(self, node: ast.expr) -> Any:
        """The value of an expression of constants; None where it has none."""
        return _value(node, self.values)

    def walk(self) -> Iterator[ast.AST]:
        return ast.walk(self.tree)


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    try:
        return folded(node, names)
    except (NotConstant, RecursionError):
        return None


def folded(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """The value of an expression that is made of constants."""
    match node:
        case ast.Constant(value=value) if isinstance(value, str | int | float):
            return value
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [folded(item, names) for item in items]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = folded(operand, names)
            return -value if isinstance(value, int | float) else _none()
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _added(folded(left, names), folded(right, names))
        case ast.BinOp(left=left, op=ast.Mod(), right=right):
            return _filled(folded(left, names), folded(right, names))
        case ast.JoinedStr(values=parts):
            return "".join(_shown(part, names) for part in parts)
        case ast.Call(func=func, args=args, keywords=[]):
            return _called(func, [folded(arg, names) for arg in args], names)
        case ast.Subscript(value=value, slice=ast.Slice(lower=None, upper=None, step=step)) if step is not None:
            return _reversed(folded(value, names), folded(step, names))
    return _none()


def _called(func: ast.expr, args: list[Any], names: Mapping[str, Any]) -> Any:
    """Those calls by which texts are put together."""
    if isinstance(func, ast.Name):
        match func.id, args:
            case "chr", [int(code)] if 0 <= code < 0x110000:
                return chr(code)
            case "str", [str() | int() as value]:
                return str(value)
        return _none()
    if not isinstance(func, ast.Attribute):
        return _none()
    on = folded(func.value, names)
    match func.attr, args:
        case "join", [list(items)] if isinstance(on, str) and all(isinstance(item, str) for item in items):
            return on.join(items)[:LONGEST]
        case method, [] if isinstance(on, str) and method in _TEXT_METHODS:
            return getattr(on, method)()
        case "replace", [str(old), str(new)] if isinstance(on, str):
            return on.replace(old, new)[:LONGEST]
        case "format", [*given] if isinstance(on, str) and on.count("{}") == on.count("{") == len(given):
            return on.format(*map(str, given))[:LONGEST]
    return _none()


def _added(left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        return (left + right)[:LONGEST]
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left + right
    return left + right if isinstance(left, list) and isinstance(right, list) else _none()


def _filled(form: Any, given: Any) -> str:
    """`"%s%s" % ("a", "b")`."""
    values = given if isinstance(given, list) else [given]
    if not isinstance(form, str) or form.count("%") != form.count("%s") or form.count("%s") != len(values):
        return str(_none())
    return form.replace("%s", "{}").format(*map(str, values)) if "{" not in form else str(_none())


def _shown(part: ast.expr, names: Mapping[str, Any]) -> str:
    """A part of an f-string; a gap where its value is not known."""
    if isinstance(part, ast.FormattedValue):
        try:
            return str(folded(part.value, names))
        except NotConstant:
            return " "
    return str(folded(part, names))


def _reversed(value: Any, step: Any) -> Any:
    return value[::-1] if isinstance(value, str | list) and step == -1 else _none()


def _none() -> Any:
    raise NotConstant


def _stores(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


class _Bare(ast.NodeTransformer):
    """Leaves docstrings and annotations out."""

    def visit(self, node: ast.AST) -> Any:
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            node.body = body[1:] or [ast.Pass()]  # type: ignore[attr-defined]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
        return super().visit(node)


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
