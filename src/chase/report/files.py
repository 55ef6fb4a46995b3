"""A report's folder: the page, tables as Markdown, LaTeX and CSV, figures as SVG and PNG. There whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tomli_w

from chase.core.errors import DiskError, UserError
from chase.report.document import Document
from chase.report.drawing import svg_file
from chase.report.facts import RunFacts
from chase.report.page import html
from chase.report.provenance import CONFIG

PAGE, TABLES, FIGURES = "report.html", "tables", "figures"
MARK = ".chase-report"
"""A folder with this file was written by `chase report` and may be written anew."""


def check_free(out: Path) -> None:
    """Only an empty folder or one that a report is in may be replaced."""
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / MARK).exists())):
        raise UserError(f"--out={out} holds something that is no report. Name a new or an empty folder.")


def write(document: Document, facts: RunFacts, out: Path, tell: Callable[[str], None] = lambda step: None) -> None:
    """Write the report; what was there before stays until the new one is complete."""
    check_free(out)
    try:
        with _replacing(out.absolute()) as folder:
            (folder / PAGE).write_text(html(document, facts.warnings), encoding="utf-8")
            _write_settings(folder, facts.settings)
            _write_tables(folder / TABLES, document)
            _write_figures(folder / FIGURES, document, tell)
    except OSError as error:
        raise DiskError(f"--out={out} cannot be written: {error.strerror}") from error


def _write_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    if settings:
        (folder / CONFIG).write_text(tomli_w.dumps(dict(settings)), encoding="utf-8")


def _write_tables(folder: Path, document: Document) -> None:
    folder.mkdir()
    for table in document.tables:
        for ending, text in (("md", table.markdown()), ("tex", table.latex()), ("csv", table.csv())):
            (folder / f"{_file_name(table.name)}.{ending}").write_text(text, encoding="utf-8", newline="\n")


def _write_figures(folder: Path, document: Document, tell: Callable[[str], None]) -> None:
    from chase.report.raster import png  # matplotlib takes a second to import

    folder.mkdir()
    for drawing in document.drawings:
        tell(f"drawing {drawing.name}")
        name = _file_name(drawing.name)
        (folder / f"{name}.svg").write_text(svg_file(drawing), encoding="utf-8", newline="\n")
        (folder / f"{name}.png").write_bytes(png(drawing))


def _file_name(name: str) -> str:
    """A name of ours that may have a harness's or a method's in it, fit for a file."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name)[:80]


@contextmanager
def _replacing(out: Path) -> Iterator[Path]:
    """A new folder beside `out` that takes its place once the block is through."""
    new, old = out.with_name(f".{out.name}.new"), out.with_name(f".{out.name}.old")
    for left in (new, old):  # of one that was killed
        if (left / MARK).exists():
            shutil.rmtree(left)
    new.mkdir(parents=True)
    (new / MARK).touch()
    try:
        yield new
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    if out.exists():
        out.rename(old)
    new.rename(out)
    shutil.rmtree(old, ignore_errors=True)
