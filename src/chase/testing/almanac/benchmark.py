"""Almanac as a `Benchmark`: a shared corpus, its questions, variants, tools and scorer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from chase.benchmarks.naming import show_tools
from chase.benchmarks.task_sets import TaskSets
from chase.core.controls import Controls
from chase.core.errors import SetupError, UserError, choose
from chase.core.gate_facts import GateFacts
from chase.core.interfaces import Environment, Progress, Transformation
from chase.core.keyed import digest, key_bits, opaque_id
from chase.core.observables import ObservableFunction
from chase.core.values import CheckResult, FileView, Sighting, ToolSpec, View
from chase.protocol.operators import OperatorKind
from chase.protocol.transformation import OperatorList
from chase.testing.almanac import generator, rendering, scoring, tools
from chase.testing.almanac.contents import Document, Task
from chase.testing.almanac.data import read_almanac
from chase.testing.almanac.observables import OBSERVABLES
from chase.testing.almanac.operators import ALLOWLIST
from chase.testing.almanac.protocol import ORDER_SPAN, PROTOCOL_FIELDS, RELEASED_INTERFACE, DocumentProtocol, Protocol
from chase.testing.almanac.questions import slots
from chase.testing.almanac.rendering import RenderedDocument
from chase.testing.almanac.schema import LIMITS, LINES, OPERATIONS, show_interface
from chase.testing.almanac.terms import ANSWER_FORM, BASE, BOUNDS, DEFAULTS, INITIAL, PLACEHOLDERS
from chase.testing.almanac.tools import AlmanacEnvironment, Library, make_library

BROAD = "signed"
"""A word that stands once in every report: a search for it shows all of them, in the order of their sort keys."""
LIBRARIES_KEPT = 16
_VARIANTS: Mapping[str, Sequence[tuple[str, Mapping[str, Any]]]] = {
    "released": (),
    "shuffled": (("permute-order", {}),),
    "plain-names": (("rename-documents", {"style": "opaque"}),),
    "other-tools": (("alias-tools", {"words": "library"}), ("rename-arguments", {"words": "library"})),
    "other-results": (("rename-fields", {"words": "desk"}), ("nest-fields", {"group": "origin"})),
    "other-passages": (("cut-passages", {"lines": 5}), ("move-units", {"to": "after"})),
}
"""Name → operators of the allowlist. None of them is known to be neutral."""


class Almanac(TaskSets[Task]):
    """The host's Almanac. See `chase.core.interfaces.Benchmark` for the contract."""

    versions: Mapping[str, int] = {
        "generator": generator.VERSION,
        "renderer": rendering.VERSION,
        "tools": tools.VERSION,
        "scorer": scoring.VERSION,
    }
    base = BASE
    limits = LIMITS
    tools: Sequence[ToolSpec] = show_tools(OPERATIONS, RELEASED_INTERFACE)
    interface = show_interface(RELEASED_INTERFACE)
    roles: Sequence[str] = generator.ROLES
    sealed = frozenset({"cert"})
    defaults = DEFAULTS
    initial = INITIAL
    answer_form = ANSWER_FORM
    bounds = BOUNDS
    placeholders = PLACEHOLDERS
    neutral = None
    private_paths: Sequence[Path] = ()
    allowlist: Mapping[str, OperatorKind[Protocol]] = ALLOWLIST
    protocol_fields = PROTOCOL_FIELDS
    observables: Sequence[ObservableFunction] = OBSERVABLES

    def __init__(self, name: str, texts: generator.Texts, tasks: Sequence[Task]) -> None:
        self.name = name
        self._tasks = {task.id: task for task in tasks}
        shelved = sorted((_shelve(name, text) for name, text in texts.items()), key=lambda both: both[0].id)
        self.documents: tuple[Document, ...] = tuple(document for document, _ in shelved)
        self.released = Protocol(documents=tuple(protocol for _, protocol in shelved))
        self._libraries: dict[str, Library] = {}

    @cached_property
    def content_hash(self) -> str:
        return digest(
            {
                "versions": self.versions,
                "limits": asdict(self.limits),
                "tools": [asdict(tool) for tool in self.tools],
                "tasks": [asdict(task) for _, task in sorted(self._tasks.items())],
                "documents": [document.pieces() for document in self.documents],
                "protocol": [held.fields() for held in self.released.documents],
            }
        )

    def variants(self) -> Sequence[str]:
        return tuple(_VARIANTS)

    def variant(self, name: str) -> OperatorList[Protocol]:
        chosen = _VARIANTS[choose("variant", name, _VARIANTS)]
        return OperatorList(operators=tuple(ALLOWLIST[kind].make(arguments) for kind, arguments in chosen))

    def render(self, protocol: Protocol) -> tuple[RenderedDocument, ...]:
        """The corpus as a protocol state shows it, in the order of the ids."""
        return tuple(rendering.render(d, p) for d, p in zip(self.documents, protocol.documents, strict=True))

    def view(self, task: str, transformation: Transformation[Protocol]) -> View:
        """The whole corpus: all tasks share it."""
        question = self.task(task).question
        protocol = transformation.apply(self.released)
        orders = {held.id: held.order for held in protocol.documents}
        listed = sorted(self._library(transformation, protocol).documents, key=lambda d: (orders[d.id], d.id))
        files = tuple(FileView(id=d.id, path=d.name, read=partial(str, d.text)) for d in listed)
        return View(task=task, question=question, files=files)

    def environment(self, task: str, transformation: Transformation[Protocol]) -> Environment:
        question = self.task(task).question
        protocol = transformation.apply(self.released)
        library = self._library(transformation, protocol)
        return AlmanacEnvironment(question, library, protocol, limits=self.limits)

    def _library(self, transformation: Transformation[Protocol], protocol: Protocol) -> Library:
        """Made once for each transformation: it is the same in all tasks."""
        key = transformation.hash
        library = self._libraries.pop(key, None) or make_library(self.render(protocol), protocol)
        self._libraries[key] = library  # the one used longest ago comes first
        if len(self._libraries) > LIBRARIES_KEPT:
            del self._libraries[next(iter(self._libraries))]
        return library

    def sightings(self, task: str, transformation: Transformation[Protocol]) -> list[Sighting]:
        """Every report as a broad search shows it, with its first lines."""
        environment = self.environment(task, transformation)
        protocol = transformation.apply(self.released)
        documents = {document.id: document for document in self._library(transformation, protocol).documents}
        search = environment.interface.search
        arguments = {search.query: BROAD, search.limit: len(documents)} if search and search.limit else {}
        hits = {item.shown.id: item.shown for item in environment.call(search.tool if search else "", arguments).items}
        return [_opened(hits[id_], document) for id_, document in documents.items()]

    def pieces(self, shown: Sighting) -> Sequence[str]:
        """Figures, with the unit that is stated in the same window: a figure without its unit says less."""
        return re.findall(r"\d+\.\d|Figures in [a-z ]+", shown.text or "")

    def score(self, task: str, answer: str | None) -> float:
        return scoring.score(self.task(task).answer, answer)

    def slots(self, question: str) -> Mapping[str, Sequence[str]]:
        return slots(question)

    @cached_property
    def gate(self) -> GateFacts:
        from chase.testing.almanac.gate import almanac_facts

        names = [(held.id, held.name) for held in self.released.documents]
        return almanac_facts(self.name, self._tasks.values(), self.documents, dict(names), _VARIANTS)

    @cached_property
    def subject(self) -> Any:
        from chase.testing.almanac.canonical import AlmanacSubject

        return AlmanacSubject(self)

    def controls(self) -> Controls:
        from chase.testing.almanac.controls import almanac_controls

        return almanac_controls(frozenset(self.task(task).question for task in self.tasks("evo")))

    def validate(self, progress: Progress) -> Sequence[CheckResult]:
        from chase.testing.almanac.validation import validate

        return validate(self, progress)


