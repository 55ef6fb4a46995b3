"""A document as lines of text, the passages that they are cut into, and the way back from lines to contents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chase.testing.almanac.contents import SCALES, Document, Status, Table
from chase.testing.almanac.protocol import DocumentProtocol, TitleStyle, UnitPlace

VERSION = 1

_TITLES = {
    "plain": re.compile(r"(?P<place>[A-Z][a-z]+), report for (?P<year>\d{4})"),
    "capitals": re.compile(r"(?P<place>[A-Z]+): REPORT FOR (?P<year>\d{4})"),
    "year first": re.compile(r"Report for (?P<year>\d{4}) on (?P<place>[A-Z][a-z]+)"),
}
UNIT = re.compile(r"Figures in (?:(?P<scale>hundred|thousand) )?(?P<unit>[a-z ]+)\.")
ROW = re.compile(r"  (?P<district>[A-Z][a-z]+) +(?P<figure>\d+\.\d)")
STATUS = re.compile(r"These figures are (?P<status>final|preliminary)\.")
SIGNED = re.compile(r"Signed by (?P<signer>[A-Z][a-z]+ [A-Z][a-z]+)\.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """Consecutive lines that the search finds together; `start` and `end` count from 1 and belong to it."""

    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RenderedDocument:
    """A document as an agent finds it."""

    id: str
    name: str
    lines: tuple[str, ...]
    passages: tuple[Passage, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def between(self, start: int, end: int) -> str:
        """The text of some lines, counted from 1."""
        return "\n".join(self.lines[start - 1 : end])


def render(document: Document, protocol: DocumentProtocol) -> RenderedDocument:
    """The document as its protocol shows it."""
    lines = [title(document, protocol.title_style), "", *document.opening, ""]
    for table in document.tables:
        unit = [f"Figures in {f'{SCALES[table.scale]} {table.unit}'.strip()}."]
        rows = [f"  {district:<10} {figure}" for district, figure in table.rows]
        shown = [*unit, *rows] if protocol.unit_place == "before" else [*rows, *unit]
        lines += [table.measure, *shown, table.remark, ""]
    lines += ["Notes", *document.notes, f"These figures are {document.status}.", f"Signed by {document.signer}."]
    passages = tuple(cut(lines, protocol.passage_lines, protocol.passage_shift))
    return RenderedDocument(id=document.id, name=protocol.name, lines=tuple(lines), passages=passages)


def title(document: Document, style: TitleStyle) -> str:
    place, year = document.place, document.year
    if style == "capitals":
        return f"{place.upper()}: REPORT FOR {year}"
    return f"{place}, report for {year}" if style == "plain" else f"Report for {year} on {place}"


def cut(lines: Sequence[str], length: int, shift: int) -> Iterator[Passage]:
    """The passages of a text: they follow each other and hold every line, whatever the rule."""
    if length:
        ends = list(range(length, len(lines), length))
    else:
        ends = [place for place, line in enumerate(lines, start=1) if not line]
    starts = sorted({1, *(end + 1 + shift for end in ends if end + 1 + shift <= len(lines))})
    for start, following in zip(starts, [*starts[1:], len(lines) + 1], strict=True):
        yield Passage(start=start, end=following - 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Parsed:
    """What lines say, and how they say it."""

    document: Document
    title_style: TitleStyle
    unit_place: UnitPlace


def parse(lines: Sequence[str], id_: str) -> Parsed:
    """The contents of a document's lines; a `ValueError` where they are not those of a report."""
    paragraphs = "\n".join(lines).split("\n\n")
    if len(paragraphs) < 4:
        raise ValueError("a report has a title, an opening, a table and notes")
    heading, opening, *tables, notes = paragraphs
    style, place, year = _title(heading)
    read = [_table(table.split("\n")) for table in tables]
    if len({where for _, where in read}) != 1:
        raise ValueError("units are stated in one place throughout a report")
    remarks, status, signer = _notes(notes.split("\n"))
    document = Document(
        id=id_,
        place=place,
        year=year,
        opening=tuple(opening.split("\n")),
        tables=tuple(table for table, _ in read),
        notes=remarks,
        status=status,
        signer=signer,
    )
    return Parsed(document=document, title_style=style, unit_place=read[0][1])


def _title(line: str) -> tuple[TitleStyle, str, int]:
    styles: tuple[TitleStyle, ...] = ("plain", "capitals", "year first")
    for style in styles:
        if found := _TITLES[style].fullmatch(line):
            return style, found["place"].capitalize(), int(found["year"])
    raise ValueError(f"no title: {line!r}")


def _table(lines: Sequence[str]) -> tuple[Table, UnitPlace]:
    measure, *shown, remark = lines
    if not shown:
        raise ValueError("a table without rows")
    place: UnitPlace = "before" if UNIT.fullmatch(shown[0]) else "after"
    unit, rows = (shown[0], shown[1:]) if place == "before" else (shown[-1], shown[:-1])
    said, read = UNIT.fullmatch(unit), [ROW.fullmatch(row) for row in rows]
    if said is None or UNIT.fullmatch(remark) or not read:
        raise ValueError(f"a table without its unit or its rows: {measure!r}")
    scale = next(scale for scale, word in SCALES.items() if word == (said["scale"] or ""))
    pairs = [(row["district"], row["figure"]) for row in read if row is not None]
    if len(pairs) < len(read):
        raise ValueError(f"a row that cannot be read: {measure!r}")
    return Table(measure=measure, scale=scale, unit=said["unit"], rows=tuple(pairs), remark=remark), place


def _notes(lines: Sequence[str]) -> tuple[tuple[str, ...], Status, str]:
    if len(lines) < 3 or lines[0] != "Notes":
        raise ValueError("notes are a heading and at least two lines")
    status, signed = STATUS.fullmatch(lines[-2]), SIGNED.fullmatch(lines[-1])
    if status is None or signed is None:
        raise ValueError("notes say whether figures are final and who signed")
    return tuple(lines[1:-2]), "final" if status["status"] == "final" else "preliminary", signed["signer"]
