"""Which mutants of a source file there are: one small change each, by the operators of mutmut.

Left out is what no test should hold: docstrings, annotations and decorators; type aliases; what stands inside a
`raise`, which is the text of an error; and prose, which is a string, or an f-string, with a blank in it. A string is
changed in one way, not in mutmut's three. Unlike mutmut itself this reaches constants of a module and of a class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider
from mutmut.mutation.mutators import mutation_operators, operator_string

TEXT = (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)
SKIPPED = (cst.Annotation, cst.Decorator, cst.Raise, cst.Import, cst.ImportFrom)
ALIAS = m.Assign(value=m.Subscript() | m.Call(func=m.Name("TypeVar")) | m.Name())


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change of one file."""

    path: str
    line: int
    imported: bool
    """Whether importing the module runs it: it stands in no function."""
    operator: str
    number: int
    """Among the mutants of this file, in the order of its text."""
    before: str
    after: str
    code: Callable[[], str]
    """Makes the whole file with the change in it."""

    @property
    def name(self) -> str:
        return f"{self.path}:{self.number}"


def mutants_of(root: Path, path: str) -> list[Mutant]:
    """Every mutant of a file, in the order of its text."""
    wrapper = MetadataWrapper(cst.parse_module((root / path).read_text()))
    module, places = wrapper.module, wrapper.resolve(PositionProvider)
    found = _Finder()
    wrapper.visit(found)
    return [
        Mutant(
            path=path,
            line=places[node].start.line,
            imported=imported,
            operator=operator,
            number=number,
            before=_in_a_line(module.code_for_node(node)),
            after=_in_a_line(module.code_for_node(changed)),
            code=partial(_code, module, node, changed),
        )
        for number, (node, operator, changed, imported) in enumerate(found.changes, 1)
    ]


def _code(module: cst.Module, node: cst.CSTNode, changed: cst.CSTNode) -> str:
    return cst.ensure_type(module.deep_replace(node, changed), cst.Module).code


def _in_a_line(code: str) -> str:
    return " ".join(code.split())


class _Finder(cst.CSTVisitor):
    """Collects (node, operator, what it becomes, whether importing runs it)."""

    METADATA_DEPENDENCIES = (ParentNodeProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.changes: list[tuple[cst.CSTNode, str, cst.CSTNode, bool]] = []
        self._depth = 0

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, SKIPPED) or is_prose(node) or m.matches(node, m.Expr(value=m.SimpleString())):
            return False
        if m.matches(node, ALIAS) and self._in_module(node):
            return False
        self.changes += [(node, name, changed, self._depth == 0) for name, changed in _changes(node)]
        return True

    def visit_FunctionDef_body(self, node: cst.FunctionDef) -> None:
        self._depth += 1

    def leave_FunctionDef_body(self, node: cst.FunctionDef) -> None:
        self._depth -= 1

    def _in_module(self, node: cst.CSTNode) -> bool:
        line = self.get_metadata(ParentNodeProvider, node)
        return isinstance(self.get_metadata(ParentNodeProvider, line), cst.Module)


def _changes(node: cst.CSTNode) -> Iterator[tuple[str, cst.CSTNode]]:
    for kind, operator in mutation_operators:
        if not isinstance(node, kind):
            continue
        changed = list(operator(node))
        for one in changed[:1] if operator is operator_string else changed:
            if not _changes_prose_only(node, one):
                yield operator.__name__.removeprefix("operator_"), one


def is_prose(node: cst.CSTNode) -> bool:
    """A string for people: one with a blank in it. What is computed inside it is its text too."""
    if isinstance(node, cst.SimpleString):
        return " " in str(node.evaluated_value)
    if isinstance(node, cst.FormattedString):
        return any(isinstance(part, cst.FormattedStringText) and " " in part.value for part in node.parts)
    return isinstance(node, cst.ConcatenatedString) and (is_prose(node.left) or is_prose(node.right))


def _changes_prose_only(node: cst.CSTNode, changed: cst.CSTNode) -> bool:
    """Whether an argument or a value that is prose was dropped or put out, and nothing else."""
    if isinstance(node, cst.Call) and isinstance(changed, cst.Call):
        kept = [argument.value for argument in changed.args]
        return any(is_prose(argument.value) and argument.value not in kept for argument in node.args)
    return isinstance(node, cst.Assign | cst.AnnAssign) and node.value is not None and is_prose(node.value)
