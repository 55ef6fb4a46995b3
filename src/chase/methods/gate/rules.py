"""Checks on what a harness's rules are based on: observable features that give evidence away, look-up tables, and which
task it is. They read fields and code, not only words.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from chase.core.gate_facts import Feature
from chase.methods.gate.code import Code
from chase.methods.gate.known import Known
from chase.methods.gate.leaks import ContentCheck, Found
from chase.methods.gate.scan import CONTROL, Scan
from chase.methods.gate.tables import lookup_tables
from chase.methods.gate.words import Phrases, beside, words

LONG_QUOTE = 4
"""Words of a constant from which on comparing a question with it is comparing it with one question."""
_PATH_METHODS = frozenset(
    {"count", "split", "rsplit", "partition", "rpartition", "endswith", "startswith", "find", "index"}
)


def feature_rules(scan: Scan, known: Known) -> Found:
    """Rules on features that the benchmark names, in any spelling that it knows of."""
    for feature in known.facts.features:
        named = Phrases([*feature.observables, *feature.words])
        for passage in scan.passages:
            if any(named.among(passage.words)) or any(
                beside(words(s), feature.subjects, feature.qualities) for s in passage.sentences
            ):
                yield passage.place, feature.name
        if scan.code is not None and any(_computed(scan.code, feature)):
            yield CONTROL, feature.name


def _computed(code: Code, feature: Feature) -> Iterator[bool]:
    """Whether code works a feature out of a path, or of a hit's place in a result."""
    if feature.in_path:
        yield any(_measures_path(node, _names_of(code, "path")) for node in code.walk())
    if feature.in_order:
        places = _places(code)
        yield any(_weighs_place(node, places) for node in code.walk())


def _names_of(code: Code, key: str) -> frozenset[str]:
    """Variables that hold what stands under a key of a dict, or what is made of it."""
    names: set[str] = set()
    for _ in range(5):  # a chain of assignments
        before = len(names)
        for node in code.walk():
            value, targets = _assigned(node)
            if value is not None and _mentions(value, key, names):
                names |= {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
        if len(names) == before:
            break
    return frozenset(names)


def _assigned(node: ast.AST) -> tuple[ast.expr | None, list[ast.expr]]:
    match node:
        case ast.Assign(targets=targets, value=value):
            return value, targets
        case ast.AnnAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
            return value, [target]
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            return value, [target]
    return None, []


def _mentions(node: ast.AST, key: str, names: frozenset[str] | set[str]) -> bool:
    """Whether an expression uses what stands under a key (`hit["path"]`, `hit.get("path")`), or a variable with it."""
    for part in ast.walk(node):
        match part:
            case ast.Subscript(slice=ast.Constant(value=found)) if found == key:
                return True
            case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=found), *_]) if found == key:
                return True
            case ast.Name(id=name) if name in names:
                return True
    return False


def _measures_path(node: ast.AST, names: frozenset[str]) -> bool:
    """Its length, its parts, its ending, or a letter of it."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[value]):
            return _mentions(value, "path", names)
        case ast.Call(func=ast.Attribute(value=value, attr=method)) if method in _PATH_METHODS:
            return _mentions(value, "path", names)
        case ast.Subscript(value=value, slice=ast.Slice() | ast.UnaryOp() | ast.Constant(value=int())):
            return _mentions(value, "path", names)
        case ast.Compare(left=ast.Constant(value=str()), ops=[ast.In() | ast.NotIn()], comparators=[value]):
            return _mentions(value, "path", names)
    return False


def _places(code: Code) -> frozenset[str]:
    """Variables that count hits: of `enumerate(hits)` and `range(len(hits))`, and of lambdas that sort such a range."""
    found: set[str] = set()
    for node in code.walk():
        value, targets = _assigned(node)
        match value:
            case ast.Call(func=ast.Name(id="enumerate")) if targets and isinstance(targets[0], ast.Tuple):
                first = targets[0].elts[0]
                found |= {first.id} if isinstance(first, ast.Name) else set()
            case ast.Call(func=ast.Name(id="range")):
                found |= {target.id for target in targets if isinstance(target, ast.Name)}
        match node:
            case ast.Call(func=ast.Name(id="sorted") | ast.Attribute(attr="sort"), args=args, keywords=keywords):
                over_range = any(isinstance(n, ast.Name) and n.id == "range" for a in args for n in ast.walk(a))
                keys = [k.value for k in keywords if isinstance(k.value, ast.Lambda)]
                found |= {arg.arg for key in keys if over_range for arg in key.args.args}
    return frozenset(found)


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
        yield from ((passage.place, found) for found in _NUMBERED.findall(" ".join(passage.words)))
    if scan.code is not None:
        yield from ((CONTROL, found) for node in scan.code.walk() if (found := _branch(node, scan.code)))


def _branch(node: ast.AST, code: Code) -> str:
    question, slots, ids = (_names_of(code, key) for key in ("question", "slots", "id"))
    match node:
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            sides = [left, *comparators]
            constants = [text for side in sides for text in _texts(code.constant(side))]
            own = [side for side in sides if code.constant(side) is None]
            if any(isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for op in ops):
                if constants and any(_mentions(s, "slots", slots) or _mentions(s, "id", ids) for s in own):
                    return "a value of one task"
                if any(len(words(t)) >= LONG_QUOTE for t in constants) and _uses(own, question):
                    return "the text of a question"
            if any(_is_length(side, question) for side in own):
                return "the length of a question"
        case ast.Call(func=ast.Name(id="hash" | "sum" | "ord"), args=args) if _uses(args, question):
            return "a hash of the question"
        case ast.BinOp(left=left, op=ast.Mod()) if _is_length(left, question):
            return "a hash of the question"
        case ast.Call(func=ast.Attribute(value=value, attr="startswith" | "endswith"), args=[given, *_]):
            if any(len(words(t)) >= LONG_QUOTE for t in _texts(code.constant(given))) and _uses([value], question):
                return "the text of a question"
        case ast.Match(subject=subject) if _uses([subject], question) or _mentions(subject, "slots", slots):
            return "a value of one task"
    return ""


def _texts(value: object) -> list[str]:
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []


def _uses(sides: list[ast.expr], question: frozenset[str]) -> bool:
    return any(_mentions(side, "question", question | {"question"}) for side in sides)


def _is_length(node: ast.expr, question: frozenset[str]) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[value]):
            return _uses([value], question)
    return False


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
        public=True,
        only="feature-rules",
    ),
    ContentCheck(
        name="task-membership",
        find=task_membership,
        means="branches on which task it is",
        mend="Branch on what kind of question it is, by words that many questions share.",
        public=True,
    ),
)
