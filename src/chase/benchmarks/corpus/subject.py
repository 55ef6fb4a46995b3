"""A benchmark over one corpus at the validity firewall: the corpus as a unit of its own, tasks without their documents.

Of the corpus are examined: the names and the order of all documents, and what the tools answer to fixed calls on the
first lines of a dozen of them. Answers are read back and brought to canonical names, groups and layout. A task's world
holds the same dozen, so that a rule that looks at a question is found out whatever it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Protocol

from chase.benchmarks.corpus.collection import Collection
from chase.benchmarks.corpus.environment import VERSION as TOOLS_VERSION
from chase.benchmarks.corpus.index import PassageIndex, open_index
from chase.benchmarks.corpus.library import Library, indexed, passages_of
from chase.benchmarks.corpus.outputs import Outputs
from chase.benchmarks.corpus.protocol import LAYOUT, AnyProtocol, InterfaceProtocol, Layout
from chase.benchmarks.corpus.rendering import Rendering
from chase.benchmarks.corpus.schema import READ_LINES, RESULT_FIELDS, canonical_fields, show_fields
from chase.benchmarks.corpus.world import Excerpt, ExcerptTexts, Scorer, World, excerpts, fixed_queries
from chase.benchmarks.naming import Operation, canonical_limits, canonical_tools, show_layout, show_limits, show_tools
from chase.core.interfaces import Operator
from chase.core.keyed import digest, key_bits, opaque_id, sorted_by_key
from chase.core.values import INTERFACE, Json, Limits, Presentation
from chase.protocol.lifting import LiftedOperator

CORPUS = "corpus"


class AskedTask(Protocol):
    """What is examined of a task."""

    @property
    def question(self) -> str: ...
    @property
    def answer(self) -> str: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ScorerFacts:
    """A scorer as it was released, and how its verdicts are compared."""

    scorer: Scorer
    identity: Json
    fixtures: Sequence[tuple[str, str | None, float]]
    """(answer, prediction, verdict)."""


@dataclass(frozen=True, kw_only=True)
class Examination:
    """What a benchmark over one corpus gives to the firewall."""

    base: str
    content_hash: str
    collection: Collection
    check_tasks: Sequence[str]
    """The validity-check set."""
    task: Callable[[str], AskedTask]
    """Any task: a frozen transformation is checked on those of confirmation, too."""
    operations: tuple[Operation, ...]
    limits: Limits
    scoring: ScorerFacts
    states: Callable[[str, str], bool]
    """Whether a text states an answer."""
    indexes: Path
    """The folder where those of the fixed documents are kept."""


class CorpusSubject:
    """What the firewall examines. See `chase.core.interfaces.FirewallSubject`."""

    shared: Sequence[str] = (CORPUS,)

    def __init__(self, examined: Examination) -> None:
        self._examined = examined
        self._rendering = examined.collection.rendering
        self._released: dict[str, Presentation] = {}
        self._documents = excerpts(examined.collection.corpus, examined.base)
        self._queries = fixed_queries(self._documents)
        held = {document.id for document in self._documents}
        released = examined.collection.released
        self._of_tasks = replace(released, documents=tuple(d for d in released.documents if d.id in held))
        self._index = lru_cache(maxsize=16)(partial(_index, self._rendering, examined.indexes))
        self.check_tasks: Sequence[str] = sorted_by_key(examined.check_tasks, "firewall", examined.content_hash)

    def answer(self, unit: str) -> str | None:
        return None if unit == CORPUS else self._examined.task(unit).answer

    def newly_shown(self, unit: str, before: Presentation, after: Presentation) -> bool:
        """Whether a name or a word of the interface states an answer that none stated before."""
        new = after.tokens - before.tokens
        tasks = self.check_tasks if unit == CORPUS else (unit,)
        answers = {self._examined.task(task).answer for task in tasks}
        return any(self._examined.states(text, answer) for text in new for answer in answers)

    def lift(self, operator: Operator[AnyProtocol]) -> Operator[World]:
        return LiftedOperator(operator, "protocol")

    def state(self, unit: str) -> World:
        examined, task = self._examined, None if unit == CORPUS else self._examined.task(unit)
        return World(
            question=None if task is None else task.question,
            answer=None if task is None else task.answer,
            documents=self._documents,
            protocol=examined.collection.released if task is None else self._of_tasks,
            queries=self._queries,
            operations=examined.operations,
            limits=examined.limits,
            scorer=examined.scoring.scorer,
        )

    def exchanged(self, unit: str, other: str) -> World:
        """The other unit's question and answer, and the documents in each other's places under ids never seen."""
        mine, theirs = self.state(unit), self.state(other)
        fresh = {held.id: opaque_id("exchanged", unit, other, held.id, letters=10) for held in mine.protocol.documents}
        turned = sorted(mine.documents, key=lambda document: key_bits("exchanged", unit, other, document.id))
        documents = [
            replace(contents, id=fresh[place.id]) for contents, place in zip(turned, mine.documents, strict=True)
        ]
        held = [replace(document, id=fresh[document.id]) for document in mine.protocol.documents]
        return replace(
            mine,
            question=theirs.question,
            answer=theirs.answer,
            documents=tuple(sorted(documents, key=lambda document: document.id)),
            protocol=replace(mine.protocol, documents=tuple(sorted(held, key=lambda document: document.id))),
        )

    def protocol(self, state: World) -> Mapping[str, Mapping[str, Json]]:
        documents = {held.id: held.fields() for held in state.protocol.documents}
        return {INTERFACE: state.protocol.interface.fields(), LAYOUT: state.protocol.layout.fields(), **documents}

    def released(self, unit: str) -> Presentation:
        if unit not in self._released:
            self._released[unit] = self.present(self.state(unit))
        return self._released[unit]

    def present(self, state: World) -> Presentation:
        names = state.protocol.interface
        tools = show_tools(state.operations, names)
        seen = [[tool.name, tool.description, tool.parameters] for tool in tools], asdict(show_layout(names))
        shown = Presentation(
            question=state.question or "",
            answer=state.answer,
            contents={},
            tokens=frozenset({state.question or "", *_words(names), *(d.path for d in state.protocol.documents)}),
            access=_access(state),
            scoring=self._scoring(state),
            protocol=self.protocol(state),
            view=digest([state.question, seen, _fields_shown(names)]),
        )
        return shown if state.question is not None else self._with_outputs(state, shown)

    def _with_outputs(self, state: World, shown: Presentation) -> Presentation:
        """The corpus: what is read from the answers to fixed calls."""
        layout = state.protocol.layout
        excerpt_ids = {document.id for document in state.documents}
        held = tuple(d for d in state.protocol.documents if d.id in excerpt_ids)
        if [document.id for document in state.documents] != [document.id for document in held]:
            raise ValueError("the protocol is not that of the documents")
        index = partial(self._index, state.documents, layout)
        texts = self._rendering.shown(ExcerptTexts(state.documents), layout)
        library = Library(texts, replace(state.protocol, documents=held), index)
        outputs = Outputs(state=state, library=library)
        read = {document.id: outputs.read(document.id) for document in state.documents}
        searches = [found for query in state.queries for found in outputs.search(query)]
        ordered = sorted(state.protocol.documents, key=lambda d: (d.order, d.id))
        return replace(
            shown,
            contents={id_: _contents(lines, layout, self._rendering) for id_, (lines, _) in read.items()},
            access={
                **shown.access,
                "reachable by name": len({document.path for document in state.protocol.documents}),
                "lines": {id_: None if lines is None else len(lines) for id_, (lines, _) in read.items()},
                "searches": [fault for fault, _ in searches if fault],
                "listing": outputs.listing()[0],
            },
            view=digest(
                [
                    shown.view,
                    [texts for _, texts in read.values()],
                    [text for _, text in searches],
                    outputs.listing()[1],
                    [(document.id, document.path) for document in ordered],
                ]
            ),
        )

    def _scoring(self, state: World) -> Json:
        released = self._examined.scoring
        return {
            "scorer": released.identity if state.scorer is released.scorer else "another",
            "verdicts": _verdicts(state.scorer, tuple(released.fixtures)),
        }


@lru_cache(maxsize=256)
def _contents(lines: tuple[str, ...] | None, layout: Layout, rendering: Rendering) -> list[Json] | None:
    """What the lines say; None where there are none, or where passages do not hold each of them once, in order."""
    if lines is None:
        return None
    covered = [n for passage in passages_of(len(lines), layout) for n in range(passage.start, passage.end + 1)]
    return rendering.pieces(lines, layout) if covered == list(range(1, len(lines) + 1)) else None


def _index(rendering: Rendering, folder: Path, documents: tuple[Excerpt, ...], layout: Layout) -> PassageIndex:
    name = rendering.name(layout)
    key = digest([[asdict(d) for d in documents], name, layout.passage_lines, layout.passage_shift])
    texts, ids = rendering.shown(ExcerptTexts(documents), layout), [document.id for document in documents]
    return open_index(key, lambda: indexed(texts, ids, layout), folder)


def _access(state: World) -> dict[str, Json]:
    """Tools under canonical names, limits, and which documents there are."""
    names = state.protocol.interface
    return {
        "tools": canonical_tools(show_tools(state.operations, names), names),
        "results": {tool: _brought_back(names, tool) for tool in RESULT_FIELDS},
        "versions": TOOLS_VERSION,
        "limits": canonical_limits(show_limits(state.limits, names), names),
        "lines a call": READ_LINES,
        "documents": sorted(document.id for document in state.protocol.documents),
    }


def _brought_back(names: InterfaceProtocol, tool: str) -> Json:
    """The canonical fields that an item's shown ones lead back to."""
    found = canonical_fields(names, tool, show_fields(names, tool, dict.fromkeys(RESULT_FIELDS[tool], 0)))
    return found if isinstance(found, str) else sorted(found)


def _fields_shown(names: InterfaceProtocol) -> Json:
    return [show_fields(names, tool, dict.fromkeys(fields, 0)) for tool, fields in RESULT_FIELDS.items()]


def _words(names: InterfaceProtocol) -> Iterator[str]:
    """Every word that the interface adds to what is shown."""
    for words in (names.tool_names, names.argument_names, names.field_names, names.field_groups):
        yield from words.values()


@lru_cache(maxsize=8)
def _verdicts(scorer: Scorer, fixtures: tuple[tuple[str, str | None, float], ...]) -> list[float]:
    """A scorer's verdicts on the fixed outputs: it is the same in all tasks."""
    return [scorer(answer, output) for answer, output, _ in fixtures]
