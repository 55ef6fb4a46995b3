"""A benchmark of documents as a `Benchmark`: questions over a folder of texts, variants, tools and a chosen scorer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

from chase.benchmarks.corpus import schema
from chase.benchmarks.corpus.collection import Collection
from chase.benchmarks.corpus.components import named_components
from chase.benchmarks.corpus.environment import VERSION as TOOLS_VERSION
from chase.benchmarks.corpus.protocol import AnyProtocol
from chase.benchmarks.corpus.sightings import pieces_of, sighted
from chase.benchmarks.corpus.slots import slots
from chase.benchmarks.documents import conversion, prepare, scorers, splits, terms
from chase.benchmarks.documents.contents import Task, make_task
from chase.benchmarks.documents.demonstrations import in_order, shown_examples
from chase.benchmarks.documents.description import JudgeScorer
from chase.benchmarks.documents.environment import DocumentsEnvironment
from chase.benchmarks.documents.examine import Examined, examine, refuse_errors
from chase.benchmarks.documents.observables import applying
from chase.benchmarks.documents.operators import allowlist
from chase.benchmarks.documents.protocol import PROTOCOL_FIELDS, RELEASED_INTERFACE, released_protocol
from chase.benchmarks.documents.splits import in_common
from chase.benchmarks.documents.variants import variant_operators, variants_of
from chase.benchmarks.naming import show_tools
from chase.benchmarks.task_sets import TaskSets
from chase.core.controls import Controls
from chase.core.errors import SetupError, UserError, choose
from chase.core.gate_facts import GateFacts
from chase.core.interfaces import Environment, Judge, Progress, Transformation
from chase.core.keyed import digest, sorted_by_key
from chase.core.observables import ObservableFunction
from chase.core.values import CheckResult, FileView, JudgeModel, Placeholder, Sighting, View
from chase.protocol.transformation import OperatorList

LOOKED_AT = 24
"""Tasks by which observables are chosen."""


class Documents(TaskSets[Task]):
    """The host's benchmark of documents. See `chase.core.interfaces.Benchmark` for the contract."""

    name = base = terms.BASE
    versions: Mapping[str, int] = {
        "renderer": conversion.VERSION,
        "tools": TOOLS_VERSION,
        "scorer": scorers.VERSION,
    }
    neutral = None
    protocol_fields = PROTOCOL_FIELDS
    roles: Sequence[str] = splits.ROLES
    sealed = frozenset({"cert"})
    judge: Judge | None = None

    def __init__(self, examined: Examined, tell: Progress = lambda _: None) -> None:
        refuse_errors(examined)
        description = examined.description
        if description is None:
            raise UserError(f"{examined.folder} has no description.")
        self.description = description
        self.scorer = scorers.open_scorer(description.scorer, examined.folder)
        self.limits = description.budgets.limits()
        self.operations = schema.operations(self.limits)
        self.tools = show_tools(self.operations, RELEASED_INTERFACE)
        self.interface = schema.show_interface(RELEASED_INTERFACE)
        self.answer_form = terms.answer_form(description.answer)
        self.bounds = terms.bounds(description.budgets)
        self.initial = terms.initial(self.answer_form, self.bounds)
        self.defaults = terms.defaults(description.run)
        self.allowlist = allowlist(description.transforms())
        corpus = prepare.ready_corpus(examined, tell)
        place = prepare.place()
        named = (examined.folder / path for path in (description.questions, description.documents))  # maybe elsewhere
        self.private_paths: Sequence[Path] = (examined.folder.resolve(), place, *(path.resolve() for path in named))
        self._fixtures = place / "fixtures"
        released = released_protocol(corpus.names, description.protocol.passage_lines)
        self.collection = Collection(corpus, released, place / "indexes")
        ids = {path: id_ for id_, path in corpus.names.items()}
        roles = examined.roles
        used = (make_task(q, roles[q.id], ids) for q in examined.questions if q.id in roles)
        self._tasks = {task.id: task for task in used}

    def tell_of_building(self, tell: Progress) -> None:
        self.collection.tell_of_building(tell)

    @cached_property
    def content_hash(self) -> str:
        description = self.description.model_dump(mode="json", include={"answer", "budgets", "demonstrations"})
        return digest(
            {
                "versions": self.versions,
                "description": description,
                "scorer": self.scorer.identity,
                "passage_lines": self.description.protocol.passage_lines,
                "tools": [asdict(tool) for tool in self.tools],
                "tasks": [asdict(task) for _, task in sorted(self._tasks.items())],
                "documents": self.collection.corpus.content_hash,
            }
        )

    # Task sets

    def task_labels(self, task: str) -> Mapping[str, str]:
        """For people: what the questions file calls it, and its group."""
        held = self.task(task)
        return {"id in file": held.label, "group": held.group or "-"}

    def evidence(self, task: str) -> Mapping[str, int]:
        """The documents that hold the answer, and in how many windows each is read."""
        counts = self.collection.corpus.line_counts
        return {id_: -(-counts[id_] // schema.READ_LINES) for id_ in self.task(task).evidence}

    def clusters(self) -> Mapping[str, str]:
        """Tasks of a group, and tasks that share evidence or the question's text, directly or through others."""
        return self._clusters

    @cached_property
    def _clusters(self) -> Mapping[str, str]:
        return named_components({task.id: in_common(task) for task in self._tasks.values()})

    # Variants, views and tools

    def variants(self) -> Sequence[str]:
        return tuple(variants_of(self.allowlist))

    def variant(self, name: str) -> OperatorList[AnyProtocol]:
        choose("variant", name, self.variants())
        return OperatorList(operators=variant_operators(name, self.allowlist))

    def view(self, task: str, transformation: Transformation[AnyProtocol]) -> View:
        """The whole folder, whose texts are read when they are asked for: all tasks share it."""
        question = self.task(task).question
        _, library = self.collection.under(transformation)
        files = (FileView(id=id_, path=library.names[id_], read=partial(library.text, id_)) for id_ in library.listed)
        return View(task=task, question=question, files=tuple(files))

    def environment(self, task: str, transformation: Transformation[AnyProtocol]) -> Environment:
        return self._environment(task, transformation)

    def _environment(self, task: str, transformation: Transformation[AnyProtocol]) -> DocumentsEnvironment:
        question = self.task(task).question
        protocol, library = self.collection.under(transformation)
        interface: Any = protocol.interface
        examples = shown_examples(in_order(self.description.demonstrations, interface.demonstration_order))
        return DocumentsEnvironment(
            question, library, interface, operations=self.operations, limits=self.limits, examples=examples
        )

    def sightings(self, task: str, transformation: Transformation[AnyProtocol]) -> list[Sighting]:
        return sighted(self.collection, self._environment(task, transformation), transformation)

    def pieces(self, shown: Sighting) -> Sequence[str]:
        return pieces_of(shown)

    def score(self, task: str, answer: str | None) -> float:
        return self.scorer.score(self.task(task).answer, answer)

    # A judge, where the scorer is one

    @cached_property
    def asks(self) -> JudgeModel | None:
        chosen = self.description.scorer
        return JudgeModel(name=chosen.model, settings=chosen.settings) if isinstance(chosen, JudgeScorer) else None

    def judged_by(self, model: Any) -> Self:
        chosen, prompt = self.description.scorer, self.scorer.prompt
        if not isinstance(chosen, JudgeScorer) or prompt is None:
            raise UserError(f"{self.name} has a scorer of its own and takes no judge.")
        from chase.benchmarks.documents.judge import DocumentsJudge

        judged = copy(self)
        judged.judge = DocumentsJudge(
            model=model,
            prompt=prompt,
            scale=chosen.scale,
            longest=self.description.answer.longest,
            identity=self.scorer.identity,
            task=self.task,
            most_characters=max(len(task.question) + len(task.answer) for task in self._tasks.values()),
        )
        return judged

    def unasked(self, task: str, answer: str | None) -> float | None:
        if answer is None or not answer.strip():
            return 0.0
        chosen = self.description.scorer
        exact = isinstance(chosen, JudgeScorer) and chosen.skip_exact and self.states(task, answer)
        return 1.0 if exact else None

    def states(self, task: str, text: str) -> bool:
        return scorers.same_text(self.task(task).answer, text)

    # What a harness works with

    @cached_property
    def placeholders(self) -> Mapping[str, Placeholder]:
        return terms.placeholders([task.question for task in self._tasks.values()])

    def slots(self, question: str) -> Mapping[str, Sequence[str]]:
        found = slots(question)
        return {name: found[name] for name in self.placeholders}

    @cached_property
    def observables(self) -> Sequence[ObservableFunction]:
        """Those that tell the documents of most questions apart; questions of evolution are looked at."""
        every = [task.id for task in self._tasks.values() if task.role == "evo"]
        some = sorted_by_key(every, "observables")[:LOOKED_AT]
        return applying([self.sightings(task, OperatorList()) for task in some])

    @cached_property
    def gate(self) -> GateFacts:
        from chase.benchmarks.documents.gate import documents_facts

        labels = (*self.roles, *(variant for variant in self.variants() if "-" in variant))
        return documents_facts(self._tasks.values(), self.collection.corpus.names, labels)

    @cached_property
    def subject(self) -> Any:
        from chase.benchmarks.documents.examination import DocumentsSubject, examination

        return DocumentsSubject(examination(self, self._fixtures), self.description.demonstrations)

    def controls(self) -> Controls:
        from chase.benchmarks.documents.controls import documents_controls

        return documents_controls(self)

    def validate(self, progress: Progress) -> Sequence[CheckResult]:
        from chase.benchmarks.documents.validation import validate

        return validate(self, progress)

    def export(
        self, transformation: Transformation[AnyProtocol], tasks: Sequence[str], folder: Path, progress: Progress
    ) -> Mapping[str, int]:
        from chase.benchmarks.documents.export import export_benchmark

        return export_benchmark(self, transformation, tasks, folder, progress)


def open_documents(name: str, data: Path | None = None) -> Documents:
    """The benchmark that a folder holds, made ready where it is not yet."""
    if name != terms.BASE:
        raise UserError(f"benchmark='{name}': a benchmark of documents has neither seed nor size. Write {terms.BASE}.")
    if data is None:
        raise SetupError(
            "documents is a benchmark of your own: name its folder with --data. "
            "`chase bench init DIR` writes an example."
        )
    return Documents(examine(data))
