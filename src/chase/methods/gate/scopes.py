"""Code with a name of its own for every variable: `i` of one function or comprehension is not `i` of another."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

MARK = "·"
"""Between a variable's name and the number of its scope."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_Scope = _Function | _Comprehension
Visible = Mapping[str, str]


def scoped(tree: ast.Module) -> ast.Module:
    """The tree with its variables renamed, in place. Names of the module and of nobody stay as they are."""
    _Renaming().within(tree, {})
    return tree


def written(name: str) -> str:
    """A variable's name as its author wrote it."""
    return name.partition(MARK)[0]


class _Renaming:
    def __init__(self) -> None:
        self._scopes = 0

    def within(self, top: ast.AST, visible: Visible) -> None:
        """Rename what stands in one scope, and go into those inside it. By a stack: trees can be deep."""
        waiting = list(ast.iter_child_nodes(top)) if not isinstance(top, _Scope) else list(_inside(top))
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Name):
                node.id = visible.get(node.id, node.id)
            elif isinstance(node, ast.arg):
                node.arg = visible.get(node.arg, node.arg)
            if isinstance(node, _Scope):
                waiting += _outside(node)
                self._scopes += 1
                own = {name: f"{name}{MARK}{self._scopes}" for name in _bound(node)}
                self.within(node, {**visible, **own})
            else:
                waiting += ast.iter_child_nodes(node)


def _outside(scope: _Scope) -> list[ast.AST]:
    """What of a scope is worked out in the one around it."""
    if isinstance(scope, _Comprehension):
        return [scope.generators[0].iter]
    decorators = [] if isinstance(scope, ast.Lambda) else scope.decorator_list
    return [*decorators, *scope.args.defaults, *(d for d in scope.args.kw_defaults if d is not None)]


def _inside(scope: _Scope) -> Iterator[ast.AST]:
    outside = {id(node) for node in _outside(scope)}
    for child in ast.iter_child_nodes(scope):
        if isinstance(child, ast.comprehension | ast.arguments):
            yield from (node for node in ast.iter_child_nodes(child) if id(node) not in outside)
        elif id(child) not in outside:
            yield child


def _bound(scope: _Scope) -> set[str]:
    """The names that a scope binds: parameters and what it sets, without the scopes inside it."""
    found: set[str] = set()
    shared: set[str] = set()
    waiting = list(_inside(scope))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            shared |= set(node.names)
        waiting += [] if isinstance(node, _Scope) else ast.iter_child_nodes(node)
    return found - shared
