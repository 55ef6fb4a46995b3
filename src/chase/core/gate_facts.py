"""What the generalization gate has to know of a benchmark. Host-side: agents are told `realisation` alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

BenchmarkCheck = Literal[
    "withheld-strings",
    "eight-token-spans",
    "year-number-pairs",
    "generator-terms",
    "feature-rules",
    "favorable-levels",
]
"""Checks of the gate that only some benchmarks have. All others hold everywhere."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskFacts:
    """What of one task must stand in no harness."""

    id: str
    role: str
    question: str
    answer: str
    identity: tuple[str, ...] = ()
    """Strings of the question that tell the task apart: its entity, its periods."""
    sources: tuple[str, ...] = ()
    """Names and ids of the documents that hold the answer, as an agent could write them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Feature:
    """An observable feature of documents on which no rule may be based, and how a harness can spell such a rule."""

    name: str
    observables: tuple[str, ...] = ()
    """The observables that measure it: in `harness.toml`, in texts and in `control.py`."""
    words: tuple[str, ...] = ()
    """Words and phrases that name it by themselves."""
    subjects: tuple[str, ...] = ()
    qualities: tuple[str, ...] = ()
    """A quality beside a subject names it: 'short', 'file name'."""
    in_path: bool = False
    """Whether code can read it off a document's path."""
    in_order: bool = False
    """Whether code can read it off a hit's place in a result."""


@dataclass(frozen=True, kw_only=True)
class GateFacts:
    """What a benchmark brings to the gate. With the tasks alone, the common checks are complete."""

    tasks: tuple[TaskFacts, ...]
    realisation: str = ""
    """The contract's part for this benchmark, as the Proposer reads it."""
    checks: frozenset[BenchmarkCheck] = frozenset()
    """Which of the checks that only some benchmarks have apply."""
    identities: tuple[str, ...] = ()
    """Names of the benchmark and of the experiment."""
    labels: tuple[str, ...] = ()
    """Names of roles, variants and hidden labels, as words."""
    documents: tuple[str, ...] = ()
    """Names and ids of all documents, gold or not: a refusal does not tell which are."""
    private: tuple[str, ...] = ()
    """Symbols that only the host knows."""
    generator_terms: tuple[str, ...] = ()
    favorable: tuple[str, ...] = ()
    """Words for the levels of features that favor evidence."""
    features: tuple[Feature, ...] = ()
