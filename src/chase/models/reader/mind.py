"""The reader's decisions: limited attention over what it was shown. Every draw is keyed by the document's id."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import NormalDist

from chase.core.keyed import uniform
from chase.core.observables import OBSERVABLES
from chase.core.values import Sighting
from chase.models.reader.directives import Directives, Lean
from chase.models.reader.question import Understood, Wanted
from chase.models.reader.reading import Record, Result, Window, read_preview

_NORMAL = NormalDist()


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameters:
    """The reader's limits; `parameters.toml` says what each is."""

    version: int
    results: int
    taste_noise: float
    read_on: float
    overlook: float
    lenience: float
    arithmetic_slip: float
    directive_weight: float
    care: float


@dataclass(frozen=True, slots=True)
class Call:
    """The next thing the reader does: a tool call."""

    tool: str
    arguments: Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class Answer:
    """The next thing the reader does: it answers."""

    text: str


@dataclass(slots=True)
class Sight:
    """What the reader has seen of one document."""

    id: str
    path: str
    listing: int | None = None
    hit: int | None = None
    matched: bool = False
    preview: str | None = None
    windows: dict[int, Window] = field(default_factory=dict)
    ended: bool = False

    def preview_records(self) -> tuple[Record, ...]:
        return (read_preview(self.preview),) if self.preview else ()

    def shown(self) -> Sighting:
        return Sighting(id=self.id, path=self.path, listing=self.listing, hit=self.hit, text=self.preview)


@dataclass(slots=True)
class Memory:
    """What the history says so far."""

    sights: dict[str, Sight] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)
    listed: bool = False
    calls: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    computed: str | None = None
    last_opened: str | None = None

    def take_in(self, tool: str, arguments: Mapping[str, object], text: str, result: Result) -> None:
        """Add one tool call and its result."""
        self.calls[tool] = self.calls.get(tool, 0) + 1
        if tool == "calculator":
            self.computed = text.splitlines()[0] if text else ""
            return
        if result.refused:
            self.refused[tool] = self.refused.get(tool, 0) + 1
        self.listed = self.listed or tool == "list_files"
        if tool == "search":
            self.queries.append(str(arguments.get("query", "")))
        for place, entry in enumerate(result.entries):
            sight = self.sights.setdefault(entry.id, Sight(entry.id, entry.path))
            if tool == "list_files":
                sight.listing = place
            elif sight.hit is None or place < sight.hit:
                sight.hit = place
            if entry.preview is not None:
                sight.preview = entry.preview
            sight.matched = sight.matched or place < (result.full_matches or 0)
        for window in result.windows:
            sight = self.sights.setdefault(window.id, Sight(window.id, window.path))
            sight.windows[window.number] = window
            sight.ended = sight.ended or window.last
            self.last_opened = window.id


