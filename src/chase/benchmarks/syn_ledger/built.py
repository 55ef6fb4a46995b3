"""Syn-Ledger's tasks as text and back: what the content hash covers, and how a cache's entry is opened.

A task is read from the text that the content hash covers, and from nothing else. The entry's notes only say where a
task is before it is read: roles are compared with the content when it is opened, the rest when the task is read.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from chase.benchmarks.cache import Built, BuiltCache, digest_code
from chase.benchmarks.syn_ledger.contents import Document, Record, Task, read_question
from chase.benchmarks.syn_ledger.features import FEATURES, Change
from chase.benchmarks.syn_ledger.generator import GeneratedTask
from chase.benchmarks.syn_ledger.manifest import Manifest
from chase.core import keyed
from chase.core.errors import IntegrityError
from chase.core.keyed import canonical_json, rng
from chase.core.values import Json

if TYPE_CHECKING:
    from chase.benchmarks.syn_ledger.benchmark import SynLedger, SynLedgerSpec


def code_files() -> list[Path]:
    """The source files that decide what a Syn-Ledger contains, and some more."""
    return [file for here in (__file__, keyed.__file__) for file in Path(here).parent.glob("*.py")]


def cache_key(spec: SynLedgerSpec, versions: Mapping[str, int]) -> dict[str, Json] | None:
    """Everything that decides a benchmark's content; None where that cannot be told."""
    code = digest_code(code_files())
    if code is None:
        return None
    made_by = {"python": platform.python_version(), "numpy": np.__version__}
    return {"benchmark": "syn-ledger", "spec": asdict(spec), "versions": dict(versions), "code": code, **made_by}


def task_text(made: GeneratedTask) -> str:
    """The canonical JSON of a task with its two manifests, as the content hash covers it."""
    task = made.task
    return canonical_json(
        {
            "id": task.id,
            "question": task.question,
            "answer": task.answer,
            "evidence": task.evidence,
            "documents": [_document_form(document) for document in task.documents],
            "released": made.released.to_json(),
            "neutral": made.neutral.to_json(),
        }
    )


def _document_form(document: Document) -> dict[str, Any]:
    records = [{name: getattr(record, name) for name in Record.__dataclass_fields__} for record in document.records]
    return {"id": document.id, "kind": document.kind, "records": records, "block": document.block}


def read_task(text: str, number: int, planted: Sequence[str]) -> GeneratedTask:
    """The task of a text: the way back from `task_text`."""
    form = json.loads(text)
    first, second = form["evidence"]
    documents = tuple(_read_document(document) for document in form["documents"])
    neutral = Manifest.from_json(form["neutral"])
    return GeneratedTask(
        task=Task(
            id=form["id"],
            number=number,
            query=read_question(form["question"]),
            question=form["question"],
            answer=form["answer"],
            documents=documents,
            evidence=(first, second),
        ),
        released=Manifest.from_json(form["released"]),
        neutral=neutral,
        neutral_changes={name: _neutral_changes(name, documents, neutral) for name in planted},
    )


def _neutral_changes(feature: str, documents: tuple[Document, ...], neutral: Manifest) -> dict[str, Change]:
    """The values under `B_0` of the fields that the feature sets, whatever it draws for them."""
    styles = FEATURES[feature].styles(documents, rng("fields of", feature))
    return {
        protocol.id: {name: getattr(protocol, name) for name in favorable}
        for protocol, (favorable, _) in zip(neutral, styles, strict=True)
    }


def _read_document(form: Mapping[str, Any]) -> Document:
    records = tuple(Record(**record) for record in form["records"])
    return Document(id=form["id"], kind=form["kind"], records=records, block=tuple(form["block"]))


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskNote:
    """What must be known of a task before it is read."""

    id: str
    documents: tuple[str, ...]
    evidence: tuple[str, ...]

    @classmethod
    def of(cls, task: Task) -> TaskNote:
        return cls(id=task.id, documents=tuple(document.id for document in task.documents), evidence=task.evidence)

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> TaskNote:
        return cls(id=form["id"], documents=tuple(form["documents"]), evidence=tuple(form["evidence"]))


def keep(cache: BuiltCache, key: Mapping[str, Json], benchmark: SynLedger, pieces: Sequence[str]) -> None:
    """Store the content of a benchmark, unless its tasks would come back as others than they are."""
    generated = list(benchmark.generated.values())
    back = (_task_in(piece, number, benchmark.planted) for number, piece in enumerate(pieces[1:-1]))
    if all(made == other for made, other in zip(generated, back, strict=True)):
        roles = [benchmark.role_of(made.task.id) for made in generated]
        tasks = [asdict(TaskNote.of(made.task)) for made in generated]
        cache.store(key, pieces, {"roles": roles, "tasks": tasks})


def _task_in(piece: str, number: int, planted: Sequence[str]) -> GeneratedTask:
    return read_task(piece.removeprefix(","), number, planted)


class BuiltTasks(Mapping[str, GeneratedTask]):
    """The tasks of a cache's entry in construction order, each read when it is first asked for."""

    def __init__(self, built: Built, planted: Sequence[str]) -> None:
        notes: Any = built.notes
        self._built, self._planted = built, planted
        self._notes = [TaskNote.from_json(form) for form in notes["tasks"]]
        self._places = {note.id: place for place, note in enumerate(self._notes)}
        self._read: dict[str, GeneratedTask] = {}
        self.roles: dict[str, str] = dict(zip(self._places, notes["roles"], strict=True))
        self.task_of = {document: note.id for note in self._notes for document in note.documents}
        self.evidence = frozenset(document for note in self._notes for document in note.evidence)

    @classmethod
    def of(cls, built: Built | None, planted: Sequence[str]) -> BuiltTasks | None:
        """The tasks of an entry; None where there is none, or its notes are not such as `keep` writes."""
        if built is None:
            return None
        try:
            tasks = cls(built, planted)
        except (ValueError, KeyError, TypeError):
            return None
        return tasks if len(built) == len(tasks) + 2 else None

    @property
    def content_hash(self) -> str:
        return self._built.content_hash

    @property
    def around(self) -> tuple[str, str]:
        """The content before and after the tasks."""
        return self._built.piece(0), self._built.piece(-1)

    def __getitem__(self, task: str) -> GeneratedTask:
        if task not in self._read:
            self._read[task] = self._read_at(self._places[task])
        return self._read[task]

    def _read_at(self, place: int) -> GeneratedTask:
        # A KeyError must not leave here: a mapping's `get` would take the task for one that does not exist.
        with suppress(ValueError, KeyError, TypeError):
            made = _task_in(self._built.piece(place + 1), place, self._planted)
            if TaskNote.of(made.task) == self._notes[place]:
                return made
        raise IntegrityError(
            f"task '{self._notes[place].id}' is not as the cache of built benchmarks says: that file was written by "
            "something else. Delete the cache's folder (~/.cache/chase/benchmarks unless you named another), then run "
            "this again."
        )

    def __contains__(self, task: object) -> bool:
        return task in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def changes(self, feature: str) -> Mapping[str, Change]:
        """What the feature's neutralisation sets: document id → the fields' values under `B_0`."""
        return _Changes(self, feature)


class _Changes(Mapping[str, Change]):
    def __init__(self, tasks: BuiltTasks, feature: str) -> None:
        self._tasks, self._feature = tasks, feature

    def __getitem__(self, document: str) -> Change:
        return self._tasks[self._tasks.task_of[document]].neutral_changes[self._feature][document]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tasks.task_of)

    def __len__(self) -> int:
        return len(self._tasks.task_of)
