"""What a question asks for: which figures of which periods, what to do with them, and how to write the answer.

Nothing here knows a benchmark. `clauses` takes out what says how to answer; then periods and the words that name an
operation go. What is left are the words that rows, columns and titles are compared with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from chase.models.lexical.clauses import MARK, Cleared, clear
from chase.models.lexical.operations import Operation, named_operation
from chase.models.lexical.periods import Mention, Period, mentions
from chase.models.lexical.units import Unit
from chase.models.lexical.words import bag, stem, written_words

_PERIODS_IN_ALL = re.compile(
    r"\b(?:all|each|every|individual)\s+(?:of the\s+)?(?:(?:individual|calendar|fiscal)\s+)*"
    r"(?:years?|months?|quarters?)\b",
    re.IGNORECASE,
)
_ASKS = frozenset(
    "amount value figure reported report recorded level much many data corresponding respectively give list what "
    "which who when find determine compute calculate table show shown year years month quarter fiscal calendar fy cy "
    "end ended ending period day please according us specifically only each every come came taking take "
    "using among one within".split()
)
"""Words of asking, which label nothing."""
_RANGE = re.compile(r"(?:,?\s*(?:to|through|until|thru|up to|[-–—])\s*(?:the\s+)?)")
_SMALLER = re.compile(
    r"\b(?:all|each|every|individual|which|what)\s+(?:\w+\s+){0,2}?(months?|quarters?)\b", re.IGNORECASE
)
_JOINT = re.compile(r"(,\s+and\s+|;\s*(?:and\s+)?|,\s+|\s+and\s+)")
_TEXT = re.compile(
    r"\s*(?:in\s+[^,]+,\s*)?(?:who|whose|whom|where|why|how (?:did|does|is|are|was|were|do|can)\b)", re.I
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """One figure: the words that name it and the period it is for."""

    words: tuple[str, ...]
    """As they are written, for queries."""
    stems: frozenset[str]
    period: Period | None = None
    source: str = ""
    """The publication that it shall be taken from, as the question names it."""

    def place(self, words: frozenset[str]) -> int:
        """How early the first of some words stands: of 'tonnage of ships' the tonnage is wanted."""
        return next((place for place, word in enumerate(self.words) if stem(word) in words), len(self.words))


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A question as the program understands it."""

    text: str
    wanted: tuple[Wanted, ...]
    operation: Operation
    document: str
    """The only document that is asked about, as it is called: `report 12`; '' where none is named."""
    unit: Unit | None
    """None: the one that the figures have."""
    places: int | None
    is_range: bool
    """Whether all periods between the first and the last belong to it."""
    wants_text: bool

    @property
    def conditions(self) -> tuple[str, ...]:
        """What a figure must be beside what it is called: of a fiscal or calendar year, from a named publication."""
        kinds = dict.fromkeys(w.period.kind for w in self.wanted if w.period is not None and w.period.kind)
        sources = dict.fromkeys(wanted.source for wanted in self.wanted if wanted.source)
        return (*(f"{kind} year" for kind in kinds), *sources)


@lru_cache(maxsize=256)
def understand(question: str) -> Asked:
    """What a question asks for. Any text gives something; most give nothing that can be found."""
    cleared = clear(question)
    operation = named_operation(cleared.spoken)
    found = mentions(cleared.unmarked)
    is_range = any(_RANGE.fullmatch(m.link) for m in found) or (
        len(found) == 2 and found[1].link == "and" and "between" in cleared.text.lower()
    )
    wanted = tuple(_in_order(list(_wanted(cleared, operation, is_range=is_range)), operation))
    if len(wanted) == len(found) == 2 and found[1].link == "from":
        wanted = wanted[::-1]  # "in 1981 from 1980": the earlier one is named last
    return Asked(
        text=question,
        wanted=wanted,
        operation=operation,
        document=cleared.document,
        unit=cleared.unit,
        places=cleared.places,
        is_range=is_range,
        wants_text=_TEXT.match(cleared.unmarked) is not None,
    )


def _wanted(cleared: Cleared, operation: Operation, *, is_range: bool) -> Iterator[Wanted]:
    """Every figure that is needed: each measure in each of its periods."""
    text = cleared.text
    parts: Sequence[str] = tuple(_segments(text, operation))
    parts = parts if len(parts) > 1 else operation.parts(text)
    parts = parts if all(_leads(part, operation) for part in parts) else (text,)
    first: tuple[str, ...] = ()
    for part in parts:
        words = _measure_words(part, operation)
        words = first = first if set(words) <= set(first) else words  # "… exceed that of 1980": the same measure
        dated = _dated(part, cleared.publications) or _dated(text, cleared.publications)
        if operation.takes_all and len(parts) == 1:
            dated = _all_of(dated, text, is_range=is_range)
        if operation.name == "share" and (found := mentions(part)) and found[-1].period in dated:
            dated[found[-1].period] = dated.pop(found[-1].period)
        dated = dated or {None: next(iter(cleared.publications), "")}
        for period, source in dated.items():
            yield Wanted(words=words, stems=frozenset(map(stem, words)), period=period, source=source)


