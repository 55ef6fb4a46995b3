"""Checks on what a harness's rules are based on: observable features that give evidence away, look-up tables, and which
task it is. They read fields and code, not only words.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from chase.core.gate_facts import Feature
from chase.methods.gate.code import Code
from chase.methods.gate.finding import ContentCheck, Found, Spot
from chase.methods.gate.holding import holders, inside, under
from chase.methods.gate.known import Known
from chase.methods.gate.scan import CONTROL, Scan
from chase.methods.gate.tables import lookup_tables
from chase.methods.gate.words import Phrases, beside, words

LONG_QUOTE = 4
"""Words of a constant from which on comparing a question with it is comparing it with one question."""
_PATH_METHODS = frozenset({"count", "split", "rsplit", "partition", "rpartition", "endswith"})
_PATH, _QUESTION, _ID, _ITEMS = under("path"), under("question"), under("id"), under("items")


def feature_rules(scan: Scan, known: Known) -> Found:
    """Rules on features that the benchmark names, in any spelling that it knows of."""
    for feature in known.facts.features:
        named = Phrases([*feature.observables, *feature.words])
        for passage in scan.passages:
            for sentence in passage.sentences:
                said = words(sentence)
                if any(named.among(said)) or beside(said, feature.subjects, feature.qualities):
                    yield Spot(passage.place, f"{feature.name}: {sentence}", feature.name)
        if scan.code is not None:
            for node in _computing(scan.code, feature):
                yield Spot(CONTROL, f"{feature.name}: {ast.dump(node)}", feature.name)


def _computing(code: Code, feature: Feature) -> Iterator[ast.AST]:
    """Where code works a feature out of a path, or of a hit's place in a result."""
    if feature.in_path:
        names = holders(code, _PATH)
        yield from (node for node in code.walk() if _measures_path(node, code, names))
    if feature.in_order:
        places = _places(code)
        yield from (node for node in code.walk() if _weighs_place(node, places))


def _measures_path(node: ast.AST, code: Code, names: frozenset[str]) -> bool:
    """Its length, its folders or its ending. To look for words in it is none of these."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[value]):
            return _PATH(value, names)
        case ast.Call(func=ast.Attribute(value=value, attr=method), args=[given, *_]) if method in _PATH_METHODS:
            return _marks(code.constant(given)) and _PATH(value, names)
        case ast.Subscript(value=value, slice=ast.Slice()):
            return _PATH(value, names)
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[value]):
            return _marks(code.constant(left)) and _PATH(value, names)
    return False


def _marks(value: object) -> bool:
    """Whether a text has a mark that parts folders or an extension."""
    return any(mark in text for text in _texts(value) for mark in "/.\\")


def _places(code: Code) -> frozenset[str]:
    """Variables that count hits: of `enumerate(hits)` and `range(len(hits))`, and of lambdas that sort such a range."""
    hits = _hits(code)
    found: set[str] = set()
    for node in code.walk():
        match node:
            case ast.For(target=target, iter=over) | ast.comprehension(target=target, iter=over):
                counted = _counted(over, hits)
                first = target.elts[0] if isinstance(target, ast.Tuple) and counted == "enumerate" else target
                found |= {first.id} if counted and isinstance(first, ast.Name) else set()
            case ast.Call(func=ast.Name(id="sorted"), args=[over, *_], keywords=keywords) if _counted(over, hits):
                keys = [k.value for k in keywords if isinstance(k.value, ast.Lambda)]
                found |= {arg.arg for key in keys for arg in key.args.args}
    return frozenset(found)


def _hits(code: Code) -> frozenset[str]:
    """Variables that hold the hits of a result: what `rerank` is given, and `state["items"]`."""
    hooks = [n for n in code.walk() if isinstance(n, ast.FunctionDef) and n.name == "rerank" and n.args.args]
    given = frozenset(hook.args.args[0].arg for hook in hooks)
    return given | holders(code, lambda node, names: _ITEMS(node, names | given))


def _counted(over: ast.expr, hits: frozenset[str]) -> str:
    """How hits are counted: by `enumerate` or `range`; nothing where they are not."""
    match over:
        case ast.Call(func=ast.Name(id="enumerate"), args=[value, *_]) if _ITEMS(value, hits):
            return "enumerate"
        case ast.Call(func=ast.Name(id="range"), args=[ast.Call(func=ast.Name(id="len"), args=[value])]):
            return "range" if _ITEMS(value, hits) else ""
    return ""


def _weighs_place(node: ast.AST, places: frozenset[str]) -> bool:
    """Whether a place is compared, turned round or reckoned with: to put indices in order needs none of it."""
    match node:
        case ast.Compare(left=left, comparators=others):
            return any(_is_place(side, places) for side in (left, *others))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _is_place(operand, places)
        case ast.BinOp(left=left, right=right):
            return _is_place(left, places) or _is_place(right, places)
    return False


def _is_place(node: ast.expr, places: frozenset[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in places


_NUMBERED = re.compile(r"\b(?:task|question|item|case|example|instance) (?:id |number |no |nr )?\d+\b")


def task_membership(scan: Scan, known: Known) -> Found:
    """Branches on which task it is: by number, by its whole text, by a value of its own, by a hash of it."""
    for passage in scan.prose:
        yield from (Spot(passage.place, found) for found in _NUMBERED.findall(" ".join(passage.words)))
    if scan.code is not None:
        own = _Own(scan.code)
        branches = ((node, kind) for node in scan.code.walk() if (kind := _branch(node, scan.code, own)))
        yield from (Spot(CONTROL, ast.dump(node), kind) for node, kind in branches)


class _Own:
    """What only one task has, in code: its question, values of placeholders, ids of its documents."""

    def __init__(self, code: Code) -> None:
        self._question = holders(code, _QUESTION) | {"question"}
        self._value = inside("slots", holders(code, under("slots")))
        self._values = holders(code, self._value)
        self._ids = holders(code, _ID)

    def asks(self, *sides: ast.expr) -> bool:
        """Whether an expression is the question's text, or a part of it."""
        return any(_QUESTION(side, self._question) for side in sides)

    def names_a_task(self, *sides: ast.expr) -> bool:
        """Whether an expression is the value of a placeholder, or a document's id."""
        return any(self._value(side, self._values) or _ID(side, self._ids) for side in sides)

    def measures(self, *sides: ast.expr) -> bool:
        """Whether an expression is the length of a question."""
        lengths = [s for s in sides if isinstance(s, ast.Call) and isinstance(s.func, ast.Name) and s.func.id == "len"]
        return any(self.asks(*length.args) for length in lengths)


