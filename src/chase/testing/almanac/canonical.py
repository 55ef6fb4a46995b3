"""Almanac's side of the validity firewall: the corpus as a unit of its own, tasks without their documents.

Tools, arguments and result fields are compared under their canonical names. A task's world holds the documents, so that
a rule that looks at a question is found out whatever it changes; they are presented with the corpus alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

from chase.benchmarks.naming import (
    canonical_fields,
    canonical_limits,
    canonical_tools,
    show_fields,
    show_layout,
    show_limits,
    show_tools,
)
from chase.core.interfaces import Operator
from chase.core.keyed import digest, key_bits, opaque_id, sorted_by_key
from chase.core.values import INTERFACE, Json, Presentation
from chase.protocol.lifting import LiftedOperator
from chase.testing.almanac import scoring
from chase.testing.almanac.contents import Document
from chase.testing.almanac.protocol import DocumentProtocol, InterfaceProtocol, Protocol
from chase.testing.almanac.questions import read_question, solve
from chase.testing.almanac.rendering import RenderedDocument, parse, render
from chase.testing.almanac.schema import LINES
from chase.testing.almanac.tools import VERSION as TOOLS_VERSION
from chase.testing.almanac.world import World

if TYPE_CHECKING:
    from chase.testing.almanac.benchmark import Almanac

CORPUS = "corpus"
RESULTS = {
    "find": ("document", "name", "passage", "lines", "snippet"),
    "read": ("document", "name", "lines", "of", "text"),
}
"""The fields of each tool's items."""


class AlmanacSubject:
    """What the firewall examines of an Almanac. See `chase.core.interfaces.FirewallSubject`."""

    shared: Sequence[str] = (CORPUS,)

    def __init__(self, benchmark: Almanac) -> None:
        self._benchmark = benchmark
        self._released: dict[str, Presentation] = {}
        tasks = [*benchmark.tasks("evo"), *benchmark.tasks("disc")]
        self.check_tasks: Sequence[str] = sorted_by_key(tasks, "firewall", benchmark.content_hash)

    def answer(self, unit: str) -> str | None:
        return None if unit == CORPUS else self._benchmark.task(unit).answer

    def newly_shown(self, unit: str, before: Presentation, after: Presentation) -> bool:
        """Whether a name, a title or a word of the interface states an answer that none stated before."""
        new = after.tokens - before.tokens
        tasks = self.check_tasks if unit == CORPUS else (unit,)
        answers = {part for task in tasks for part in self._benchmark.task(task).answer.split("; ")}
        return any(_states(text, answer) for text in new for answer in answers)

    def lift(self, operator: Operator[Protocol]) -> Operator[World]:
        return LiftedOperator(operator, "protocol")

    def state(self, unit: str) -> World:
        question = None if unit == CORPUS else self._benchmark.task(unit).question
        return World(question=question, documents=self._benchmark.documents, protocol=self._benchmark.released)

    def exchanged(self, unit: str, other: str) -> World:
        """The other unit's question, and the reports in each other's places, under ids that were never seen."""
        mine, theirs = self.state(unit), self.state(other)
        documents = sorted(mine.documents, key=lambda d: key_bits("exchanged", unit, other, d.id))
        placed = []
        for document, held in zip(documents, mine.protocol.documents, strict=True):
            fresh = opaque_id("exchanged", unit, other, held.id, letters=7)
            placed.append((replace(document, id=fresh), replace(held, id=fresh)))
        placed.sort(key=lambda both: both[0].id)
        return replace(
            mine,
            question=theirs.question,
            documents=tuple(document for document, _ in placed),
            protocol=replace(mine.protocol, documents=tuple(held for _, held in placed)),
        )

    def protocol(self, state: World) -> Mapping[str, Mapping[str, Json]]:
        """Of a task: the interface's fields, and one digest of how all documents are shown."""
        shown = {INTERFACE: state.protocol.interface.fields()}
        if state.question is None:
            return {**shown, **{held.id: held.fields() for held in state.protocol.documents}}
        fields = sorted(str(held.fields()) for held in state.protocol.documents)
        return {**shown, CORPUS: {"documents": digest(fields)}}

    def released(self, unit: str) -> Presentation:
        if unit not in self._released:
            self._released[unit] = self.present(self.state(unit))
        return self._released[unit]

    def present(self, state: World) -> Presentation:
        names = state.protocol.interface
        tools = show_tools(state.operations, names)
        seen = [asdict(tool) for tool in tools], asdict(show_layout(names)), names.fields()
        held = _read(state.documents, state.protocol.documents)
        access = {
            "tools": canonical_tools(tools, names),
            "results": {tool: _fields(names, fields) for tool, fields in RESULTS.items()},
            "versions": TOOLS_VERSION,
            "limits": canonical_limits(show_limits(state.limits, names), names),
            "documents": sorted(document.id for document in state.documents),
        }
        if state.question is not None:
            question = read_question(state.question)
            readable = [document for document in held.values() if document is not None]
            return Presentation(
                question=state.question,
                answer=None if question is None else solve(question, readable),
                contents={},
                tokens=frozenset({state.question, *_words(names)}),
                access=access,
                scoring=_scoring(state),
                protocol={INTERFACE: names.fields()},
                view=digest([state.question, seen]),
            )
        rendered = state.rendered()
        return Presentation(
            question="",
            answer=None,
            contents={id_: None if document is None else document.pieces() for id_, document in held.items()},
            tokens=frozenset({*_words(names), *(text for d in rendered for text in (d.name, d.lines[0]))}),
            access={**access, **_reach(rendered)},
            scoring=_scoring(state),
            protocol=self.protocol(state),
            view=digest([seen, [asdict(document) for document in rendered], _order(state.protocol)]),
        )


