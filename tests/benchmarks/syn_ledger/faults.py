"""Syn-Ledgers with something wrong in them, made from a sound one. The sound one is not touched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.combinatorics import released_level
from chase.benchmarks.syn_ledger.constructions import Neutralise, constructions
from chase.benchmarks.syn_ledger.contents import Document, Record, Task
from chase.benchmarks.syn_ledger.generator import GeneratedTask
from chase.benchmarks.syn_ledger.manifest import Manifest
from chase.benchmarks.syn_ledger.rendering import RenderedFile
from chase.benchmarks.syn_ledger.validation import CHECKS, Check
from chase.benchmarks.syn_ledger.validation.tally import Tally
from chase.core.keyed import opaque_id
from chase.core.values import CheckResult
from chase.protocol.transformation import OperatorList

Alter = Callable[[GeneratedTask], GeneratedTask]


def copied(benchmark: SynLedger, kind: type[SynLedger] = SynLedger) -> SynLedger:
    """A benchmark of its own class with the same tasks, sets and variants."""
    copy = kind.__new__(kind)
    copy.__dict__.update(benchmark.__dict__)
    for made_once in ("content_hash", "gate"):
        copy.__dict__.pop(made_once, None)
    copy._ready = {}  # files of the original
    return copy


def rebuilt(benchmark: SynLedger, alter: Alter, kind: type[SynLedger] = SynLedger) -> SynLedger:
    """The benchmark made from altered tasks: variants and evidence labels follow them, and the sets do by number."""
    copy = copied(benchmark, kind)
    generated = [alter(made) for made in benchmark.generated.values()]
    roles = benchmark._role_of.values()
    copy.generated = {made.task.id: made for made in generated}
    copy._role_of = dict(zip(copy.generated, roles, strict=True))
    changes: dict[str, dict[str, Any]] = {name: {} for name in benchmark.planted}
    for made in generated:
        for name in benchmark.planted:
            changes[name] |= made.neutral_changes[name]
    evidence = frozenset(document for made in generated for document in made.task.evidence)
    copy._variants = constructions(benchmark.planted, changes, evidence)
    return copy


def only(benchmark: SynLedger, tasks: Iterable[str]) -> SynLedger:
    """The benchmark with a few of its tasks, for checks that look at one task at a time."""
    copy = copied(benchmark, type(benchmark))
    copy.generated = {task: benchmark.generated[task] for task in tasks}
    return copy


def check(benchmark: SynLedger, name: str) -> CheckResult:
    """The result of one named check of the validation."""
    function = next(function for function, names in CHECKS if name in names)
    return next(result for result in results(benchmark, function) if result.name == name)


def results(benchmark: SynLedger, function: Check) -> list[CheckResult]:
    """The results of the checks that one function of the validation makes."""
    tallies = {name: Tally() for each, names in CHECKS if each is function for name in names}
    function(benchmark, tallies)
    return [tally.result(name) for name, tally in tallies.items()]


def in_task(task: str, alter: Alter) -> Alter:
    """The alteration in one task alone."""
    return lambda made: alter(made) if made.task.id == task else made


def with_task(made: GeneratedTask, **changes: Any) -> GeneratedTask:
    return replace(made, task=replace(made.task, **changes))


def document_of(task: Task, identifier: str) -> Document:
    return next(document for document in task.documents if document.id == identifier)


def with_record(made: GeneratedTask, document: str, index: int, record: Record) -> GeneratedTask:
    """The task with one record exchanged."""
    old = document_of(made.task, document)
    new = replace(old, records=(*old.records[:index], record, *old.records[index + 1 :]))
    return with_task(made, documents=tuple(new if d.id == document else d for d in made.task.documents))


def with_protocol(made: GeneratedTask, changes: Mapping[str, Mapping[str, Any]]) -> GeneratedTask:
    """The task with some documents' protocol fields set anew, in both manifests alike."""
    return replace(made, released=made.released.update(changes), neutral=made.neutral.update(changes))


def distractors(task: Task) -> list[Document]:
    return [document for document in task.documents if document.kind != "evidence"]


def satisfying_record(task: Task, side: int = 0) -> Record:
    """A required record of the first or the second evidence document."""
    document = document_of(task, task.evidence[side])
    return document.records[document.block[0]]


# The faults


def wrong_answer(made: GeneratedTask) -> GeneratedTask:
    return with_task(made, answer=made.task.answer + 1)


