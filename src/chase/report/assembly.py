"""A run's whole report, section by section, whatever kind of run it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from chase.core.errors import UserError
from chase.core.interfaces import Benchmark
from chase.report import audits, comparisons, evolution, others, verdicts
from chase.report.document import Document, Section
from chase.report.facts import Measured, RunFacts
from chase.report.heads import MALFORMED, SIMULATED
from chase.report.on_benchmark import BenchmarkFacts, benchmark_facts, construction_section, example_section
from chase.report.provenance import provenance_section, token_section
from chase.report.verdicts import Headline

KINDS = {
    "evolution": evolution.sections,
    "audit": audits.sections,
    "comparison": comparisons.sections,
    "repair": others.repair_sections,
    "rollout": others.rollout_sections,
}
HEADLINES = {
    "evolution": verdicts.of_evolution,
    "audit": verdicts.of_audit,
    "comparison": verdicts.of_comparison,
    "repair": verdicts.of_repair,
    "rollout": verdicts.of_rollout,
}
Opens = Callable[[], Benchmark[Any]]


def document(facts: RunFacts, measured: Measured, opens: Opens | None = None) -> Document:
    """The report of a run. Without `opens` it is no file: nothing is shown of the benchmark, and nothing beside it."""
    head = facts.head
    if facts.kind not in KINDS:
        raise UserError(
            f"run '{head.id}' is one of `chase {head.command}`, of which there are no reports. "
            "Name a run of evolve, audit, compare, repair or rollout."
        )
    try:
        return _document(facts, measured, opens)
    except MALFORMED as error:
        odd = f"{facts.folder} holds a record that is not as this version writes it ({type(error).__name__}: {error})."
        bare = replace(facts, result=None, rounds=(), archive=None, problems=(*facts.problems, odd))
        return _document(bare, Measured(tokens=measured.tokens, paired=()), opens)


def _document(facts: RunFacts, measured: Measured, opens: Opens | None) -> Document:
    head, headline = facts.head, headline_of(facts)
    found = None if opens is None else benchmark_facts(facts, opens)
    return Document(
        title=f"{facts.kind.capitalize()} {head.id}",
        verdict=headline.sentence,
        tone=headline.tone,
        label=headline.label,
        details=headline.details,
        badges=badges(facts),
        facts=about(facts),
        sections=[section for section in _sections(facts, measured, found) if section is not None],
    )


def headline_of(facts: RunFacts) -> Headline:
    """The verdict, whatever kind of run it is."""
    result = facts.result
    if result is None:
        return verdicts.unfinished(facts.head.status)
    return HEADLINES[facts.kind](result)


def badges(facts: RunFacts) -> list[str]:
    """What must not be overlooked."""
    said = [SIMULATED] if facts.head.simulated else []
    return said if facts.head.finished else [*said, "not finished"]


def about(facts: RunFacts) -> list[tuple[str, str]]:
    """What the run was, in a few pairs."""
    head = facts.head
    model = f"{head.model} ({SIMULATED})" if head.simulated else head.model
    pairs = [
        ("Run", head.id),
        ("Method", head.method or ""),
        ("Benchmark", head.benchmark),
        ("Model", model),
        ("Seed", head.seed),
        ("Begun", head.created_at[:16].replace("T", " ")),
        ("Status", head.status),
    ]
    return [(name, value) for name, value in pairs if value]


def _sections(facts: RunFacts, measured: Measured, found: BenchmarkFacts | None) -> Iterator[Section | None]:
    yield from KINDS[facts.kind](facts, measured)
    if found is not None:
        yield example_section(facts, found)
        yield construction_section(found)
    yield token_section(measured)
    yield provenance_section(facts, beside=found is not None)
