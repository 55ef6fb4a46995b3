"""Syn-Ledger's side of the validity firewall: check tasks, exchanged states, canonical form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

from chase.benchmarks.syn_ledger import scoring
from chase.benchmarks.syn_ledger.contents import FIELDS, Document, Record, read_question, solve
from chase.benchmarks.syn_ledger.generator import visible_numbers
from chase.benchmarks.syn_ledger.manifest import PROTOCOL_FIELDS, DocumentProtocol, Manifest
from chase.benchmarks.syn_ledger.parsing import parse
from chase.benchmarks.syn_ledger.rendering import RenderedFile, render
from chase.benchmarks.syn_ledger.tools import VERSION as TOOLS_VERSION
from chase.benchmarks.syn_ledger.world import World
from chase.core.interfaces import Operator
from chase.core.keyed import digest, key_bits, opaque_id, sorted_by_key
from chase.core.values import Json, Presentation
from chase.protocol.lifting import LiftedOperator

if TYPE_CHECKING:
    from chase.benchmarks.syn_ledger.benchmark import SynLedger


class LedgerSubject:
    """What the firewall examines of a Syn-Ledger benchmark. See `chase.core.interfaces.FirewallSubject`."""

    def __init__(self, benchmark: SynLedger) -> None:
        self._benchmark = benchmark
        self._released: dict[str, Presentation] = {}
        tasks = [*benchmark.tasks("evo"), *benchmark.tasks("disc")]
        self.check_tasks: Sequence[str] = sorted_by_key(tasks, "firewall", benchmark.content_hash)

    shared: Sequence[str] = ()

    def answer(self, task: str) -> Json:
        return self._benchmark.task(task).answer

    def newly_shown(self, task: str, before: Presentation, after: Presentation) -> bool:
        """Whether the answer is a new integer token."""
        return self.answer(task) in after.tokens - before.tokens

    def lift(self, operator: Operator[Manifest]) -> Operator[World]:
        return LiftedOperator(operator, "manifest")

    def state(self, task: str) -> World:
        made = self._benchmark.generated[self._benchmark.task(task).id]
        benchmark = self._benchmark
        return World(
            question=made.task.question,
            documents=made.task.documents,
            manifest=made.released,
            tools=tuple(benchmark.tools),
            limits=benchmark.limits,
        )

    def exchanged(self, task: str, other: str) -> World:
        """The task's protocol around the other task's question and contents, under ids that were never seen."""
        mine, theirs = self.state(task), self.state(other)
        ids = {p.id: opaque_id("exchanged", task, other, p.id, letters=10) for p in mine.manifest}
        # Their documents come in an order of their own: a rule that knows a place in the list is found out too.
        documents = sorted(theirs.documents, key=lambda d: key_bits("exchanged", task, other, d.id))
        placed = [
            (replace(document, id=ids[protocol.id]), replace(protocol, id=ids[protocol.id]))
            for document, protocol in zip(documents, mine.manifest, strict=True)
        ]
        placed.sort(key=lambda pair: pair[0].id)
        return replace(
            mine,
            question=theirs.question,
            documents=tuple(document for document, _ in placed),
            manifest=Manifest(tuple(protocol for _, protocol in placed)),
        )

    def protocol(self, state: World) -> Mapping[str, Mapping[str, Json]]:
        return {protocol.id: _fields(protocol) for protocol in state.manifest}

    def released(self, task: str) -> Presentation:
        if task not in self._released:
            self._released[task] = self.present(self.state(task))
        return self._released[task]

    def present(self, state: World) -> Presentation:
        files = state.files()
        contents = {
            document.id: _records(file, document, protocol)
            for file, document, protocol in zip(files, state.documents, state.manifest, strict=True)
        }
        return Presentation(
            question=state.question,
            answer=_answer(state.question, contents),
            contents=contents,
            tokens=frozenset(visible_numbers([state.question, *_shown(files)])),
            access=_access(state, files),
            scoring=_scoring(state),
            protocol=self.protocol(state),
            view=digest([state.question, *_shown(files), _orders(state.manifest)]),
        )


def _shown(files: Sequence[RenderedFile]) -> list[str]:
    """Every text that an agent can be shown of the files."""
    return [text for file in files for text in (file.id, file.path, file.text, *file.windows)]


def _orders(manifest: Manifest) -> Json:
    return [[p.id for p in manifest.listed()], [p.id for p in manifest.ranked()]]


def _fields(protocol: DocumentProtocol) -> dict[str, Json]:
    return {name: getattr(protocol, name) for name in sorted(PROTOCOL_FIELDS)}


_values = attrgetter(*FIELDS)


def _records(file: RenderedFile, document: Document, protocol: DocumentProtocol) -> list[tuple[Json, ...]] | None:
    """The records read from the file, in the document's own order.

    None where whole and windows do not agree or do not parse, where the records do not give the same bytes again (white
    space beside them would be shown too), or where the protocol's texts cannot be told apart.
    """
    if not _is_plain(protocol):
        return None
    try:
        shown = parse(file.text)
        windows = [record for window in file.windows for record in parse(window)]
        held = tuple(record for _, record in sorted(zip(protocol.order, shown, strict=True), key=itemgetter(0)))
        again = render(replace(document, records=held), protocol)
    except (ValueError, IndexError):
        return None
    return [_values(record) for record in held] if windows == list(shown) and again == file else None


def _is_plain(protocol: DocumentProtocol) -> bool:
    """Whether no text would pass for another field's: a stem with a folder in it, a title of two lines."""
    names = (protocol.root, *protocol.folders, protocol.stem, protocol.suffix)
    lines = (*names, protocol.title, protocol.section, *chain.from_iterable(protocol.metadata))
    return not any("/" in name for name in names) and all(len(f"{line}.".splitlines()) == 1 for line in lines)


def _answer(question: str, contents: Mapping[str, list[tuple[Json, ...]] | None]) -> int | None:
    try:
        query = read_question(question)
    except ValueError:
        return None
    return solve(
        query,
        [Record(**dict(zip(FIELDS, values, strict=True))) for held in contents.values() for values in held or []],
    )


def _access(state: World, files: Sequence[RenderedFile]) -> Json:
    return {
        "tools": [asdict(tool) for tool in state.tools],
        "tools version": TOOLS_VERSION,
        "limits": asdict(state.limits),
        "documents": sorted(file.id for file in files),
        "reachable by path": len({file.path for file in files}),
        "windows": {file.id: len(file.windows) for file in files},
    }


def _scoring(state: World) -> Json:
    return {
        "scorer": scoring.VERSION if state.scorer is scoring.score else "another",
        "verdicts": [state.scorer(answer, output) for answer, output, _ in scoring.FIXTURES],
    }