def second_solution(made: GeneratedTask) -> GeneratedTask:
    """A distractor has a record that satisfies the question, with an amount of its own."""
    distractor = distractors(made.task)[0]
    record = satisfying_record(made.task)
    return with_record(made, distractor.id, distractor.block[0], replace(record, amount=record.amount + 200))


def copied_evidence(made: GeneratedTask) -> GeneratedTask:
    """A distractor holds a copy of a required record: without the evidence document the answer is still there."""
    distractor = distractors(made.task)[0]
    return with_record(made, distractor.id, distractor.block[0], satisfying_record(made.task))


def unnecessary_evidence(made: GeneratedTask) -> GeneratedTask:
    """Everything needed is in the first evidence document; the second keeps an irrelevant record."""
    first, second = (document_of(made.task, identifier) for identifier in made.task.evidence)
    free = [i for i in range(6) if i not in first.block]
    for place, index in enumerate(second.block):
        made = with_record(made, first.id, free[place], second.records[index])
        made = with_record(made, second.id, index, replace(second.records[index], status="canceled"))
    return made


def path_that_leaks(made: GeneratedTask) -> GeneratedTask:
    return with_protocol(made, {made.task.documents[0].id: {"stem": f"ledger-{made.task.answer}"}})


def metadata_that_leaks(made: GeneratedTask) -> GeneratedTask:
    return with_protocol(made, {made.task.documents[3].id: {"metadata": (("Box", str(made.task.answer)),)}})


def unbalanced_level(made: GeneratedTask) -> GeneratedTask:
    """An evidence document has the other depth, as released and under `B_0` alike."""
    first = made.task.evidence[0]
    released, neutral = ({"folders": _other_depth(m[first].folders)} for m in (made.released, made.neutral))
    depth = {**made.neutral_changes["depth"], first: neutral}
    return replace(
        made,
        released=made.released.update({first: released}),
        neutral=made.neutral.update({first: neutral}),
        neutral_changes={**made.neutral_changes, "depth": depth},
    )


def _other_depth(folders: tuple[str, ...]) -> tuple[str, ...]:
    return () if folders else ("annex", "upper")


def ids_in_order_of_evidence(made: GeneratedTask) -> GeneratedTask:
    """Every document gets another opaque id; those of evidence come first in the alphabet."""
    task = made.task
    drawn = sorted(opaque_id("renamed", task.id, place, letters=10) for place in range(len(task.documents)))
    ordered = [*task.evidence, *(document.id for document in distractors(task))]
    new = dict(zip(ordered, drawn, strict=True))
    return GeneratedTask(
        task=replace(
            task,
            documents=tuple(
                sorted((replace(d, id=new[d.id]) for d in task.documents), key=lambda document: document.id)
            ),
            evidence=(new[task.evidence[0]], new[task.evidence[1]]),
        ),
        released=_renamed(made.released, new),
        neutral=_renamed(made.neutral, new),
        neutral_changes={
            feature: {new[document]: change for document, change in changes.items()}
            for feature, changes in made.neutral_changes.items()
        },
    )


def _renamed(manifest: Manifest, new: Mapping[str, str]) -> Manifest:
    return Manifest(tuple(sorted((replace(p, id=new[p.id]) for p in manifest), key=lambda p: p.id)))


def longer_metadata_for_evidence(made: GeneratedTask) -> GeneratedTask:
    """Evidence documents say more about themselves, in every variant."""
    more = (("Prepared by", "Lindqvist"), ("Held at", "Northend"), ("Box", "QQQQ"), ("Desk", "QQQ"))
    return with_protocol(made, {document: {"metadata": more} for document in made.task.evidence})


class SwapsContents(SynLedger):
    """Under one neutralisation two documents of each task exchange their contents."""

    def render(self, task: str, transformation: Any) -> tuple[RenderedFile, ...]:
        files = super().render(task, transformation)
        if transformation.hash != self.variant("neutralise-depth").hash:
            return files
        first, second, *rest = files
        return (
            replace(first, text=second.text, windows=second.windows),
            replace(second, text=first.text, windows=first.windows),
            *rest,
        )


class LeaksInOneVariant(SynLedger):
    """Under one placebo a record's text says the answer."""

    def render(self, task: str, transformation: Any) -> tuple[RenderedFile, ...]:
        files = super().render(task, transformation)
        if transformation.hash != self.variant("placebo-section-labels").hash:
            return files
        category = self.task(task).documents[0].records[0].category
        text = files[0].text.replace(category, f"{category} {self.task(task).answer}", 1)
        return (replace(files[0], text=text), *files[1:])