@lru_cache(maxsize=16)
def _read(documents: tuple[Document, ...], protocols: tuple[DocumentProtocol, ...]) -> Mapping[str, Document | None]:
    """Each document as read from its lines; None where they do not parse, do not give the same lines again, or are
    not all found in passages. Read once for all tasks of a proposal.
    """
    held: dict[str, Document | None] = {}
    for document, protocol in zip(documents, protocols, strict=True):
        if document.id != protocol.id:
            raise ValueError("the protocol is not that of the documents")
        shown = render(document, protocol)
        try:
            found = parse(shown.lines, document.id).document
            again = render(found, protocol)
        except ValueError:
            again = None
        covered = [n for passage in shown.passages for n in range(passage.start, passage.end + 1)]
        whole = covered == list(range(1, len(shown.lines) + 1))
        held[document.id] = found if again == shown and whole and _is_plain(protocol) else None
    return held


def _is_plain(protocol: DocumentProtocol) -> bool:
    """Whether a name is one word that passes for no other field."""
    return re.fullmatch(r"[\w.-]+", protocol.name) is not None


def _fields(names: InterfaceProtocol, fields: Sequence[str]) -> Json:
    """The canonical fields that an item's shown ones lead back to."""
    found = canonical_fields(names, show_fields(names, dict.fromkeys(fields, 0)))
    return sorted(found) if isinstance(found, dict) else found


def _reach(documents: Sequence[RenderedDocument]) -> dict[str, Json]:
    """How documents can be reached, and in how many calls they are read."""
    return {
        "reachable by name": len({document.name for document in documents}),
        "lines": {document.id: len(document.lines) for document in documents},
        "lines a call": LINES,
    }


def _order(protocol: Protocol) -> list[str]:
    return [held.id for held in sorted(protocol.documents, key=lambda held: (held.order, held.id))]


def _words(names: InterfaceProtocol) -> Iterator[str]:
    """Every word that the interface adds to what is shown."""
    for words in (names.tool_names, names.argument_names, names.field_names, names.field_groups):
        yield from words.values()


def _states(text: str, answer: str) -> bool:
    """Whether a text states an answer: a number that would score, or the name among its words."""
    truth = scoring.number(answer)
    if truth is not None:
        return any(scoring.close(truth, Decimal(found)) for found in re.findall(r"\d{1,15}(?:\.\d{1,9})?", text))
    return f" {answer.lower()} " in f" {' '.join(re.findall('[a-z]+', text.lower()))} "


def _scoring(state: World) -> Json:
    return {
        "scorer": scoring.VERSION if state.scorer is scoring.score else "another",
        "verdicts": [state.scorer(answer, output) for answer, output, _ in scoring.FIXTURES],
    }
