"""A question without the clauses that say how to answer or where to look: rounding, unit, publications."""

from __future__ import annotations

import re
from dataclasses import dataclass

from chase.models.lexical.units import ASKED, Unit, unit_of

_NUMBERS = {word: number for number, word in enumerate("no one two three four five six".split())} | {"zero": 0}
_PLACES = {"whole": 0, "integer": 0, "one": 0, "unit": 0, "dollar": 0, "tenth": 1, "hundredth": 2, "cent": 2}
_PLACES |= {"thousandth": 3, "million": 0, "billion": 0, "thousand": 0, "percent": 0, "percentage": 0}
_NEAREST = re.compile(r"\bnearest\s+(?:a\s+)?([a-z]+?)s?\b", re.IGNORECASE)
_DECIMALS = re.compile(r"\b(\d|[a-z]+)\s+(?:decimals?|digits? after)\b", re.IGNORECASE)
_WHOLE = re.compile(r"\bwhole number\b|\bwithout decimals\b|\binteger\b", re.IGNORECASE)
_ROUNDING = re.compile(
    r"[,;(]?\s*(?:and\s+)?\b(?:round(?:ed|ing)?|expressed|to the nearest|to \w+ decimal)\b[^.?;]*", re.IGNORECASE
)
_KINDS_OF_PUBLICATION = r"(?:bulletin|edition|issue|publication|report|yearbook)s?\b"
_PUBLICATION = re.compile(
    r",?\s*\(?\b(?:according to|going by|as \w+ (?:in|by)|based on|published in|reported in|in|from|using|per|by)\s+"
    rf"(?:the\s+)?(?P<a>(?:[\w'’-]+\s+){{0,7}}?{_KINDS_OF_PUBLICATION}"
    r"(?:\s+(?:of|for|dated)\s+(?:[A-Za-z]+\s+)?\d{4})?)\)?,?"
    rf"|\(?(?:the\s+)?(?P<b>[A-Z][a-z]+\s+\d{{4}}\s+(?:[\w'’-]+\s+){{0,3}}?{_KINDS_OF_PUBLICATION})\)?",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r",?\s*\b(?:according to|based on|in|from|per|of)\s+(?:the\s+)?"
    r"(?P<kind>bulletin|document|edition|file|issue|report|statement)\s+"
    r"(?:(?:no\.?|number|\#)\s*(?P<told>\d+)|(?P<plain>\d{5,}|\d{1,3})(?![\d.,]*\d))\b\s*[:,]?",
    re.IGNORECASE,
)
"""A document that is called by a number. Four digits may be a year: then it must say that they are a number."""
_INSTRUCTION = re.compile(
    r"(?:please\s+)?(?:round|express|give|state|report|provide|return|answer|use|write|include|do not|enter|show"
    r"|(?:the|your) (?:final )?answer)\b",
    re.IGNORECASE,
)
MARK = re.compile(r"«(\d+)»")
"""What stands for a publication in a cleared question."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cleared:
    """A question without such clauses, and what they said."""

    spoken: str
    """Without sentences and publications only: an operation may be named together with a unit."""
    text: str
    """With `«n»` where the publication of that place was named."""
    publications: tuple[str, ...]
    document: str
    """The document that the question names by a number: `report 12`; '' where it names none."""
    unit: Unit | None
    places: int | None

    @property
    def unmarked(self) -> str:
        return MARK.sub(" ", self.text)


def clear(question: str) -> Cleared:
    """The question in one line, cleared."""
    found: list[str] = []

    def marked(publication: re.Match[str]) -> str:
        found.append(publication["a"] or publication["b"])
        return f" «{len(found) - 1}» "

    whole, document = _without_document(" ".join(MARK.sub(" ", question).split()))
    text = _PUBLICATION.sub(marked, _main(whole))
    return Cleared(
        spoken=MARK.sub(" ", text),
        text=ASKED.sub(" ", _ROUNDING.sub(" ", text)),
        publications=tuple(found),
        document=document,
        unit=_unit(whole),
        places=_places(whole),
    )


def _without_document(question: str) -> tuple[str, str]:
    """A question without the document that it names by a number, and that name."""
    found = _NUMBERED.search(question)
    if found is None:
        return question, ""
    rest = f"{question[: found.start()]} {question[found.end() :]}"
    return " ".join(rest.split()), f"{found['kind'].lower()} {found['told'] or found['plain']}"


def _main(question: str) -> str:
    """The question without sentences that only say how to answer; all of it where there are no others."""
    sentences = re.split(r"(?<=[.?!])\s+(?=[A-Z(])", question)
    kept = [sentence for sentence in sentences if "?" in sentence or not _INSTRUCTION.match(sentence)]
    return " ".join(kept or sentences[:1])


def _places(question: str) -> int | None:
    """To how many places the answer is wanted; None where nothing is said."""
    for found in _DECIMALS.finditer(question):
        word = found[1].lower()
        if word.isdigit() or word in _NUMBERS:
            return int(word) if word.isdigit() else _NUMBERS[word]
    if nearest := _NEAREST.search(question):
        return _PLACES.get(nearest[1].lower())
    return 0 if _WHOLE.search(question) else None


def _unit(text: str) -> Unit | None:
    found = next(ASKED.finditer(text), None)
    return None if found is None else unit_of(found["scale"], found["plain"])