def _dated(text: str, publications: Sequence[str]) -> dict[Period | None, str]:
    """The periods of a text, each with its publication: the one named right after it, else the nearest in the text."""
    found = mentions(text)
    marks = [(mark.start(), publications[int(mark[1])]) for mark in MARK.finditer(text)]
    periods = _with_kinds(mention.period for mention in found)
    dated: dict[Period | None, str] = {}
    for mention, period in zip(found, periods, strict=True):
        after = [name for place, name in marks if place >= mention.end]
        default = next(iter(publications), "")
        dated.setdefault(period, after[0] if after else marks[-1][1] if marks else default)
    return dated


def _all_of(dated: dict[Period | None, str], text: str, *, is_range: bool) -> dict[Period | None, str]:
    """All periods between two, or all months or quarters of one, where the question is about them."""
    periods = tuple(period for period in dated if period is not None)
    whole = _filled(periods) if is_range and len(periods) >= 2 else _split(periods, text)
    source = next(iter(dated.values()), "")
    return {period: dated.get(period, source) for period in whole}


def _segments(text: str, operation: Operation) -> Iterator[str]:
    """The pieces of a question that each name a figure with its own period: 'copper for 1980, and tin for 1981'.
    Nothing where a piece is left over that has words and no period.
    """
    pieces = [text] if operation.name in ("percent of", "percent change") else _JOINT.split(text)
    made: list[str] = []
    for joint, piece in zip(["", *pieces[1::2]], pieces[::2], strict=True):
        if made and _is_whole(made[-1], operation) and _leads(piece, operation):
            made.append(piece)
        elif made:
            made[-1] += joint + piece
        else:
            made.append(piece)
    if all(_is_whole(piece, operation) for piece in made):
        yield from made


def _in_order(wanted: list[Wanted], operation: Operation) -> Iterator[Wanted]:
    """Each figure once, as it is first named; of a share the part at the end, which is named last."""
    once = list(dict.fromkeys(wanted))
    if operation.name == "share" and wanted:
        once.remove(wanted[-1])
        once.append(wanted[-1])
    yield from once


def _leads(piece: str, operation: Operation) -> bool:
    """Whether a piece begins with what is measured. One that begins with a period goes on with what came before."""
    found = mentions(piece)
    return bool(_measure_words(piece[: found[0].start] if found else piece, operation))


def _is_whole(piece: str, operation: Operation) -> bool:
    return bool(mentions(piece)) and bool(_measure_words(piece, operation))


def _with_kinds(periods: Iterable[Period]) -> Iterator[Period]:
    """'Fiscal years 1980 and 1981': what is said of the first holds for those after it."""
    kind = None
    for period in periods:
        kind = period.kind or kind
        yield Period(period.year, period.month, period.quarter, kind)


def _filled(periods: Sequence[Period]) -> tuple[Period, ...]:
    """All years, or all months, from the first period to the last."""
    first, last = periods[0], periods[-1]
    if first.year is None or last.year is None or first.quarter or last.quarter or not 0 <= last.year - first.year < 60:
        return tuple(periods)
    if first.month and last.month:
        count = (last.year - first.year) * 12 + last.month - first.month
        months = (first.month - 1 + step for step in range(min(count, 60) + 1))
        return tuple(Period(first.year + m // 12, m % 12 + 1, kind=first.kind) for m in months)
    return tuple(Period(year, kind=first.kind) for year in range(first.year, last.year + 1))


def _split(periods: tuple[Period, ...], text: str) -> tuple[Period, ...]:
    """The months or the quarters of a year, where the question is about them."""
    found = _SMALLER.search(text)
    if found is None or len(periods) != 1 or periods[0].month or periods[0].quarter:
        return periods
    year, kind = periods[0].year, periods[0].kind
    if found[1].lower().startswith("month"):
        return tuple(Period(year, month, kind=kind) for month in range(1, 13))
    return tuple(Period(year, quarter=quarter, kind=kind) for quarter in range(1, 5))


def _measure_words(text: str, operation: Operation) -> tuple[str, ...]:
    """The words that name what is measured."""
    kept = _PERIODS_IN_ALL.sub(" ", _blanked(MARK.sub(" ", text), mentions(MARK.sub(" ", text))))
    return tuple(
        word for word in written_words(kept)
        if stem(word) not in _ASKS and word not in _ASKS and stem(word) not in operation.words
    )  # fmt: skip


def _blanked(text: str, found: Sequence[Mention]) -> str:
    for mention in reversed(found):
        text = f"{text[: mention.start]} {text[mention.end :]}"
    return text


def shares(question: str, text: str) -> frozenset[str]:
    """The words that a question and a text have in common."""
    return (bag(question) - _ASKS) & bag(text)