def _shelve(name: str, text: str) -> tuple[Document, DocumentProtocol]:
    """A released text's contents and its protocol; a `UserError` where it cannot be read."""
    id_ = opaque_id("almanac", name, digest(text), letters=7)
    try:
        parsed = rendering.parse(text.split("\n"), id_)
    except ValueError as error:
        raise UserError(f"document={name} is no report: {error}.") from None
    protocol = DocumentProtocol(
        id=id_,
        name=name,
        order=key_bits("order", id_) % ORDER_SPAN,
        title_style=parsed.title_style,
        unit_place=parsed.unit_place,
    )
    return parsed.document, protocol


def _opened(hit: Sighting, document: RenderedDocument) -> Sighting:
    return replace(hit, window=0, text=document.between(1, LINES))


def open_almanac(name: str, data: Path | None = None) -> Almanac:
    """`almanac@SEED`, or `almanac@SEED-large`, is made from its name; `almanac` is read from a data folder."""
    found = re.fullmatch(rf"{BASE}(?:@([0-9]{{1,9}})(-large)?)?", name)
    if found is None:
        raise UserError(f"benchmark='{name}' is no Almanac. Write {BASE}@SEED, or {BASE} with a data folder.")
    if found[1] is not None:
        if data is not None:
            raise UserError(f"data={data}: {name} is made from its name alone. Write {BASE} to read a folder.")
        return Almanac(name, *generator.generate(int(found[1]), large=found[2] is not None))
    if data is None:
        raise SetupError(f"{BASE} is read from a folder: name it with --data, or write {BASE}@SEED.")
    almanac = Almanac(name, *read_almanac(data))
    almanac.private_paths = (data,)
    return almanac
