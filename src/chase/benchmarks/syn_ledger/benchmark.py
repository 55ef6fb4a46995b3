"""Syn-Ledger as a `Benchmark`: generated tasks, their task sets, variants, views, tools and scorer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

from chase.benchmarks.cache import HOME_CACHE, BuiltCache, hash_pieces
from chase.benchmarks.syn_ledger import generator, rendering, scoring, tools
from chase.benchmarks.syn_ledger.allocation import ROLES, allocate
from chase.benchmarks.syn_ledger.built import BuiltTasks, cache_key, keep, task_text
from chase.benchmarks.syn_ledger.canonical import LedgerSubject
from chase.benchmarks.syn_ledger.combinatorics import BLOCK, PLANTED
from chase.benchmarks.syn_ledger.constructions import constructions
from chase.benchmarks.syn_ledger.contents import Task, read_slots
from chase.benchmarks.syn_ledger.controls import ledger_controls
from chase.benchmarks.syn_ledger.features import FEATURES, PAPER_FEATURES, Change
from chase.benchmarks.syn_ledger.forms import FORMS, Form
from chase.benchmarks.syn_ledger.gate import ledger_facts
from chase.benchmarks.syn_ledger.generator import GeneratedTask
from chase.benchmarks.syn_ledger.manifest import PROTOCOL_FIELDS, Manifest
from chase.benchmarks.syn_ledger.operators import ALLOWLIST
from chase.benchmarks.syn_ledger.rendering import WINDOW, RenderedFile
from chase.benchmarks.syn_ledger.terms import ANSWER_FORM, BASE, BOUNDS, DEFAULTS, INITIAL, PLACEHOLDERS
from chase.benchmarks.syn_ledger.tools import (
    INDEXED,
    INTERFACE,
    LIMITS,
    TOOLS,
    LedgerEnvironment,
    SearchableFile,
    record_words,
)
from chase.core.controls import Controls
from chase.core.errors import UserError, choose
from chase.core.gate_facts import GateFacts
from chase.core.interfaces import Environment, Progress, Transformation
from chase.core.keyed import canonical_json, sorted_by_key
from chase.core.observables import OBSERVABLES, ObservableFunction
from chase.core.values import CheckResult, Defaults, FileView, Limits, Sighting, ToolSpec, View
from chase.protocol.operators import OperatorKind
from chase.protocol.transformation import OperatorList

DEFAULT_SEED = 20261
MOST_BLOCKS = 200
FIRST_SPARE = 8
"""Blocks 8 and 9 are certification's alone: evolution can be given them."""
TASKS_KEPT = 128
"""Tasks whose files are kept ready for the next rollout: rollouts of a task come close together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SynLedgerSpec:
    """What names a Syn-Ledger benchmark: seed, blocks of 32 tasks, planted features."""

    seed: int = DEFAULT_SEED
    blocks: int = 10
    planted: tuple[str, ...] = PAPER_FEATURES
    evolution: int = BLOCK
    """Evolution tasks: a block, or two or three, the further ones from blocks that are otherwise certification's."""
    form: str = ""
    """The paper's, or another of `FORMS`."""

    @property
    def contents(self) -> Form:
        """What the tasks are made of."""
        return FORMS[self.form]

    @property
    def base(self) -> str:
        return f"{BASE}-{self.form}" if self.form else BASE

    @property
    def name(self) -> str:
        size = "" if self.blocks == 10 else f"x{self.blocks}"
        planted = "" if self.planted == PAPER_FEATURES else ":" + "+".join(self.planted)
        evolution = "" if self.evolution == BLOCK else f"/evo{self.evolution}"
        plain = self.seed == DEFAULT_SEED and not size and not planted and not evolution
        return f"{self.base}{'' if plain else f'@{self.seed}{size}'}{planted}{evolution}"

    @classmethod
    def parse(cls, name: str) -> SynLedgerSpec:
        """The spec of `syn-ledger`, `syn-ledger@7`, `syn-ledger@7x40`, `syn-ledger@7:a+b+c+d+e`, or `…/evo64`.

        `syn-ledger-small` in front means the small form.
        """
        found = re.fullmatch(
            r"syn-ledger(?:-(small))?(?:@([0-9]+)(?:x([0-9]{1,6}))?)?(?::([a-z+]+))?(?:/evo(32|64|96))?", name
        )
        if found is None:
            raise UserError(
                f"benchmark='{name}' is not a Syn-Ledger name. Write syn-ledger, syn-ledger@SEED, "
                "syn-ledger@SEEDxBLOCKS or syn-ledger@SEED:FEATURE+FEATURE+FEATURE+FEATURE+FEATURE; "
                "with /evo64 or /evo96 at its end it has more evolution tasks, and syn-ledger-small@SEED is the "
                "small form."
            )
        form, seed, blocks, planted, evolution = found.groups()
        features = tuple(planted.split("+")) if planted else PAPER_FEATURES
        for feature in features:
            choose("feature", feature, FEATURES)
        if len(features) != PLANTED or len(set(features)) != PLANTED:
            raise UserError(
                f"benchmark='{name}' plants {len(set(features))} features; write exactly {PLANTED} different ones."
            )
        size = int(blocks) if blocks else 10
        if size % 10 or not 10 <= size <= MOST_BLOCKS:
            raise UserError(f"benchmark='{name}' has {size} blocks; write a multiple of 10 from 10 to {MOST_BLOCKS}.")
        if seed and len(seed) > 12:
            raise UserError(f"benchmark='{name}': a seed has at most 12 digits.")
        return cls(
            seed=int(seed) if seed else DEFAULT_SEED,
            blocks=size,
            planted=features,
            evolution=int(evolution) if evolution else BLOCK,
            form=form or "",
        )


