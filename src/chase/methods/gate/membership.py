"""Branches on which task it is: by number in words; by the question, a value of it or a document's id in code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from chase.methods.gate.code import Code
from chase.methods.gate.features import ASKING
from chase.methods.gate.finding import Found, Spot
from chase.methods.gate.flow import ASKED, ASKED_WORDS, LENGTH, OWN, PIECE, QUESTION, WORD_COUNT, Flow
from chase.methods.gate.known import Known
from chase.methods.gate.scan import CONTROL, Scan
from chase.methods.gate.words import words

LONG_QUOTE = 4
"""Words of a constant from which on comparing a question with it is comparing it with one question."""
_NUMBERED = re.compile(r"\b(?:task|question|item|case|example|instance) (?:id |number |no |nr )?\d+\b")
_EQUALS = ast.Eq | ast.NotEq | ast.In | ast.NotIn
_READING = ASKING | {"search", "match", "fullmatch", "findall", "split", "partition", "removeprefix", "removesuffix"}
_TEXT, _HASH, _LENGTH, _VALUE = (
    "the text of a question", "a hash of the question", "the length of a question", "a value of one task",
)  # fmt: skip


def task_membership(scan: Scan, known: Known) -> Found:
    """Branches on which task it is: by number, by its whole text, by a value of its own, by a hash of it."""
    for passage in scan.prose:
        yield from (Spot(passage.place, found) for found in _NUMBERED.findall(" ".join(passage.words)))
    if scan.code is not None and scan.flow is not None:
        branches = _Branches(scan.code, scan.flow)
        yield from (Spot(CONTROL, scan.code.told(node), kind) for node, kind in branches.found())


class _Branches:
    """What in code holds for one task, or for a few that were picked."""

    def __init__(self, code: Code, flow: Flow) -> None:
        self._code = code
        self._flow = flow

    def found(self) -> Iterator[tuple[ast.AST, str]]:
        yield from ((node, kind) for node in self._code.nodes if (kind := self._kind(node)))
        yield from self._bounded_on_both_sides()

    def _kind(self, node: ast.AST) -> str:
        match node:
            case ast.Compare():
                return self._comparison(node)
            case ast.For(iter=value) | ast.comprehension(iter=value) if self._asks(value):
                return _HASH
            case ast.Match(subject=value) if self._asks(value) or self._owns(value):
                return _VALUE
            case ast.BinOp(left=left, op=ast.Mod() | ast.FloorDiv()) if self._flow.holds(left, LENGTH, WORD_COUNT):
                return _HASH
            case ast.Call(func=ast.Name() as func, args=args) if self._flow.called(func) is None:
                return self._function(func.id, args)
            case ast.Call(func=ast.Attribute(value=value, attr=method), args=args):
                return self._method(value, method, args)
        return ""

    def _asks(self, *sides: ast.expr) -> bool:
        return any(self._flow.holds(side, QUESTION, PIECE) for side in sides)

    def _owns(self, *sides: ast.expr) -> bool:
        return any(self._flow.holds(side, OWN, ("own", 1)) for side in sides)

    def _function(self, name: str, args: list[ast.expr]) -> str:
        """Texts character by character, or as numbers."""
        by_character = name in ("hash", "ord", "sorted", "list", "set", "sum", "map", "enumerate", "zip", "bytes")
        single = [arg for arg in args if self._asks(arg) or self._flow.holds(arg, OWN)]
        return _HASH if by_character and single else ""

    def _method(self, value: ast.expr, method: str, args: list[ast.expr]) -> str:
        sides = [value, *args]
        if method == "encode" and (self._asks(value) or self._flow.holds(value, OWN)):
            return _HASH
        if method not in _READING:
            return ""
        texts = self._code.texts(*args)
        if _quotes(texts) and any(self._flow.holds(side, QUESTION, PIECE, ASKED, ASKED_WORDS) for side in sides):
            return _TEXT
        named = any(words(text) for text in texts)
        return _VALUE if named and self._owns(*sides) else ""

    def _comparison(self, node: ast.Compare) -> str:
        sides = [node.left, *node.comparators]
        texts = self._code.texts(*sides)
        fixed = any(self._code.constant(side) is not None for side in sides)
        equals = any(isinstance(op, _EQUALS) for op in node.ops)
        if self._owns(*sides) and any(words(text) for text in texts):
            return _VALUE
        if any(self._flow.holds(side, PIECE) for side in sides) and texts:
            return _TEXT
        if self._asks(*sides) and (_quotes(texts) or (texts and not equals)):
            return _TEXT
        words_asked = any(self._flow.holds(side, ASKED, ASKED_WORDS) for side in sides)
        if words_asked and (_quotes(texts) or (not equals and len(texts) >= LONG_QUOTE)):
            return _TEXT
        if fixed and any(self._flow.holds(side, LENGTH) for side in sides):
            return _LENGTH
        counted = any(self._flow.holds(side, WORD_COUNT) for side in sides)
        return _LENGTH if counted and (equals or len(node.ops) > 1) else ""

    def _bounded_on_both_sides(self) -> Iterator[tuple[ast.AST, str]]:
        """The number of a question's words with a lower bound here and an upper one there: one of either is a kind of
        question.
        """
        bounds: dict[bool, ast.Compare] = {}
        for node in self._code.nodes:
            match node:
                case ast.Compare(left=left, ops=[op], comparators=[right]) if not isinstance(op, _EQUALS):
                    turned = self._flow.holds(right, WORD_COUNT)
                    if turned or self._flow.holds(left, WORD_COUNT):
                        bounds[isinstance(op, ast.Lt | ast.LtE) != turned] = node
        if len(bounds) == 2:
            yield from ((node, _LENGTH) for node in bounds.values())


def _quotes(texts: list[str]) -> bool:
    return any(len(words(text)) >= LONG_QUOTE for text in texts)
