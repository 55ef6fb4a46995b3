"""Units: scales in words, what a question asks for, and what lines around a table say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

SCALES = {
    "hundred": Decimal(100),
    "thousand": Decimal(1_000),
    "million": Decimal(1_000_000),
    "billion": Decimal(1_000_000_000),
    "trillion": Decimal(1_000_000_000_000),
}
_SCALE = r"(?P<scale>hundred|thousand|million|billion|trillion)s?"
_PLAIN = r"(?P<plain>dollars?|cents?|percent(?:ages?)?|per cent|%|basis points?|ounces?|units?)"
_KINDS = r"(?:(?:nominal|current|constant|real|whole|actual|fine|troy|u\.?\s?s\.?)\s+)*"
ASKED = re.compile(
    rf"\(?\b(?:in|as an?|as|of|to|many)\s+{_KINDS}(?:{_SCALE}(?:\s+(?:of\s+)?{_KINDS}(?P<of>[a-z]+))?|{_PLAIN})\b\)?",
    re.IGNORECASE,
)
_STATED = re.compile(
    rf"[\W_]*(?:all\s+)?(?:(?:dollar\s+)?(?:amounts?|figures?|values?)\s+)?(?:are\s+)?"
    rf"(?:(?:stated|shown|expressed|given)\s+)?(?:in\s+)?\$?\s*{_KINDS}(?:{_SCALE}|{_PLAIN})\b",
    re.IGNORECASE,
)
_IN_HEADER = re.compile(rf"\b{_SCALE}\b|{_PLAIN}", re.IGNORECASE)
_NOTED = re.compile(
    rf"(?:\(|^|[$€£¥]\s*)(?:[^()]{{0,60}}\b)?in\s+(?:[a-z]{{2,3}}\s)?[$€£¥]?\s*{_SCALE}\b"
    rf"|^\W*(?:[a-z]{{2,3}}\s?)?[$€£¥]?\s*{_SCALE.replace('scale', 'named')}\W*$"
    r"|(?:[$€£¥]|\b(?:rmb|eur|usd|gbp))\s*(?:['’]?(?P<thousand>000|k)|(?P<million>m|mn)|(?P<billion>bn|b))s?\b",
    re.IGNORECASE,
)
_CURRENCY = re.compile(r"dollars?|cents?|\$", re.IGNORECASE)
MOST_UNIT_WORDS = 12


@dataclass(frozen=True, slots=True)
class Unit:
    """What one unit of a figure is: how many, and whether it is a percentage."""

    scale: Decimal = Decimal(1)
    percent: bool = False


@lru_cache(maxsize=16384)
def stated_unit(line: str) -> Unit | None:
    """The unit that a line states for what stands near it; None of a line that is about something else."""
    if len(line) > 160 or len(line.split()) > MOST_UNIT_WORDS:
        return None
    found = _STATED.match(line)
    return None if found is None else unit_of(found["scale"], found["plain"])


@lru_cache(maxsize=16384)
def header_unit(header: str) -> Unit | None:
    """The unit that a column's header names."""
    found = _IN_HEADER.search(header)
    return None if found is None else unit_of(found["scale"], found["plain"])


@lru_cache(maxsize=16384)
def noted_unit(text: str) -> Unit | None:
    """The scale that a remark gives: `(in thousands, except per share data)`, `$ in millions`, `£’000`, `€m`."""
    found = _NOTED.search(text)
    if found is None:
        return None
    short = next((name for name in ("thousand", "million", "billion") if found[name]), None)
    return unit_of(found["scale"] or found["named"] or short, None)


def unit_of(scale: str | None, plain: str | None) -> Unit:
    """The unit that a scale's name or a unit's name stands for."""
    if scale:
        return Unit(SCALES[scale.lower().rstrip("s")])
    return Unit(percent=(plain or "").lower().startswith(("per", "%")))


def scale_name(unit: Unit) -> str:
    """A unit's scale in words; '' of one that has none."""
    return next((name for name, scale in SCALES.items() if scale == unit.scale), "")


def is_currency(word: str) -> bool:
    return _CURRENCY.fullmatch(word) is not None
