"""`control.py` as the gate reads it: a syntax tree with its names, constants and comments. Nothing is run."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from chase.methods.gate.folding import Folding
from chase.methods.gate.scopes import MARK, scoped, written

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class Code:
    """A parsed source."""

    source: str
    tree: ast.Module
    """With a name of its own for every variable (`scopes`)."""

    @classmethod
    def read(cls, source: str) -> Code | None:
        """None where it is no Python, which the host refuses by itself."""
        try:
            tree = ast.parse(source)
            ast.dump(tree)  # as deep as anything below goes
            return cls(source, scoped(tree))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    @cached_property
    def names(self) -> frozenset[str]:
        """Every identifier: variables, functions, parameters, attributes, keywords."""
        found: set[str] = set()
        for node in self.nodes:
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.alias):
                found.add(node.name)
            elif isinstance(node, ast.arg | ast.keyword) and node.arg is not None:
                found.add(node.arg)
        return frozenset(map(written, found))

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        return tuple(ast.walk(self.tree))

    @cached_property
    def settings(self) -> tuple[tuple[ast.expr, ast.expr], ...]:
        """(target, value) of whatever sets a variable; of `a, b = 1, 2` both by themselves. Loops are `loops`."""
        return tuple(pair for node in self.nodes for pair in _settings(node))

    @cached_property
    def loops(self) -> tuple[tuple[ast.expr, ast.expr], ...]:
        """(target, what is looped over) of loops and comprehensions."""
        return tuple(
            (node.target, node.iter)
            for node in self.nodes
            if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension)
        )

    @cached_property
    def functions(self) -> Mapping[str, Function]:
        """By name, lambdas that a variable is set to among them."""
        lambdas = {t.id: v for t, v in self.settings if isinstance(t, ast.Name) and isinstance(v, ast.Lambda)}
        named = {n.name: n for n in self.nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
        return {**lambdas, **named}

    @cached_property
    def modules(self) -> frozenset[str]:
        """Names that modules are imported under."""
        imports = [node for node in self.nodes if isinstance(node, ast.Import | ast.ImportFrom)]
        return frozenset(alias.asname or alias.name.partition(".")[0] for node in imports for alias in node.names)

    @cached_property
    def _folding(self) -> Folding:
        """With every name that is set once, to a constant or by a loop over constants."""
        bound = Counter(node.id for node in self.nodes if isinstance(node, ast.Name) and _stores(node))
        each = [(target, ast.Call(ast.Name("list", ast.Load()), [over], [])) for target, over in self.loops]
        pairs = [*self.settings, *each]
        named = {target.id: value for target, value in pairs if isinstance(target, ast.Name)}
        return Folding({name: value for name, value in named.items() if bound[name] == 1})

    @cached_property
    def constants(self) -> tuple[Any, ...]:
        """Every text and number, and what constants make together ("fi" + "le")."""
        found: list[Any] = []
        for node in self.nodes:
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
        """The value of an expression of constants; None where it has none. Of a loop's variable: all its values."""
        return self._folding.value(node)

    def told(self, node: ast.AST) -> str:
        """What tells a piece of code apart from another, wherever it stands."""
        return re.sub(rf"{MARK}\d+", "", ast.dump(node))

    def texts(self, *nodes: ast.expr) -> list[str]:
        """The texts of expressions of constants, those in lists too."""
        return [text for node in nodes for text in _texts(self.constant(node))]


def _settings(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _paired(target, value)
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.NamedExpr(target=target, value=value)
            | ast.AugAssign(target=target, value=value)
        ):
            yield target, value


def _paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    sides = [side.elts for side in (target, value) if isinstance(side, ast.Tuple | ast.List)]
    if len(sides) == 2 and len(sides[0]) == len(sides[1]):
        for one, other in zip(*sides, strict=True):
            yield from _paired(one, other)
    else:
        yield target, value


def _texts(value: object) -> list[str]:
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []


def _stores(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


class _Bare(ast.NodeTransformer):
    """Leaves annotations out, and statements that do nothing: docstrings, other bare constants, `pass`."""

    def visit(self, node: ast.AST) -> Any:
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [s for s in body if not _does_nothing(s)] or [ast.Pass()]  # type: ignore[attr-defined]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            return super().visit(ast.Assign([node.target], node.value))
        return super().visit(node)


def _does_nothing(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.AnnAssign(value=None):
            return True
    return False
