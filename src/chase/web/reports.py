"""What a run came to, for pages: its report's sections, each on a page of its own, made when it is looked at."""

from __future__ import annotations

from dataclasses import replace

from chase.core.errors import choose
from chase.report.assembly import KINDS, about, badges, document
from chase.report.document import Document, Section, Text
from chase.report.facts import RunFacts, load_facts, measure
from chase.report.heads import RunHead, WantedRuns, head_of
from chase.report.on_benchmark import example_section
from chase.report.provenance import provenance_section
from chase.store.records import Run
from chase.store.workspace import Workspace
from chase.web.examples import NOT_YET, Examples
from chase.web.viewer import Edition, Viewer

RESULTS = "results"
"""The section that the first page of a run shows."""
OUTCOMES, TOKENS = "outcomes", "tokens"
MEASURED = {OUTCOMES: "Task by task", TOKENS: "Token use"}
"""Sections that are summed up over all rollouts, which takes half a second where there are many."""
PAIRED = ("evolve", "compare-member", "audit")
"""Commands that put two harnesses to the same tasks."""
COUNTERFACTUALS, EXAMPLES = "counterfactuals", "examples"
SHOWN_RUNS = 50


class Reports:
    """The reports of a workspace's runs. What is known of a finished run is kept until its result is another."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._heads: dict[Edition, RunHead] = {}
        self._documents: dict[tuple[Edition, str | None], Document] = {}
        self._examples = Examples()

    @property
    def workspace(self) -> Workspace:
        return self._viewer.workspace

    def heads(self, wanted: WantedRuns, limit: int) -> tuple[list[RunHead], int]:
        """The newest runs that are wanted, and how many there are."""
        chosen = [run for run in reversed(self._viewer.store.runs()) if wanted.takes(run)]
        return [self.head(run) for run in chosen[:limit]], len(chosen)

    def head(self, run: Run) -> RunHead:
        edition = self._viewer.edition(run)
        if edition in self._heads:
            return self._heads[edition]
        found = head_of(self.workspace, run)
        if run.status == "finished":
            self._heads[edition] = found
        return found

    def document(self, run: Run, measured: str | None = None) -> Document:
        """A run's report; of what has to be measured it has one section, if that is asked for."""
        key = (self._viewer.edition(run), measured)
        if key in self._documents:
            return self._documents[key]
        facts = load_facts(self._viewer.store, run.id)
        if facts.kind in KINDS:
            wanted = {"tokens": measured == TOKENS, "paired": measured == OUTCOMES}
            made = document(facts, measure(self._viewer.store, facts, **wanted))
            made = replace(made, sections=[*made.sections[:-1], *_of_examples(facts, made), made.sections[-1]])
        else:
            made = _bare(facts)
        if run.status == "finished":
            self._documents[key] = made
        return made

    def sections(self, run: Run, id: str) -> list[Section]:
        """What a page of this name shows; refused with the valid ones."""
        made = self.document(run, id if id in MEASURED else None)
        valid = {section.id: section for section in made.sections}
        if id in MEASURED and id not in valid:
            nothing = Text(text="There is nothing of this in this run: no two harnesses were compared, or none ran.")
            return [Section(id=id, title=MEASURED[id], blocks=[nothing])]
        chosen = choose("page of this run", id, valid)
        if chosen not in (COUNTERFACTUALS, EXAMPLES):
            return [valid[chosen]]
        shown = self._examples.section(self._viewer.edition(run), load_facts(self._viewer.store, run.id))
        return [valid[chosen]] if shown is None else [*([valid[chosen]] if chosen == COUNTERFACTUALS else []), shown]

    def tabs(self, run: Run) -> list[tuple[str, str]]:
        """The pages of a run: the end of each address, and its word."""
        found = {section.id: section.title for section in self.document(run).sections if section.id != RESULTS}
        if run.status == "finished" and len(found) > 1:
            found |= {id: word for id, word in MEASURED.items() if id != OUTCOMES or self.head(run).command in PAIRED}
        order = sorted(found, key=lambda id: (id == "provenance", id in MEASURED))
        own = [(f"/{id}", _SHORT.get(id, found[id])) for id in order]
        return [("", "Overview"), ("/live", "Live"), *own[:-1], ("/rollouts", "Rollouts"), *own[-1:]]


_SHORT = {"harnesses": "Harnesses", "methods": "Methods", "provenance": "Settings", "tried": "Search"}


def _of_examples(facts: RunFacts, made: Document) -> list[Section]:
    """A page of their own for examples, where none shows counterfactuals; what is on it is found when it is opened."""
    known = {section.id for section in made.sections}
    found = None if COUNTERFACTUALS in known else example_section(facts, NOT_YET)
    return [] if found is None else [found]


def _bare(facts: RunFacts) -> Document:
    """Of a run that has no report: what it is and how it ended."""
    head = facts.head
    return Document(
        title=f"{head.command} {head.id}",
        verdict=head.conclusion or head.status,
        tone="open",
        label=head.status,
        badges=badges(facts),
        facts=about(facts),
        sections=[provenance_section(facts)],
    )