class TaskInTwoSets(SynLedger):
    """The discovery set has a task of the evolution set."""

    def tasks(self, role: str | None = None) -> Any:
        tasks = list(super().tasks(role))
        return [super().tasks("evo")[0], *tasks[1:]] if role == "disc" else tasks


def with_variant(benchmark: SynLedger, name: str, operator: Any) -> SynLedger:
    """The benchmark with one variant's operators replaced by one other."""
    copy = copied(benchmark)
    copy._variants = {**benchmark._variants, name: OperatorList(operators=(operator,))}
    return copy


def neutralisation_that_drops_a_record(benchmark: SynLedger, task: str) -> SynLedger:
    """It shows a record twice in place of another."""
    operator: Neutralise = benchmark.variant("neutralise-position").operators[0]  # type: ignore[assignment]
    document = benchmark.task(task).evidence[0]
    shown = operator.changes[document]["order"]
    changes = {**operator.changes, document: {"order": (shown[1], *shown[1:])}}
    return with_variant(benchmark, "neutralise-position", replace(operator, changes=changes))


def neutralisation_that_exchanges_ids(benchmark: SynLedger, task: str) -> SynLedger:
    """It declares the id among its fields, and lets two documents exchange theirs."""
    operator: Neutralise = benchmark.variant("neutralise-depth").operators[0]  # type: ignore[assignment]
    first, second = (document.id for document in benchmark.task(task).documents[:2])
    changes = {
        **operator.changes,
        first: {**operator.changes[first], "id": second},
        second: {**operator.changes[second], "id": first},
    }
    return with_variant(benchmark, "neutralise-depth", replace(operator, changes=changes))


def neutralisation_that_reorders_documents(benchmark: SynLedger, task: str) -> SynLedger:
    """It gives each document the protocol of another."""
    return with_variant(benchmark, "neutralise-depth", Changing(lambda state: Manifest(state.documents[::-1])))


def neutralisation_that_goes_on(benchmark: SynLedger, task: str) -> SynLedger:
    """Applied again it changes something again."""

    def deeper(state: Manifest) -> Manifest:
        return state.update({p.id: {"folders": (*p.folders, "annex")} for p in state})

    return with_variant(benchmark, "neutralise-depth", Changing(deeper))


def neutralisation_that_depends_on_another(benchmark: SynLedger, task: str) -> SynLedger:
    """What it does to the depth depends on the name."""

    def by_name(state: Manifest) -> Manifest:
        return state.update({p.id: {"folders": () if len(p.stem) < 6 else ("annex", "upper")} for p in state})

    return with_variant(benchmark, "neutralise-depth", Changing(by_name))


def placebo_that_moves_evidence(benchmark: SynLedger, task: str) -> SynLedger:
    def reverse(state: Manifest) -> Manifest:
        return state.update({p.id: {"rank": -p.rank} for p in state})

    return with_variant(benchmark, "placebo-distractor-order", Changing(reverse, frozenset({"rank"})))


def placebo_that_does_nothing(benchmark: SynLedger, task: str) -> SynLedger:
    return with_variant(benchmark, "placebo-line-endings", Changing(lambda state: state, frozenset({"newline"})))


def placebo_that_renames(benchmark: SynLedger, task: str) -> SynLedger:
    def rename(state: Manifest) -> Manifest:
        return state.update({p.id: {"stem": f"{p.stem}x"} for p in state})

    return with_variant(benchmark, "placebo-section-labels", Changing(rename, frozenset({"section"})))


class Changing:
    """An operator made from a function, as no Challenger could write it."""

    name = "construction.test"
    version = 1
    seeded = False

    def __init__(self, change: Callable[[Manifest], Manifest], fields: frozenset[str] = frozenset({"folders"})) -> None:
        self._change, self.fields, self.arguments = change, fields, {"of": id(change)}

    def apply(self, state: Manifest, *, seed: int) -> Manifest:
        return self._change(state)

    def inverse(self) -> None:
        return None


def twice_the_same_path(made: GeneratedTask) -> GeneratedTask:
    first, second = made.released.documents[:2]
    fields = ("root", "folders", "stem", "suffix", "format")
    return with_protocol(made, {second.id: {name: getattr(first, name) for name in fields}})