def _branch(node: ast.AST, code: Code, own: _Own) -> str:
    match node:
        case ast.Compare():
            return _comparison(node, code, own)
        case ast.Call(func=ast.Name(id="hash" | "ord"), args=args) if own.asks(*args):
            return "a hash of the question"
        case ast.BinOp(left=left, op=ast.Mod()) if own.measures(left):
            return "a hash of the question"
        case ast.Call(func=ast.Attribute(value=value, attr="startswith" | "endswith"), args=[given, *_]):
            if _quotes(_texts(code.constant(given))) and own.asks(value):
                return "the text of a question"
        case ast.Match(subject=subject) if own.asks(subject) or own.names_a_task(subject):
            return "a value of one task"
    return ""


def _comparison(node: ast.Compare, code: Code, own: _Own) -> str:
    """Whether a comparison holds for one task, or for a few that were picked."""
    sides = [node.left, *node.comparators]
    constants = [text for side in sides for text in _texts(code.constant(side))]
    others = [side for side in sides if code.constant(side) is None]
    if not any(isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for op in node.ops):
        return ""
    if any(words(text) for text in constants) and own.names_a_task(*others):
        return "a value of one task"
    if _quotes(constants) and own.asks(*others):
        return "the text of a question"
    return "the length of a question" if own.measures(*others) else ""


def _quotes(texts: list[str]) -> bool:
    return any(len(words(text)) >= LONG_QUOTE for text in texts)


def _texts(value: object) -> list[str]:
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []


RULES: tuple[ContentCheck, ...] = (
    ContentCheck(
        name="lookup-tables",
        find=lookup_tables,
        means="has a look-up table",
        mend="Replace it by the rule that its entries follow, from what a task shows.",
    ),
    ContentCheck(
        name="feature-rules",
        find=feature_rules,
        means="has a rule on an observable feature of documents",
        mend="Base the rule on what the question asks and what the documents say.",
        only="feature-rules",
    ),
    ContentCheck(
        name="task-membership",
        find=task_membership,
        means="branches on which task it is",
        mend="Branch on what kind of question it is, by words that many questions share.",
    ),
)
