"""What the generalization gate has to know of Syn-Ledger, and its part of the contract. Host-side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from chase.benchmarks.syn_ledger.allocation import ROLES
from chase.benchmarks.syn_ledger.contents import DISTRACTORS
from chase.benchmarks.syn_ledger.families import FAMILIES, SMALL_FAMILIES
from chase.benchmarks.syn_ledger.features import FEATURES
from chase.benchmarks.syn_ledger.generator import GeneratedTask
from chase.benchmarks.syn_ledger.manifest import DocumentProtocol
from chase.benchmarks.syn_ledger.terms import BASE
from chase.core.gate_facts import Feature, GateFacts, TaskFacts

REALISATION = """\
- A rule looks at what the task at hand shows: its question, its documents, the results of its tools.
- No task ids, split roles, answers, gold sources, lists of questions, names or paths of documents; nothing that tells \
which level of an observable feature is favorable; no look-up tables made from data; no branches on hidden roles, \
answers, sources or assignments of features.
"""
"""As in the paper, it does not say which features the host's checks know."""

FORBIDDEN = (
    Feature(
        name="filename length",
        observables=("name-length",),
        words=("filename length", "length of the name", "length of its name", "length of the filename"),
        subjects=("filename", "filenames", "file name", "file names", "name", "names", "stem", "stems"),
        qualities=(
            "short", "shorter", "shortest", "long", "longer", "longest", "brief", "concise", "lengthy", "length",
            "letters", "characters",
        ),
        in_path=True,
    ),
    Feature(
        name="directory depth",
        observables=("path-depth",),
        words=(
            "depth", "shallow", "shallower", "shallowest", "nested", "nesting", "subfolder", "subfolders",
            "subdirectory", "subdirectories", "top level", "folder levels",
        ),
        subjects=("folder", "folders", "directory", "directories", "path", "paths", "tree"),
        qualities=("deep", "deeper", "deepest", "deeply", "level", "levels", "fewer", "fewest", "root", "above"),
        in_path=True,
    ),
    Feature(
        name="search rank",
        observables=("hit-position", "listing-position"),
        words=("search rank", "rank position", "ranked first", "ranked higher", "highest ranked", "top ranked"),
        subjects=("result", "results", "hit", "hits", "match", "matches", "listed", "listing", "rank", "ranking"),
        qualities=(
            "first", "second", "top", "early", "earlier", "earliest", "late", "later", "last", "bottom", "highest",
            "lowest", "position",
        ),
        in_order=True,
    ),
    Feature(
        name="serialization format",
        observables=("extension-length", "bar-count"),
        words=(
            "serialization", "serialisation", "markdown", "csv", "key value", "key values", "file extension",
            "file extensions", "file format", "file formats", "file type", "file types", "extension", "extensions",
            "vertical bars", "pipe characters", "comma separated", "md", "txt",
        ),
        in_path=True,
    ),
)  # fmt: skip
"""The paper's four, as our observables, the words of a text and code can spell them. Where in a document a block
stands, the fifth planted feature, is none of them; nor are proxies such as the size of a text."""

_TERMS = (
    "distractor", "distractors", "candidate block", "candidate record block", "evidence document",
    "evidence documents", "evidence block", "planted", "planted feature", "mixed set", "mixed task",
    "configuration bit", "neutralise", "neutralised", "neutralize", "neutralized", "placebo", "manifest",
    "answer pool", "category twin", "short stems", "long stems", "early folders", "late folders", "inner folders",
)  # fmt: skip


def ledger_facts(name: str, tasks: Iterable[tuple[GeneratedTask, str]], variants: Iterable[str]) -> GateFacts:
    """The facts of all tasks, each with its role."""
    given = list(tasks)
    return GateFacts(
        realisation=REALISATION,
        checks=frozenset({"withheld-strings", "generator-terms", "feature-rules", "favorable-levels"}),
        tasks=tuple(_task(made, role) for made, role in given),
        identities=(name, BASE, "synledger"),
        labels=(*ROLES, *(variant for variant in variants if "-" in variant)),
        documents=tuple(dict.fromkeys(n for made, _ in given for p in _shown(made) for n in _names(p))),
        generator_terms=tuple(_terms()),
        favorable=tuple(_levels()),
        features=FORBIDDEN,
    )


def _task(made: GeneratedTask, role: str) -> TaskFacts:
    task = made.task
    return TaskFacts(
        id=task.id,
        role=role,
        question=task.question,
        answer=str(task.answer),
        identity=(task.query.entity, *task.query.periods),
        sources=tuple(n for p in _shown(made) if p.id in task.evidence for n in _names(p)),
    )


def _shown(made: GeneratedTask) -> Iterator[DocumentProtocol]:
    yield from made.released
    yield from made.neutral


def _names(protocol: DocumentProtocol) -> Iterator[str]:
    """How a document can be named: its id, path and name; its stem where that is no plain word."""
    stem = f"{protocol.stem}{protocol.suffix}"
    yield from (protocol.id, protocol.path, protocol.name)
    yield from [stem] if "-" in stem else []


def _terms() -> Iterator[str]:
    """Words of the generator that no task shows: kinds of distractors, families, parts of the construction."""
    yield from _TERMS
    yield from (kind for kind in DISTRACTORS if "-" in kind)
    yield from (family.name for family in (*FAMILIES, *SMALL_FAMILIES))


def _levels() -> Iterator[str]:
    yield from ("favorable", "unfavorable", "favourable", "unfavourable", "favored level", "favoured level")
    for feature in FEATURES.values():
        yield from (feature.favorable, feature.unfavorable)