def missing_record(made: GeneratedTask) -> GeneratedTask:
    document = distractors(made.task)[0]
    shorter = replace(document, records=document.records[:5])
    return with_task(made, documents=tuple(shorter if d is document else d for d in made.task.documents))


def mislabelled_evidence(made: GeneratedTask) -> GeneratedTask:
    return with_task(made, evidence=(made.task.evidence[0], distractors(made.task)[0].id))


def another_question(made: GeneratedTask) -> GeneratedTask:
    other = made.task.question.replace(made.task.query.entity, "Stonegate Office")
    return with_task(made, question=other)


def distractor_that_moves(made: GeneratedTask) -> GeneratedTask:
    """A distractor has another level as released than under `B_0`."""
    document = distractors(made.task)[0].id
    folders = _other_depth(made.released[document].folders)
    return replace(made, released=made.released.update({document: {"folders": folders}}))


def unordered_documents(made: GeneratedTask) -> GeneratedTask:
    flipped = with_task(made, documents=made.task.documents[::-1])
    return replace(
        flipped, released=Manifest(made.released.documents[::-1]), neutral=Manifest(made.neutral.documents[::-1])
    )


def task_ids_in_order(made: GeneratedTask) -> GeneratedTask:
    """The first letters of a task's id count the tasks."""
    letters = "bcdfghjkmnpqrstvwxyz"
    counted = letters[made.task.number // 20] + letters[made.task.number % 20]
    return with_task(made, id=counted + made.task.id[2:])


def one_mixed_set(benchmark: SynLedger) -> Alter:
    """Under `B_rel` the second feature (depth) is mixed in the same tasks as the first (filename)."""
    by_name = benchmark.planted.index("filename")

    def alter(made: GeneratedTask) -> GeneratedTask:
        changes = {}
        for side, document in enumerate(made.task.evidence):
            shallow = released_level(made.task.configuration, side, by_name)
            changes[document] = {"folders": () if shallow else ("annex", "upper")}
        return replace(made, released=made.released.update(changes))

    return alter


class RestlessRenderer(SynLedger):
    """Every other render has one more space."""

    renders = 0

    def render(self, task: str, transformation: Any) -> tuple[RenderedFile, ...]:
        self.renders += 1
        first, *rest = super().render(task, transformation)
        return (replace(first, text=first.text + " " * (self.renders % 2)), *rest)


class GenerousScorer(SynLedger):
    """Takes a decimal for an integer."""

    def score(self, task: str, answer: str | None) -> float:
        return super().score(task, answer.removesuffix(".0") if answer else answer)


class OtherBudgetWhenNeutral(SynLedger):
    def environment(self, task: str, transformation: Any) -> Any:
        environment: Any = super().environment(task, transformation)
        if transformation.hash == self.variant("neutral").hash:
            environment.limits = replace(environment.limits, total_calls=13)
        return environment


class UnevenSets(SynLedger):
    """Evolution and discovery exchange a few tasks with different levels."""

    def _exchanged(self) -> dict[str, str]:
        swapped = dict(self._role_of)
        by_number = {made.task.number: task for task, made in self.generated.items()}
        for one, other in ((0, 35), (7, 36), (9, 40)):
            swapped[by_number[one]], swapped[by_number[other]] = "disc", "evo"
        return swapped

    def tasks(self, role: str | None = None) -> Any:
        return sorted(task for task, of in self._exchanged().items() if role in (None, of))

    def role_of(self, task: str) -> str:
        return self._exchanged()[task]


class OneFamilyMore(SynLedger):
    """A confirmation set has three tasks of one family from one block."""

    def tasks(self, role: str | None = None) -> Any:
        tasks = list(super().tasks(role))
        if role != "conf1":
            return tasks
        families = [self.task(task).number % 5 for task in tasks]
        keep = max(set(families), key=families.count)
        drop = next(task for task in tasks if self.task(task).number % 5 != keep)
        block = self.task(drop).block
        more = [t for t in super().tasks("cert") if self.task(t).block == block and self.task(t).number % 5 == keep]
        return [*(task for task in tasks if task != drop), *more[:1]]


def shorter_titles_for_some_evidence(made: GeneratedTask) -> GeneratedTask:
    """In every third task both evidence documents have a short title, in every variant."""
    if made.task.number % 3:
        return made
    return with_protocol(made, {document: {"title": "Accounts"} for document in made.task.evidence})
