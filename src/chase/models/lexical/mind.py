"""The program's decisions. It remembers nothing but what the messages say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median

from chase.core.values import Json, Sighting
from chase.models.lexical.answers import Answering
from chase.models.lexical.directives import Directives, Lean
from chase.models.lexical.lookup import Cell, find, is_about
from chase.models.lexical.observables import LEVELS
from chase.models.lexical.queries import queries
from chase.models.lexical.question import Asked, Wanted
from chase.models.lexical.results import read_items
from chase.models.lexical.sentences import best_sentence
from chase.models.lexical.shelf import Run, Shelf, in_view
from chase.models.lexical.sources import distance, is_called
from chase.models.lexical.tables import Table, tables_in
from chase.models.lexical.toolbox import Tool, Toolbox
from chase.models.lexical.words import bag
from chase.models.local import ToolAnswer

NOT_FOUND = "I could not find it."
MOST_READS = 2
"""How often it reads on in one document by itself."""
BEFORE, AFTER = 10, 6
"""Lines before and after a table that hold what belongs to it."""
_SPENT = re.compile(r"\bno\b[^.]{0,40}\bcalls?\b[^.]{0,20}\bleft\b", re.IGNORECASE)
_NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class Call:
    """The next thing that it does: a tool call."""

    tool: str
    arguments: Mapping[str, Json]


@dataclass(slots=True)
class Notes:
    """What the history says so far."""

    shelf: Shelf = field(default_factory=Shelf)
    queries: set[frozenset[str]] = field(default_factory=set)
    calls: Counter[str] = field(default_factory=Counter)
    spent: set[str] = field(default_factory=set)
    """Tools that said that no calls are left."""
    computed: str | None = None

    @classmethod
    def of(cls, answers: Sequence[ToolAnswer], tools: Toolbox) -> Notes:
        notes = cls()
        for answer in answers:
            notes._take(answer, tools)
        return notes

    def _take(self, answer: ToolAnswer, tools: Toolbox) -> None:
        self.calls[answer.tool] += 1
        if _SPENT.search(answer.text[:400]):
            self.spent.add(answer.tool)
            return
        if tools.compute is not None and answer.tool == tools.compute.name:
            numbers = _NUMBER.findall(answer.text)
            self.computed = numbers[-1].replace(",", "").replace("−", "-") if numbers else ""
        elif tools.read is not None and answer.tool == tools.read.name:
            self.shelf.put_lines(read_items(answer.text), str(answer.arguments.get(tools.read.text, "")))
        elif tools.search is not None and answer.tool == tools.search.name:
            self.queries.add(bag(str(answer.arguments.get(tools.search.text, ""))))
            self.shelf.put_hits(read_items(answer.text))


@dataclass(frozen=True, kw_only=True)
class Mind:
    """One question's program."""

    asked: Asked
    told: Directives
    tools: Toolbox
    notes: Notes

    def next(self) -> Call | str:
        """Find every figure, search and read until they are good, then compute; settle for less at the end."""
        cells = self._cells
        if not self.asked.wants_text and self._is_enough(cells):
            return self._around(cells) or self._told_on(cells) or self._finish(cells)
        step = self._open() or self._read_cut_tables(cells) or self._look_further()
        if step is not None:
            return step
        if self.asked.wants_text or not any(cells):
            return self._sentence()
        return self._around(cells) or self._finish(cells)

    # Choosing figures

    @cached_property
    def _runs(self) -> list[Run]:
        """What is held, in the order in which it is looked at: as told, then as it came."""
        runs = [run for run in self.notes.shelf.runs() if not self._named or run.document in self._named]
        for lean in reversed(self.told.prefer):
            runs.sort(key=lambda run, lean=lean: _level(lean, run))  # type: ignore[misc]
        return runs

    @cached_property
    def _named(self) -> frozenset[str]:
        """The documents in view that are called what the question calls the one that it asks about."""
        held = self.notes.shelf.held.items() if self.told.by_name else ()
        return frozenset(d for d, one in held if is_called(self.asked.document, (one.name, *one.headings)))

    @cached_property
    def _tables(self) -> list[tuple[Run, Table]]:
        return [(run, table) for run in self._runs for table in tables_in(run.lines)]

    @cached_property
    def _cells(self) -> list[Cell | None]:
        """For each wanted figure the first good cell, or the best where none is good or it was told to look at all."""
        return [self._cell(wanted) for wanted in self.asked.wanted]

    def _cell(self, wanted: Wanted) -> Cell | None:
        """The first good cell, or the best; those of the publication that the question names come before others."""
        best: tuple[int, float, Cell] | None = None
        away = {run.name: distance(wanted.source, run.name) for run in self._runs}
        for run, table in sorted(self._tables, key=lambda one: away[one[0].name]):
            cell = find(wanted, run, table, strict=self.told.check_conditions)
            if cell is None:
                continue
            if cell.is_good and not self.told.look_closely:
                return cell
            if best is None or (-away[run.name], cell.score) > best[:2]:
                best = -away[run.name], cell.score, cell
        return None if best is None else best[2]

    def _is_enough(self, cells: Sequence[Cell | None]) -> bool:
        """Whether every figure has a good cell; told to stop at once, whether it has any. Told to search for the
        document that is named, not before it has that.
        """
        if self.told.by_name and self.asked.document and not self._named:
            return False
        pairs = zip(self.asked.wanted, cells, strict=True)
        return bool(cells) and all(cell is not None and self._settles(wanted, cell) for wanted, cell in pairs)

    def _settles(self, wanted: Wanted, cell: Cell) -> bool:
        """Whether it looks no further for a figure: the match is good, and from the publication that is named."""
        return self.told.stop_when_found or (cell.is_good and not distance(wanted.source, cell.run.name))

    def _look_further(self) -> Call | None:
        """Read the document that the question names to its end; where none is named or in view, search."""
        if not self._named:
            return self._search() or self._read_text()
        rest = (
            self._read(run.document, run.end + 1, run.end + self.tools.read.lines)
            for run in self._runs
            if run.end is not None and not run.is_last and self.tools.read is not None and self.told.read_on != "never"
        )
        return next((step for step in rest if step is not None), None)

    # Searching

    def _left(self, tool: Tool | None) -> bool:
        return tool is not None and tool.name not in self.notes.spent and self.notes.calls[tool.name] < tool.calls

    def _search(self) -> Call | None:
        """The first of its queries that nobody has made."""
        tool = self.tools.search
        if tool is None or not self._left(tool):
            return None
        query = next((q for q in queries(self.asked, self.told) if bag(q) and bag(q) not in self.notes.queries), None)
        if query is None:
            return None
        match = {tool.match: tool.any} if self.told.match_any and tool.match else {}
        most = {tool.start: tool.most} if self.told.look_closely and tool.start and tool.most else {}
        return Call(tool.name, {tool.text: query, **match, **most})

    # Reading

    def _read(self, document: str, start: int, end: int) -> Call | None:
        """The call that reads lines of a document; None where that cannot be or would show nothing new."""
        tool = self.tools.read
        held = self.notes.shelf.held.get(document)
        if tool is None or held is None or held.refused or not self._left(tool):
            return None
        start, end = max(1, start), min(end, held.of or end, max(1, start) + tool.lines - 1)
        if end < start or not tool.start or in_view(self.notes.shelf.held, document, start, end):
            return None
        return Call(tool.name, {tool.text: document, tool.start: start, **({tool.end: end} if tool.end else {})})

    def _open(self) -> Call | None:
        """Open what a search only gave a taste of, in the order in which it looks at things."""
        tool = self.tools.read
        if tool is None or not self._left(tool):
            return None
        unread = [(document, held) for document, held in self.notes.shelf.held.items() if held.is_unread]
        for lean in reversed(self.told.prefer):
            unread.sort(key=lambda one, lean=lean: _level_of(lean, next(iter(one[1].shown.values()))))  # type: ignore[misc]
        for document, held in unread:
            if held.start is None or not tool.start:
                return Call(tool.name, {tool.text: document})
            last = max(held.end or 0, held.start) if tool.end else 0
            step = self._read(document, held.start, last or held.start + tool.lines - 1)
            if step is not None:
                return step
        return None

    def _read_cut_tables(self, cells: Sequence[Cell | None]) -> Call | None:
        """Read on, or back, where a table that may hold a missing figure is cut; where a publication is named, only in
        that.
        """
        if self.told.read_on == "never":
            return None
        pairs = zip(self.asked.wanted, cells, strict=True)
        missing = [wanted for wanted, cell in pairs if cell is None or not self._settles(wanted, cell)]
        steps = (
            step
            for run, table in self._tables
            if (table.cut_above or table.cut_below) and self.notes.shelf.held[run.document].reads < MOST_READS
            if any(is_about(wanted, table) and not distance(wanted.source, run.name) for wanted in missing)
            for step in self._beyond(run, table)
        )
        return next(steps, None)

    def _beyond(self, run: Run, table: Table) -> Iterator[Call]:
        """The calls that show what is cut off a table: its header first."""
        length = self.tools.read.lines if self.tools.read is not None else 0
        if run.start is None or run.end is None:
            return
        if table.cut_above:
            step = self._read(run.document, max(1, run.start - length), run.start - 1)
            yield from [step] if step is not None else []
        if table.cut_below and not run.is_last:
            step = self._read(run.document, run.end + 1, run.end + length)
            yield from [step] if step is not None else []

    def _around(self, cells: Sequence[Cell | None]) -> Call | None:
        """Told to read around tables, or to convert without a unit in view: the lines before and after the table."""
        for cell in cells:
            if cell is None or cell.run.start is None:
                continue
            unknown = self.told.convert and self.asked.unit is not None and cell.unit is None
            if not (self.told.around or unknown) or self.told.read_on == "never":
                continue
            first, last = cell.run.start + cell.table.first, cell.run.start + cell.table.last
            before = self._read(cell.run.document, first - BEFORE, first - 1)
            step = before or self._read(cell.run.document, last + 1, last + AFTER)
            if step is not None:
                return step
        return None

    def _told_on(self, cells: Sequence[Cell | None]) -> Call | None:
        """Told to read on: the rest of a cut table, though a figure was found in the part that is known."""
        steps = (
            step
            for cell in cells
            if cell is not None and self._reads_on_in(cell.run)
            for step in self._beyond(cell.run, cell.table)
        )
        return next(steps, None)

    def _read_text(self) -> Call | None:
        """Told to read on: what follows the first passage, where words are asked for or no table was found."""
        for run in self._runs[:1]:
            if self._reads_on_in(run) and run.end is not None and self.notes.shelf.held[run.document].reads < 2:
                return self._read(run.document, run.end + 1, run.end + 40)
        return None

    def _reads_on_in(self, run: Run) -> bool:
        if self.told.read_on != "habit":
            return self.told.read_on == "always"
        return any(_is_on(lean, run, self._runs) for lean in self.told.read_on_in)

    # Answering

    def _finish(self, cells: Sequence[Cell | None]) -> Call | str:
        """The answer; before it, where it was told so, a call of the calculator."""
        answering = Answering(
            asked=self.asked,
            cells=cells,
            precise=self.told.precise or self.told.calculator,
            with_scale=self.told.with_scale,
            semicolons=self.told.semicolons,
        )
        tool = self.tools.compute
        if self.told.calculator and self.notes.computed is None and tool is not None and tool.text and self._left(tool):
            expression = answering.expression()
            if expression is not None:
                return Call(tool.name, {tool.text: expression})
        return answering.text(self.notes.computed) or NOT_FOUND

    def _sentence(self) -> str:
        return best_sentence(self.asked, self._runs, closely=self.told.look_closely) or NOT_FOUND


def _level_of(lean: Lean, shown: Sighting) -> float:
    value = LEVELS[lean[0]](shown)
    return (0.0 if value is None else value) * (1 if lean[1] == "low" else -1)


def _level(lean: Lean, run: Run) -> float:
    return _level_of(lean, run.shown)


def _is_on(lean: Lean, run: Run, runs: Sequence[Run]) -> bool:
    """Whether a run is on a side of an observable among all runs."""
    return _level(lean, run) <= median(_level(lean, other) for other in runs)
