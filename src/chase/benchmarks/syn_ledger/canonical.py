"""Syn-Ledger's side of the validity firewall: check tasks, exchanged states, canonical form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from operator import attrgetter
from typing import TYPE_CHECKING

from chase.benchmarks.syn_ledger import scoring
from chase.benchmarks.syn_ledger.contents import FIELDS, Record, read_question, solve
from chase.benchmarks.syn_ledger.generator import visible_numbers
from chase.benchmarks.syn_ledger.manifest import PROTOCOL_FIELDS, DocumentProtocol, Manifest
from chase.benchmarks.syn_ledger.parsing import parse
from chase.benchmarks.syn_ledger.rendering import RenderedFile
from chase.benchmarks.syn_ledger.tools import VERSION as TOOLS_VERSION
from chase.benchmarks.syn_ledger.world import World
from chase.core.keyed import digest, key_bits, opaque_id, sorted_by_key
from chase.core.values import Json, Presented

if TYPE_CHECKING:
    from chase.benchmarks.syn_ledger.benchmark import SynLedger


class LedgerSubject:
    """What the firewall examines of a Syn-Ledger benchmark. See `chase.core.interfaces.FirewallSubject`."""

    def __init__(self, benchmark: SynLedger) -> None:
        self._benchmark = benchmark
        tasks = [*benchmark.tasks("evo"), *benchmark.tasks("disc")]
        self.check_tasks: Sequence[str] = sorted_by_key(tasks, "firewall", benchmark.content_hash)

    @property
    def name(self) -> str:
        return self._benchmark.name

    def answer(self, task: str) -> Json:
        return self._benchmark.task(task).answer

    def state(self, task: str) -> World:
        made = self._benchmark.generated[self._benchmark.task(task).id]
        return World(question=made.task.question, documents=made.task.documents, manifest=made.released)

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

    def protocol(self, state: World) -> Sequence[Mapping[str, Json]]:
        return sorted((_fields(protocol) for protocol in state.manifest), key=str)

    def present(self, state: World) -> Presented:
        files = state.files()
        contents: dict[str, list[tuple[Json, ...]] | None] = {file.id: _records(file) for file in files}
        return Presented(
            question=state.question,
            answer=_answer(state.question, contents),
            contents=contents,
            numbers=frozenset(visible_numbers([state.question, *_shown(files)])),
            access=_access(state, files),
            scoring=_scoring(state),
            protocol={protocol.id: _fields(protocol) for protocol in state.manifest},
            view=digest([state.question, *_shown(files), _orders(state.manifest)]),
        )


def _shown(files: Sequence[RenderedFile]) -> list[str]:
    """Every text that an agent can be shown of the files."""
    return [text for file in files for text in (file.id, file.path, file.text, *file.windows, file.preview)]


def _orders(manifest: Manifest) -> Json:
    return [[p.id for p in manifest.listed()], [p.id for p in manifest.ranked()]]


def _fields(protocol: DocumentProtocol) -> dict[str, Json]:
    return {name: getattr(protocol, name) for name in sorted(PROTOCOL_FIELDS)}


_values = attrgetter(*FIELDS)


def _records(file: RenderedFile) -> list[tuple[Json, ...]] | None:
    """The file's records in an order of their own; None where whole and windows do not agree or do not parse."""
    try:
        whole = sorted(_values(record) for record in parse(file.text))
        windows = sorted(_values(record) for window in file.windows for record in parse(window))
    except (ValueError, IndexError):
        return None
    return whole if windows == whole else None


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
        "scorer": f"{state.scorer.__module__}.{state.scorer.__qualname__}/{scoring.VERSION}",
        "verdicts": [state.scorer(answer, output) for answer, output, _ in scoring.FIXTURES],
    }
