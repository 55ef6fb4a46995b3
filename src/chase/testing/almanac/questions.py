"""The questions: their wording, how they are read, and how an answer follows from the reports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from chase.testing.almanac.contents import SCALES, Document

WORDINGS: Mapping[str, str] = {
    "figure": "In {place} in {year}, what was the {measure} of {district}, in {unit}? Use the final report.",
    "change": "In {place}, by how much did the {measure} of {district} change from {year} to {later}, in {unit}? "
    "Use the final reports.",
    "largest": "In {place} in {year}, which district had the largest {measure}? Use the final report.",
    "two largest": "In {place} in {year}, which two districts had the largest {measure}? Use the final report.",
    "signer": "In {place}, who signed the final report for {year}?",
}
_PATTERNS: Mapping[str, str] = {
    "place": "[A-Z][a-z]+",
    "district": "[A-Z][a-z]+",
    "year": r"\d{4}",
    "later": r"\d{4}",
    "measure": "[a-z ]+?",
    "unit": "[a-z ]+",
}


def _reader(wording: str) -> re.Pattern[str]:
    parts = re.split(r"{(\w+)}", wording)
    named = (f"(?P<{part}>{_PATTERNS[part]})" if place % 2 else re.escape(part) for place, part in enumerate(parts))
    return re.compile("".join(named))


_READERS = {family: _reader(wording) for family, wording in WORDINGS.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What is asked for."""

    family: str
    place: str
    years: tuple[int, ...]
    measure: str = ""
    district: str = ""
    scale: int = 1
    unit: str = ""

    def text(self) -> str:
        unit = f"{SCALES[self.scale]} {self.unit}".strip()
        return WORDINGS[self.family].format(
            place=self.place,
            year=self.years[0],
            later=self.years[-1],
            measure=self.measure.lower(),
            district=self.district,
            unit=unit,
        )


def read_question(text: str) -> Question | None:
    """What a question asks for; None where it is none of these."""
    for family, reader in _READERS.items():
        if found := reader.fullmatch(text):
            said = found.groupdict()
            scale, unit = read_unit(said.get("unit", ""))
            years = [int(said[name]) for name in ("year", "later") if name in said]
            return Question(
                family=family,
                place=said["place"],
                years=tuple(years),
                measure=said.get("measure", ""),
                district=said.get("district", ""),
                scale=scale,
                unit=unit,
            )
    return None


def read_unit(text: str) -> tuple[int, str]:
    """The scale and the unit in words such as 'thousand tonnes'."""
    first, _, rest = text.partition(" ")
    scale = next((scale for scale, word in SCALES.items() if word and word == first), 1)
    return (scale, rest) if scale > 1 else (1, text)


def slots(text: str) -> dict[str, list[str]]:
    """The values of the placeholders in any text."""
    place = re.match(r"In ([A-Z][a-z]+)\b", text)
    years = re.findall(r"\b\d{4}\b", text)
    return {"place": [place[1]] if place else [], "year": years[:1], "years": years, "question": [text]}


def solve(question: Question, documents: Iterable[Document]) -> str | None:
    """The answer that final reports give; None where they give none, or more than one."""
    reports: list[Document] = []
    held = list(documents)
    for year in question.years:
        found = [d for d in held if (d.place, d.year, d.status) == (question.place, year, "final")]
        if len(found) != 1:
            return None
        reports += found
    return answer_from(question, reports)


def answer_from(question: Question, reports: Sequence[Document]) -> str | None:
    """The answer as these reports give it, one for each year."""
    if question.family == "signer":
        return reports[0].signer
    tables = [report.table(question.measure) for report in reports]
    if question.family in ("largest", "two largest"):
        rows = tables[0].rows if tables[0] is not None else ()
        ranked = sorted(rows, key=lambda row: Decimal(row[1]), reverse=True)
        return "; ".join(district for district, _ in ranked[: 1 if question.family == "largest" else 2]) or None
    values = [None if table is None else table.value(question.district) for table in tables]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return written((known[-1] - known[0] if question.family == "change" else known[0]) / question.scale)


def written(value: Decimal) -> str:
    """A number without what does not count: '23.4', '2340'."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
