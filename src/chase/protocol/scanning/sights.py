"""What a scan looks at: the documents of each task as an agent can see them, and which of them are evidence. Host-side.

It knows a benchmark by its contract alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from chase.core.interfaces import Benchmark, HasClusters, HasEvidence, HasEvidenceWindows, Judged, Transformation
from chase.core.values import Sighting
from chase.stats.association import Block

MOST_WINDOWS = 100
"""Of a document that are read to find where the answer stands."""
_FIGURE = re.compile(r"-?\d[\d,]*(?:\.\d+)?%?")
LabelSource = Literal["evidence", "sources", "answer"]
"""How it is known which documents are evidence: the benchmark's labels, the sources that its tasks name, or the
documents in which an answer can be read that its scorer takes."""


@dataclass(frozen=True, kw_only=True)
class Subjects:
    """The tasks of a scan, with what is true of them under every variant."""

    benchmark: Benchmark[Any]
    tasks: tuple[str, ...]

    @cached_property
    def _facts(self) -> Mapping[str, Any]:
        return {facts.id: facts for facts in self.benchmark.gate.tasks}

    def sightings(self, task: str, transformation: Transformation[Any]) -> dict[str, Sighting]:
        """By document id."""
        return {shown.id: shown for shown in self.benchmark.sightings(task, transformation)}

    @cached_property
    def released(self) -> Mapping[str, tuple[str, ...]]:
        """Task → the ids of the documents that can be seen, in a fixed order."""
        identity = self.benchmark.variant("released")
        return {task: tuple(sorted(self.sightings(task, identity))) for task in self.tasks}

    @cached_property
    def source(self) -> LabelSource:
        """How it is known which documents are evidence."""
        if isinstance(self.benchmark, HasEvidence) and any(map(self.benchmark.evidence, self.tasks)):
            return "evidence"
        if any(facts.sources for task, facts in self._facts.items() if task in set(self.tasks)):
            return "sources"
        return "answer"

    @cached_property
    def evidence(self) -> Mapping[str, frozenset[str]]:
        """Task → the ids of its evidence documents, seen or not."""
        if self.source == "evidence" and isinstance(self.benchmark, HasEvidence):
            return {task: frozenset(self.benchmark.evidence(task)) for task in self.tasks}
        return {task: self._read_off(task) for task in self.tasks}

    def _read_off(self, task: str) -> frozenset[str]:
        """The documents that a task names as its sources; where none names any, those in which the answer stands."""
        files = self.benchmark.view(task, self.benchmark.variant("released")).files
        if self.source == "sources":
            named = set(self._facts[task].sources)
            return frozenset(file.id for file in files if {file.id, file.path} & named)
        seen = set(self.released[task])
        return frozenset(file.id for file in files if file.id in seen and self._shows_answer(task, file.text))

    def _shows_answer(self, task: str, text: str) -> bool:
        """Whether a piece of a text, or a figure in one, is an answer that the benchmark's scorer takes. No judge is
        asked: of a judged benchmark it is the expected answer word for word.
        """
        pieces = self.benchmark.pieces(Sighting(id="", path="", text=text))
        candidates = {c for piece in pieces for c in (piece, *_FIGURE.findall(piece))}
        if isinstance(self.benchmark, Judged) and self.benchmark.asks is not None:
            return any(self.benchmark.states(task, candidate) for candidate in candidates)
        return any(self.benchmark.score(task, candidate) >= 1 for candidate in candidates)

    @cached_property
    def components(self) -> list[list[str]]:
        """The tasks in groups that chance may treat alike: they share evidence or a cluster of the benchmark's."""
        declared = self.benchmark.clusters() if isinstance(self.benchmark, HasClusters) else {}
        shared = {task: {f"d:{id_}" for id_ in self.evidence[task]} for task in self.tasks}
        return components(
            {task: own | {f"c:{declared[task]}"} if task in declared else own for task, own in shared.items()}
        )

    @cached_property
    def _component_of(self) -> Mapping[str, str]:
        """Task → the first task of its component."""
        return {task: group[0] for group in self.components for task in group}

    def document_blocks(self) -> dict[str, Block]:
        """Task → its documents, of which some that can be seen are evidence and some are not."""
        blocks = {
            task: Block(chosen=tuple(id_ in self.evidence[task] for id_ in seen), cluster=self._component_of[task])
            for task, seen in self.released.items()
        }
        return {task: block for task, block in blocks.items() if 0 < block.count < block.size}

    def window_blocks(self, transformation: Transformation[Any]) -> list[Block]:
        """The windows of each evidence document in their order, of which some hold what is needed and some do not."""
        found = []
        for task in self.tasks:
            for holds in self._windows(task, transformation).values():
                if 0 < sum(holds) < len(holds):
                    found.append(Block(chosen=tuple(map(bool, holds)), cluster=self._component_of[task]))
        return found

    def _windows(self, task: str, transformation: Transformation[Any]) -> Mapping[str, Sequence[bool]]:
        if isinstance(self.benchmark, HasEvidenceWindows):
            return self.benchmark.evidence_windows(task, transformation)
        return {
            document: [self._shows_answer(task, text) for text in self._read(task, transformation, document)]
            for document in sorted(self.evidence[task])
        }

    def _read(self, task: str, transformation: Transformation[Any], document: str) -> Iterator[str]:
        """A document window by window, as the tool that opens it shows it."""
        environment = self.benchmark.environment(task, transformation)
        tool = environment.interface.open
        if tool is None:
            return
        first = {tool.document: document}
        arguments: Mapping[str, Any] | None = first
        for _ in range(MOST_WINDOWS):
            if arguments is None:
                return
            if not environment.calls_left()["total"] or not environment.calls_left()[self._group(tool.tool)]:
                if arguments == first:
                    return  # the same call reads on: in a fresh environment it would begin anew
                environment = self.benchmark.environment(task, transformation)
            result = environment.call(tool.tool, arguments)
            yield from (item.shown.text or item.text for item in result.items[:1])
            arguments = result.reads_on

    def _group(self, tool: str) -> str:
        return self.benchmark.limits.tool_groups.get(tool, "total")

    def answers(self) -> dict[str, dict[str, float]]:
        """What there is to go with: the answer as a number or, where answers are words, each frequent one of them."""
        said = {task: self._facts[task].answer.strip() for task in self.tasks if task in self._facts}
        numbers = {task: number for task, answer in said.items() if (number := _number(answer)) is not None}
        if 10 * len(numbers) >= 9 * len(said):
            return {"answer": numbers} if numbers else {}
        folded = {task: answer.casefold() for task, answer in said.items()}
        words = sorted(set(folded.values()), key=lambda word: (-list(folded.values()).count(word), word))
        often = [word for word in words if LEAST_OF_A_WORD <= list(folded.values()).count(word) < len(folded)]
        if len(words) == 2:
            often = often[:1]
        return {f"answer '{word}'": {t: float(a == word) for t, a in folded.items()} for word in often[:MOST_WORDS]}


LEAST_OF_A_WORD = 8
"""Tasks that have an answer before anything can go with it."""
MOST_WORDS = 8


def _number(answer: str) -> float | None:
    plain = answer.replace(",", "").strip(" $€£%")
    try:
        return float(plain) if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)", plain) else None
    except ValueError:
        return None


def components(members: Mapping[str, Set[str]]) -> list[list[str]]:
    """Tasks that share something, directly or through others, together."""
    group: dict[str, str] = {}

    def root(name: str) -> str:
        while group.setdefault(name, name) != name:
            name = group[name]
        return name

    for task, shared in members.items():
        for one in shared:
            group[root(f"shared {one}")] = root(f"task {task}")
    found: dict[str, list[str]] = {}
    for task in members:
        found.setdefault(root(f"task {task}"), []).append(task)
    return list(found.values())
