"""What flows where in `control.py`: which expressions hold a value of the task at hand, or what is made from it.

A *mark* is a kind of value with how deep it lies: `("path", 0)` is a document's path, `("path", 1)` a collection of
paths. Marks come from the keys of what hooks are given and go through variables, loops, functions, containers and
those methods whose result is still the value. What is worked out from a value is the checks' to judge. Variables are
read without regard to the order of statements.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable

from chase.methods.gate.code import Code, Function
from chase.methods.gate.scopes import written

Mark = tuple[str, int]
Marks = frozenset[Mark]
PATH, QUESTION, PIECE, OWN, PLACE = ("path", 0), ("question", 0), ("piece", 0), ("own", 0), ("place", 0)
"""A path; the question; a part of it that is cut out by place; a slot's value or a document's id; a hit's place."""
SLOTS = ("slots", 0)
HITS, ROW, PLACES = ("hit", 1), ("row", 1), ("place", 1)
"""The hits of a result; a collection with one item for each; their places."""
PATH_WORD, ASKED = ("path word", 0), ("asked", 0)
PATH_WORDS, ASKED_WORDS = ("path word", 1), ("asked", 1)
"""A path and the question, taken apart into words."""
COUNT, LENGTH, WORD_COUNT = ("count", 0), ("length", 0), ("word count", 0)
"""Numbers: of hits; of characters of a question or value; of a question's words."""
SAME = frozenset(
    {"lower", "upper", "strip", "lstrip", "rstrip", "casefold", "title", "capitalize", "swapcase", "replace",
     "removesuffix", "removeprefix", "group", "copy", "expandtabs"}
)  # fmt: skip
"""Methods whose result is still the value."""
PARTS = frozenset({"split", "rsplit", "splitlines", "partition", "rpartition"})
"""Methods that take a text apart."""
_KEYS = {"path": PATH, "question": QUESTION, "id": OWN, "slots": SLOTS, "items": HITS}
_LENGTHS = {HITS: COUNT, ROW: COUNT, PLACES: COUNT, QUESTION: LENGTH, PIECE: LENGTH, OWN: LENGTH}
_LENGTHS |= {ASKED_WORDS: WORD_COUNT}
_WORDS = {PATH: PATH_WORDS, PATH_WORD: PATH_WORDS, QUESTION: ASKED_WORDS, PIECE: ASKED_WORDS, ASKED: ASKED_WORDS}
_WORDS |= {OWN: ("own", 1)}
_NUMBERS = frozenset({COUNT, LENGTH, WORD_COUNT})
_ORDERED = frozenset({"hit", "row", "place"})
_DEEPEST = 3
_MOST_PASSES = 30


