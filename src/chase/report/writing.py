"""Write the report of a run: find it, gather its facts, open its benchmark, set the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from chase.report import files
from chase.report.assembly import document
from chase.report.document import Document
from chase.report.facts import RunFacts, load_facts, measure
from chase.runs.opening import locate, open_benchmark
from chase.store.store import Store

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Report:
    """A report that was written."""

    run: str
    folder: Path
    document: Document

    @property
    def page(self) -> Path:
        """The file to open."""
        return self.folder / files.PAGE


def read_run(
    run: str, workspace: str | Path | None = None, data: str | Path | None = None, tell: Tell | None = None
) -> tuple[RunFacts, Document]:
    """A run's facts, and the document that is made of them with what its benchmark shows."""
    with Store.open(locate(workspace), write=False) as store:
        facts = load_facts(store, run)
        measured = measure(store, facts)
    source = data or facts.settings.get("data")
    return facts, document(facts, measured, lambda: open_benchmark(facts.head.benchmark, source, tell))


def write_report(
    run: str,
    out: str | Path,
    *,
    workspace: str | Path | None = None,
    data: str | Path | None = None,
    tell: Tell | None = None,
) -> Report:
    """The report of a run in a folder of its own: page, tables, figures. An earlier report there gives way to it."""
    folder = Path(out)
    files.check_free(folder)
    say = tell or (lambda step: None)
    say("reading the run")
    facts, made = read_run(run, workspace, data, tell)
    files.write(made, facts, folder, say)
    return Report(run=facts.head.id, folder=folder, document=made)