@dataclass(frozen=True, slots=True)
class Mind:
    """One rollout's reader. `seed` is decided by run, task and index: the same under every variant."""

    parameters: Parameters
    directives: Directives
    question: Understood
    seed: int
    budgets: Mapping[str, int]
    """Calls of each tool that the tools' descriptions allow."""

    def next(self, memory: Memory) -> Call | Answer:
        """What to do now: find all amounts, then compute; give up when nothing can be read any more."""
        found = self._found(memory)
        if len(found) == len(self.question.wanted):
            return self._compute(found, memory)
        query = self._next_query(memory)
        if query is not None and self._left("search", memory) and not memory.refused.get("search"):
            return Call("search", {"query": query, "limit": self.parameters.results})
        if not memory.listed and self._left("list_files", memory):
            return Call("list_files", {})
        document = self._next_document(memory) if self._left("open_file", memory) else None
        if document is not None:
            return Call("open_file", {"file": document})
        return Answer("I could not find every amount.")

    def _left(self, tool: str, memory: Memory) -> bool:
        group = ("search", "list_files") if tool in ("search", "list_files") else (tool,)
        return sum(memory.calls.get(name, 0) for name in group) < self.budgets.get(tool, 0)

    # Searching

    def _next_query(self, memory: Memory) -> str | None:
        """The first of its queries that was not made; none where the harness has already searched for it."""
        made = len(memory.queries)
        queries = self._queries()
        return queries[made] if made < len(queries) else None

    def _queries(self) -> list[str]:
        told = self.directives
        if not (told.by_period or told.with_category or told.with_conditions):
            return [self.question.text]
        conditions = f" {' '.join(sorted(self.question.conditions))}" if told.with_conditions else ""
        if told.with_category:
            pairs = [f"{wanted.period} {wanted.category}" for wanted in self.question.wanted]
        else:
            pairs = list(self.question.periods)
        return [f"{self.question.entity} {pair}{conditions}" for pair in dict.fromkeys(pairs)][:3]

    # Choosing what to read

    def _next_document(self, memory: Memory) -> str | None:
        """A lead first; then read on where that seems worth it; then the tidiest document; then any continuation."""
        sights = list(memory.sights.values())
        leads = [sight for sight in sights if not sight.windows and self._gave(sight)]
        if leads and not memory.refused.get("open_file"):
            return min(leads, key=self._distaste(sights)).id
        current = memory.sights.get(memory.last_opened or "")
        if current and self._unfinished(current) and not self._gave(current) and self._reads_on(current, sights):
            return current.id
        new = [sight for sight in sights if not sight.windows]
        if new and not memory.refused.get("open_file"):
            return min(new, key=self._distaste(sights)).id
        rest = [sight for sight in sights if self._unfinished(sight) and not self._gave(sight)]
        if self.directives.read_on == "never":
            rest = []
        return min(rest, key=self._distaste(sights)).id if rest and memory.refused.get("open_file", 0) < 3 else None

    @staticmethod
    def _unfinished(sight: Sight) -> bool:
        return bool(sight.windows) and not sight.ended

    def _gave(self, sight: Sight) -> bool:
        """Whether the document has given an amount."""
        return any(True for _ in self._amounts(sight))

    def _reads_on(self, sight: Sight, sights: Sequence[Sight]) -> bool:
        told = self.directives
        if told.read_on != "habit":
            return told.read_on == "always"
        for lean in told.read_on_in:
            if _ranks(lean, [other.shown() for other in sights])[sight.id] < 0.5:
                return True
        chance = 0.0 if told.read_on_in else self.parameters.read_on
        return self._draw("read-on", sight.id) < chance

    def _distaste(self, sights: Sequence[Sight]) -> Callable[[Sight], tuple[bool, float]]:
        """How little a document invites: full matches first, then by tidiness in all observables alike, with noise."""
        untidiness = _untidiness(
            tuple(sight.shown() for sight in sights), self.directives.prefer, self.parameters.directive_weight
        )
        noise = self.parameters.taste_noise

        def distaste(sight: Sight) -> tuple[bool, float]:
            error = _NORMAL.inv_cdf(min(max(self._draw("taste", sight.id), 1e-9), 1 - 1e-9))
            return not sight.matched, untidiness[sight.id] + noise * error

        return distaste

    # Reading

    def _found(self, memory: Memory) -> dict[str, int]:
        """The amounts accepted so far, the first seen for each."""
        found: dict[str, int] = {}
        for sight in memory.sights.values():
            for symbol, amount in self._amounts(sight):
                found.setdefault(symbol, amount)
        return found

    def _amounts(self, sight: Sight) -> Iterator[tuple[str, int]]:
        """The amounts that the reader takes from a document, rightly or not: from its preview and its windows."""
        records = [*sight.preview_records()]
        for _, window in sorted(sight.windows.items()):
            records += window.records
        for record in records:
            for wanted in self.question.wanted:
                if self.question.matches(wanted, record) and self._accepts(record, sight.id, wanted):
                    amount = _integer(record.get("amount", ""))
                    if amount is not None:
                        yield wanted.symbol, amount

    def _accepts(self, record: Record, document: str, wanted: Wanted) -> bool:
        if self.question.conforms(record):
            chance = self.parameters.overlook * (self.parameters.care if self.directives.look_closely else 1.0)
            return self._draw("overlook", document, wanted.symbol) >= chance
        chance = self.parameters.lenience * (self.parameters.care if self.directives.check_conditions else 1.0)
        return self._draw("lenience", document, wanted.symbol) < chance

    # Answering

    def _compute(self, found: Mapping[str, int], memory: Memory) -> Call | Answer:
        expression = self.question.expression(found)
        if self.directives.calculator:
            if memory.computed is None and self._left("calculator", memory):
                return Call("calculator", {"expression": expression})
            if memory.computed is not None and re.fullmatch(r"-?\d+", memory.computed):
                return Answer(memory.computed)
        value = _evaluate(expression)
        if self._draw("arithmetic") < self.parameters.arithmetic_slip:
            value += 10 if self._draw("arithmetic-direction") < 0.5 else -10
        return Answer(str(value))

    def _draw(self, *decision: str) -> float:
        return uniform("reader", self.seed, *decision)


@lru_cache(maxsize=16384)
def _untidiness(documents: tuple[Sighting, ...], prefer: tuple[Lean, ...], weight: float) -> Mapping[str, float]:
    """Each document's mean rank over all observables alike, in which low is tidy; stated preferences weigh more."""
    leans: list[tuple[Lean, float]] = [((name, "low"), 1.0) for name in OBSERVABLES]
    leans += [(lean, weight) for lean in prefer]
    total = {shown.id: 0.0 for shown in documents}
    weights = 0.0
    for lean, share in leans:
        ranks = _ranks(lean, documents)
        if len(set(ranks.values())) > 1:
            weights += share
            for document, rank in ranks.items():
                total[document] += share * rank
    return {document: rank / (weights or 1.0) for document, rank in total.items()}


def _ranks(lean: Lean, documents: Sequence[Sighting]) -> dict[str, float]:
    """Each document's rank on an observable, 0 preferred to 1; what cannot be seen is the middle."""
    name, side = lean
    values = {shown.id: OBSERVABLES[name](shown) for shown in documents}
    known = sorted({value for value in values.values() if value is not None}, reverse=side == "high")
    if len(known) < 2:
        return dict.fromkeys(values, 0.5)
    place = {value: index / (len(known) - 1) for index, value in enumerate(known)}
    return {document: 0.5 if value is None else place[value] for document, value in values.items()}


def _integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


@lru_cache(maxsize=65536)
def _evaluate(expression: str) -> int:
    """The value of an expression of the reader's own making: integers, + - * / and brackets."""
    tokens = re.findall(r"\d+|[()+\-*/]", expression)

    def factor() -> float:
        token = tokens.pop(0)
        if token == "-":
            return -factor()
        if token == "(":
            value = total()
            tokens.pop(0)
            return value
        return float(token)

    def product() -> float:
        value = factor()
        while tokens and tokens[0] in "*/":
            operator, other = tokens.pop(0), factor()
            value = value * other if operator == "*" else value / (other or 1.0)
        return value

    def total() -> float:
        value = product()
        while tokens and tokens[0] in "+-":
            operator, other = tokens.pop(0), product()
            value = value + other if operator == "+" else value - other
        return value

    return round(total())