class SynLedger:
    """The host's Syn-Ledger. See `chase.core.interfaces.Benchmark` for the contract."""

    versions: Mapping[str, int] = {
        "generator": generator.VERSION,
        "renderer": rendering.VERSION,
        "tools": tools.VERSION,
        "scorer": scoring.VERSION,
    }
    base = BASE
    indexed: Sequence[str] = INDEXED
    limits: Limits = LIMITS
    tools: Sequence[ToolSpec] = TOOLS
    interface = INTERFACE
    roles: Sequence[str] = ROLES
    sealed = frozenset({"cert"})
    defaults: Defaults = DEFAULTS
    initial: Mapping[str, str] = INITIAL
    answer_form = ANSWER_FORM
    bounds = BOUNDS
    placeholders = PLACEHOLDERS
    neutral = "neutral"
    private_paths: Sequence[Path] = ()
    allowlist: Mapping[str, OperatorKind[Manifest]] = ALLOWLIST
    protocol_fields = PROTOCOL_FIELDS
    observables: Sequence[ObservableFunction] = tuple(OBSERVABLES.values())
    sizes: Mapping[str, int] = {}
    """Role → most of its tasks that are used; all where it is not named."""

    def __init__(self, spec: SynLedgerSpec, *, cache: BuiltCache | None = None) -> None:
        """Built anew, or from the cache if it was built before; then its tasks are read when they are asked for."""
        self.spec = spec
        self._ready: dict[tuple[str, str], Sequence[SearchableFile]] = {}
        key = None if cache is None else cache_key(spec, self.versions)
        if cache is None or key is None:
            self._build()
        elif not self._open(BuiltTasks.of(cache.load(key), spec.planted)):
            self._build()
            pieces = list(self._content())
            self.content_hash = hash_pieces(pieces)
            keep(cache, key, self, pieces)

    def _build(self) -> None:
        spec = self.spec
        generated = generator.generate(spec.seed, spec.blocks, spec.planted, spec.contents)
        ids = [made.task.id for made in generated]
        roles = dict(zip(ids, allocate(ids, spec.seed), strict=True))
        more = spec.evolution - BLOCK
        roles |= dict.fromkeys(ids[FIRST_SPARE * BLOCK : FIRST_SPARE * BLOCK + more], "evo")
        changes: dict[str, dict[str, Change]] = {name: {} for name in spec.planted}
        for made in generated:
            for name in spec.planted:
                changes[name] |= made.neutral_changes[name]
        evidence = frozenset(document for made in generated for document in made.task.evidence)
        self.generated: Mapping[str, GeneratedTask] = {made.task.id: made for made in generated}
        self._role_of = roles
        self._variants = constructions(spec.planted, changes, evidence)

    def _open(self, tasks: BuiltTasks | None) -> bool:
        """Take the tasks of a cache's entry, if there is one and this class would make the same content."""
        if tasks is None:
            return False
        self._role_of = tasks.roles
        if self._around_tasks() != tasks.around:
            return False
        self.generated = tasks
        changes = {name: tasks.changes(name) for name in self.spec.planted}
        self._variants = constructions(self.spec.planted, changes, tasks.evidence)
        self.content_hash = tasks.content_hash
        return True

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def planted(self) -> tuple[str, ...]:
        """The planted features, in the order of the configuration's bits. Host-side."""
        return self.spec.planted

    @cached_property
    def content_hash(self) -> str:
        return hash_pieces(self._content())

    def _content(self) -> Iterator[str]:
        """The canonical JSON of everything that a rollout could depend on: before the tasks, each task, after them."""
        before, after = self._around_tasks()
        yield before
        for place, made in enumerate(self.generated.values()):
            yield f"{',' if place else ''}{task_text(made)}"
        yield after

    def _around_tasks(self) -> tuple[str, str]:
        before = canonical_json({"limits": asdict(self.limits), "roles": self._role_of})
        after = canonical_json({"tools": [asdict(tool) for tool in self.tools], "versions": self.versions})
        return f'{before[:-1]},"tasks":[', f"],{after[1:]}"

    def task(self, task: str) -> Task:
        """The host-side task of an id."""
        return self.generated[self._known(task)].task

    def _known(self, task: str) -> str:
        if task not in self.generated:
            raise UserError(
                f"unknown task '{task}' in {self.name}. Valid: the {len(self.generated)} ids that "
                f"`chase bench show {self.name}` lists, e.g. {self.tasks()[0]}."
            )
        return task

    def tasks(self, role: str | None = None) -> Sequence[str]:
        if role is None:
            return sorted(self._role_of)
        choose("split", role, self.roles)
        every = [task for task, of in self._role_of.items() if of == role]
        return sorted(sorted_by_key(every, "fewer")[: self.sizes[role]] if role in self.sizes else every)

    def fewer(self, sizes: Mapping[str, int]) -> Self:
        cut = copy(self)
        cut.sizes = {**self.sizes, **{role: min(size, self.sizes.get(role, size)) for role, size in sizes.items()}}
        cut.__dict__.pop("subject", None)  # its check tasks are those that are used
        return cut

    def role_of(self, task: str) -> str:
        return self._role_of[self._known(task)]

    def variants(self) -> Sequence[str]:
        return tuple(self._variants)

    def variant(self, name: str) -> OperatorList[Manifest]:
        return self._variants[choose("variant", name, self._variants)]

    def manifest(self, task: str, transformation: Transformation[Manifest]) -> Manifest:
        """The protocol state of a task under a transformation."""
        return transformation.apply(self.generated[self.task(task).id].released)

    def render(self, task: str, transformation: Transformation[Manifest]) -> tuple[RenderedFile, ...]:
        """The task's files as shown, in the order of their ids."""
        return self._render(task, self.manifest(task, transformation))

    def _render(self, task: str, manifest: Manifest) -> tuple[RenderedFile, ...]:
        documents = self.task(task).documents
        return tuple(rendering.render(d, protocol) for d, protocol in zip(documents, manifest, strict=True))

    def view(self, task: str, transformation: Transformation[Manifest]) -> View:
        manifest = self.manifest(task, transformation)
        files = {file.id: file for file in self._render(task, manifest)}
        return View(
            task=task,
            question=self.task(task).question,
            files=tuple(FileView(id=p.id, path=p.path, read=partial(str, files[p.id].text)) for p in manifest.listed()),
        )

    def environment(self, task: str, transformation: Transformation[Manifest]) -> Environment:
        key = task, transformation.hash
        # Taken out and put back, so that the one used longest ago comes first.
        files = self._ready.pop(key, None) or self._searchable(task, transformation)
        self._ready[key] = files
        if len(self._ready) > TASKS_KEPT:
            del self._ready[next(iter(self._ready))]
        return LedgerEnvironment(
            self.task(task).question, files, tools=self.tools, interface=self.interface, limits=self.limits
        )

    def _searchable(self, task: str, transformation: Transformation[Manifest]) -> tuple[SearchableFile, ...]:
        manifest = self.manifest(task, transformation)
        listing = {protocol.id: place for place, protocol in enumerate(manifest.listed())}
        rank = {protocol.id: place for place, protocol in enumerate(manifest.ranked())}
        return tuple(
            SearchableFile(
                file=rendering.render(document, protocol),
                words=tuple(record_words(record, self.indexed) for record in document.records),
                listing=listing[document.id],
                rank=rank[document.id],
            )
            for document, protocol in zip(self.task(task).documents, manifest, strict=True)
        )

    @cached_property
    def gate(self) -> GateFacts:
        made = self.generated
        return ledger_facts(self.name, ((made[task], role) for task, role in self._role_of.items()), self._variants)

    @cached_property
    def subject(self) -> LedgerSubject:
        return LedgerSubject(self)

    def controls(self) -> Controls:
        evo = frozenset(d.id for task in self.tasks("evo") for d in self.task(task).documents)
        return ledger_controls(evo)

    def pieces(self, shown: Sighting) -> Sequence[str]:
        return re.findall(r"\b\d+\b", shown.text or "")

    def sightings(self, task: str, transformation: Transformation[Manifest]) -> list[Sighting]:
        files = self._searchable(task, transformation)
        return [
            Sighting(
                id=f.file.id,
                path=f.file.path,
                listing=f.listing,
                listing_of=len(files),
                hit=f.rank,
                hit_of=len(files),
                window=0,
                text=f.file.windows[0],
            )
            for f in files
        ]

    def score(self, task: str, answer: str | None) -> float:
        return scoring.score(self.task(task).answer, answer)

    def slots(self, question: str) -> Mapping[str, Sequence[str]]:
        entity, periods = read_slots(question)
        return {
            "entity": [entity] if entity else [],
            "period": periods[:1],
            "periods": periods,
            "question": [question],
        }

    def validate(self, progress: Progress) -> Sequence[CheckResult]:
        from chase.benchmarks.syn_ledger.validation import validate

        return validate(self, progress)

    # Capabilities beyond the contract

    def evidence(self, task: str) -> Mapping[str, int]:
        return dict.fromkeys(self.task(task).evidence, 2)

    def evidence_windows(self, task: str, transformation: Transformation[Manifest]) -> Mapping[str, Sequence[bool]]:
        manifest = self.manifest(task, transformation)
        held = [document for document in self.task(task).documents if document.id in self.task(task).evidence]
        places = {d.id: {manifest[d.id].order.index(record) // WINDOW for record in d.block} for d in held}
        return {id_: [window in own for window in range(2)] for id_, own in places.items()}

    def task_labels(self, task: str) -> Mapping[str, str]:
        return {"family": self.task(task).family.name}

    def statistics(self) -> Mapping[str, Any]:
        from chase.benchmarks.syn_ledger.statistics import statistics

        return statistics(self)

    def statistics_table(self) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
        from chase.benchmarks.syn_ledger.statistics import statistics_table

        return statistics_table(self)

    def export(
        self, transformation: Transformation[Manifest], tasks: Sequence[str], folder: Path, progress: Progress
    ) -> Mapping[str, int]:
        from chase.benchmarks.syn_ledger.export import export_benchmark

        return export_benchmark(self, transformation, tasks, folder, progress)


def open_syn_ledger(name: str, data: Path | None = None, *, cache: BuiltCache | None = HOME_CACHE) -> SynLedger:
    """The Syn-Ledger benchmark of a name, from the cache if it was built before; without a cache it is built anew.

    It is made from its name alone: data is refused.
    """
    if data is not None:
        raise UserError(f"--data={data}: {BASE} is made from its name alone. Leave --data out.")
    from chase.benchmarks.syn_ledger.small import SmallSynLedger

    spec = SynLedgerSpec.parse(name)
    ledger = (SmallSynLedger if spec.form == "small" else SynLedger)(spec, cache=cache)
    ledger.private_paths = () if cache is None else (cache.place,)
    return ledger