class Flow:
    """The marks of every expression of a source."""

    def __init__(self, code: Code) -> None:
        self._code = code
        self._variables: dict[str, set[Mark]] = defaultdict(set)
        self._known: dict[int, Marks] = {}
        hook = code.functions.get("rerank")
        if hook is not None and hook.args.args:
            self._variables[hook.args.args[0].arg].add(HITS)
        for _ in range(_MOST_PASSES):
            before = sum(map(len, self._variables.values()))
            self._pass()
            if sum(map(len, self._variables.values())) == before:
                break
        self._known.clear()

    def of(self, node: ast.expr) -> Marks:
        """The marks of an expression."""
        if id(node) not in self._known:
            try:
                self._known[id(node)] = self._marks(node)
            except RecursionError:
                self._known[id(node)] = frozenset()
        return self._known[id(node)]

    def holds(self, node: ast.expr, *marks: Mark) -> bool:
        return not self.of(node).isdisjoint(marks)

    def called(self, func: ast.expr) -> Function | None:
        """The function of the source that is called, or handed over to be called."""
        if isinstance(func, ast.Lambda):
            return func
        return self._code.functions.get(func.id) if isinstance(func, ast.Name) else None

    # Variables

    def _pass(self) -> None:
        self._known.clear()
        for target, value in self._code.settings:
            self._bind(target, self.of(value))
        for target, over in self._code.loops:
            self._bind_each(target, over)
        for node in self._code.nodes:
            if isinstance(node, ast.Call):
                self._bind_call(node)

    def _bind(self, target: ast.expr, marks: Iterable[Mark]) -> None:
        match target:
            case ast.Name(id=name):
                self._variables[name] |= set(marks)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                for each in targets:
                    self._bind(each, _items(marks))
            case ast.Starred(value=value):
                self._bind(value, _lifted(marks))
            case ast.Subscript(value=value):
                self._bind(value, _lifted(marks))

    def _bind_each(self, target: ast.expr, over: ast.expr) -> None:
        match target, over:
            case ast.Tuple(elts=[first, second]), ast.Call(func=ast.Name(id="enumerate"), args=[value, *_]):
                self._bind(first, [PLACE] if self.holds(value, HITS, ROW, PLACES) else [])
                self._bind(second, _items(self.of(value)))
            case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=values) if len(targets) == len(values):
                for each, value in zip(targets, values, strict=True):
                    self._bind(each, _items(self.of(value)))
            case ast.Tuple(elts=[_, second]), ast.Call(func=ast.Attribute(value=value, attr="items")) if self.holds(
                value, SLOTS
            ):
                self._bind(second, [("own", 1)])
            case _:
                self._bind(target, _items(self.of(over)))

    def _bind_call(self, node: ast.Call) -> None:
        function = self.called(node.func)
        if function is not None:
            given = [*function.args.posonlyargs, *function.args.args]
            for parameter, arg in zip(given, node.args, strict=False):
                self._variables[parameter.arg] |= self.of(arg)
            named = {written(parameter.arg): parameter.arg for parameter in (*given, *function.args.kwonlyargs)}
            for keyword in node.keywords:
                if keyword.arg in named:
                    self._variables[named[keyword.arg]] |= self.of(keyword.value)
        match node:
            case ast.Call(func=ast.Name(id="map" | "filter"), args=[called, *values]):
                self._hand(called, values)
            case ast.Call(func=ast.Name(), args=[value, *_], keywords=keywords):
                for keyword in keywords:
                    self._hand(keyword.value, [value])
            case ast.Call(func=ast.Attribute(value=value, attr="sort"), keywords=keywords):
                for keyword in keywords:
                    self._hand(keyword.value, [value])
            case ast.Call(func=ast.Attribute(value=value, attr="append" | "add" | "insert"), args=[*_, arg]):
                self._bind(value, _lifted(self.of(arg)))
            case ast.Call(func=ast.Attribute(value=value, attr="extend" | "update"), args=[arg]):
                self._bind(value, self.of(arg))

    def _hand(self, called: ast.expr, values: list[ast.expr]) -> None:
        """A function that is called with each item of some values."""
        function = self.called(called)
        for parameter, value in zip(function.args.args if function else [], values, strict=False):
            self._variables[parameter.arg] |= set(_items(self.of(value)))

    # Expressions

    def _marks(self, node: ast.expr) -> Marks:
        match node:
            case ast.Name(id=name):
                return frozenset(self._variables.get(name, ()))
            case ast.NamedExpr(value=value) | ast.Starred(value=value) | ast.FormattedValue(value=value):
                return self.of(value)
            case ast.Subscript(value=value, slice=key):
                return self._under(value, key)
            case ast.Call():
                return self._result(node)
            case ast.IfExp(body=one, orelse=other):
                return self.of(one) | self.of(other)
            case ast.BoolOp(values=values) | ast.JoinedStr(values=values):
                return self._all(values)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                return self.of(operand) & _NUMBERS
            case ast.BinOp(left=left, op=op, right=right):
                both = self.of(left) | self.of(right)
                return both & _NUMBERS if isinstance(op, ast.Sub | ast.BitAnd | ast.BitXor) else both
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                spread = self._all(item for item in items if isinstance(item, ast.Starred))
                return spread | _lifted(self._all(item for item in items if not isinstance(item, ast.Starred)))
            case ast.Dict(keys=keys, values=values):
                return _lifted(self._all([*(key for key in keys if key is not None), *values]))
            case ast.ListComp(elt=item) | ast.SetComp(elt=item) | ast.GeneratorExp(elt=item):
                over = node.generators[0]
                rows = not over.ifs and self.holds(over.iter, HITS, ROW, PLACES)
                return _lifted(self.of(item)) | ({ROW} if rows else set())
            case ast.DictComp(key=key, value=value):
                return _lifted(self.of(key) | self.of(value))
        return frozenset()

    def _all(self, nodes: Iterable[ast.expr]) -> Marks:
        return frozenset().union(*(self.of(node) for node in nodes))

    def _under(self, value: ast.expr, key: ast.expr) -> Marks:
        name = self._code.constant(key)
        if isinstance(name, str) and name in _KEYS:
            return frozenset({_KEYS[name]})
        marks = self.of(value)
        cut = {PIECE if mark == QUESTION else mark for mark in marks}
        values = {("own", 1)} if SLOTS in marks else set()
        return frozenset(cut) if isinstance(key, ast.Slice) else _items(marks) | values

    def _result(self, node: ast.Call) -> Marks:
        function = self.called(node.func)
        if isinstance(function, ast.Lambda):
            return self.of(function.body)
        if function is not None:
            returned = (n.value for n in ast.walk(function) if isinstance(n, ast.Return | ast.Yield) and n.value)
            return self._all(returned)
        match node:
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._of_builtin(name, args)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=method), args=args):
                marks = self._all(args)
                return _words(marks) if method in ("findall", "finditer", "split") else marks
            case ast.Call(func=ast.Attribute(value=value, attr=method), args=args):
                return self._of_method(value, method, args)
        return frozenset()

    def _of_builtin(self, name: str, args: list[ast.expr]) -> Marks:
        marks = self._all(args)
        match name:
            case "len":
                return frozenset(_LENGTHS[mark] for mark in marks if mark in _LENGTHS)
            case "range":
                return frozenset({PLACES} if COUNT in marks else ())
            case "enumerate":
                counted = marks & {HITS, ROW, PLACES}
                return _lifted(marks) | ({("place", 2)} if counted else set())
            case "zip":
                return _lifted(marks)
            case "list" | "tuple" | "set" | "frozenset" | "iter" | "reversed" | "filter" | "dict":
                return frozenset(mark for mark in marks if mark[1] > 0) | _lifted(_items(m for m in marks if not m[1]))
            case "map":
                function = self.called(args[0]) if args else None
                return _lifted(self.of(function.body)) if isinstance(function, ast.Lambda) else marks
            case "sorted":
                return frozenset(mark for mark in marks if mark[0] not in _ORDERED)
            case "min" | "max" | "next":
                return frozenset(m for m in _items(marks) if m[0] not in _ORDERED) | (marks & _NUMBERS)
            case "str" | "repr" | "format":
                return frozenset(mark for mark in marks if mark[0] not in _ORDERED and mark not in _NUMBERS)
            case "int" | "float" | "abs" | "round" | "bool" | "sum":
                return marks & _NUMBERS
        return frozenset()

    def _of_method(self, value: ast.expr, method: str, args: list[ast.expr]) -> Marks:
        marks = self.of(value)
        if SLOTS in marks and method in ("values", "items"):
            return frozenset({("own", 2 if method == "values" else 3)})
        if method in SAME or method == "values":
            return marks
        if method in PARTS:
            return _words(marks)
        match method:
            case "get" | "pop" | "setdefault" if args:
                return self._under(value, args[0]) | self._all(args[1:])
            case "pop":
                return _items(marks)
            case "items":
                return _lifted(marks)
            case "join":
                return _items(self._all(args))
            case "format":
                return self._all(args)
            case "index":
                return frozenset({PLACE} if marks & {HITS, ROW, PLACES} else ())
        return frozenset()


def _lifted(marks: Iterable[Mark]) -> Marks:
    return frozenset((kind, min(depth + 1, _DEEPEST)) for kind, depth in marks)


def _items(marks: Iterable[Mark]) -> Marks:
    """What the items of a value are; those of a text are parts of it."""
    texts = {QUESTION: PIECE, PIECE: PIECE, PATH: PATH, PATH_WORD: PATH_WORD, OWN: OWN, ASKED: ASKED}
    inner = {(kind, depth - 1) for kind, depth in marks if depth > 0}
    return frozenset(inner | {texts[mark] for mark in marks if mark in texts})


def _words(marks: Iterable[Mark]) -> Marks:
    return frozenset(_WORDS[mark] for mark in marks if mark in _WORDS)
