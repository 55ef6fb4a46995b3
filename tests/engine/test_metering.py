"""Counting steps: every loop, comprehension, function and lambda counts, and nothing else about a file changes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import chase
from chase.engine.metering import Metered, metered

SOURCES = {
    "function": '''"""Doc."""
def f(a: dict[str, int] = {1: 2}, *, g=lambda b, c={1: 2}: b) -> "for x in y: z":
    """Doc."""
    # note
    for (x,
         y) in a:  # note
        while x: break
    return x[1:2, ::3], {**x}, {1: lambda: {2: 3}}
''',
    "comprehensions": """
x = [a for a in b if a if c for d in
     e  # note
     ]
y = {k: v for k, v in (lambda: x)().items()}
""",
    "lambdas": """
f = lambda: lambda x: x if x else 0
g = s[1:2], sorted(x, key=lambda i: -i or 3)
while (n := g(lambda: 1)): n()
""",
    "async": """
async def f():
    async for x in y: pass
    return [x async for x in y], {z async for a in b for z in a}
""",
    "class": "class A:\n\tdef f(self): return 1\n\n\tdef g(\n\t\tself,\n\t): return [\n\t\t1 for _ in x]\n",
    "match": """
match x:
    case {"a": [1, *_]} if y:
        for z in x:

            # note
            def h(): ...
    case _: pass
""",
    "texts and backslashes": """
x = '''
for a in b:
    c
'''
for a in \\
        b: c; d
else:
    e
""",
}
FOLDERS = ["engine", "harness", "protocol"]
"""Sources of our own that stand for all the Python there is."""


class Unmetered(ast.NodeTransformer):
    """Takes the steps out again, and fails where one is missing."""

    def visit_body(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        first = node.body.pop(0)  # type: ignore[attr-defined]
        assert isinstance(first, ast.Expr)
        assert _is_step(first.value), ast.unparse(node)
        return node

    visit_For = visit_AsyncFor = visit_While = visit_FunctionDef = visit_AsyncFunctionDef = visit_body

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        assert _is_step(node.ifs.pop(0)), ast.unparse(node)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.body, ast.IfExp):
            node.body.body = _without_step(node.body.body)
        elif not isinstance(node.body, ast.Lambda):
            node.body = _without_step(node.body)
        return node


def _is_step(node: ast.expr) -> bool:
    return ast.unparse(node) == "_chase_step()"


def _without_step(node: ast.expr) -> ast.expr:
    """What `_chase_step() and …` was before: Python reads `a and b and c` as one."""
    operator = node.values[0] if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) else node
    assert isinstance(operator, ast.BoolOp)
    assert _is_step(operator.values.pop(0))
    if len(operator.values) > 1:
        return node
    if operator is node:
        return operator.values[0]
    assert isinstance(node, ast.BoolOp)
    node.values[0] = operator.values[0]
    return node


def without_steps(found: Metered) -> ast.AST:
    return Unmetered().visit(ast.parse(found.code))


def lines(tree: ast.AST) -> list[int]:
    return [node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def check(source: str) -> None:
    found, before = metered(source), ast.parse(source)
    after = without_steps(found)
    # An f-string is one text to Python 3.11, and what is in it is left alone everywhere.
    assert ast.dump(after) == ast.dump(before)
    assert [found.line(line) for line in lines(after)] == lines(before)


@pytest.mark.parametrize("name", SOURCES)
def test_every_place_counts_and_the_rest_and_its_lines_stay(name: str) -> None:
    check(SOURCES[name])


@pytest.mark.parametrize("folder", FOLDERS)
def test_real_files_are_what_they_were_but_for_their_steps(folder: str) -> None:
    for path in sorted((Path(chase.__file__).parent / folder).glob("*.py")):
        source = path.read_text()
        if not any(isinstance(node, ast.JoinedStr) and _iterates(node) for node in ast.walk(ast.parse(source))):
            check(source)


def _iterates(text: ast.JoinedStr) -> bool:
    return any(isinstance(node, ast.comprehension | ast.Lambda) for node in ast.walk(text))


@pytest.mark.parametrize(
    "source", ["", "def f(:\n", "x = (1,\n", "  x\n y\n", "'''", "\x00", "for", "lambda:", ")]}", "a\r"]
)
def test_what_is_no_python_is_left_to_the_worker(source: str) -> None:
    found = metered(source)
    assert found.code.replace("_chase_step()", "").strip() or not source.strip()
    assert found.line(10**6) == len(source.rstrip().split("\n"))
