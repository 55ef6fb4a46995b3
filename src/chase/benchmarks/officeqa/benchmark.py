"""OfficeQA as a `Benchmark`: questions over a shared corpus of Treasury bulletins, their variants, tools and scorer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from chase.benchmarks.corpus import schema
from chase.benchmarks.corpus.collection import Collection
from chase.benchmarks.corpus.components import named_components
from chase.benchmarks.corpus.environment import VERSION as TOOLS_VERSION
from chase.benchmarks.corpus.environment import CorpusEnvironment
from chase.benchmarks.corpus.protocol import RELEASED_INTERFACE
from chase.benchmarks.corpus.sightings import pieces_of, sighted
from chase.benchmarks.corpus.slots import PLACEHOLDERS, slots
from chase.benchmarks.corpus.subject import CorpusSubject
from chase.benchmarks.naming import show_tools
from chase.benchmarks.officeqa import prepare, rendering, scoring, splits, terms
from chase.benchmarks.officeqa.contents import Task, document_id
from chase.benchmarks.officeqa.laid_out import OFFICE_RENDERING
from chase.benchmarks.officeqa.observables import OBSERVABLES
from chase.benchmarks.officeqa.operators import ALLOWLIST
from chase.benchmarks.officeqa.protocol import PROTOCOL_FIELDS, Protocol, released_protocol
from chase.benchmarks.officeqa.records import Question
from chase.benchmarks.officeqa.releases import Release
from chase.benchmarks.task_sets import TaskSets
from chase.core.controls import Controls
from chase.core.errors import SetupError, UserError, choose
from chase.core.gate_facts import GateFacts
from chase.core.interfaces import Environment, Progress, Transformation
from chase.core.keyed import digest, opaque_id
from chase.core.observables import ObservableFunction
from chase.core.values import CheckResult, Defaults, FileView, Sighting, ToolSpec, View
from chase.protocol.operators import OperatorKind
from chase.protocol.transformation import OperatorList

PROV2 = "prov2"
"""The role of Pro V2's questions: sealed, and opened with `cert`."""
_VARIANTS: Mapping[str, Sequence[tuple[str, Mapping[str, Any]]]] = {
    "released": (),
    "paper-b1": (("wrap-text", {}),),
    "paper-shift": (("shift-passages", {"by": 10}),),
    "plain-names": (("rename-documents", {"style": "opaque"}), ("order-listing", {"way": "permuted"})),
    "other-tools": (("alias-tools", {"words": "desk"}), ("rename-arguments", {"words": "library"})),
    "other-results": (("rename-fields", {"words": "desk"}), ("nest-fields", {"group": "origin"})),
    "other-sides": (("move-units", {"to": "other side"}), ("move-notes", {"to": "other side"})),
}
"""Name → operators of the allowlist. None of them is known to be neutral. The first two are the paper's."""


