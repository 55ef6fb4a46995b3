"""`chase show`: a run's report on the terminal, in tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from chase.cli.options import AsJson, WorkspaceFolder
from chase.cli.output import echo, emit_json, emit_table
from chase.cli.rich_tables import rich_table
from chase.core.errors import choose
from chase.report.assembly import document
from chase.report.document import Block, Document, Figure, Listing, Section, Tabular, Text
from chase.report.facts import RunFacts, load_facts, measure
from chase.runs.opening import locate
from chase.store.store import Store

SCHEMA = "chase.show/1"


def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id, the beginning of it, or latest.")],
    section: Annotated[
        list[str] | None, typer.Option("--section", metavar="ID", help="Only this one; may be given again.")
    ] = None,
    workspace: WorkspaceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Print what `chase report` writes of a run: verdict, then tables, section by section.

    JSON: `run {id, command, …}, verdict {sentence, label, tone, details[]}, badges[], warnings[], sections[{id, title,
    texts[], tables[{name, title, fields[], data[][]}]}]`.
    """
    with Store.open(locate(workspace), write=False) as store:
        facts = load_facts(store, run)
        made = document(facts, measure(store, facts))
    if section:
        valid = [each.id for each in made.sections]
        wanted = {choose("section", name, valid) for name in section}
        sections = [each for each in made.sections if each.id in wanted]
    else:
        sections = list(made.sections)
    if as_json:
        return emit_json(SCHEMA, _payload(facts, made, sections))
    return _print(facts, made, sections)


def _payload(facts: RunFacts, made: Document, sections: list[Section]) -> dict[str, Any]:
    return {
        "run": asdict(facts.head),
        "verdict": {
            "sentence": made.verdict,
            "label": made.label,
            "tone": made.tone,
            "details": list(made.details),
        },
        "badges": list(made.badges),
        "warnings": list(facts.warnings),
        "sections": [
            {
                "id": each.id,
                "title": each.title,
                "texts": [block.text for block in each.blocks if isinstance(block, Text)],
                "tables": [
                    {"name": t.name, "title": t.title, "fields": list(t.fields), "data": [list(row) for row in t.data]}
                    for t in (block.table for block in each.blocks if isinstance(block, Figure | Tabular))
                ],
            }
            for each in sections
        ],
    }


def _print(facts: RunFacts, made: Document, sections: list[Section]) -> None:
    echo(f"{made.title}: {made.label.upper()}{''.join(f' [{badge}]' for badge in made.badges)}")
    echo(made.verdict)
    for detail in made.details:
        echo(detail)
    echo(", ".join(f"{name.lower()} {value}" for name, value in made.facts))
    for warning in facts.warnings:
        echo(f"note: {warning}")
    for each in sections:
        echo(f"\n{each.title}")
        for block in each.blocks:
            _print_block(block)
    echo(f"\nAs a page: chase report {facts.head.id} --out DIR")


def _print_block(block: Block) -> None:
    """What is folded on a page is left out here; --json has every table."""
    if isinstance(block, Text):
        echo(f"  {block.text}")
    elif isinstance(block, Figure) or (isinstance(block, Tabular) and block.shown and not block.folded):
        emit_table(rich_table(block.table))
        for note in block.table.notes:
            echo(f"  {note}")
    elif isinstance(block, Listing) and not block.folded:
        echo(f"  {block.title}:")
        for line in block.lines:
            echo(f"    {line}")
