"""What a report says, before it is set as a page, printed on a terminal or written as files: sections of blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from chase.protocol.example import Excerpt
from chase.report.drawing import Drawing
from chase.runs.tables import Table

Tone = Literal["good", "bad", "open"]
"""Of a verdict: a gain that holds, one that does not, or neither shown."""


@dataclass(frozen=True, kw_only=True)
class Text:
    """A paragraph."""

    text: str
    strong: bool = False


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A drawing; the table behind it is its text alternative."""

    drawing: Drawing
    table: Table
    caption: str


@dataclass(frozen=True, kw_only=True)
class Tabular:
    """A table of the page; `folded` where it is long or for whoever looks closer."""

    table: Table
    folded: bool = False
    shown: bool = True
    """Whether it is on the page: one with a row for each of many tasks is a file alone."""


@dataclass(frozen=True, kw_only=True)
class Listing:
    """Lines as they are: a diff, a command, a file. The first character of a diff's lines says what became of it."""

    title: str
    lines: Sequence[str]
    diff: bool = False
    folded: bool = False


@dataclass(frozen=True, kw_only=True)
class BeforeAfter:
    """What an agent is shown as released, and what under a counterfactual."""

    title: str
    before: Excerpt
    after: Excerpt


Block = Text | Figure | Tabular | Listing | BeforeAfter


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a report with a heading."""

    id: str
    title: str
    blocks: Sequence[Block]
    lead: str = ""


@dataclass(frozen=True, kw_only=True)
class Document:
    """A report."""

    title: str
    verdict: str
    """In one sentence, for whoever decides."""
    tone: Tone
    label: str
    """The verdict in a word or two."""
    details: Sequence[str] = ()
    """Sentences below the verdict: what a gain is made of, what it was tested against."""
    badges: Sequence[str]
    """What must not be overlooked: that the model is simulated, that the run is not finished."""
    facts: Sequence[tuple[str, str]]
    """Run, benchmark, model, …"""
    sections: Sequence[Section]

    @property
    def tables(self) -> Iterator[Table]:
        """Every table once, those behind figures included."""
        seen: set[str] = set()
        for section in self.sections:
            for block in section.blocks:
                table = block.table if isinstance(block, Figure | Tabular) else None
                if table is not None and table.name not in seen:
                    seen.add(table.name)
                    yield table

    @property
    def drawings(self) -> Iterator[Drawing]:
        for section in self.sections:
            for block in section.blocks:
                if isinstance(block, Figure):
                    yield block.drawing
