"""`chase officeqa layout`: the paper's table of layout regularities, counted in a data folder."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from chase.benchmarks.officeqa.layout import PAPER, Criterion, Layout, count_folder
from chase.benchmarks.officeqa.releases import MANIFEST
from chase.cli.options import AsJson
from chase.cli.output import emit_json, emit_table, steps


def layout(
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="A folder in OfficeQA Full's published layout.")],
    as_json: AsJson = False,
) -> None:
    """How regular the layout is: units before tables, notes after them, scales in questions; beside the paper's.

    JSON: `synthetic, counts{…}, criteria[{name, count, of, rate, documents}], paper[the same]`.
    """
    with steps("layout") as tell:
        counted = count_folder(data, tell)
    synthetic = (data / MANIFEST).exists()
    if as_json:
        rows = {"criteria": counted, "paper": PAPER}
        listed = {key: [c.as_json() for c in found.criteria] for key, found in rows.items()}
        emit_json("chase.officeqa.layout/1", {"synthetic": synthetic, "counts": asdict(counted), **listed})
    else:
        emit_table(_table(counted, synthetic))


def _table(counted: Layout, synthetic: bool) -> Table:
    title = f"{counted.documents} documents{' (a SYNTHETIC sample)' if synthetic else ''}"
    table = Table("criterion", "here", "", "documents", "paper", "", title=title)
    for here, paper in zip(counted.criteria, PAPER.criteria, strict=True):
        documents = "" if here.documents is None else f"{here.documents}/{counted.documents}"
        table.add_row(here.name, *_figures(here), documents, *_figures(paper))
    return table


def _figures(row: Criterion) -> tuple[str, str]:
    return f"{row.count:,}/{row.of:,}", "" if row.rate is None else f"{100 * row.rate:.1f} %"
