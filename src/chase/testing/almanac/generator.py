"""Almanac's contents from a seed: the texts of the reports, and the questions about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import cycle
from random import Random
from typing import get_args

from chase.core.keyed import opaque_id, rng
from chase.testing.almanac.contents import SCALES, Document, Status, Table, Task
from chase.testing.almanac.protocol import DocumentProtocol, TitleStyle, UnitPlace
from chase.testing.almanac.questions import Question, solve
from chase.testing.almanac.rendering import render

VERSION = 1
CONFIRMATION = ("conf1", "conf2", "conf3")
ROLES = ("evo", "disc", *CONFIRMATION, "cert")
FAMILIES = ("figure", "figure", "figure", "figure", "change", "largest", "two largest", "signer")
"""Of the tasks of a role."""
YEARS = (1931, 1934)

_PLACES = ("Arden", "Belmora", "Castrow", "Dunmere", "Eskvale", "Farholt")
_DISTRICTS = ("Brack", "Colm", "Dorn", "Elsby", "Foss", "Garth", "Hale", "Inver", "Jarrow", "Kelt", "Lorn", "Morrow")
_MEASURES: Mapping[str, str] = {
    "Wheat harvest": "tonnes",
    "Salt output": "tonnes",
    "Wool clip": "bales",
    "Timber felled": "logs",
    "Herring catch": "barrels",
}
_FIRST = ("Ilva", "Oren", "Tamsin", "Jory", "Petra", "Caspar", "Merle", "Anselm", "Britta", "Dov", "Elke", "Hanno")
_LAST = ("Marsh", "Quill", "Stroud", "Venn", "Wick", "Yarrow", "Ashdown", "Birch", "Crane", "Drake", "Ember", "Finch")
_OPENINGS = (
    "The year began with a long frost and late sowing.",
    "Roads were mended between the larger markets.",
    "Two bridges were closed by floods in the spring.",
    "A new ferry shortened the way to the coast.",
    "Prices were steady but for a fortnight in autumn.",
    "The census of mills was put off once more.",
)
_REMARKS = (
    "Carriers reported few losses on the way.",
    "The weighing houses were open all year.",
    "Smaller holdings are counted with their district.",
    "Late returns were added where they arrived.",
    "The count was made twice in the larger districts.",
)
_NOTES = (
    "Returns were closed on 12 March.",
    "Telegrams after 7 May are left out.",
    "Printed in 3 sheets.",
    "Copies are kept in two places.",
)
SUFFIXES = ("-k", "-w", "-t", "-r", "-m", "-q")
"""At the end of a preliminary report's name. A final one has none: Almanac's own shortcut."""

Texts = Mapping[str, str]
"""File name → text, as released."""


def generate(seed: int, *, large: bool = False) -> tuple[Texts, list[Task]]:
    """The released texts and the tasks of a seed; `large`: with more confirmation tasks about the same texts."""
    texts: dict[str, str] = {}
    finals: list[Document] = []
    for turn, place in enumerate(rng("almanac", seed, "places").sample(_PLACES, 3)):
        draw = rng("almanac", seed, place)
        districts = draw.sample(_DISTRICTS, 5)
        measures = draw.sample(sorted(_MEASURES), 2 + turn % 2)
        for year in YEARS:
            for document in _reports(draw, place, year, districts, measures):
                suffix = "" if document.status == "final" else draw.choice(SUFFIXES)
                style: TitleStyle = draw.choice(get_args(TitleStyle))
                unit: UnitPlace = draw.choice(get_args(UnitPlace))
                name = f"{place.lower()}-{year}{suffix}.txt"
                protocol = DocumentProtocol(id="", name=name, order=0, title_style=style, unit_place=unit)
                texts[name] = render(document, protocol).text
                finals += [document] if document.status == "final" else []
    return texts, list(_tasks(seed, finals, large=large))


def _reports(
    draw: Random, place: str, year: int, districts: Sequence[str], measures: Sequence[str]
) -> Iterator[Document]:
    """The final report and the preliminary one, which has the same tables with other figures."""
    values = {(m, d): draw.randrange(120, 990) for m in measures for d in districts}
    signers = [f"{first} {last}" for first, last in zip(draw.sample(_FIRST, 2), draw.sample(_LAST, 2), strict=True)]
    statuses: tuple[Status, ...] = ("final", "preliminary")
    for status, signer in zip(statuses, signers, strict=True):
        if status == "preliminary":
            values = {
                key: max(101, value + draw.choice((-1, 1)) * draw.randrange(20, 90)) for key, value in values.items()
            }
        yield Document(
            id="",
            place=place,
            year=year,
            opening=tuple(draw.sample(_OPENINGS, draw.choice((1, 2, 3)))),
            tables=tuple(_table(draw, measure, districts, values) for measure in measures),
            notes=tuple(draw.sample(_NOTES, draw.choice((0, 1, 2)))),
            status=status,
            signer=signer,
        )


def _table(draw: Random, measure: str, districts: Sequence[str], values: Mapping[tuple[str, str], int]) -> Table:
    """Values are in hundreds, with no two alike in a table."""
    scale = draw.choice(tuple(SCALES))
    taken: set[int] = set()
    rows = []
    for district in districts:
        value = values[measure, district]
        while value in taken or value % 10 == 0:
            value += 1
        taken.add(value)
        rows.append((district, f"{Decimal(value * 100) / scale:.1f}"))
    return Table(measure=measure, scale=scale, unit=_MEASURES[measure], rows=tuple(rows), remark=draw.choice(_REMARKS))


def _tasks(seed: int, finals: Sequence[Document], *, large: bool) -> Iterator[Task]:
    """Eight questions of each role, none asked twice; in a large one all further figures for confirmation, in turn."""
    every = {family: _questions(seed, family, finals) for family in set(FAMILIES)}
    asked = [(role, every[family].pop()) for role in ROLES for family in FAMILIES]
    if large:
        asked += zip(cycle(CONFIRMATION), every["figure"], strict=False)
    for role, question in asked:
        answer = solve(question, finals)
        if answer is None:
            raise ValueError(f"no answer: {question}")
        text = question.text()
        yield Task(id=opaque_id("almanac", seed, text), role=role, question=text, answer=answer)


def _questions(seed: int, family: str, finals: Sequence[Document]) -> list[Question]:
    """All questions of a family, in an order that the seed decides."""
    draw = rng("almanac", seed, "questions", family)
    found: list[Question] = []
    for report in finals:
        years = YEARS if family == "change" else (report.year,)
        if family == "signer":
            found.append(Question(family=family, place=report.place, years=years))
            continue
        if family == "change" and report.year != YEARS[0]:
            continue
        for table in report.tables:
            asked = Question(family=family, place=report.place, years=years, measure=table.measure.lower())
            if family in ("largest", "two largest"):
                found.append(asked)
                continue
            for district, _ in table.rows:
                scale = draw.choice(tuple(SCALES))
                found.append(
                    Question(
                        family=family,
                        place=report.place,
                        years=years,
                        measure=asked.measure,
                        district=district,
                        scale=scale,
                        unit=table.unit,
                    )
                )
    clear = [question for question in found if not _is_whole(solve(question, finals))]
    return draw.sample(clear, len(clear))


def _is_whole(answer: str | None) -> bool:
    """Whether an answer is a small whole number, which names and places could hold by chance."""
    return answer is not None and answer.lstrip("-").isdigit() and len(answer.lstrip("-")) < 3
