"""Rules on observable features of documents: named by observable or in words, or computed in `control.py`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chase.core.gate_facts import Feature
from chase.methods.gate.code import Code
from chase.methods.gate.finding import Found, Spot
from chase.methods.gate.flow import COUNT, HITS, PARTS, PATH, PATH_WORD, PATH_WORDS, PLACE, PLACES, SAME, Flow
from chase.methods.gate.known import Known
from chase.methods.gate.scan import CONTROL, Scan
from chase.methods.gate.words import Phrases, beside, words

ASKING = frozenset({"count", "find", "rfind", "index", "rindex", "startswith", "endswith"})
"""Methods that look for something in a text."""
_WORD = 3
"""Letters and digits of something that is looked for as a word; less is a mark or a piece of one."""
_KEPT_WHOLE = frozenset({"str", "repr", "format", "print", "isinstance", "bool"})
"""Functions that take a path and measure nothing of it."""
_RECKONS = frozenset({"abs", "divmod", "pow", "float", "round", "min", "max"})
_EQUALS = ast.Eq | ast.NotEq | ast.In | ast.NotIn


def feature_rules(scan: Scan, known: Known) -> Found:
    """Rules on features that the benchmark names, in any spelling that it knows of."""
    for feature in known.facts.features:
        named = Phrases([*feature.observables, *feature.words])
        for passage in scan.passages:
            for sentence in passage.sentences:
                said = words(sentence)
                if any(named.among(said)) or beside(said, feature.subjects, feature.qualities):
                    yield Spot(passage.place, f"{feature.name}: {sentence}", feature.name)
        if scan.code is not None and scan.flow is not None:
            for node in _computing(scan.code, scan.flow, feature):
                yield Spot(CONTROL, f"{feature.name}: {scan.code.told(node)}", feature.name)


def _computing(code: Code, flow: Flow, feature: Feature) -> Iterator[ast.AST]:
    """Where code works a feature out of a path, or of a hit's place in a result."""
    paths, places = _Paths(code, flow), _Places(code, flow)
    for node in code.nodes:
        if (feature.in_path and paths.measured(node)) or (feature.in_order and places.weighed(node)):
            yield node


class _Paths:
    """What is worked out from a path. To look for words in it, and to compare it as a whole, is allowed."""

    def __init__(self, code: Code, flow: Flow) -> None:
        self._code = code
        self._flow = flow

    def measured(self, node: ast.AST) -> bool:
        match node:
            case ast.Subscript(value=value):
                return self._is_path(value) or self._flow.holds(value, PATH_WORDS)
            case ast.For(iter=value) | ast.comprehension(iter=value) | ast.Match(subject=value):
                return self._is_path(value)
            case ast.Compare():
                return self._compared(node)
            case ast.Call(func=ast.Name(id="len"), args=[value]):
                return self._is_path(value) or self._flow.holds(value, PATH_WORDS)
            case ast.Call(func=ast.Name(id=name) as func, args=args) if self._flow.called(func) is None:
                return name not in _KEPT_WHOLE and any(map(self._is_path, args))
            case ast.Call(func=ast.Attribute(value=value, attr=method), args=args):
                return self._method(value, method, args)
        return False

    def _is_path(self, node: ast.expr) -> bool:
        return self._flow.holds(node, PATH, PATH_WORD)

    def _method(self, value: ast.expr, method: str, args: list[ast.expr]) -> bool:
        if isinstance(value, ast.Name) and value.id in self._code.modules:
            return any(map(self._is_path, args)) and (value.id != "re" or self._marks(*args))
        if not self._is_path(value):
            return method == "join" and any(map(self._is_path, args))
        if method in ASKING:
            return not self._looks_for_words(*args[:1])
        return self._marks(*args) or method not in SAME | PARTS

    def _compared(self, node: ast.Compare) -> bool:
        sides = [node.left, *node.comparators]
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            if not (self._is_path(left) or self._is_path(right)):
                continue
            if not isinstance(op, _EQUALS) or self._marks(left, right):
                return True
            if isinstance(op, ast.In | ast.NotIn) and self._is_path(right) and not self._looks_for_words(left):
                return True
        return False

    def _looks_for_words(self, *given: ast.expr) -> bool:
        """Whether something is a word, or not known."""
        texts = self._code.texts(*given)
        return not self._marks(*given) and all(sum(c.isalnum() for c in text) >= _WORD for text in texts)

    def _marks(self, *given: ast.expr) -> bool:
        """Whether a text has a mark that parts folders or an extension."""
        return any(mark in text for text in self._code.texts(*given) for mark in "/.\\")


class _Places:
    """What is worked out from a hit's place: to put indices in order, to part them and to break ties needs nothing."""

    def __init__(self, code: Code, flow: Flow) -> None:
        self._code = code
        self._flow = flow

    def weighed(self, node: ast.AST) -> bool:
        match node:
            case ast.Compare():
                return self._compared(node)
            case ast.UnaryOp(operand=operand):
                return self._is_place(operand)
            case ast.BinOp(left=left, op=op, right=right):
                said = isinstance(op, ast.Mod) and isinstance(self._code.constant(left), str)
                return not said and (self._is_place(left) or self._is_place(right))
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                return self._is_place(test)
            case ast.comprehension(ifs=tests):
                return any(map(self._is_place, tests))
            case ast.Subscript(value=value, slice=ast.Slice() as part):
                return self._in_order(value) and any((part.lower, part.upper, part.step))
            case ast.Call():
                return self._called(node)
        return False

    def _is_place(self, node: ast.expr) -> bool:
        return self._flow.holds(node, PLACE)

    def _in_order(self, node: ast.expr) -> bool:
        return self._flow.holds(node, HITS, PLACES)

    def _compared(self, node: ast.Compare) -> bool:
        sides = [node.left, *node.comparators]
        if not any(map(self._is_place, sides)):
            return False
        others = [side for side in sides if not self._is_place(side)]
        fixed = any(self._code.constant(side) is not None or _is_range(side) for side in others)
        counted = any(self._flow.holds(side, COUNT) for side in others)
        return fixed or counted or not all(isinstance(op, _EQUALS) for op in node.ops)

    def _called(self, node: ast.Call) -> bool:
        match node:
            case ast.Call(func=ast.Name(id="reversed"), args=[value, *_]):
                return self._in_order(value)
            case ast.Call(func=ast.Name(id="range"), args=[start, stop, *step]):
                counts = any(self._flow.holds(arg, COUNT) for arg in (start, stop))
                return counts and (bool(step) or self._code.constant(start) != 0)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _RECKONS:
                return any(map(self._is_place, args))
            case (
                ast.Call(func=ast.Name(id="sorted"), args=[value, *_], keywords=keywords)
                | ast.Call(func=ast.Attribute(value=value, attr="sort"), keywords=keywords)
            ):
                return self._in_order(value) and self._turned(keywords)
            case ast.Call(func=ast.Attribute(value=value, attr="reverse" | "pop")):
                return self._in_order(value)
        return False

    def _turned(self, keywords: list[ast.keyword]) -> bool:
        """Whether a sort is the other way round by places: it has no key of its own, or that begins with a place."""
        if not any(keyword.arg == "reverse" for keyword in keywords):
            return False
        keys = [self._flow.called(keyword.value) for keyword in keywords if keyword.arg == "key"]
        bodies = [key.body for key in keys if isinstance(key, ast.Lambda)]
        firsts = [body.elts[0] if isinstance(body, ast.Tuple) and body.elts else body for body in bodies]
        return not keys or any(map(self._is_place, firsts))


def _is_range(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"
