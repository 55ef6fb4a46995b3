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
from chase.models.reader.reading import Record, Result, Window, words_of

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
    matched: set[str] = field(default_factory=set)
    """The queries that it matches."""
    windows: dict[int, Window] = field(default_factory=dict)
    ended: bool = False

    def records(self) -> list[Record]:
        return [record for _, window in sorted(self.windows.items()) for record in window.records]

    def outside(self) -> Sighting:
        """What is seen of it before it is opened."""
        return Sighting(id=self.id, path=self.path, listing=self.listing, hit=self.hit)

    def inside(self) -> Sighting:
        """The same with its first window, where that was read."""
        text = self.windows[0].text if 0 in self.windows else None
        return Sighting(id=self.id, path=self.path, listing=self.listing, hit=self.hit, text=text)


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
        query = result.instead or str(arguments.get("query", ""))
        if tool == "search":
            self.queries.append(query)
        for place, entry in enumerate(result.entries):
            sight = self.sights.setdefault(entry.id, Sight(entry.id, entry.path))
            if tool == "list_files":
                sight.listing = place
            elif sight.hit is None or place < sight.hit:
                sight.hit = place
            if entry.matches:
                sight.matched.add(query)
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
        missing = [wanted for wanted in self.question.wanted if wanted.symbol not in found]
        document = self._next_document(memory, missing) if self._left("open_file", memory) else None
        if document is not None:
            return Call("open_file", {"file": document})
        return Answer("I could not find every amount.")

    def _left(self, tool: str, memory: Memory) -> bool:
        group = ("search", "list_files") if tool in ("search", "list_files") else (tool,)
        return sum(memory.calls.get(name, 0) for name in group) < self.budgets.get(tool, 0)

    # Searching

    def _next_query(self, memory: Memory) -> str | None:
        """The first of its queries that was not made, by itself or by the harness."""
        made = {words_of(query) for query in memory.queries}
        return next((query for query in self._queries() if words_of(query) not in made), None)

    def _queries(self) -> list[str]:
        """One for each amount, or for each period where it was told so."""
        told = self.directives
        conditions = f" {' '.join(sorted(self.question.conditions))}" if told.with_conditions else ""
        amounts = [f"{wanted.period} {wanted.category}" for wanted in self.question.wanted]
        asked = self.question.periods if told.by_period else amounts
        return [f"{self.question.entity} {what}{conditions}" for what in dict.fromkeys(asked)]

    # Choosing what to read

    def _next_document(self, memory: Memory, missing: Sequence[Wanted]) -> str | None:
        """Read on where it was told to; then the tidiest document that matches; then go back to continuations that it
        has the patience for; then any document."""
        sights = list(memory.sights.values())
        unread = [sight for sight in sights if self._may_hold_more(sight, missing)]
        told = [sight for sight in unread if sight.id == memory.last_opened and self._told_to_read_on(sight, sights)]
        new = [sight for sight in sights if not sight.windows] if not memory.refused.get("open_file") else []
        matching = [sight for sight in new if self._closeness(sight, missing)]
        patient = [sight for sight in unread if self._goes_back_to(sight, sights)]
        if memory.refused.get("open_file", 0) >= 3:
            patient = []
        first = next((some for some in (told, matching, patient, new) if some), None)
        return min(first, key=self._distaste(sights, missing)).id if first else None

    def _may_hold_more(self, sight: Sight, missing: Sequence[Wanted]) -> bool:
        """Whether it was opened, gave nothing, has a continuation, and why it matches is not yet explained."""
        unfinished = bool(sight.windows) and not sight.ended
        return unfinished and not self._gave(sight) and not self._explained(sight, missing)

    def _explained(self, sight: Sight, missing: Sequence[Wanted]) -> bool:
        """Whether every match with what is still missing is a record that was read."""
        if not sight.matched:
            return False
        read = [self._found_by(record) for record in sight.records()]
        open_queries = [words_of(query) for query in sight.matched if self._is_about(query, missing)]
        return all(any(query <= words for words in read) for query in open_queries)

    def _is_about(self, query: str, missing: Sequence[Wanted]) -> bool:
        """Whether a record of an amount that is missing would match the query."""
        entity = self.question.entity
        return any(words_of(query) <= words_of(f"{entity} {w.period} {w.category}") for w in missing)

    @staticmethod
    def _found_by(record: Record) -> frozenset[str]:
        return words_of(" ".join(record.get(name, "") for name in ("entity", "period", "category")))

    def _gave(self, sight: Sight) -> bool:
        """Whether the document has given an amount."""
        return any(True for _ in self._amounts(sight))

    def _told_to_read_on(self, sight: Sight, sights: Sequence[Sight]) -> bool:
        told = self.directives
        if told.read_on != "habit":
            return told.read_on == "always"
        seen = [other.inside() for other in sights]
        return any(_ranks(lean, seen)[sight.id] < 0.5 for lean in told.read_on_in)

    def _goes_back_to(self, sight: Sight, sights: Sequence[Sight]) -> bool:
        """Whether it reads a continuation that it left, once no new document matches: by patience, unless it was told
        where to read on."""
        told = self.directives
        if told.read_on != "habit" or told.read_on_in:
            return self._told_to_read_on(sight, sights)
        return self._draw("read-on", sight.id) < self.parameters.read_on

    def _closeness(self, sight: Sight, missing: Sequence[Wanted]) -> int:
        """How many words of a query about something missing it matches."""
        about = [len(words_of(query)) for query in sight.matched if self._is_about(query, missing)]
        return max(about, default=0)

    def _distaste(self, sights: Sequence[Sight], missing: Sequence[Wanted]) -> Callable[[Sight], tuple[int, float]]:
        """How little a document invites: what matches most closely comes first, then what is tidy, with noise."""
        untidiness = _untidiness(
            tuple(sight.outside() for sight in sights), self.directives.prefer, self.parameters.directive_weight
        )
        noise = self.parameters.taste_noise

        def distaste(sight: Sight) -> tuple[int, float]:
            error = _NORMAL.inv_cdf(min(max(self._draw("taste", sight.id), 1e-9), 1 - 1e-9))
            return -self._closeness(sight, missing), untidiness[sight.id] + noise * error

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
        """The amounts that the reader takes from a document, rightly or not."""
        for record in sight.records():
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