class OfficeQA(TaskSets[Task]):
    """The host's OfficeQA. See `chase.core.interfaces.Benchmark` for the contract."""

    name = base = terms.BASE
    versions: Mapping[str, int] = {
        "renderer": rendering.VERSION,
        "tools": TOOLS_VERSION,
        "scorer": scoring.VERSION,
    }
    limits = terms.LIMITS
    tools: Sequence[ToolSpec] = show_tools(terms.OPERATIONS, RELEASED_INTERFACE)
    interface = schema.show_interface(RELEASED_INTERFACE)
    initial = terms.INITIAL
    answer_form = terms.ANSWER_FORM
    bounds = terms.BOUNDS
    placeholders = PLACEHOLDERS
    neutral = None
    allowlist: Mapping[str, OperatorKind[Protocol]] = ALLOWLIST
    protocol_fields = PROTOCOL_FIELDS
    observables: Sequence[ObservableFunction] = OBSERVABLES

    def __init__(self, prepared: prepare.Prepared) -> None:
        if "full" not in prepared.releases:
            raise SetupError(f"--data={prepared.data} has no OfficeQA Full, without which there is nothing to run.")
        self.private_paths: Sequence[Path] = (prepared.data, prepared.place)
        self._fixtures = prepared.place / "fixtures"
        self._collections: dict[Release, Collection] = {
            release: _collection(ready) for release, ready in prepared.releases.items()
        }
        self._tasks = {task.id: task for release in self._collections for task in _tasks(prepared, release)}

    def tell_of_building(self, tell: Progress) -> None:
        for collection in self._collections.values():
            collection.tell_of_building(tell)

    @property
    def full(self) -> Collection:
        """The documents of OfficeQA Full."""
        return self._collections["full"]

    @property
    def has_pro_v2(self) -> bool:
        return "pro-v2" in self._collections

    @property
    def roles(self) -> Sequence[str]:
        return (*splits.ROLES, PROV2) if self.has_pro_v2 else splits.ROLES

    @property
    def sealed(self) -> frozenset[str]:
        return frozenset({"cert", PROV2} & set(self.roles))

    @property
    def defaults(self) -> Defaults:
        prov2 = {PROV2: terms.PROV2_ROLLOUTS} if self.has_pro_v2 else {}
        return replace(terms.DEFAULTS, rollouts={**terms.DEFAULTS.rollouts, **prov2})

    @cached_property
    def content_hash(self) -> str:
        return digest(
            {
                "versions": self.versions,
                "limits": asdict(self.limits),
                "tools": [asdict(tool) for tool in self.tools],
                "tasks": [asdict(task) for _, task in sorted(self._tasks.items())],
                "documents": {release: held.corpus.content_hash for release, held in self._collections.items()},
            }
        )

    def collection(self, task: str) -> Collection:
        """The documents that a task is asked of."""
        return self._collections["pro-v2" if self.task(task).role == PROV2 else "full"]

    def task_labels(self, task: str) -> Mapping[str, str]:
        """For people: what the release calls it, and how hard it says it is."""
        held = self.task(task)
        return {"uid": held.uid, "difficulty": held.difficulty or "-"}

    def evidence(self, task: str) -> Mapping[str, int]:
        """The source documents, and in how many windows each is read."""
        counts = self.collection(task).corpus.line_counts
        return {id_: -(-counts[id_] // schema.READ_LINES) for id_ in self.task(task).sources}

    def clusters(self) -> Mapping[str, str]:
        """The source components of each release: questions that share source files, directly or through others."""
        return self._clusters

    @cached_property
    def _clusters(self) -> Mapping[str, str]:
        sources = {id_: [f"{held.role == PROV2} {each}" for each in held.sources] for id_, held in self._tasks.items()}
        return named_components(sources)

    def variants(self) -> Sequence[str]:
        return tuple(_VARIANTS)

    def variant(self, name: str) -> OperatorList[Protocol]:
        chosen = _VARIANTS[choose("variant", name, _VARIANTS)]
        return OperatorList(operators=tuple(ALLOWLIST[kind].make(arguments) for kind, arguments in chosen))

    def view(self, task: str, transformation: Transformation[Protocol]) -> View:
        """The whole corpus, whose texts are read when they are asked for: all tasks share it."""
        question = self.task(task).question
        _, library = self.collection(task).under(transformation)
        files = (FileView(id=id_, path=library.names[id_], read=partial(library.text, id_)) for id_ in library.listed)
        return View(task=task, question=question, files=tuple(files))

    def environment(self, task: str, transformation: Transformation[Protocol]) -> Environment:
        return self._environment(task, transformation)

    def _environment(self, task: str, transformation: Transformation[Protocol]) -> CorpusEnvironment:
        question = self.task(task).question
        protocol, library = self.collection(task).under(transformation)
        return CorpusEnvironment(question, library, protocol.interface, operations=terms.OPERATIONS, limits=self.limits)

    def sightings(self, task: str, transformation: Transformation[Protocol]) -> list[Sighting]:
        """The documents that a search for any word of the question shows first as released, as a variant shows them:
        with the best passage of each, the place in the listing, and the first lines.

        A variant is not searched for this, since that may take an index of its own: where documents are cut otherwise,
        shown is the passage that now holds the middle of the one that was found.
        """
        return sighted(self.collection(task), self._environment(task, transformation), transformation)

    def pieces(self, shown: Sighting) -> Sequence[str]:
        return pieces_of(shown)

    def score(self, task: str, answer: str | None) -> float:
        return scoring.score(self.task(task).answer, answer)

    def slots(self, question: str) -> Mapping[str, Sequence[str]]:
        return slots(question)

    @cached_property
    def gate(self) -> GateFacts:
        from chase.benchmarks.officeqa.gate import office_facts

        names = {id_: name for held in self._collections.values() for id_, name in held.corpus.names.items()}
        labels = (*self.roles, *(variant for variant in _VARIANTS if "-" in variant))
        return office_facts(self.name, self._tasks.values(), names, labels)

    @cached_property
    def subject(self) -> CorpusSubject:
        from chase.benchmarks.officeqa.examination import examination

        return CorpusSubject(examination(self, self._fixtures))

    def controls(self) -> Controls:
        from chase.benchmarks.officeqa.controls import office_controls

        answers = [self.task(task).answer for task in self.subject.check_tasks]
        plain = next((answer for answer in answers if scoring.fuzzy_match(answer, f"{answer} bulletin")), answers[0])
        return office_controls(frozenset(self.task(task).question for task in self.tasks("evo")), plain)

    def validate(self, progress: Progress) -> Sequence[CheckResult]:
        from chase.benchmarks.officeqa.validation import validate

        return validate(self, progress)


def _tasks(prepared: prepare.Prepared, release: Release) -> list[Task]:
    """The questions of a release, each with its role. Pro V2's have one of their own."""
    questions = prepared.releases[release].questions
    roles = splits.allocate(questions) if release == "full" else {question.uid: PROV2 for question in questions}
    return [_task(release, question, roles[question.uid]) for question in questions]


def _task(release: Release, question: Question, role: str) -> Task:
    return Task(
        id=opaque_id("officeqa", release, question.uid),
        uid=question.uid,
        role=role,
        question=question.question,
        answer=question.answer,
        sources=tuple(document_id(source) for source in question.sources),
        difficulty=question.difficulty,
    )


def _collection(ready: prepare.PreparedRelease) -> Collection:
    return Collection(ready.corpus, released_protocol(ready.corpus.names), ready.indexes, OFFICE_RENDERING)


def open_officeqa(name: str, data: Path | None = None) -> OfficeQA:
    """OfficeQA from a user's copy of the data, prepared where it is not yet."""
    if name != terms.BASE:
        raise UserError(f"benchmark='{name}': OfficeQA has neither seed nor size. Write {terms.BASE}.")
    if data is None:
        raise SetupError(
            f"{terms.BASE} is read from your own copy of the data: name its folder with --data. "
            "`chase officeqa sample` makes a synthetic one."
        )
    return OfficeQA(prepare.prepare(data))
